"""What may be wrong with a problem, said before it is solved."""

import numpy as np
import scipy.sparse as sp

import npkl_models as nm


def test_diagnosis_of_a_healthy_problem_is_empty(small):
    connected = nm.laplacian(np.random.default_rng(0).normal(size=(24, 2)), 6, shift=0.1)
    pairs = nm.Pairs.from_labels(np.arange(24) % 2, 10, 10, 0)
    assert nm.npkl(connected, pairs).diagnose() == ()


def test_diagnosis_finds_what_is_wrong():
    ring = np.roll(np.eye(8), 1, axis=1)
    S = sp.csr_array(sp.block_diag([ring + ring.T, np.ones((2, 2)) - np.eye(2)]))
    L = nm.laplacian(S, shift=0.1)
    pairs = nm.Pairs(10, [(0, 1), (1, 2)], [(0, 2), (3, 5)])
    findings = {f.kind: str(f) for f in nm.npkl(L, pairs, gamma=1e9).diagnose()}
    assert "[[0, 2]]" in findings["contradiction"]
    assert "disconnection" not in findings  # the shift leaves no null space
    assert "2 points" in findings["isolation"]
    assert "factor of" in findings["scaling"]
    term = nm.LossTerm(nm.Entries(10, (pairs.i, pairs.j)), "linear", pairs.sign, 5.0)
    findings = {f.kind: str(f) for f in nm.Problem(L, term).diagnose()}
    assert "minus infinity" in findings["unboundedness"]
    flat = nm.npkl(nm.laplacian(S), pairs)
    found = {f.kind: str(f) for f in flat.diagnose()}
    assert "shift=delta" in found["unboundedness"]
    assert "2 components" in found["disconnection"]
    assert "dimension 2" in found["disconnection"]


def test_a_null_space_is_told_of_the_components_without_a_shift_alone():
    ring = np.roll(np.eye(8), 1, axis=1)
    S = sp.csr_array(sp.block_diag([ring + ring.T, np.ones((2, 2)) - np.eye(2)]))
    pairs = nm.Pairs(10, [(0, 1), (1, 2)], [(3, 5), (2, 9)])
    null = [{f.kind for f in nm.npkl(nm.laplacian(S, shift=d), pairs).diagnose()} for d in (0.0, 1e-6, 0.1)]
    assert ["disconnection" in kinds for kinds in null] == [True, False, False]
    plain = nm.laplacian(S, normalized=False)
    assert "disconnection" in {f.kind for f in nm.npkl(plain, pairs).diagnose()}
    alone = sp.csr_array(sp.block_diag([S, np.zeros((3, 3))]))
    three = nm.Pairs(13, [(0, 1)], [(3, 10)])
    (told,) = [str(f) for f in nm.npkl(nm.laplacian(alone), three).diagnose() if f.kind == "disconnection"]
    assert "5 components" in told
    half = nm.laplacian(S) + sp.diags_array(np.repeat([0.1, 0.0], [8, 2]))
    (told,) = [str(f) for f in nm.npkl(half, pairs).diagnose() if f.kind == "disconnection"]
    assert "the matrix is singular on 1 of them" in told
    values = np.linalg.eigvalsh(half.toarray())
    assert int(np.sum(values < 1e-9)) == 1
