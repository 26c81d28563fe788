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
    assert "2 components" in findings["disconnection"]
    assert "2 points" in findings["isolation"]
    assert "factor of" in findings["scaling"]
    term = nm.LossTerm(nm.Entries(10, (pairs.i, pairs.j)), "linear", pairs.sign, 5.0)
    findings = {f.kind: str(f) for f in nm.Problem(L, term).diagnose()}
    assert "minus infinity" in findings["unboundedness"]
    flat = nm.npkl(nm.laplacian(S), pairs)
    assert "shift=delta" in {f.kind: str(f) for f in flat.diagnose()}["unboundedness"]
