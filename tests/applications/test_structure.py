"""Structure preserving embedding: all triplets without building them, against the exact program over all."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.applications.structure import most_violated, structure_preserving
from npkl_models.formulations.structure import first_triplets


def random_graph(n=20, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    return (nm.knn_affinity(X, 4, sigma="binary") > 0).astype(float), X


def all_triplets(W):
    W = W.toarray() > 0
    n = len(W)
    i, k, j = np.indices((n, n, n)).reshape(3, -1)
    kept = W[i, k] & ~W[i, j] & (i != j)
    return np.stack([i, k, j], axis=1)[kept]


@pytest.mark.parametrize("centred", [True, False])
@pytest.mark.parametrize("C", [0.3, 5.0])
def test_rounds_end_at_the_optimum_over_all_triplets(C, centred):
    W, _ = random_graph()
    every = all_triplets(W)
    whole = nm.spe(W, every, C=C, centred=centred)
    exact = whole.solve("sdp", eps=1e-9)
    run = structure_preserving(W, C=C, centred=centred, tol=1e-5)
    assert run.settled
    assert run.relative_gap <= 1e-5
    assert run.objective == pytest.approx(exact.objective, rel=2e-5)
    assert run.bound <= exact.objective + 1e-8 * abs(exact.objective)
    assert whole.objective_of_factor(run.solution.V) == pytest.approx(run.objective, rel=1e-9)
    assert len(run.triplets) < len(every) / 3
    y = run.solution.certificate.multipliers.terms[0]
    assert nm.LOSSES["shared_slack"].in_domain(y, np.zeros(y.size), np.full(y.size, C)).all()


def test_the_slope_of_the_dual_and_its_sign():
    """d/dy of the dual is D_ik - D_ij, and the slack -W + sum y (M_ik - M_ij): by differences."""
    W, _ = random_graph(12)
    problem = nm.spe(W, C=2.0, trace_bound=7.0, centred=False)
    m = problem.terms[0].functional.size
    y = np.random.default_rng(1).uniform(0, 1 / m, m)
    S = -W.toarray()
    for weight, i, k, j in zip(y, *np.array(problem.terms[0].functional.indices), strict=True):
        for other, sign in ((k, 1.0), (j, -1.0)):
            e = np.eye(12)[i] - np.eye(12)[other]
            S = S + sign * weight * np.outer(e, e)
    np.testing.assert_allclose(problem.slack([y]).toarray(), S, atol=1e-12)
    values, vectors = np.linalg.eigh(-S)
    plus = np.maximum(values, 0)
    K = np.sqrt(7.0 / np.sum(plus**2)) * (vectors * plus) @ vectors.T
    slope = problem.terms[0].functional.value(K)
    for e in range(0, m, 5):
        h = 1e-6 * np.eye(m)[e]
        by_hand = (problem.dual_bound([y + h]) - problem.dual_bound([np.maximum(y - h, 0)])) / 2e-6
        assert by_hand == pytest.approx(slope[e], rel=1e-4, abs=1e-5)


def test_the_worst_triplet_of_each_point():
    W, X = random_graph(30, 2)
    D = ((X[:, None] - X) ** 2).sum(axis=2)
    triplets, values = most_violated(X, W)
    every = all_triplets(W)
    z = D[every[:, 0], every[:, 1]] - D[every[:, 0], every[:, 2]]
    for row, value in zip(triplets, values, strict=True):
        assert value == pytest.approx(z[every[:, 0] == row[0]].max())
    near = first_triplets(sp.csr_array(W))
    assert {tuple(row) for row in near.tolist()} <= {tuple(row) for row in every.tolist()}


def test_a_large_weight_preserves_the_graph():
    W, _ = random_graph()
    run = structure_preserving(W, C=50.0)
    assert run.settled
    assert most_violated(run.solution.V, W)[1].max() <= 4e-4 * np.max(np.sum(run.solution.V**2, axis=1))
    loose = structure_preserving(W, C=0.01)
    assert loose.slack > 0.01


def test_what_is_no_graph_and_no_triplet_is_refused():
    path = np.eye(5, k=1) + np.eye(5, k=-1)
    for wrong in (np.triu(path), -path, np.ones((2, 2)), np.full((3, 3), np.nan), np.ones((3, 4))):
        with pytest.raises(nm.ProblemError, match="graph"):
            nm.spe(wrong)
    with pytest.raises(nm.ProblemError, match="two edges apart"):
        nm.spe(np.ones((4, 4)))
    for wrong in ([[0, 2, 3]], [[0, 1, 1]], [[1, 0, 2]], [[0, 1, 0]], [[0, 1, 9]], [[0, 1]]):
        with pytest.raises(nm.ProblemError, match="triplets must"):
            nm.spe(path, wrong)
    with pytest.raises(nm.ProblemError, match="max_rounds"):
        structure_preserving(path, max_rounds=0)
