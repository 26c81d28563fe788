"""Any convex quadratic: the value is the formula, every form agrees, and what is not convex is refused."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.model.functional import svec

S = 4
rng = np.random.default_rng(0)
B = rng.normal(size=(6, 10))
A, b = B.T @ B, B.T @ rng.normal(size=6)


def test_the_objective_is_the_formula_in_both_orders():
    W, w = rng.normal(size=(16, 16)), rng.normal(size=16)
    V = rng.normal(size=(S, 2))
    y, whole = svec(V @ V.T), (V @ V.T).ravel()
    assert nm.Problem.from_quadratic(A, b, order=S).objective_of_factor(V) == pytest.approx(y @ A @ y + b @ y)
    found = nm.Problem.from_quadratic(W.T @ W, w, order=S).objective_of_factor(V)
    assert found == pytest.approx(whole @ W.T @ W @ whole + w @ whole)


@pytest.mark.parametrize("basis", [None, np.eye(S), np.linalg.qr(rng.normal(size=(7, S)))[0]])
def test_all_forms_agree(basis):
    n = S if basis is None else len(basis)
    given = None if basis is None else nm.Basis(basis)
    trace = nm.Constraint(nm.Trace(n), equal=2.0)
    problem = nm.Problem.from_quadratic(A, 3 * b, trace, order=S, basis=given)
    exact = problem.solve("sdp")
    assert exact.is_optimal(1e-6)
    supported = {name for name, reason in problem.compatible_backends().items() if reason is None}
    assert {"interior"} | ({"sqlp", "qsdp", "scsdp"} if given else set()) <= supported
    for backend in supported - {"sdp"}:
        found = problem.solve(backend)
        assert found.is_optimal(1e-6)
        assert found.objective == pytest.approx(exact.objective, rel=3e-6)


def test_the_nearest_kernel_is_the_positive_part():
    M = rng.normal(size=(S, S))
    M = M + M.T
    found = nm.Problem.from_quadratic(np.eye(10), -2 * svec(M), order=S).solve(tol=1e-8)
    values, vectors = np.linalg.eigh(M)
    np.testing.assert_allclose(found.K, (vectors * np.maximum(values, 0)) @ vectors.T, atol=1e-3)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((-A,), "positive semidefinite, got -"),
        ((A[:9, :9],), r"shape \(10, 10\) or \(16, 16\) for order 4"),
        ((A, np.ones(9)), r"b must have shape \(10,\)"),
        ((np.triu(A),), "symmetric"),
    ],
)
def test_what_is_no_convex_quadratic_is_refused(arguments, words):
    with pytest.raises(nm.ProblemError, match=words):
        nm.Problem.from_quadratic(*arguments, order=S)


def test_a_basis_must_fit():
    with pytest.raises(nm.ProblemError, match="as many columns"):
        nm.Problem.from_quadratic(A, order=S, basis=nm.Basis(np.eye(5)))
