"""Constraints on one side or on both: read, split by kind, and solved by every backend that takes them."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm

N = 14
RNG = np.random.default_rng(3)
X = RNG.normal(size=(N, 2)) + 3 * (np.arange(N) % 2)[:, None]
L = nm.laplacian(X, 4, shift=0.1)
PAIRS = nm.Pairs(N, [(0, 2), (4, 6), (1, 3)], [(0, 1), (2, 5)])
I, J = np.array([0, 3, 5, 8]), np.array([7, 10, 12, 9])
ENTRIES, DISTANCES = nm.Entries(N, (I, J)), nm.SquaredDistances(N, (I, J))
KINDS = {
    "entries not negative": [nm.Constraint(ENTRIES, lower=0.0, name="sign")],
    "hard similarities": [nm.Constraint(ENTRIES, lower=[0.3, 0.2, 0.4, 0.3], name="similar")],
    "short distances": [nm.Constraint(DISTANCES, upper=[0.2, 1.0, 0.5, 0.3], name="near")],
    "an interval": [nm.Constraint(DISTANCES, lower=0.5, upper=0.9, name="interval")],
    "rows and signs": [
        nm.RowNormBound(0.9).constraint(N), nm.Constraint(ENTRIES, upper=[-0.1, 0.0, np.inf, 0.1], name="signs"),
    ],
    "beside equalities": [
        nm.Constraint(nm.Entries(N, (np.arange(5), np.arange(5))), equal=1.0, name="diagonal"),
        nm.Constraint(ENTRIES, lower=0.25, name="similar"),
    ],
}  # fmt: skip


def problem(kind, loss="squared_hinge", regularizer=None, basis=None):
    term = nm.LossTerm(nm.Entries(N, (PAIRS.i, PAIRS.j)), loss, PAIRS.sign, 2.0)
    R = nm.NoRegularizer() if regularizer is None else regularizer
    return nm.Problem(L, [*KINDS[kind], term], R, basis=basis, name=kind)


def by_cvxpy(kind, loss, bound=None):
    """The optimum of the same problem, written out in CVXPY."""
    K = cp.Variable((N, N), PSD=True)
    rules = [] if bound is None else [cp.norm(K, "fro") <= bound]
    for part in KINDS[kind]:
        i, j = part.functional.indices
        z = K[i, j] if part.functional.kind == "entries" else K[i, i] + K[j, j] - 2 * K[i, j]
        for side, sign in ((part.lower, -1), (part.upper, 1)):
            own = np.flatnonzero(np.isfinite(side))
            rules += [sign * (z[own] - side[own]) <= 0] if own.size else []
    margin = cp.pos(1 - cp.multiply(PAIRS.sign, K[PAIRS.i, PAIRS.j]))
    paid = 2 * cp.sum(cp.square(margin) if loss == "squared_hinge" else margin)
    return cp.Problem(cp.Minimize(cp.sum(cp.multiply(L.toarray(), K)) + paid), rules).solve(solver="CLARABEL")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_every_backend_reaches_the_optimum_of_cvxpy(kind, loss):
    stated = problem(kind, loss)
    wanted = by_cvxpy(kind, loss)
    names = [name for name, reason in stated.compatible_backends().items() if reason is None]
    assert {"interior", "burer_monteiro", "hybrid", "sdp", "sdp_dual"} <= set(names)
    for name in (*names, "auto"):
        found = stated.solve(name)
        assert found.status is nm.Status.OPTIMAL, (name, found)
        assert found.objective == pytest.approx(wanted, rel=3e-5, abs=1e-5), name
        assert found.certificate.violation <= 1e-7, name
        assert found.certificate.bound <= wanted + 1e-5 * abs(wanted), name


@pytest.mark.parametrize("kind", ["entries not negative", "short distances", "an interval"])
def test_a_bound_on_the_trace_of_a_power_stands_beside_them(kind):
    stated = problem(kind, "squared_hinge", nm.TracePower(2, bound=4.0))
    wanted = by_cvxpy(kind, "squared_hinge", 2.0)
    for name in ("simple_npkl", "burer_monteiro", "sdp", "sdp_dual"):
        found = stated.solve(name, time_limit=60)
        assert found.objective == pytest.approx(wanted, rel=1e-4, abs=1e-4), name
        assert found.certificate.bound <= wanted + 1e-5 * abs(wanted), name


def test_over_a_basis_the_quadratic_programs_agree():
    basis = nm.eigenbasis(L, 6)
    term = nm.LossTerm(nm.Entries(N, (PAIRS.i, PAIRS.j)), "square", PAIRS.sign)
    stated = nm.Problem(L, (term, *KINDS["short distances"]), basis=basis)
    table = nm.crosscheck(stated, ["sqlp", "qsdp", "interior", "sdp", "burer_monteiro"])
    assert [row.verdict for row in table.rows] == ["agrees"] * 5


def test_kinds_are_split_and_values_without_a_bound_left_out():
    given = nm.Constraint(ENTRIES, lower=[0, -np.inf, 1, 2], upper=[np.inf, 3, 1, np.inf], name="mixed")
    equal, upper, lower = problem_of(given).constraints
    assert (equal.kinds, upper.kinds, lower.kinds) == (("equal",), ("at most",), ("at least",))
    assert [part.value.tolist() for part in (equal, upper, lower)] == [[1.0], [3.0], [0.0, 2.0]]
    assert lower.functional.indices[0].tolist() == [0, 8]
    assert {part.name for part in (equal, upper, lower)} == {"mixed"}


def problem_of(*terms):
    return nm.Problem(np.eye(N), terms)


def test_a_domain_is_a_half_line_and_a_conjugate_is_linear_on_it():
    upper, lower = problem_of(nm.Constraint(ENTRIES, lower=-1.0, upper=2.0)).constraints
    y = np.array([0.0, 1.0, 2.0, 3.0])
    assert (upper.conjugate(y), lower.conjugate(-y)) == (12.0, 6.0)
    assert (upper.conjugate(-y), lower.conjugate(y)) == (np.inf, np.inf)
    assert upper.project(y - 1).tolist() == [0, 0, 1, 2]
    assert lower.project(y - 1).tolist() == [-1, 0, 0, 0]
    assert upper.excess(np.array([1.0, 2.0, 2.5, -9])).tolist() == [0, 0, 0.5, 0]
    assert lower.excess(np.array([1.0, -1.0, -1.5, -9])).tolist() == [0, 0, -0.5, -8]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, "must have equal=, or lower= or upper=, got none"),
        ({"equal": 1.0, "upper": 2.0}, "got equal= and a bound"),
        ({"lower": 2.0, "upper": [3, 1, 3, 3]}, "at most the upper bounds, got 2 and 1"),
        ({"upper": [1, np.nan, 1, 1]}, r"upper bounds of x must be finite, got NaN at \[1\]"),
        ({"upper": -np.inf}, "upper bounds of x must be finite, got infinity"),
        ({"equal": np.inf}, "values of x must be finite"),
        ({"lower": [1, 2]}, r"must have shape \(4,\), got \(2,\)"),
    ],
)
def test_wrong_numbers_are_refused(given, words):
    with pytest.raises(nm.ProblemError, match=words):
        nm.Constraint(ENTRIES, **given, name="x")


def test_a_file_holds_every_kind(tmp_path):
    stated = problem("rows and signs")
    again = nm.Problem.load(stated.save(tmp_path / "p"))
    for one, other in zip(stated.constraints, again.constraints, strict=True):
        assert (one.name, one.kinds) == (other.name, other.kinds)
        np.testing.assert_array_equal(one.value, other.value)
    solved = stated.solve("interior")
    loaded = nm.Solution.load(solved.save(tmp_path / "s"))
    for one, other in zip(solved.multipliers.terms, loaded.multipliers.terms, strict=True):
        np.testing.assert_array_equal(one, other)


def test_a_bound_that_no_kernel_meets_is_found_infeasible():
    far = nm.Constraint(nm.SquaredDistances(N, ([0], [1])), lower=9.0)
    small = nm.RowNormBound(1.0).constraint(N)
    found = problem_of(far, small).solve("interior")
    assert found.status is nm.Status.INFEASIBLE
    below = nm.Constraint(nm.Entries(N, ([2], [2])), upper=-1.0)
    assert problem_of(below).solve("interior").status is nm.Status.INFEASIBLE


def test_where_a_bound_lies_below_the_objective_may_fall_without_end():
    C = sp.csr_array(-np.eye(N))
    assert nm.Problem(C, nm.Constraint(ENTRIES, upper=1.0)).solve("interior").status is nm.Status.UNBOUNDED
    held = nm.Problem(C, nm.RowNormBound(1.0).constraint(N)).solve("interior")
    assert held.objective == pytest.approx(-N, rel=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_units_change_nothing(kind):
    stated, t, s = problem(kind, "square"), 2.0**20, 4.0
    loss = nm.LossTerm(stated.losses[0].functional, "square", s * PAIRS.sign, 2.0 * t / s)
    hard = [part.moved(s * part.value) for part in stated.constraints]
    other = nm.Problem(t * L, (loss, *hard))
    one, two = stated.solve("interior"), other.solve("interior")
    assert (one.iterations, one.status) == (two.iterations, two.status)
    assert two.objective == pytest.approx(t * s * one.objective, rel=1e-9)


def test_a_point_beyond_a_bound_misses_it_by_name():
    stated = problem("short distances")
    V = stated.solve().V
    table = nm.crosscheck(stated, ["interior"], points={"mine": 2 * V})
    assert "violates the constraint near by" in table.rows[-1].verdict
    assert table.rows[-1].status == "INFEASIBLE_POINT"
