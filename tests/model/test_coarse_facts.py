"""Floors, depths and strictly feasible points on a machine with few digits, against closed forms."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certify import slater
from npkl_models.linalg import dense
from npkl_models.model import facts, rounding
from npkl_models.proof.eigenbound import EigenBound

N, ALL, U = 4, np.arange(4), 2.0**-8
EYE = np.eye(N)
COST = np.diag([2.0, 3, 4, 5])
FREE = nm.LossTerm(nm.Entries(N, ([0, 2], [1, 3])), "square", [1.0, -1.0], [2.0, 0.5])
EVERY = nm.Entries(N, (ALL, ALL))
DIAGONAL = nm.LossTerm(EVERY, "square", [1.0, -2.0, 3.0, 4.0], [1.0, 2.0, 0.5, 0.25])
PENALTY = nm.TracePower(1, penalty=0.5)
PATH = np.array([[1.0, -1, 0, 0], [-1, 2, -1, 0], [0, -1, 2, -1], [0, 0, -1, 1]])


def near(value, rel=1e-9):
    return pytest.approx(value, rel=rel, abs=0)


def answer(lower, rigour="proved"):
    return lambda S, query=None: EigenBound(lower, lower, rigour, EYE[0])


@pytest.mark.parametrize(("n", "method"), [(400, "eigh"), (401, "cholesky")])
def test_floors_are_what_is_proved_less_the_error_of_the_matrix(n, method, monkeypatch):
    seen = []

    def proved(S, query):
        seen.append(query.method)
        return EigenBound(2.0, 2.0, rigour, np.ones(n))

    rigour = "proved"
    monkeypatch.setattr(facts, "min_eigenvalue", proved)
    monkeypatch.setattr(facts, "perron_floor", lambda C: -np.inf)
    every = nm.LossTerm(nm.Entries(n, ([0], [0])), "square", 1.0)
    equal = nm.Constraint(nm.SquaredDistances(n, ([0], [1])), equal=1.0)
    eye = sp.eye_array(n, format="csr")
    make = lambda: nm.Problem(eye, (every, equal), basis=nm.Basis(eye))  # noqa: E731
    problem = make()
    monkeypatch.setattr(rounding, "slack", lambda p, y: (eye, 0.25 + float(np.sum(y.constraints[0]))))
    assert facts.cost_floor(problem) == 1.75
    assert facts.distance_floor(problem) == 0.75
    assert seen == [method, method]
    rigour = "estimated"
    problem = make()
    assert facts.distance_floor(problem) == -np.inf
    assert facts.cost_floor(problem) == (1.75 if method == "eigh" else -np.inf)


def test_the_floor_of_a_cost_may_be_that_of_a_positive_vector(monkeypatch):
    """Where an eigenvalue is not proved to be above zero, and no basis changes the signs."""
    monkeypatch.setattr(facts, "perron_floor", lambda C: 0.25)
    for lower, wanted in ((0.5, 0.5), (-0.5, 0.25), (0.0, 0.25)):
        monkeypatch.setattr(facts, "min_eigenvalue", answer(lower))
        assert facts.cost_floor(nm.Problem(COST, FREE)) == wanted
        inner = nm.Problem(COST, FREE, basis=nm.Basis(EYE[:, :2]))
        assert facts.cost_floor(inner) == pytest.approx(lower, abs=1e-12)


def test_parts_that_are_held_alone_count(monkeypatch):
    """All distances, none of the other values; the diagonal of equalities, not that of losses."""
    apart = nm.LossTerm(nm.SquaredDistances(N, ([0, 1, 2], [1, 2, 3])), "square", 1.0)
    some = nm.Constraint(nm.Entries(N, ([0, 1, 1], [0, 1, 2])), equal=1.0)
    problem, seen = nm.Problem(COST, (FREE, apart, DIAGONAL, some)), []
    monkeypatch.setattr(facts, "min_eigenvalue", lambda S, query: seen.append(dense(S)) or answer(1.0)(S))
    facts.distance_floor(problem)
    facts.diagonal_floor(problem)
    np.testing.assert_allclose(seen[0], PATH)
    np.testing.assert_allclose(seen[1], np.diag([1.0, 1, 0, 0]))


def test_traces_by_a_floor_with_a_shift_and_a_margin(monkeypatch):
    monkeypatch.setattr(facts, "UNIT", U)
    problem = nm.Problem(0.1 * COST, FREE, PENALTY)
    assert facts.trace_bound(problem, 3.0) == near(3 / 0.7 * (1 + 68 * U))
    hinge = nm.LossTerm(FREE.functional, "linear", 1.0)
    assert facts.trace_bound(nm.Problem(COST, (FREE, hinge)), 3.0) == np.inf
    assert facts.trace_bound(nm.Problem(COST, FREE), -3.0) == 0.0


@pytest.mark.parametrize("mu", [0.0, 0.25])
def test_traces_by_losses_on_the_diagonal_have_a_margin_of_the_targets(mu, monkeypatch):
    monkeypatch.setattr(facts, "UNIT", U)
    some = nm.LossTerm(nm.Entries(N, ([0, 1], [1, 2])), "square", 9.0, 1e9)
    hinge = nm.LossTerm(EVERY, "squared_hinge", 1.0, 1e9)
    problem = nm.Problem(COST, (some, DIAGONAL, hinge))
    W = np.sum(1 / (0.5 * DIAGONAL.loss.curvature * DIAGONAL.weight))
    root = ((W * mu) ** 2 + 4 * W * (5 + mu * 6)) ** 0.5
    found = facts._from_diagonal_losses(problem, 5.0, mu)
    assert found == near(6 + 0.5 * (W * mu + root) + 68 * U * 10)
    less = facts._from_diagonal_losses(problem, -99.0, mu)
    assert less == near(6 + 0.5 * 2 * W * mu + 68 * U * 10)
    part = nm.LossTerm(nm.Entries(N, (ALL[:3], ALL[:3])), "square", 1.0)
    assert facts._from_diagonal_losses(nm.Problem(COST, part), 5.0, mu) == np.inf


def test_the_share_of_a_strictly_feasible_point_has_three_margins(monkeypatch):
    monkeypatch.setattr(slater, "UNIT", U)
    problem = nm.Problem(COST, FREE, nm.RowNormBound(1.5))
    center = nm.Multipliers((np.array([0.25, 0.5]),), (np.full(N, 3.0),))
    monkeypatch.setattr(slater, "strictly_feasible", lambda p: (center, 2.0))
    y = nm.Multipliers((np.array([1.0, -2.0]),), (np.zeros(N),))
    doubt = 8 * U * sum(rounding.multiplier_sizes(problem, z) for z in (y, center))
    t = (0.25 + doubt) / 2.25 * (1 + 8 * U)
    bound, mixed = slater.slater(problem, y, 0.25, np.inf)
    assert 0.1 < t < 1
    assert mixed.terms[0] == near((1 - t) * y.terms[0] + t * center.terms[0])
    assert mixed.constraints[0] == near(3 * t * np.ones(N))
    assert bound == near(-rounding.paid(problem, mixed))


@pytest.mark.parametrize("penalty", [0.5, 0.0])
def test_a_strictly_feasible_point_is_proved_with_its_margins(penalty, monkeypatch):
    monkeypatch.setattr(slater, "UNIT", U)
    problem = nm.Problem(COST, FREE, PENALTY) if penalty else nm.Problem(COST, FREE)
    y = nm.Multipliers((np.zeros(2),))
    monkeypatch.setattr(rounding, "slack", lambda p, y: (sp.csr_array(COST), 0.125))
    monkeypatch.setattr(slater, "min_eigenvalue", answer(1.0))
    mu = 1 - 0.125 + penalty - 4 * U * (1 + penalty)
    assert slater._proved(problem, y) == (y, near(mu))
    monkeypatch.setattr(slater, "min_eigenvalue", answer(1.0, "probable"))
    assert slater._proved(problem, y) is None
    monkeypatch.setattr(slater, "min_eigenvalue", answer(0.125 - penalty))
    assert slater._proved(problem, y) is None


def test_a_step_of_the_ascent_is_along_what_the_low_vectors_say(monkeypatch):
    """v'M_e v, in units of the cost over what it adds: 4^-k of that until it no longer rises."""
    held = nm.Constraint(nm.Entries(N, ([0], [0])), equal=1.0)
    problem, seen = nm.Problem(PATH, (FREE, held)), []
    y = nm.Multipliers((np.array([0.5, 0.25]),), (np.array([2.0]),))
    V = np.array([[1.0], [0.5], [0.5], [2.0]])
    heights = iter([1.0, 3.0, 3.0009, 9.0])
    monkeypatch.setattr(slater, "_lowest", lambda p, y: seen.append(y) or (next(heights), V))
    found = slater._raised(problem, y, V, 2.0)
    pull, nus = np.array([0.5, 1.0]), np.array([1.0])
    unit = 4.0 / 1.25  # rows of the sum: 1 + 0.25, ...
    added = problem.slack(nm.Multipliers((pull,), (nus,))).toarray() - PATH
    assert np.max(np.abs(added).sum(axis=1)) == 1.25
    for k, trial in enumerate(seen):
        assert trial.terms[0] == near(y.terms[0] + 4.0**-k * unit * pull)
        assert trial.constraints[0] == near(y.constraints[0] + 4.0**-k * unit * nus)
    assert (len(seen), found[1]) == (3, 3.0)
    assert found[0] is seen[1]
    heights = iter([1.0] * 12)
    assert slater._raised(problem, y, V, 2.0) is None
    monkeypatch.setattr(slater, "_lowest", lambda p, y: (np.inf, V))
    assert slater._raised(problem, y, 0 * V, 2.0) is None


def test_low_vectors_are_those_within_a_hundredth_of_the_norm():
    problem = nm.Problem(np.diag([1.0, 1.03, 1.09, 5.0]), FREE, PENALTY)
    low, vectors = slater._lowest(problem, nm.Multipliers((np.zeros(2),)))
    assert low == near(1.5)
    np.testing.assert_allclose(np.abs(vectors), EYE[:, :2], atol=1e-9)
    star = nm.LossTerm(nm.Entries(N, ([0, 0, 0], [1, 2, 3])), "square", 1.0)
    with np.errstate(over="ignore"):
        low, vectors = slater._lowest(nm.Problem(COST, star), nm.Multipliers((np.full(3, 1.5e308),)))
    assert low == -np.inf
    np.testing.assert_array_equal(vectors, np.zeros((N, 1)))
