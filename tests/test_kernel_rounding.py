"""What the kernel says an error costs is above the error, in fractions, and not far above it."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from adversary.exact import is_psd

import npkl_models as nm
from npkl_models import kernel
from npkl_models.linalg import UNIT, gamma
from npkl_models.model.regularizers import NoRegularizer
from npkl_models.proof import rational

NOTHING = NoRegularizer()
N = 7
PAIRS = (np.array([0, 1, 2, 3]), np.array([4, 5, 6, 3]))
SPREAD = (np.array([0, 2]), np.array([1, 6]))


def problem_of(seed=0, basis=None, scale=1.0, regularizer=NOTHING):
    rng = np.random.default_rng(seed)
    A = scale * rng.normal(size=(N, N))
    terms = (
        nm.LossTerm(nm.Entries(N, PAIRS), "hinge", [1.0, -1.0, 1.0, 1.0], rng.uniform(0.5, 2, 4)),
        nm.LossTerm(nm.SquaredDistances(N, SPREAD), "square", [1.5, 0.7], rng.uniform(0.5, 2, 2)),
    )
    unit = nm.Constraint(nm.Entries(N, ([1, 4], [1, 4])), equal=[1.25, 0.75])
    return nm.Problem(A + A.T, (*terms, unit), regularizer, basis=basis)


def multipliers_of(problem, seed=1):
    rng = np.random.default_rng(seed)
    losses = tuple(term.project(rng.normal(size=term.functional.size)) for term in problem.losses)
    return nm.Multipliers(losses, (rng.normal(size=2),))


def exactly(A):
    return [[Fraction(float(x)) for x in row] for row in A]


def matrices(problem):
    """M_e of all values, dense."""
    for part in problem.terms:
        yield [part.functional.adjoint(row).toarray() for row in np.eye(part.functional.size)]


def exact_slack(problem, y):
    S = exactly(problem.cost.toarray())
    for own, Ms in zip(y.terms, matrices(problem), strict=True):
        for value, M in zip(own, Ms, strict=True):
            for i, j in zip(*np.nonzero(M), strict=True):
                S[i][j] += Fraction(float(value)) * Fraction(float(M[i, j]))
    return S


def test_paid_is_above_the_exact_sum_and_near_it():
    problem = problem_of()
    y = multipliers_of(problem)
    square = problem.losses[1]
    exact, size = Fraction(0), 0.0
    for own, term in zip(y.losses, problem.losses, strict=True):
        for value, t, w in zip(own, term.target, term.weight, strict=True):
            value, t, w = map(Fraction, map(float, (value, t, w)))
            one = value * t + (value * value / (4 * w) if term is square else 0)  # (z - t)^2; max(0, 1 - t z)
            assert float(one) == pytest.approx(
                float(term.loss.conjugate(*map(np.array, map(float, (value, t, w)))))
            )
            exact, size = exact + one, size + abs(float(one)) + 2 * abs(float(value * t))
    for value, b in zip(y.constraints[0], problem.constraints[0].value, strict=True):
        exact, size = exact + Fraction(float(value)) * Fraction(float(b)), size + abs(value * b)
    found = kernel.paid(problem, y)
    margin = Fraction(found) - exact
    assert 60 * UNIT * size <= margin <= 70 * UNIT * size


def test_paid_counts_rows_with_the_square_of_their_bound():
    problem = nm.Problem(
        np.eye(3), nm.LossTerm(nm.Entries(3, ([0], [1])), "hinge", 1.0), nm.RowNormBound(1.5)
    )
    y = nm.Multipliers((np.zeros(1),), (np.array([1.0, 2.0, 4.0]),))
    found = kernel.paid(problem, y)
    assert 0 < found - 7 * 2.25 < 100 * UNIT * 16
    outside = nm.Multipliers((np.array([5.0]),), (np.zeros(3),))
    assert kernel.paid(problem, outside) == np.inf


def sums_of_rows(problem, y, T, cost=True):
    """The row sums of T (|C| + sum |y_e| |M_e|) T, dense."""
    own = np.abs(problem.cost.toarray()) if cost else np.zeros((N, N))
    for v, Ms in zip(y.terms, matrices(problem), strict=True):
        own = own + np.tensordot(np.abs(v), np.abs(Ms), 1)
    return (T[:, None] * own * T).sum(axis=1)


def units(kind):
    """Units of rows that a slack may be measured in; None leaves them to the kernel."""
    return {"one": np.ones(N), "own": None, "far apart": np.ldexp(1.0, 7 * np.arange(N) - 20)}[kind]


@pytest.mark.parametrize("kind", ["one", "own", "far apart"])
@pytest.mark.parametrize("seed", range(4))
def test_the_slack_is_as_near_as_is_said(seed, kind):
    """In any units of the rows, and nearly as near as that."""
    problem = problem_of(seed)
    y = multipliers_of(problem, seed)
    own = kernel.slack(problem, y, T=units(kind))
    exact, S, T = exact_slack(problem, y), own.S.toarray(), own.T
    apart = max(
        sum(abs(Fraction(S[i, j]) - exact[i][j]) * Fraction(T[i]) * Fraction(T[j]) for j in range(N))
        for i in range(N)
    )
    assert apart <= own.error
    rows = sums_of_rows(problem, y, T)
    most = float(rows.max())
    assert N * UNIT * most * 0.9 <= own.error <= (N + 12) * UNIT * most * 1.01
    np.testing.assert_allclose(T * kernel.sizes(problem, y, T), rows, rtol=1e-12)
    size = float(sums_of_rows(problem, y, T, cost=False).max())
    assert size <= kernel._norm(problem, y, T) <= size * 1.01
    np.testing.assert_array_equal(own.scaled.toarray(), T[:, None] * S * T)  # nothing is rounded


@pytest.mark.parametrize("far", [False, True])
def test_units_of_rows_make_the_diagonal_about_one(far):
    d = np.ldexp(1.0, np.arange(N) * (9 if far else 0))
    C = 0.1 * problem_of().cost.toarray() + np.diag(np.arange(N) + 2.0)
    problem = nm.Problem(C * d * d[:, None], problem_of().terms[:1])
    T = kernel.row_units(problem, problem.no_multipliers)
    size = T**2 * np.abs(problem.cost.diagonal())
    assert np.all((size >= 0.5 / (1 if far else kernel.ALIKE)) & (size <= 2))
    assert np.all(np.frexp(T)[0] == 0.5)
    assert far == (np.ptp(T) > 0)


def test_rows_count_among_the_sizes():
    problem = nm.Problem(
        np.eye(3), nm.LossTerm(nm.Entries(3, ([0], [1])), "hinge", 1.0), nm.RowNormBound(1.0)
    )
    y, ones = nm.Multipliers((np.array([-0.5]),), (np.array([1e3, 2e3, 8e3]),)), np.ones(3)
    assert kernel._norm(problem, y, ones) == pytest.approx(8e3, rel=2e-3)
    # one summand of the cost, one of each term, and a sum for each
    assert 4 * UNIT * 8e3 <= kernel.slack(problem, y, T=ones).error <= 9 * UNIT * 8e3 * 1.01


@pytest.mark.parametrize("seed", range(3))
def test_in_a_basis_the_product_and_its_defect_are_paid(seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(N, 4)))[0]
    problem = problem_of(seed, nm.Basis(Q))
    y = multipliers_of(problem, seed)
    own = kernel.slack(problem, y, T=np.ones(4))
    S, error = own.S, own.error
    left = exactly(problem.Q)
    exact = exact_slack(problem, y)
    inner = [
        [sum(left[i][a] * exact[i][j] * left[j][b] for i in range(N) for j in range(N)) for b in range(4)]
        for a in range(4)
    ]
    apart = np.array([[float(Fraction(float(S[a, b])) - inner[a][b]) for b in range(4)] for a in range(4)])
    whole = np.linalg.norm(np.array([[float(x) for x in row] for row in exact]), 2)
    assert np.linalg.norm(apart, 2) <= error <= 1e3 * UNIT * N * whole
    assert error >= gamma(2 * N) * whole  # both sums of the product, in each entry
    sizes = kernel._norm(problem, y, np.ones(4)) / kernel._norm(problem_of(seed), y, np.ones(N))
    assert 1 <= sizes <= 1.01 * np.linalg.norm(np.abs(problem.Q), 2) ** 2 * 4
    default = kernel.slack(problem, y)  # one unit for all rows, a power of two
    assert np.ptp(default.T) == 0
    assert default.error == error * default.T[0] ** 2


def exact_objective(problem, V):
    V = exactly(V)
    K = [[sum(a * b for a, b in zip(x, z, strict=True)) for z in V] for x in V]
    C = exactly(problem.cost.toarray())
    total = sum(C[i][j] * K[i][j] for i in range(N) for j in range(N))
    square = problem.losses[1]
    for i, j, t, w in zip(*PAIRS, problem.terms[0].target, problem.terms[0].weight, strict=True):
        total += Fraction(float(w)) * max(Fraction(0), 1 - Fraction(float(t)) * K[i][j])
    for i, j, t, w in zip(*SPREAD, square.target, square.weight, strict=True):
        total += Fraction(float(w)) * (K[i][i] + K[j][j] - 2 * K[i][j] - Fraction(float(t))) ** 2
    return total


@pytest.mark.parametrize("far", [0.0, 1e6])
@pytest.mark.parametrize("seed", range(3))
def test_the_error_of_an_objective_is_above_it(seed, far):
    problem = problem_of(seed, scale=1e3)
    V = np.random.default_rng(seed).normal(size=(N, 3)) + far
    value = problem.objective_of_factor(V)
    said = kernel.rounding_of_objective(problem, V, value)
    exact = exact_objective(problem, V)
    assert abs(Fraction(value) - exact) <= said
    lengths = np.linalg.norm(V, axis=1)
    linear = lengths @ np.abs(problem.cost.toarray()) @ lengths
    assert 64 * UNIT * linear <= said
    if not far:
        assert said <= 200 * UNIT * (linear + 50 * (1 + lengths.max() ** 2) ** 2)


def test_the_error_of_an_objective_counts_the_sum_of_all_entries_and_the_power():
    total = nm.Problem(np.zeros((N, N)), nm.LossTerm(nm.TotalSum(N), "square", 0.0))
    V = np.ones((N, 1))
    said = kernel.rounding_of_objective(total, V, total.objective_of_factor(V))
    slope, size = 2 * N**2, N**2
    assert slope * size * (8 + N) * UNIT <= said <= (slope * size * (64 + 2 * N) + 64 * (N**4 + slope)) * UNIT
    plain = nm.Problem(np.zeros((N, N)), nm.LossTerm(nm.Entries(N, ([0], [1])), "square", 1.0))
    power = nm.Problem(plain.cost, plain.terms, nm.TracePower(3, penalty=2.0))
    difference = kernel.rounding_of_objective(power, V, 0.0) - kernel.rounding_of_objective(plain, V, 0.0)
    R = power.regularizer.value(np.array([float(N)]))
    assert gamma(64 * 3) * R <= difference <= gamma(64 * 6) * R


def least_eigenvalue_is_at_least(S, T, lower, more=None):
    """Whether T S T + Diag(more) - lower I is PSD in rational numbers, of an exact S."""
    size = range(len(S))
    A = [[S[i][j] * Fraction(T[i]) * Fraction(T[j]) for j in size] for i in size]
    for i in size:
        A[i][i] += Fraction(0 if more is None else float(more[i])) - Fraction(lower)
    return is_psd(A)


def floor_of(problem, y, T):
    return kernel.floor_of(y, kernel.slack(problem, y, T=T))


ENDS = {"one": np.ones(N), "apart": np.ldexp(1.0, 3 * np.arange(N) - 9)}


@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("seed", range(8))
def test_a_floor_holds_in_rational_numbers_and_so_does_every_move(seed, kind):
    """Towards a centre, along a ray, and to points near such a move, of which the kernel is told nothing."""
    rng, T = np.random.default_rng(seed), ENDS[kind]
    parts = [problem_of(seed).terms[0], nm.LossTerm(nm.Entries(N, (range(N), range(N))), "square", 1.0)]
    problem = nm.Problem(problem_of(seed).cost, parts)
    y = nm.Multipliers(tuple(rng.normal(size=part.functional.size) for part in parts))
    floor = floor_of(problem, y, T)
    assert floor.found.rigour == "proved"
    assert least_eigenvalue_is_at_least(exact_slack(problem, y), T, floor.lower)
    deep = nm.Multipliers((0.01 * rng.normal(size=4), 30.0 + rng.uniform(0, 5, N)))
    centre = kernel.anchor(problem, deep, T=T)
    ray = kernel.anchor(problem, nm.Multipliers((np.zeros(4), rng.uniform(1, 2, N))), ray=True, T=T)
    assert centre is not None
    assert ray is not None
    assert ray.ray
    assert least_eigenvalue_is_at_least(exact_slack(problem, deep), T, centre.mu)
    free = nm.Problem(np.zeros((N, N)), parts)
    assert least_eigenvalue_is_at_least(exact_slack(free, ray.y), T, ray.mu)
    for end, t in ((centre, 0.0), (centre, 0.3), (centre, 1.0), (ray, 0.0), (ray, 1e-9), (ray, 7.3)):
        exactly_there = [
            old * (1.0 if end.ray else 1 - t) + t * new for old, new in zip(y.terms, end.y.terms, strict=True)
        ]
        for off in (0.0, 1e-12, 1e-3):
            to = problem.split_multipliers(a + off * rng.normal(size=a.size) for a in exactly_there)
            found = kernel.moved(problem, floor, end, t, to)
            assert least_eigenvalue_is_at_least(exact_slack(problem, to), T, found.lower)
            line = floor.lower * (1.0 if end.ray else 1 - t) + t * end.mu
            assert line - found.lower <= (30 * off + 1e-12) * (1 + abs(line)) * np.max(T) ** 2
            assert found.lower <= line


def test_a_move_is_no_proof_beyond_its_centre_or_backwards():
    problem = nm.Problem(np.eye(N), problem_of().terms[0])
    y = nm.Multipliers((np.full(4, -0.1),))
    floor, centre = floor_of(problem, y, np.ones(N)), kernel.anchor(problem, problem.no_multipliers)
    assert kernel.moved(problem, floor, centre, 0.5, y.scaled(0.5)).proved
    for t in (-0.1, 1.1, np.inf, np.nan):
        assert kernel.moved(problem, floor, centre, t, y).lower == -np.inf
    assert kernel.anchor(problem, y.scaled(50.0)) is None  # no centre
    assert kernel.anchor(problem, y, ray=True) is None  # no ray


@pytest.mark.parametrize("local", [False, True])
@pytest.mark.parametrize("kind", ENDS)
@pytest.mark.parametrize("seed", range(5))
def test_a_raised_diagonal_adds_what_it_says(seed, kind, local):
    """Also where the floor is that of a slack whose diagonal low vectors have raised."""
    rng, T = np.random.default_rng(seed), ENDS[kind]
    own = nm.LossTerm(nm.Entries(N, (range(N), range(N))), "square", 1.0)
    twice = nm.LossTerm(nm.SparseMatrices(N, (range(3), range(3), range(3), [1.0, 0.5, 3.0])), "square", 1.0)
    problem = nm.Problem(problem_of(seed).cost, (*problem_of(seed).terms[:1], own, twice))
    y = nm.Multipliers(tuple(rng.normal(size=part.functional.size) for part in problem.terms))
    floor = floor_of(problem, y, T)
    if local:
        wanted = rng.uniform(0, 1, N)
        floor = replace(floor, found=replace(floor.found, raised=wanted))
        assert not replace(floor, lower=1.0).proved
    by = 10.0 ** rng.uniform(-9, 2, N)
    to = nm.Multipliers((y.terms[0], y.terms[1] + by, y.terms[2] + by[:3]))
    found = kernel.raised(problem, floor, to)
    assert found.found.raised is None
    # T S(to) T >= T S(y) T + T^2 rise, of which the floor is known up to Diag(raised)
    exact = exact_slack(problem, y) if local else exact_slack(problem, to)
    if local:
        rise = by.copy()
        rise[:3] += by[:3] * [1.0, 0.5, 3.0]
        least = floor.lower + float(np.min(T**2 * rise - wanted))
        assert found.lower == pytest.approx(least, rel=1e-12, abs=1e-12)
        assert found.lower <= least
    else:
        assert least_eigenvalue_is_at_least(exact, T, found.lower)
    across = nm.Multipliers((y.terms[0] + 1e-9, *to.terms[1:]))
    assert kernel.raised(problem, floor, across).lower == -np.inf  # not of the diagonal alone


def test_what_is_known_in_rational_numbers_is_known_exactly():
    """[[1, 1], [1, 1]] is PSD, and no floating-point factorisation says so; a unit less and it is not."""
    entry = nm.LossTerm(nm.Entries(2, ([0], [1])), "square", 0.0)
    problem = nm.Problem(np.eye(2), entry)
    one = nm.Multipliers((np.array([2.0]),))
    assert kernel.exactly_psd(problem, one)
    assert not kernel.exactly_psd(problem, nm.Multipliers((np.array([np.nextafter(2.0, 3.0)]),)))
    assert not floor_of(problem, one, np.ones(2)).proved
    assert kernel.exact_bound(problem, one) == (-kernel.paid(problem, one), "proved")
    assert kernel.exact_bound(problem, nm.Multipliers((np.array([2.1]),))) == kernel.NO_BOUND
    thirds = nm.Basis(np.array([[2.0, 0], [2, 0], [1, 0], [0, 1]]) / [3.0, 1.0])
    across = nm.Problem(
        np.diag([1.0, 1, -8, 0]), nm.LossTerm(nm.Entries(4, ([3], [3])), "square", 1.0), basis=thirds
    )
    assert kernel.exactly_psd(across, across.no_multipliers)
    lower = nm.Problem(np.diag([1.0, 1, np.nextafter(-8, -9), 0]), across.terms, basis=thirds)
    assert not kernel.exactly_psd(lower, lower.no_multipliers)


@pytest.mark.parametrize("seed", range(20))
def test_elimination_in_integers_is_that_of_fractions(seed):
    """Of matrices of any rank, with zero pivots whose rows are zero or are not."""
    rng = np.random.default_rng(seed)
    for _ in range(20):
        n = int(rng.integers(1, 7))
        B = rng.integers(-2, 3, (n, int(rng.integers(1, n + 1))))
        A = B @ B.T
        if rng.random() < 0.5:
            i, j = rng.integers(n, size=2)
            A[i, j] = A[j, i] = A[i, j] + rng.integers(-1, 2)
        rows = [[int(x) for x in row] for row in A]
        assert rational.semidefinite([row[:] for row in rows]) == is_psd(
            [[Fraction(x) for x in row] for row in rows]
        )
