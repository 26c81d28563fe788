"""Sparse matrices with one pattern against the sums that they stand for, and starts where equalities leave y free."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.interior.values import values_of

pytestmark = pytest.mark.filterwarnings("ignore::npkl_models.model.scales.UnscaledWarning")  # raw on purpose

N, ALL = 6, np.arange(6)
COST = np.diag([2.0, 3, 4, 5, 6, 7]) - 0.3
HINGE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "hinge", [1.0, -1.0], [2.0, 0.5])


@pytest.mark.parametrize("trace", [False, True])
@pytest.mark.parametrize("inside", [False, True])
def test_slacks_and_their_changes_are_one_map(trace, inside):
    Q = nm.Basis(np.linalg.qr(np.random.default_rng(0).normal(size=(N, 4)))[0]) if inside else None
    R = nm.TracePower(1, bound=3.0) if trace else nm.NoRegularizer()
    values = values_of(nm.Problem(COST, HINGE, (), R, basis=Q))
    full = lambda A: A.toarray() if sp.issparse(A) else A  # noqa: E731
    y = np.arange(1.0, values.size + 1)
    S, zero = values.slack(y), values.slack(0 * y)
    np.testing.assert_allclose(full(S) - full(zero), full(values.adjoint(y)), atol=1e-12)
    np.testing.assert_allclose(full(values.change(y, 0.5, S)), full(values.adjoint(y)) + 0.5 * full(S))
    np.testing.assert_allclose(full(values.shifted(S, -2.0)), full(S) - 2 * np.eye(values.order))
    X = np.arange(values.order**2, dtype=float).reshape(values.order, -1)
    X = X + X.T
    for A in (S, values.adjoint(y)):
        assert values.inner(A, X) == pytest.approx(np.sum(full(A) * X))
    assert values.of_cost(X) == pytest.approx(np.sum(full(zero) * X))


@pytest.mark.parametrize("shift", [0.0, 0.01, 0.001])
@pytest.mark.parametrize(("name", "seed"), [("wine", 0), ("iris", 2), ("breast_cancer", 14)])
def test_hard_pairs_are_certified(name, seed, shift):
    """Draws of the kind that `interior.py hard` of the benchmarks counts."""
    data = nm.datasets.load(name).subset(150, 0)
    pairs = nm.Pairs.from_labels(data.y, 90, 90, seed)
    solution = nm.hard_pcp(nm.laplacian(data.X, 5, shift=shift), pairs).solve("interior")
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
    assert solution.iterations <= 20
