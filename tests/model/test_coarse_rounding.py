"""What rounding costs on a machine with few digits: every formula written out once more, number by number."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.model import basis as bases
from npkl_models.model import rounding

N, U, LEAST = 4, 2.0**-10, 2.0**-6
COST = np.array([[2.0, -1, 0, 0], [-1, 3, 0.5, 0], [0, 0.5, 4, 0], [0, 0, 0, 5.0]])
PAIRS = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "hinge", [1.0, -1.0], [2.0, 0.5])
APART = nm.LossTerm(nm.SquaredDistances(N, ([0, 2], [1, 3])), "square", [1.0, 2.0], [0.25, 3.0])
EQUAL = nm.Constraint(nm.Entries(N, ([0, 1, 1], [0, 1, 2])), equal=[1.0, -2.0, 0.5])
V = np.array([[1.0, 0.5], [-0.5, 2.0], [0.25, 1.0], [1.5, -1.0]])
Y = ((np.array([-1.5, 0.25]), np.array([0.5, -2.0])), (np.array([3.0, -1.0, 2.0]),))


@pytest.fixture(autouse=True)
def coarse(monkeypatch):
    monkeypatch.setattr(rounding, "UNIT", U)
    monkeypatch.setattr(bases, "UNIT", U)
    monkeypatch.setattr(rounding, "TINY", LEAST)
    monkeypatch.setattr(rounding, "gamma", lambda k: k * U)


def problem_of(R=None, basis=None, terms=(PAIRS, APART), cost=COST):
    return nm.Problem(cost, (*terms, EQUAL), nm.NoRegularizer() if R is None else R, basis=basis)


def skewed():
    basis = nm.Basis(np.linalg.qr(np.random.default_rng(0).normal(size=(N, 2)))[0])
    basis.__dict__["defect"] = 0.25
    return basis


def rows_of(problem, y):
    """Row sums of |y_e| |M_e|, and how many numbers there are in a row of them."""
    size, count = np.zeros(N), np.zeros(N)
    for part, own in zip(problem.terms, y.terms):  # noqa: B905
        one, more = part.functional.row_sizes(own)
        size, count = size + one, count + more + 1
    return size, count


def made_of(problem, y, nu):
    """|C| + sum |y_e| |M_e|."""
    S = np.abs(problem.cost.toarray())
    for part, own in zip(problem.terms, (*y.losses, *nu), strict=True):
        t = part.functional.triplets()
        half = np.abs(t.coefficient * np.asarray(own)[t.owner]) / 2
        np.add.at(S, (t.row, t.column), half)
        np.add.at(S, (t.column, t.row), half)
    return S


def multipliers(rows):
    return nm.Multipliers(Y[0], Y[1] if rows is None else (*Y[1], np.abs(rows)))


def near(value):
    return pytest.approx(value, rel=1e-12, abs=0)


@pytest.mark.parametrize("rows", [None, np.array([1.0, 0, 2, 0.5])])
def test_what_is_paid_has_a_margin_of_the_sizes_and_one_of_underflow(rows):
    problem = problem_of(nm.RowNormBound(1.5) if rows is not None else None)
    y = multipliers(rows)
    size = 0.0
    for term, own in zip(problem.losses, y.losses, strict=True):
        for v, t, w in zip(own, term.target, term.weight, strict=True):
            one = [np.array([x]) for x in (v, t, w)]
            size += abs(term.loss.conjugate(*one)[0]) + 2 * abs(v * t)
    size += 3 + 2 + 1 + (0 if rows is None else 2.25 * 3.5)
    count = sum(part.size for part in y.terms)
    assert rounding.paid(problem, y) == near(problem.conjugate_sum(y) + 64 * U * size + count * LEAST)
    outside = nm.Multipliers((np.array([1.0, 1.0]), Y[0][1]), y.constraints)
    assert rounding.paid(problem, outside) == np.inf


@pytest.mark.parametrize("rows", [None, np.array([1.0, 0, -2, 0.5])])
@pytest.mark.parametrize("inside", [False, True])
def test_the_error_of_a_slack_is_that_of_its_longest_and_largest_row(rows, inside):
    basis = skewed() if inside else None
    problem = problem_of(nm.RowNormBound(1.5) if rows is not None else None, basis)
    y = multipliers(rows)
    size, count = rows_of(problem, y)
    size, count = size + np.abs(COST).sum(axis=1), count + np.array([2, 3, 2, 1])
    error = max((count + 2) * U * size) * 1.001 + LEAST
    S, found = rounding.slack(problem, y)
    whole = problem.slack(y).toarray()
    if not inside:
        np.testing.assert_array_equal(S.toarray(), whole)
        assert found == near(error)
        return
    np.testing.assert_allclose(S, basis.Q.T @ whole @ basis.Q, atol=1e-12)
    norm = np.abs(whole).sum(axis=1).max()
    own = (N + 2) * U / (1 - (N + 2) * U)  # of a sum over the rows
    sizes = np.linalg.norm(np.abs(basis.Q).T @ np.abs(whole) @ np.abs(basis.Q), 2)
    product = (own + (max(count) + 2 + 4) * U) * sizes
    rest = found - error * 1.25 - 2.5 * 0.25 * 1.25 * norm
    assert product <= rest <= 1.002 * product


def test_an_empty_slack_has_the_error_of_underflow_alone():
    problem = nm.Problem(sp.csr_array((N, N)), EQUAL)
    y = nm.Multipliers((), (np.zeros(3),))
    assert rounding.slack(problem, y)[1] == LEAST


@pytest.mark.parametrize("rows", [None, np.array([1.0, 0, -9, 0.5])])
@pytest.mark.parametrize("inside", [False, True])
def test_the_size_of_multipliers_is_that_of_their_largest_row(rows, inside):
    basis = skewed() if inside else None
    problem = problem_of(nm.RowNormBound(1.5) if rows is not None else None, basis)
    y = multipliers(rows)
    size = rows_of(problem, y)[0]
    spread = basis.magnitude * 1.25 if inside else 1.0
    assert rounding.multiplier_sizes(problem, y) == near(max(size) * spread * (1 + 68 * U))
    tiny = nm.Multipliers(tuple(1e-3 * part for part in Y[0]), (1e-3 * Y[1][0],))
    assert rounding.multiplier_sizes(problem_of(), tiny) == near(
        max(rows_of(problem, tiny)[0]) * (1 + 68 * U)
    )


@pytest.mark.parametrize("total", [False, True])
@pytest.mark.parametrize("R", [None, nm.TracePower(2, penalty=0.5), nm.TracePower(1, penalty=0.5)])
def test_the_error_of_an_objective_is_that_of_its_parts(R, total):
    terms = (PAIRS, APART, nm.LossTerm(nm.TotalSum(N), "square", 1.0)) if total else (PAIRS, APART)
    problem = problem_of(R, terms=terms)
    lengths = np.linalg.norm(V, axis=1)
    steps = 2 + 8 + 3 + (N if total else 0)
    wanted = (steps + 64) * U * (lengths @ np.abs(COST) @ lengths)
    for term in problem.losses:
        z, size = term.functional.value_of_factor(V), term.functional.size_of_factor(V)
        ends = term.loss.subdifferential(z, term.target, term.weight, steps * U * size)
        slope = [max(abs(a), abs(b)) for a, b in zip(*ends, strict=True)]
        wanted += (steps + 8) * U * np.dot(slope, size)
        wanted += 64 * U * (np.sum(np.abs(term.weight * term.loss.value(z, term.target))) + np.sum(slope))
    eigenvalues = np.linalg.eigvalsh(V.T @ V)
    p = 1.0 if R is None else R.p
    wanted += 64 * (p + 2) * U * problem.regularizer.value(eigenvalues) + 64 * U * 7.0
    assert rounding.objective(problem, V, -7.0) == near(wanted)
    assert rounding.objective(problem, V, 7.0) == near(wanted)


def test_the_error_of_an_objective_takes_the_worse_end_of_each_slope():
    """At a kink of the hinge the slope may be that of either side."""
    kink = nm.LossTerm(nm.Entries(N, ([0, 1], [0, 1])), "hinge", [1.0, -1.0], [2.0, 3.0])
    W = np.eye(N)[:, :1] + np.eye(N)[:, 1:2] * 0.0
    problem = nm.Problem(sp.csr_array((N, N)), kink)
    steps = 1 + 8
    size = kink.functional.size_of_factor(W)
    wanted = (steps + 8) * U * 2.0 * size[0] + 64 * U * (0 + 2 + 3 + 3)
    assert size.tolist() == [1.0, 0.0]
    assert rounding.objective(problem, W, 0.0) == near(wanted)


def test_what_is_raised_is_raised_by_four_units_more():
    values = np.array([-2.0, 0.0, 4.0])
    np.testing.assert_allclose(rounding.raised(values, 0.5), values + 0.5 + 4 * U * np.array([2.5, 0.5, 4.5]))
    np.testing.assert_allclose(
        rounding.raised(values, -0.5), values - 0.5 + 4 * U * np.array([2.5, 0.5, 4.5])
    )
