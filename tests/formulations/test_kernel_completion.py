"""Known entries met: exact routes agree, closed forms hold, entries with two values are refused."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.formulations.completion import known_affinities

N = 12
rng = np.random.default_rng(0)
A = rng.normal(size=(N, N))
A = A + A.T
FACTOR = rng.normal(size=(N, 2))
HIDDEN = np.triu(rng.random((N, N)) < 0.5, 1)
HIDDEN = HIDDEN | HIDDEN.T
Q = nm.Basis(np.linalg.qr(rng.normal(size=(N, 4)))[0])
WEIGHTS = rng.uniform(0.5, 2.0, (N, N))
WEIGHTS = WEIGHTS + WEIGHTS.T


def hidden(K):
    return np.where(HIDDEN, np.nan, K)


def positive_part(K):
    values, vectors = np.linalg.eigh(K)
    return (vectors * np.maximum(values, 0)) @ vectors.T


@pytest.mark.parametrize("backend", ["interior", "burer_monteiro", "sdp"])
@pytest.mark.parametrize("penalty", [None, 1.5])
def test_all_known_is_the_projection(backend, penalty):
    found = nm.kernel_completion(A, penalty=penalty).solve(backend, tol=1e-8)
    closed = positive_part(A - 0.5 * (penalty or 0.0) * np.eye(N))
    np.testing.assert_allclose(found.K, closed, atol=1e-3)
    value = np.sum((closed - A) ** 2) + (penalty or 0.0) * np.trace(closed)
    assert found.objective == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize("backend", ["interior", "burer_monteiro", "hybrid"])
def test_a_kernel_of_low_rank_is_met_exactly(backend):
    K = FACTOR @ FACTOR.T
    problem = nm.kernel_completion(hidden(K))
    found = problem.solve(backend, tol=1e-8)
    # without a cost the unit is a thousandth of the least loss at zero, beyond what an interior point reaches
    assert found.is_optimal(1e-6) or backend == "interior"
    assert found.objective <= 1e-7 * problem.least_loss
    np.testing.assert_allclose(found.K[~HIDDEN], K[~HIDDEN], atol=1e-3)
    np.testing.assert_allclose(found.K, K, atol=0.2)  # and so few degrees of freedom leave no other


def some_entries(n, count, noise, seed, diagonal):
    rng = np.random.default_rng(seed)
    X, (i, j) = rng.normal(size=(n, 4)), np.triu_indices(n, 0 if diagonal else 1)
    at = rng.choice(i.size, count, replace=False)
    values = np.sum(X[i[at]] * X[j[at]], axis=1) + noise * rng.normal(size=count)
    return nm.kernel_completion((i[at], j[at], values), n_points=n)


def test_an_optimum_of_zero_is_proved_beyond_dense_eigenvalues():
    """No multiplier other than zero leaves a slack PSD, and a quick certificate knows it."""
    found = some_entries(600, 2400, 0.0, 0, diagonal=False).solve("burer_monteiro")
    assert found.status is nm.Status.OPTIMAL
    assert found.iterations < 800  # 483; 5,000 where only the last certificate tried zero


@pytest.mark.parametrize("seed", range(4))
def test_points_without_a_diagonal_entry_follow_those_with_one(seed):
    """Without any cost, the rows of these points are long, but not so long that rounding errors count."""
    found = some_entries(40, 120, 0.5, seed, diagonal=True).solve()
    assert found.status is nm.Status.OPTIMAL
    assert len(found.attempts) == 1  # the smaller problem's answer is one of the whole


def test_the_objective_is_the_formula_whatever_the_form():
    V = rng.normal(size=(N, 3))
    K, known = V @ V.T, ~HIDDEN
    wanted = np.sum(WEIGHTS[known] * (K - A)[known] ** 2)
    by_array = nm.kernel_completion(hidden(A), weights=WEIGHTS)
    assert by_array.objective_of_factor(V) == pytest.approx(wanted)
    i, j = np.nonzero(known)
    twice = nm.kernel_completion((i, j, A[i, j]), weights=WEIGHTS[i, j])  # in both orders
    upper = i <= j
    i, j = j[upper], i[upper]
    once = nm.kernel_completion((i, j, A[i, j]), weights=WEIGHTS[i, j], n_points=N)
    assert by_array.objective_of_factor(V) == twice.objective_of_factor(V) == once.objective_of_factor(V)
    with_penalty = nm.kernel_completion((i, j, A[i, j]), penalty=2.0)
    plain = nm.kernel_completion((i, j, A[i, j]))
    gap = with_penalty.objective_of_factor(V) - plain.objective_of_factor(V)
    assert gap == pytest.approx(2 * np.trace(K))


def test_one_order_is_enough_and_more_points_may_be_named():
    half = np.where(np.tri(N) > 0, A, np.nan)
    V = rng.normal(size=(N, 3))
    whole = nm.kernel_completion(A).objective_of_factor(V)
    assert nm.kernel_completion(half).objective_of_factor(V) == whole
    assert nm.kernel_completion(([0], [1], [0.5]), n_points=7).n == 7
    assert nm.kernel_completion(([0], [0], [0.5])).n == 2


def refused(match, *args, **given):
    with pytest.raises(nm.ProblemError, match=match):
        nm.kernel_completion(*args, **given)


def test_what_is_no_kernel_with_holes_is_refused():
    skew = A.copy()
    skew[2, 5] += 1.0
    refused(r"same value in both orders, got 1 with two values that differ by up to 1: \[\(2, 5\)\]", skew)
    refused(r"the same value in both orders, got 1 .*\(0, 1\)", ([0, 1], [1, 0], [0.5, 0.6]))
    assert nm.kernel_completion(([0, 1], [1, 0], [0.5, 0.5])).terms[0].functional.size == 1
    refused("the same weight in both orders", ([0, 1], [1, 0], [0.5, 0.5]), weights=[1.0, 2.0])
    refused("observed must hold at least one entry, got none", np.full((3, 3), np.nan))
    refused(r"shape \(n, n\) with n >= 2, or be a tuple .* got \(3, 2\)", np.ones((3, 2)))
    refused(r"must be finite, got \[inf, inf\] at \[\(0, 1\)", np.array([[1.0, np.inf], [np.inf, 1.0]]))
    refused("must be finite, got .nan. at", ([0], [1], [np.nan]))
    refused(r"must be \(i, j, values\), got 2 parts", ([0], [1]))
    refused("vectors of one length, got shapes", ([0], [1, 2], [1.0]))
    refused(r"must lie in 0..2, got \[\(1, 3\)\]", ([0, 1], [1, 3], [1.0, 1.0]), n_points=3)
    refused(r"must lie in 0..1, got \[\(-1, 1\)\]", ([-1], [1], [1.0]))
    refused("n_points must be 12, the order of the array, or None", A, n_points=13)
    refused(r"weights of entries must have shape \(12, 12\)", A, weights=[1.0])
    refused(r"weights of entries must have shape \(1,\)", ([0], [1], [1.0]), weights=[1.0, 2.0])
    refused(r"must be positive, got \[-1.0\] at \[\(0, 1\)\]", ([0], [1], [1.0]), weights=[-1.0])
    refused("basis and entries must be over the same points, got 12 and 2", ([0], [1], [1.0]), basis=Q)
    refused("basis must be a Basis", A, basis=np.eye(N))


def test_affinities_of_neighbours_are_entries_of_the_gaussian_kernel():
    X = rng.normal(size=(20, 2))
    i, j, values = known_affinities(X, 4)
    W = nm.knn_affinity(X, 4)
    problem = nm.kernel_completion((i, j, values))
    assert problem.terms[0].functional.size == 20 + W.nnz // 2
    np.testing.assert_array_equal(values[i == j], 1.0)
    np.testing.assert_allclose(values[i != j], np.asarray(W[i, j]).ravel()[i != j])
    found = problem.solve("interior")
    assert found.objective < 1e-6 * problem.least_loss  # the whole kernel is one that fits


def test_the_stored_entries_of_a_sparse_matrix_are_known_zeros_among_them():
    i, j = np.array([0, 0, 1, 2]), np.array([0, 1, 2, 2])
    values, weights = np.array([1.0, 0.0, 0.5, 2.0]), np.array([1.0, 2.0, 3.0, 4.0])
    sparse, asked = (sp.coo_array((numbers, (i, j)), shape=(4, 4)) for numbers in (values, weights))
    one = nm.kernel_completion((i, j, values), weights=weights, n_points=4).terms[0]
    other = nm.kernel_completion(sparse, weights=asked).terms[0]
    np.testing.assert_array_equal(one.functional.indices, other.functional.indices)
    np.testing.assert_array_equal(one.target, other.target)
    np.testing.assert_array_equal(one.weight, other.weight)
    with pytest.raises(nm.ProblemError, match="n_points must be 4, the order"):
        nm.kernel_completion(sparse, n_points=5)
