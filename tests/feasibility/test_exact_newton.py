"""Newton steps towards equalities against linear algebra, and when they end."""

from types import SimpleNamespace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.feasibility import equality_map
from npkl_models.feasibility import newton as module
from npkl_models.feasibility.equality_map import EqualityMap, outer
from npkl_models.feasibility.newton import newton

N = 4
EYE = np.eye(N)
MIXED = nm.Equality(nm.Entries(N, ([0, 1, 0], [0, 2, 3])), [2.0, 0.5, 0.0])
APART = nm.Equality(nm.SquaredDistances(N, ([1, 2], [3, 3])), [1.0, 3.0])
OTHER = nm.Equality(nm.DistanceDifferences(N, ([0], [1], [3])), [0.5])
V = np.array([[1.0, 0.5], [-0.5, 2.0], [0.25, 1.0], [1.5, -1.0]])


def equal(*parts, R=None, basis=None):
    return nm.Problem(EYE, (), parts, *((R,) if R is not None else ()), basis=basis)


def jacobian(problem, W):
    """Of all values in the numbers of W, row by row, by definition."""
    rows = []
    for part in problem.equalities:
        for e in np.eye(part.functional.size):
            M = problem.Q.T @ part.functional.adjoint(e).toarray() @ problem.Q
            rows.append(2 * (M @ W).ravel())
    return np.array(rows)


def missed(problem, V):
    return np.concatenate([p.value - p.functional.value_of_factor(V) for p in problem.equalities])


@pytest.mark.parametrize("inner", [False, True])
@pytest.mark.parametrize("parts", [(MIXED, APART), (MIXED, OTHER)])
def test_derivatives_and_steps_are_those_of_linear_algebra(parts, inner):
    basis = nm.Basis(np.linalg.qr(np.random.default_rng(0).normal(size=(N, 3)))[0]) if inner else None
    problem = equal(*parts, basis=basis)
    X = problem.lift(problem.drop(V))
    W = problem.drop(X)
    J = jacobian(problem, W)
    all_equal = EqualityMap(problem)
    found = all_equal.derivative(X).toarray()
    order = np.arange(W.size).reshape(W.shape).T.ravel()
    np.testing.assert_allclose(found, J[:, order], atol=1e-12)
    G, back = all_equal.normal(X)
    np.testing.assert_allclose(G, J @ J.T, atol=1e-12)
    x = np.arange(1.0, len(J) + 1)
    np.testing.assert_allclose(back(x), (J.T @ x).reshape(W.shape), atol=1e-12)
    wanted = np.linalg.pinv(J) @ missed(problem, X)
    np.testing.assert_allclose(module._direct_step(all_equal, X).ravel(), wanted, atol=1e-9)
    step = module._step(problem, W, [module._equalities(all_equal, X)])
    np.testing.assert_allclose(step.ravel(), wanted, atol=1e-8)
    np.testing.assert_allclose(-all_equal.residual(X), missed(problem, X))
    np.testing.assert_allclose(outer(all_equal.derivative(X)), J @ J.T, atol=1e-12)


def test_constraints_are_scaled_by_what_they_ask_for_or_by_their_numbers():
    """Two, a half, and where zero is asked for the size of what enters."""
    found = module._equalities(EqualityMap(equal(MIXED)), V)
    scale = 1 / np.array([2.0, 0.5, MIXED.functional.size_of_factor(V)[2]])
    np.testing.assert_allclose(found.residual, scale * missed(equal(MIXED), V))
    D = np.arange(8.0).reshape(4, 2)
    for k, M in enumerate(MIXED.functional.adjoint(e).toarray() for e in np.eye(3)):
        assert found.along(D)[k] == pytest.approx(scale[k] * 2 * np.sum(M * (V @ D.T)))
    y = np.array([1.0, 2.0, 3.0])
    M = MIXED.functional.adjoint(scale * y).toarray()
    np.testing.assert_allclose(found.back(y), 2 * M @ V)


def test_rows_that_were_too_long_stay_held(monkeypatch):
    problem, held = equal(APART, R=nm.RowNormBound(1.5)), set()
    (found,) = module._inequalities(problem, V, V, held)
    assert held == {1, 3}
    top = 2.25 * (1 - 1e-12)
    wanted = (top - np.sum(V[[1, 3]] ** 2, axis=1)) / top
    np.testing.assert_allclose(found.residual, wanted, rtol=1e-14)
    (again,) = module._inequalities(problem, 0.1 * V, 0.1 * V, held)
    assert again.residual.size == 2
    assert module._inequalities(problem, 0.1 * V, 0.1 * V, set()) == []
    exact = np.array([[1.5, 0], [0, 0], [0, 0], [0, 0]])
    assert module._inequalities(problem, exact, exact, set()) == []
    monkeypatch.setattr(module, "SLACK", 0.25)
    (found,) = module._inequalities(problem, V, V, {1})
    np.testing.assert_allclose(found.residual, (0.75 * 2.25 - np.sum(V[[1, 3]] ** 2, axis=1)) / 0.75 / 2.25)


