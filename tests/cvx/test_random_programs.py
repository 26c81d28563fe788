"""Random programs of CVXPY beside Clarabel: the same status and optimum, a proof, and no planted answer passes."""

import warnings

import cvxpy as cp
import numpy as np
import pytest

import npkl_models as nm

KINDS = ("plain", "degenerate", "infeasible", "unbounded")


def drawn(seed):
    """A program with PSD, second-order and linear parts, and its kind; a degenerate one lacks an interior."""
    rng = np.random.default_rng(seed)
    kind = KINDS[0] if seed % 2 else KINDS[1 + seed // 2 % 3]
    n, k = int(rng.integers(2, 7)), int(rng.integers(1, 5))
    X, x = cp.Variable((n, n), symmetric=True), cp.Variable(k)
    rank = n if kind != "degenerate" else max(1, n // 2)
    V = rng.normal(size=(n, rank))
    K, point = V @ V.T, rng.normal(size=k)
    W = rng.normal(size=(n, n if kind != "degenerate" else n - rank))
    if kind == "degenerate":
        W -= V @ np.linalg.lstsq(V, W, rcond=None)[0]
    rows = [rng.normal(size=(n, n)) for _ in range(int(rng.integers(1, n + 1)))]
    rows = [A + A.T for A in rows]
    shares = rng.normal(size=(len(rows), k))
    y = rng.normal(size=len(rows))
    held = [X >> 0]
    held += [cp.trace(A @ X) + s @ x == np.sum(A * K) + s @ point for A, s in zip(rows, shares, strict=True)]
    cost, slope = W @ W.T + sum(t * A for t, A in zip(y, rows, strict=True)), y @ shares
    B = rng.normal(size=(3, k))
    room = 0.0 if kind == "degenerate" else 1.0
    held.append(cp.SOC(float(np.linalg.norm(B @ point)) + room, B @ x))
    a = rng.normal(size=(2, k))
    held.append(a @ x <= a @ point + room)
    slope = slope - rng.uniform(0.5, 1.0, 2) @ a
    if kind == "infeasible":
        held.append(cp.trace(X) + cp.sum_squares(x) <= -rng.uniform(0.5, 2.0))
    free = cp.Variable()
    if kind == "unbounded":
        return cp.Problem(cp.Minimize(cp.trace(cost @ X) + slope @ x - free), [*held, free >= x[0]]), kind
    return cp.Problem(cp.Minimize(cp.trace(cost @ X) + slope @ x), held), kind


def solved(problem, **how):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            problem.solve(**how)
        except cp.SolverError:
            return "solver error", np.nan
    return problem.status, problem.value


@pytest.mark.parametrize("seed", range(200))
def test_status_and_optimum_are_those_of_clarabel(seed):
    problem, kind = drawn(seed)
    expected, optimum = solved(problem, solver="CLARABEL")
    status, value = solved(problem, solver=nm.InteriorSolver())
    if "inaccurate" in expected or expected == "solver error":
        assert kind == "degenerate"
        return
    assert status == expected
    if status != "optimal":
        return
    assert value == pytest.approx(optimum, rel=2e-6, abs=2e-6)
    judged = nm.certify_cvxpy(problem)
    assert judged.certifies()
    X = next(v for v in problem.variables() if v.ndim == 2)
    X.value = X.value + 1e-2 * (1 + np.abs(X.value).max()) * np.eye(len(X.value))
    assert not nm.certify_cvxpy(problem).certifies()


def test_errors_that_cancel_in_the_gap_prove_nothing():
    x = cp.Variable(2)  # the objective falls without limit; the gap of the values is 1e8 * 1e-8 - 1 * 1
    held = [x[0] >= 0, x[1] >= 0]
    problem = cp.Problem(cp.Minimize(1e8 * x[0] - x[1]), held)
    x.value = np.array([1e-8, 1.0])
    for constraint, dual in zip(held, (1e8, -1.0), strict=True):
        constraint.save_dual_value(np.array(dual))
    assert not nm.certify_cvxpy(problem).certifies()
