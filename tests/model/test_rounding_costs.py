"""What `rounding` says an error costs is above the error, in fractions, and not far above it."""

from fractions import Fraction

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.linalg import UNIT, gamma
from npkl_models.model import rounding
from npkl_models.model.regularizers import NoRegularizer

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
    found = rounding.paid(problem, y)
    margin = Fraction(found) - exact
    assert 60 * UNIT * size <= margin <= 70 * UNIT * size


def test_paid_counts_rows_with_the_square_of_their_bound():
    problem = nm.Problem(
        np.eye(3), nm.LossTerm(nm.Entries(3, ([0], [1])), "hinge", 1.0), nm.RowNormBound(1.5)
    )
    y = nm.Multipliers((np.zeros(1),), (np.array([1.0, 2.0, 4.0]),))
    found = rounding.paid(problem, y)
    assert 0 < found - 7 * 2.25 < 100 * UNIT * 16
    outside = nm.Multipliers((np.array([5.0]),), (np.zeros(3),))
    assert rounding.paid(problem, outside) == np.inf


@pytest.mark.parametrize("seed", range(4))
def test_the_slack_is_as_near_as_is_said(seed):
    problem = problem_of(seed)
    y = multipliers_of(problem, seed)
    S, error = rounding.slack(problem, y)
    exact, S = exact_slack(problem, y), S.toarray()
    apart = max(sum(abs(Fraction(S[i, j]) - exact[i][j]) for j in range(N)) for i in range(N))
    assert apart <= error
    sizes = sum(np.abs(v) * np.abs(np.array(Ms)).sum(axis=2).T @ np.ones(1) if False else np.tensordot(np.abs(v), np.abs(Ms), 1).sum(axis=1)
                for v, Ms in zip(y.terms, matrices(problem), strict=True))  # fmt: skip
    rows = np.abs(problem.cost.toarray()).sum(axis=1) + sizes
    assert N * UNIT * rows.max() * 0.9 <= error <= (N + 12) * UNIT * rows.max() * 1.01
    np.testing.assert_allclose(rounding.slack_sizes(problem, y)[0], rows, rtol=1e-12)
    assert rounding.multiplier_sizes(problem, y) == pytest.approx(sizes.max(), rel=1e-12)
    assert rounding.multiplier_sizes(problem, y) >= sizes.max()


def test_rows_count_among_the_sizes():
    problem = nm.Problem(
        np.eye(3), nm.LossTerm(nm.Entries(3, ([0], [1])), "hinge", 1.0), nm.RowNormBound(1.0)
    )
    y = nm.Multipliers((np.array([-0.5]),), (np.array([1e3, 2e3, 8e3]),))
    assert rounding.multiplier_sizes(problem, y) == pytest.approx(8e3)
    _, error = rounding.slack(problem, y)
    assert 4 * UNIT * 8e3 <= error <= 8 * UNIT * 8e3


@pytest.mark.parametrize("seed", range(3))
def test_in_a_basis_the_product_and_its_defect_are_paid(seed):
    rng = np.random.default_rng(seed)
    Q = np.linalg.qr(rng.normal(size=(N, 4)))[0]
    problem = problem_of(seed, nm.Basis(Q))
    y = multipliers_of(problem, seed)
    S, error = rounding.slack(problem, y)
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
    sizes = rounding.multiplier_sizes(problem, y) / rounding.multiplier_sizes(problem_of(seed), y)
    assert 1 <= sizes <= 1.01 * np.linalg.norm(np.abs(problem.Q), 2) ** 2 * 4


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
    said = rounding.objective(problem, V, value)
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
    said = rounding.objective(total, V, total.objective_of_factor(V))
    slope, size = 2 * N**2, N**2
    assert slope * size * (8 + N) * UNIT <= said <= (slope * size * (64 + 2 * N) + 64 * (N**4 + slope)) * UNIT
    plain = nm.Problem(np.zeros((N, N)), nm.LossTerm(nm.Entries(N, ([0], [1])), "square", 1.0))
    power = nm.Problem(plain.cost, plain.terms, nm.TracePower(3, penalty=2.0))
    difference = rounding.objective(power, V, 0.0) - rounding.objective(plain, V, 0.0)
    R = power.regularizer.value(np.array([float(N)]))
    assert gamma(64 * 3) * R <= difference <= gamma(64 * 6) * R


def test_raised_adds_no_less_than_is_asked():
    rng = np.random.default_rng(0)
    values, by = rng.normal(size=500) * 10.0 ** rng.integers(-9, 9, 500), 10.0 ** rng.uniform(-20, 9, 500)
    for value, b, out in zip(values, by, rounding.raised(values, by), strict=True):
        more = Fraction(float(out)) - Fraction(float(value)) - Fraction(float(b))
        assert 0 <= more <= 8 * UNIT * (abs(value) + b)