def test_a_trace_that_was_exceeded_stays_held(monkeypatch):
    monkeypatch.setattr(module, "SLACK", 0.25)
    R = nm.TracePower(1, bound=4.0)
    problem, held = equal(APART, R=R), set()
    (found,) = module._inequalities(problem, V, V, held)
    excess = R.violation(np.linalg.eigvalsh(V.T @ V), np.zeros(0))
    np.testing.assert_allclose(found.residual, [-excess - 0.25])
    G = R.violation_gradient(V)
    np.testing.assert_allclose(found.along(V), [np.sum(G * V)])
    np.testing.assert_allclose(found.back(np.array([3.0])), 3 * G)
    assert held == {0}
    assert len(module._inequalities(problem, 0.1 * V, 0.1 * V, held)) == 1
    assert module._inequalities(problem, 0.1 * V, 0.1 * V, set()) == []
    assert module._inequalities(equal(APART), V, V, {0}) == []


def steps_of(sizes, monkeypatch, problem=None):
    """How many steps are made where the squared residuals are these, and which iterate is the answer."""
    left, made = list(sizes), []
    problem = problem or equal(MIXED)

    def constraints(p, V):
        return SimpleNamespace(residual=np.array([left.pop(0) ** 0.5]))

    def direct(p, V):
        made.append(V)
        return np.ones_like(V)

    monkeypatch.setattr(module, "_equalities", constraints)
    monkeypatch.setattr(module, "_direct_step", direct)
    monkeypatch.setattr(module, "_damped", lambda p, V: V)
    out = newton(problem, np.zeros((N, 1)))
    return len(made), float(out[0, 0]), len(left)


def test_iterations_end_after_three_steps_that_gain_too_little(monkeypatch):
    """A step should leave a quarter of the square; the best iterate is the answer."""
    assert steps_of([16.0, 5.0, 4.9, 4.8, 0.1], monkeypatch) == (3, 3.0, 1)
    assert steps_of([16.0, 3.9, 0.9, 0.2, 0.04, 0.009, 0.002, 0.03, 0.04, 0.05, 9.0], monkeypatch)[:2] == (
        9,
        6.0,
    )
    tiny = (0.9 * module.ROUNDING) ** 2
    assert steps_of([16.0, 3.9, tiny, 0.2], monkeypatch) == (2, 2.0, 1)
    assert steps_of([16.0, 3.9, 1.3 * tiny, 0.2, 0.2, 0.2, 0.2], monkeypatch)[:2] == (5, 2.0)
    assert steps_of([16.0 * 0.2**k for k in range(20)], monkeypatch)[:2] == (12, 11.0)
    assert steps_of([16.0, np.inf, 1.0], monkeypatch) == (1, 0.0, 1)


def test_what_is_out_of_range_ends_the_iterations(monkeypatch):
    monkeypatch.setattr(module, "_damped", lambda p, V: V)
    half = np.zeros((N, 1))
    half[0] = np.nan
    monkeypatch.setattr(module, "_direct_step", lambda p, V: half)
    out = newton(equal(MIXED), np.ones((N, 1)))
    np.testing.assert_array_equal(out, np.ones((N, 1)))


def test_a_singular_normal_matrix_is_solved_with_a_little_more_or_not_at_all(monkeypatch):
    twice = nm.Equality(nm.Entries(N, ([0, 0], [0, 0])), [4.0, 4.0])
    X = np.array([[1.0], [0], [0], [0]])
    step = module._direct_step(EqualityMap(equal(twice)), X)
    np.testing.assert_allclose(step, [[1.5], [0], [0], [0]], atol=1e-6)
    nothing = lambda x: np.array([[np.nan], [1.0], [0], [0]])  # noqa: E731
    monkeypatch.setattr(EqualityMap, "normal", lambda p, V: (np.eye(2), nothing))
    assert module._direct_step(EqualityMap(equal(twice)), X) is None
    for normal in (-np.eye(2), np.diag([1.0, np.nan]), np.array([[1.0, np.inf], [np.inf, 1.0]])):
        monkeypatch.setattr(EqualityMap, "normal", lambda p, V, G=normal: (G, lambda x: np.ones((N, 1))))
        assert module._direct_step(EqualityMap(equal(twice)), X) is None
    monkeypatch.setattr(EqualityMap, "normal", lambda p, V: None)
    assert module._direct_step(EqualityMap(equal(twice)), X) is None


