"""Bounds by positive vectors, by norms and by routes, on a machine with few digits and with routes that answer."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from npkl_models.linalg import LowRankUpdate, norm_bound
from npkl_models.proof import bounds, elimination, perron
from npkl_models.proof.bounds import Case
from npkl_models.proof.eigenbound import PLAIN, EigenBound, Query

U = 2.0**-10
C = sp.csr_array(np.array([[3.0, -1, 0, 0], [-1, 4, -1, -0.5], [0, -1, 5, -1], [0, -0.5, -1, 6]]))
N, ROWS = 4, np.array([2, 4, 3, 3])


def near(value, rel=1e-9):
    return pytest.approx(value, rel=rel, abs=0)


def found(lower, estimate=0.0, rigour="probable", n=N, **more):
    return EigenBound(lower, estimate, rigour, np.ones(n) / n**0.5, 1e-9, **more)


def test_a_positive_vector_bounds_less_a_margin_of_its_longest_row(monkeypatch):
    monkeypatch.setattr(perron, "UNIT", U)
    monkeypatch.setattr(perron, "LONG_EPS", 2.0**-6)
    x = np.array([1.0, 2.0, 0.5, 4.0])
    total, size = C @ x, abs(C) @ x
    low = min((total - 8 * 2.0**-6 * size) / x)
    assert low < 0
    assert perron.collatz(C, x) == near(low - 2 * U * abs(low))
    for y in (x - 0.5, -x, np.array([1.0, np.nan, 1, 1])):
        assert perron.collatz(C, y) == -np.inf
    assert perron.collatz(-C, x) == -np.inf
    one = perron.collatz(sp.csr_array([[2.0]]), np.array([3.0]))
    assert one == near((2 - 5 * 2.0**-6 * 2) * (1 - 2 * U))


def test_a_floor_by_inverse_iteration_has_a_margin_of_its_longest_row(monkeypatch):
    """Of the best vector that is met on the way."""
    monkeypatch.setattr(perron, "UNIT", U)
    x, lows = np.ones(4), []
    for _ in range(perron.PERRON_STEPS):
        x = np.linalg.solve(C.toarray(), x)
        x = x / x.max()
        lows.append(min((C @ x - 6 * U * (abs(C) @ x)) / x))
    assert perron.perron_floor(C) == pytest.approx(max(lows), rel=1e-6)
    assert perron.perron_floor(-C) == -np.inf


@pytest.mark.parametrize(("answers", "wanted"), [
    ([([1, 1, 1.0, 1], 0), ([1, 1, 1.0, 0], 0)], [1, 1, 1, 1]),
    ([([2, 2, 2.0, 2], 7)], None),
    ([([1, 2, 2.0, 2], 0), ([1, 1, 1.0, 1], 0), ([-1, 1, 1.0, 1], 0)], None),
])  # fmt: skip
def test_iterations_end_where_a_vector_is_not_positive_or_none_was_found(answers, wanted, monkeypatch):
    left = [(np.array(y), failed) for y, failed in answers]
    monkeypatch.setattr(perron, "cg", lambda C, x, rtol, maxiter: left.pop(0))
    every = [np.ones(4), *(np.array(y) / max(y) for y, failed in answers if not failed and min(y) > 0)]
    lows = [float(np.min((C @ x - 6 * perron.UNIT * (abs(C) @ x)) / x)) for x in every]
    assert perron.perron_floor(C) == pytest.approx(max(lows))
    assert left == []
    assert wanted is None or lows[0] == near(min(C @ np.ones(4)), 1e-9)


def test_a_positive_vector_of_a_singular_matrix_is_found_and_smoothed():
    """Of a Laplacian all ones; of one with other weights D^1/2 times that; one number for a single point."""
    A = np.array([[0.0, 1, 0, 2], [1, 0, 3, 0], [0, 3, 0, 1], [2, 0, 1, 0]])
    degree = A.sum(axis=1)
    L = np.diag(degree) - A
    np.testing.assert_array_equal(perron.perron_vector(sp.csr_array(L)), np.full(4, 0.5))
    S = L / np.sqrt(np.outer(degree, degree))
    x = perron.perron_vector(sp.csr_array(S))
    np.testing.assert_allclose(x, np.sqrt(degree) / np.linalg.norm(np.sqrt(degree)), rtol=1e-12)
    assert perron.perron_vector(sp.csr_array([[0.0]])).tolist() == [1.0]
    assert perron.perron_vector(sp.csr_array([[2.0]])).tolist() == [1.0]
    assert perron.perron_vector(sp.csr_array(np.diag([1.0, 0.0]))) is None
    assert perron.perron_vector(-sp.csr_array(L)) is None
    lowest = perron.perron_vector(C)
    np.testing.assert_allclose(lowest, np.abs(lowest))
    assert np.linalg.norm(lowest) == pytest.approx(1)


def test_a_sweep_divides_what_is_beside_the_diagonal_by_it(monkeypatch):
    x = np.array([1.0, 2.0, 0.5, 4.0])
    monkeypatch.setattr(perron, "_inverse_iteration", lambda A: x)
    J = np.diag(1 / C.diagonal()) @ (np.diag(C.diagonal()) - C.toarray())
    wanted = np.linalg.matrix_power(J, 4) @ x
    monkeypatch.setattr(perron, "collatz", lambda C, x: 0.0)
    np.testing.assert_allclose(perron.perron_vector(C), wanted / np.linalg.norm(wanted))
    monkeypatch.setattr(perron, "_inverse_iteration", lambda A: -x)
    assert perron.perron_vector(C) is None


def test_inverse_iterations_shift_by_four_units_of_the_order_and_norm(monkeypatch):
    monkeypatch.setattr(perron, "UNIT", U)
    values, vectors = np.linalg.eigh(C.toarray())
    level = values[0] - 4 * U * 4 * values[-1]
    x = np.abs(vectors[:, 0])
    for _ in range(2):
        x = np.abs(np.linalg.solve(C.toarray() - level * np.eye(4), x))
        x /= x.max()
    np.testing.assert_allclose(perron._inverse_iteration(C.toarray()), x, rtol=1e-12)
    D = np.diag([1.0, 2.0, 3.0])
    seen, solve = [], np.linalg.solve
    monkeypatch.setattr(np.linalg, "solve", lambda A, b: seen.append(A) or solve(A, b))
    perron._inverse_iteration(D)
    assert len(seen) == 2
    np.testing.assert_allclose(seen[0], D - (1 - 4 * U * 3 * 3) * np.eye(3))


def test_no_bound_is_below_minus_the_norm(monkeypatch):
    monkeypatch.setattr(bounds, "UNIT", U)
    least = -norm_bound(C) * (1 + 4 * 8 * U)
    kept = found(least * (1 - 1e-12))
    assert bounds._within_norm(kept, C) is kept
    raised = bounds._within_norm(found(least * (1 + 1e-9), 3.0), C)
    assert (raised.lower, raised.rigour, raised.estimate) == (near(least), "proved", 3.0)


def routed(monkeypatch, answer, **asked):
    """What is answered where the only route gives that."""
    monkeypatch.setattr(bounds, "ROUTES", (bounds.Route("only", lambda c: True, lambda c: answer),))
    return bounds.min_eigenvalue(C, None, Query(**asked))


def test_answers_are_within_the_norm_and_carry_the_whole_probability(monkeypatch):
    low = found(-1e9)
    assert routed(monkeypatch, low).rigour == "proved"
    assert routed(monkeypatch, low, quick=True).lower == -1e9
    assert routed(monkeypatch, low, method="lanczos").lower == -1e9
    high = found(-1e9, raised=np.ones(N))
    assert routed(monkeypatch, high).lower == -1e9
    assert routed(monkeypatch, high, failure_probability=0.25).failure_probability == 0.25
    proved = EigenBound(-0.5, 0.0, "proved", np.ones(N))
    assert routed(monkeypatch, proved) is proved


@pytest.mark.parametrize("exponent", [-250, 250])
def test_numbers_out_of_range_are_taken_in_units_of_their_norm(exponent):
    """A power of two changes no digit."""
    unit = 2.0**exponent
    own = bounds.min_eigenvalue(C)
    far = bounds.min_eigenvalue(C * unit)
    assert (far.lower, far.estimate) == (near(own.lower * unit), near(own.estimate * unit))
    W = np.eye(N)[:, :1]
    update = bounds.min_eigenvalue(LowRankUpdate(C * unit, W, np.array([-9.0 * unit])))
    exact = np.linalg.eigvalsh(C.toarray() - 9 * W @ W.T)[0]
    assert update.estimate == near(exact * unit)
    assert update.lower <= exact * unit


@pytest.mark.parametrize(
    ("n", "method", "factor", "steps", "local"),
    [(10_000, "auto", True, 400, False), (10_001, "auto", True, 1000, True), (10_001, "auto", False, 1000, False),
     (10_000, "lanczos", True, 1000, False), (10_001, "lanczos", True, 1000, False)],
)  # fmt: skip
def test_a_case_knows_its_steps_and_shares(n, method, factor, steps, local):
    S = sp.eye_array(n, format="csr")
    V = np.ones((n, 1)) if factor else None
    case = Case(S, V, Query(method, failure_probability=0.3, random_state=7))
    assert (case.steps, case.local) == (steps, local)
    assert case.run.failure_probability == near(0.15 if local else 0.3)
    assert case.run.random_state.random() == np.random.default_rng(7).random()
    assert case.basis.shape == (n, 1 if factor else 0)
    assert not Case(np.eye(3), np.ones((3, 1)), PLAIN).local
    unknown = case.found
    assert (unknown.lower, unknown.estimate, unknown.failure_probability) == (-np.inf, np.inf, 1.0)
    assert unknown.vector.size == 0


def case_of(n=500, lower=-1.0, estimate=0.0, coupling=0.0, **asked):
    case = SimpleNamespace(query=Query(**asked), found=found(lower, estimate, coupling=coupling), order=n)
    case.automatic, case.S = case.query.method == "auto", sp.eye_array(n, format="csr")
    return case


def test_a_factorisation_follows_where_lanczos_left_a_bound_too_low():
    quick = {"quick": True, "accuracy": 0.1}
    assert bounds._factorises(case_of(accuracy=0.1))
    assert not bounds._factorises(case_of(lower=-0.05, accuracy=0.1))
    assert not bounds._factorises(case_of(n=400, accuracy=0.1))
    assert bounds._factorises(case_of(method="cholesky"))
    assert not bounds._factorises(case_of(method="lanczos", accuracy=0.1))
    assert not bounds._factorises(case_of(estimate=-0.2, **quick))
    assert bounds._factorises(case_of(estimate=-0.05, **quick))
    assert not bounds._factorises(case_of(lower=-np.inf, **quick))
    assert bounds._factorises(case_of(lower=-np.inf, accuracy=0.1))
    assert bounds._factorises(case_of(n=1000, coupling=9.0, **quick))
    assert not bounds._factorises(case_of(n=1001, coupling=9.0, **quick))
    assert bounds._factorises(case_of(n=1001, coupling=0.05, **quick))
    assert bounds._factorises(case_of(n=1001, coupling=9.0, accuracy=0.1))


def test_elimination_is_kept_where_it_is_better_or_all_there_is(monkeypatch):
    case = case_of()
    case.basis, case.later, case.steps, case.hint = None, None, 1, np.ones(500)
    for lower, quick, kept in (
        (-0.5, False, True),
        (-2.0, False, False),
        (-1.0, False, False),
        (-2.0, True, True),
    ):
        case.hint, case.query = np.ones(500), Query(quick=quick)
        better = found(lower)
        monkeypatch.setattr(bounds, "by_elimination", lambda *a, better=better: better)
        assert bounds._eliminate(case) is (better if kept else case.found)
        assert (case.hint is None) == kept


def test_a_solve_is_paid_for_by_its_residual_and_what_rounding_hides_of_it(monkeypatch):
    """Against the root of twice the norm over the floor of the block."""
    S = sp.csr_array(np.diag([4.0, 3, 5, 6, 7]) - np.eye(5, k=1) - np.eye(5, k=-1))
    T = elimination.Elimination(S, np.array([0, 1]))
    raised = np.array([0.5, 0.25, 0, 0, 0])
    T.raise_to(raised)
    monkeypatch.setattr(elimination, "LONG_EPS", 2.0**-20)
    T.__dict__["floor"] = 2.0
    q = np.array([0.0, 0, 1, 2, 3])
    w, inside, lost = T.measured(q)
    x = np.linalg.solve(S.toarray()[:2, :2] + np.diag(raised[:2]), (S @ q)[:2])
    wanted = S @ q
    wanted[2:] -= S.toarray()[2:, :2] @ x
    wanted[:2] = 0.0
    np.testing.assert_allclose(w, wanted, atol=1e-12)
    assert inside == near(np.linalg.norm(x))
    size = 7 * 2.0**-20 * (norm_bound(S) + 0.5) * (1 + inside)
    assert lost == pytest.approx((2 * norm_bound(S) / 2.0) ** 0.5 * size, rel=1e-6)
    T.solve = lambda b: np.linalg.solve(S.toarray()[:2, :2] + np.diag(raised[:2]), b) + [0.0, 0.125]
    block = S.toarray()[:2, :2] + np.diag(raised[:2])
    x = x + [0.0, 0.125]
    r = np.linalg.norm(block @ [0.0, 0.125])
    size = 7 * 2.0**-20 * (norm_bound(S) + 0.5) * (1 + np.linalg.norm(x))
    assert T.measured(q)[2] == pytest.approx((2 * norm_bound(S) / 2.0) ** 0.5 * (r + size), rel=1e-6)
    assert T.rounding(9.0) == near(16 * elimination.UNIT * 81 / 2)
