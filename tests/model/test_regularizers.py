"""Support functions against their definition, and the CVXPY forms."""

import cvxpy as cp
import numpy as np
import pytest

from npkl_models import NoRegularizer, ProblemError, RowNormBound, TracePower
from npkl_models.linalg import gram_eigenvalues

BOUNDS = [TracePower(p, bound=2.5) for p in (1, 1.5, 2, 3, 4)]
PENALTIES = [TracePower(p, penalty=0.7) for p in (1.5, 2, 3, 4)]


@pytest.mark.parametrize("R", BOUNDS + PENALTIES, ids=str)
@pytest.mark.parametrize("seed", range(3))
def test_support_is_attained_by_the_maximiser_and_by_nothing_better(R, seed):
    rng = np.random.default_rng(seed)
    A = rng.normal(size=(6, 6))
    values, _vectors = np.linalg.eigh(A + A.T)
    best = R.maximiser(values)
    assert R.violation(best) <= 1e-12
    attained = float(values @ best) - R.value(best)
    assert attained == pytest.approx(R.support(values), rel=1e-10)
    for _ in range(200):
        V = R.rescale(rng.normal(size=(6, rng.integers(1, 7))) * rng.uniform(0.1, 2))
        K = V @ V.T
        score = float(np.sum((A + A.T) * K)) - R.value(gram_eigenvalues(V))
        assert score <= R.support(values) + 1e-9


def test_ties_at_p_1_share_the_trace():
    best = TracePower(1, bound=3.0).maximiser(np.array([2.0, 2.0, -1.0]))
    np.testing.assert_allclose(best, [1.5, 1.5, 0.0])


def test_support_of_the_unconfined_is_an_indicator():
    assert NoRegularizer().support(np.array([-1.0, 0.0])) == 0.0
    assert NoRegularizer().support(np.array([-1.0, 1e-9])) == np.inf
    R = TracePower(1, penalty=2.0)
    assert R.support(np.array([1.9])) == 0.0
    assert R.support(np.array([2.1])) == np.inf


@pytest.mark.parametrize("R", BOUNDS, ids=str)
def test_trace_bound_holds_on_the_ball(R):
    rng = np.random.default_rng(1)
    for _ in range(50):
        V = R.rescale(10 * rng.normal(size=(5, 5)))
        assert np.sum(V**2) <= R.trace_bound(5) + 1e-9


@pytest.mark.parametrize("R", [R for R in BOUNDS + PENALTIES if R.p > 1], ids=str)
def test_gradient_of_the_factor(R):
    """At a maximiser K of <Z, .> - R the subgradient of R is the PSD part of Z."""
    rng = np.random.default_rng(2)
    A = rng.normal(size=(5, 5))
    Z = A + A.T
    values, vectors = np.linalg.eigh(Z)
    best = R.maximiser(values)
    V = vectors[:, best > 0] * np.sqrt(best[best > 0])
    W, mu = R.gradient(V, -Z @ V)
    positive = (vectors * np.maximum(values, 0)) @ vectors.T
    np.testing.assert_allclose((W * mu) @ W.T, positive, atol=1e-8)


@pytest.mark.parametrize("R", BOUNDS + PENALTIES, ids=str)
def test_cvxpy_primal_form_is_exact(R):
    """max <A, K> - R(K) over PSD K, solved with the primal form, is the closed-form support."""
    A = np.random.default_rng(3).normal(size=(3, 3))
    K = cp.Variable((3, 3), symmetric=True)
    penalty, constraints = R.cvxpy_primal(K)
    objective = cp.Maximize(cp.trace((A + A.T) @ K) - penalty)
    problem = cp.Problem(objective, [K >> 0, *constraints])
    problem.solve(solver="CLARABEL")
    assert problem.value == pytest.approx(R.support(np.linalg.eigvalsh(A + A.T)), rel=1e-5)


@pytest.mark.parametrize("R", [*BOUNDS, *PENALTIES, TracePower(1, penalty=9.0)], ids=str)
def test_cvxpy_support_is_exact(R):
    A = np.random.default_rng(4).normal(size=(3, 3))
    S = A + A.T
    support = R.cvxpy_support(cp.Constant(S))
    slack = support.slack
    problem = cp.Problem(cp.Minimize(support.value), [0.5 * (slack + slack.T) >> 0, *support.constraints])
    problem.solve(solver="CLARABEL")
    wanted = R.support(-np.linalg.eigvalsh(S))
    assert problem.value == pytest.approx(wanted, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"p": 0.5, "bound": 1}, "p must be a finite number >= 1, got 0.5"),
        ({"p": 2, "bound": 0}, "bound B must be positive"),
        ({"p": 2, "bound": -1}, "bound B must be positive"),
        ({"p": 2, "penalty": np.inf}, "penalty G must be positive and finite"),
        ({"p": 2}, "exactly one of bound and penalty"),
        ({"p": 2, "bound": 1, "penalty": 1}, "exactly one of bound and penalty"),
    ],
)
def test_bad_trace_powers(arguments, message):
    with pytest.raises(ProblemError, match=message):
        TracePower(**arguments)


def test_bad_row_norm():
    with pytest.raises(ProblemError, match="row-norm bound b must be positive"):
        RowNormBound(0.0)