def damped(gains, monkeypatch, miss=1e-3, summed=1.0):
    """The dampings of the trials, where each of them leaves that share of the residual."""
    tried, left, state = [], list(gains), {"miss": miss}
    exact = module.scipy.linalg.cho_factor

    def factor(G, **_):
        tried.append(float(G[0, 0] * 16 - 1))
        return exact(G)

    own = np.array([4.0, 4e-3, 1.0])
    monkeypatch.setattr(EqualityMap, "residual", lambda p, V: -state["miss"] * float(V[0, 0]) * own)
    monkeypatch.setattr(EqualityMap, "wanted", np.array([4.0, 0.0, 1.0]))
    monkeypatch.setattr(EqualityMap, "sizes", lambda p, V: summed * own)
    monkeypatch.setattr(EqualityMap, "normal", lambda p, V: (np.eye(3), lambda x: (left.pop(0) - 1.0) * V))
    monkeypatch.setattr(module.scipy.linalg, "cho_factor", factor)
    out = module._damped(EqualityMap(equal(MIXED)), np.ones((N, 1)))
    top = 1 / 4e-3**2
    return [t / 16 / top for t in tried], float(out[0, 0]), len(left)


def test_damping_falls_with_each_gain_and_rises_with_each_loss(monkeypatch):
    """From 1e-7, tenfold up or down, never below 1e-18; residuals count relative to what is asked for."""
    dampings, share, left = damped([0.3, 2.0, 0.3, 0.3, *[1e-9] * 3, 7.0], monkeypatch)
    assert dampings == pytest.approx([1e-7, 1e-8, 1e-7, 1e-8, 1e-9, 1e-10], rel=1e-3)
    assert (share, left) == (pytest.approx(0.3**3 * 1e-18, rel=1e-6, abs=0), 2)


def test_damping_ends_where_nothing_gains_or_too_slowly(monkeypatch):
    dampings, share, _ = damped([2.0] * 30, monkeypatch)
    assert dampings == pytest.approx([10.0**k for k in range(-7, 1)], rel=1e-3)
    assert share == 1.0
    dampings, share, _ = damped([0.9] * 30, monkeypatch)
    assert share == pytest.approx(0.9**5)
    dampings, share, _ = damped([0.86] * 60, monkeypatch)
    assert share == pytest.approx(0.86**40)
    assert dampings[-1] == pytest.approx(1e-18, rel=1e-2, abs=1e-16)


@pytest.mark.parametrize(
    ("miss", "moved"), [(0.99e-2 / 3**0.5, True), (1.01e-2 / 3**0.5, False), (1e-16, False)]
)
def test_only_what_is_close_and_not_met_is_damped(miss, moved, monkeypatch):
    """A hundredth at most in the norm of the relative residuals."""
    _, share, _ = damped([0.0] * 3, monkeypatch, miss)
    assert (share == 0.0) == moved


def test_what_is_rounding_of_the_numbers_that_are_summed_is_not_damped(monkeypatch):
    """A value of zero may be the difference of large numbers: no step can shrink what these round."""
    miss = 1e-8
    for summed, moved in ((0.9 * miss / module.ROUNDING, True), (1.1 * miss / module.ROUNDING, False)):
        _, share, _ = damped([0.0] * 3, monkeypatch, miss, summed)
        assert (share == 0.0) == moved


def test_a_derivative_that_is_too_large_is_none(monkeypatch):
    problem = equal(MIXED, OTHER)
    numbers = (
        2 * (problem.equalities[0].functional.triplets().row.size + OTHER.functional.triplets().row.size) * 2
    )
    monkeypatch.setattr(equality_map, "NUMBERS", numbers)
    assert EqualityMap(problem).derivative(V) is not None
    monkeypatch.setattr(equality_map, "NUMBERS", numbers - 1)
    assert EqualityMap(problem).derivative(V) is None
    inner = equal(MIXED, OTHER, basis=nm.Basis(np.linalg.qr(V)[0]))
    monkeypatch.setattr(equality_map, "NUMBERS", 2 * numbers)
    assert EqualityMap(inner).derivative(inner.lift(EYE[:2, :2])) is not None
    monkeypatch.setattr(equality_map, "NUMBERS", 2 * numbers - 1)
    assert EqualityMap(inner).derivative(inner.lift(EYE[:2, :2])) is None
