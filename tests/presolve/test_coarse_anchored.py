"""Splits of a problem into anchored points and others, on a machine with few digits."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certify import fallbacks
from npkl_models.certify.bounds import Demand, Dual
from npkl_models.model import rounding
from npkl_models.presolve import anchored
from npkl_models.proof.eigenbound import EigenBound

N, U = 6, 2.0**-40
PATH = np.array([[1.0, -1, 0], [-1, 2, -1], [0, -1, 1]])
COST = np.block([[PATH, np.zeros((3, 3))], [np.zeros((3, 3)), PATH]])
ADJACENT = sp.csr_array(np.diag(np.diag(COST)) - COST)
GRAPH = nm.laplacian(ADJACENT)  # rounded such that it is positive semidefinite
DEMAND = Demand("auto", 1e-6, 1e-6, 0, False)


def near(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def must(i, j, weight=1.0):
    """Values that ask to grow: their multipliers are in [-w, 0]."""
    return nm.LossTerm(nm.Entries(N, (i, j)), "hinge", 1.0, weight)


def cannot(i, j, weight=1.0):
    """Values that ask to fall: their multipliers are in [0, w]."""
    return nm.LossTerm(nm.Entries(N, (i, j)), "hinge", -1.0, weight)


def test_components_are_those_of_edges_above_what_is_weak():
    C = sp.csr_array(COST + 9 * np.eye(N))
    assert anchored._components(C, 0.5).tolist() == [0, 0, 0, 1, 1, 1]
    assert anchored._components(C, 1.0).tolist() == [0, 1, 2, 3, 4, 5]
    one = C.tolil()
    one[2, 3] = 1e-3
    assert anchored._components(sp.csr_array(one), 1e-4).tolist() == [0] * 6
    assert anchored._components(sp.csr_array(one), 1e-2).tolist() == [0, 0, 0, 1, 1, 1]


@pytest.mark.parametrize(
    ("term", "x", "least", "grows"),
    [(cannot([0], [1]), np.ones(N), 0.0, [True, False]), (must([0], [1]), np.ones(N), 0.0, [False, False]),
     (cannot([0], [4]), np.ones(N), 0.0, [False, False]), (cannot([3, 0], [4, 5]), np.ones(N), 0.0, [False, True]),
     (cannot([3], [4]), 0.1 * np.ones(N), 0.02, [False, False]), (cannot([3], [4]), 0.1 * np.ones(N), 0.005, [False, True]),
     (must([0], [1]), np.array([-1.0, 1, 1, 1, 1, 1]), 0.0, [True, False]),
     (nm.LossTerm(nm.Entries(N, ([0], [1])), "square", 0.0, 1e-4), np.ones(N), 0.0, [True, False]),
     (nm.LossTerm(nm.SquaredDistances(N, ([0], [1])), "square", 0.0), np.ones(N), 0.0, [False, False])],
)  # fmt: skip
def test_a_component_grows_with_a_value_inside_that_may(term, x, least, grows):
    labels = np.array([0, 0, 0, 1, 1, 1])
    problem = nm.Problem(COST, term)
    assert anchored._growing(problem, labels, x, least).tolist() == grows


def test_values_inside_are_those_of_which_both_ends_are():
    inside = np.array([True, True, True, False, False, False])
    term = cannot([0, 0, 3], [1, 4, 4])
    assert anchored._inside(term, inside).tolist() == [True, False, False]
    far = nm.LossTerm(nm.SquaredDistances(N, ([0, 0], [2, 3])), "square", 0.0)
    assert anchored._inside(far, inside).tolist() == [True, False]


def cells_of(C, points, x):
    return [(np.array(points), np.array(x, dtype=float))], nm.Problem(C, cannot([0], [1]))


@pytest.mark.parametrize("across", [2e-10, 0.0])
def test_what_edges_to_the_anchored_points_need_is_taken_off_their_diagonal(across, monkeypatch):
    """Half of the floor over the largest sum across is the share; each weak edge costs itself over that."""
    monkeypatch.setattr(anchored, "UNIT", U)
    monkeypatch.setattr(anchored, "SINGULAR", 1.0)
    C = COST + 9 * np.eye(N)
    C[3, 0] = C[0, 3] = C[4, 0] = C[0, 4] = C[3, 2] = C[2, 3] = -across
    cells, problem = cells_of(C, [3, 4, 5], [1, 1, 1])
    monkeypatch.setattr(anchored, "collatz", lambda C, x: across)
    found = anchored._checked(problem, cells)
    assert found.anchored.tolist() == [0, 1, 2]
    weak = across * (1 + 64 * U)
    most = 2 * weak * (1 + 6 * U)
    share = 0.5 * across / most if across else 1.0
    wanted = C[:3, :3].copy()
    for i, count in ((0, 2), (2, 1)):
        wanted[i, i] -= (count * weak / share * (1 + 6 * U) + 4 * U * C[i, i]) if across else 0.0
    taken = C[:3, :3] - found.cost.toarray()
    np.testing.assert_allclose(taken, C[:3, :3] - wanted, rtol=1e-4, atol=1e-17)
    if across:
        monkeypatch.setattr(anchored, "collatz", lambda C, x: 0.0)
        assert anchored._checked(problem, cells) is None
        monkeypatch.setattr(anchored, "collatz", lambda C, x: 1e3)
        small = anchored._checked(problem, cells)
        np.testing.assert_allclose(
            (C[:3, :3] - small.cost.toarray()).diagonal(),
            [4 * U * 10 + 2 * across, 0, 4 * U * 10 + across],
            rtol=1e-3,
        )
        monkeypatch.setattr(anchored, "SINGULAR", 1e-14)
        assert anchored._checked(problem, cells) is None
    monkeypatch.setattr(anchored, "collatz", lambda C, x: -1e-30)
    assert anchored._checked(problem, cells) is None
    assert anchored._checked(problem, []) is None


def test_margins_of_weak_edges_are_on_the_safe_side(monkeypatch):
    """With a coarse unit each of the three margins is seen."""
    unit = 2.0**-7
    monkeypatch.setattr(anchored, "UNIT", unit)
    monkeypatch.setattr(anchored, "SINGULAR", 1e9)
    monkeypatch.setattr(anchored, "collatz", lambda C, x: 0.5)
    C = COST.copy()
    C[3, 0] = C[0, 3] = -0.25
    C[4, 0] = C[0, 4] = -0.5
    cells, problem = cells_of(C, [3, 4, 5], [1, 1, 1])
    found = anchored._checked(problem, cells)
    most = 0.5 * (1 + 64 * unit) * (1 + 6 * unit)
    share = 0.25 / most
    lowered = 0.75 * (1 + 64 * unit) / share * (1 + 6 * unit) + 4 * unit * 1.0
    assert C[0, 0] - found.cost.toarray()[0, 0] == near(lowered)


def test_components_that_hold_themselves_are_none(monkeypatch):
    problem = nm.Problem(COST, cannot([0], [1]))
    labels = np.array([0, 0, 0, 1, 1, 1])
    (cell,) = anchored._loose(problem, labels)
    assert cell[0].tolist() == [3, 4, 5]
    np.testing.assert_allclose(cell[1], 3**-0.5)
    lifted = nm.Problem(COST + np.diag([0, 0, 0, 1, 0, 0]), cannot([0], [1]))
    assert anchored._loose(lifted, labels) == []
    mixed = nm.Problem(COST, cannot([0, 3], [1, 4]))
    assert anchored._loose(mixed, labels) == []
    seen = []
    monkeypatch.setattr(
        anchored, "_growing", lambda p, l, x, least: seen.append((x, least)) or np.zeros(2, bool)
    )
    anchored._loose(lifted, labels)
    np.testing.assert_allclose(seen[0][0], np.array([1.0, 1, 1, 0, 0, 0]) / 3**0.5)
    assert seen[0][1] == anchored.SINGULAR


def test_only_plain_problems_are_split():
    term, free = cannot([0], [1]), nm.Entries(N, ([0], [0]))
    assert anchored.split(nm.Problem(GRAPH, term)).anchored.tolist() == [0, 1, 2]
    for other in (
        nm.Problem(GRAPH, (term, nm.LossTerm(nm.TotalSum(N), "square", 1.0))),
        nm.Problem(GRAPH, (term, nm.Constraint(free, equal=1.0))),
        nm.Problem(GRAPH, term, nm.RowNormBound(1.0)),
        nm.Problem(GRAPH, term, basis=nm.Basis(np.eye(N)[:, :4])),
        nm.Problem(GRAPH + sp.eye_array(N), term),
        nm.Problem(GRAPH, cannot([0, 3], [1, 4])),
    ):
        assert anchored.split(other) is None


def test_a_split_keeps_and_numbers_what_is_inside():
    terms = (must([3], [4]), cannot([0, 0, 1], [1, 4, 2], [1.0, 2.0, 3.0]), must([0], [3]))
    problem = nm.Problem(GRAPH, terms, name="whole")
    found = anchored.split(problem)
    assert [kept.tolist() for kept in found.kept] == [[False], [True, False, True], [False]]
    inner = found.problem
    assert (inner.n, inner.name, len(inner.terms)) == (3, "whole", 1)
    assert [i.tolist() for i in inner.terms[0].functional.indices] == [[0, 1], [1, 2]]
    np.testing.assert_array_equal(inner.terms[0].weight, [1.0, 3.0])
    np.testing.assert_array_equal(inner.cost.toarray(), GRAPH.toarray()[:3, :3])
    y = nm.Multipliers((np.array([5.0]), np.array([1.0, 2.0, 3.0]), np.array([7.0])))
    assert [part.tolist() for part in found.fold(y).terms] == [[1.0, 3.0]]
    assert [p.tolist() for p in found.unfold(found.fold(y)).terms] == [[0.0], [1.0, 0.0, 3.0], [0.0]]
    assert [p.tolist() for p in found.unfold(None).terms] == [[0.0], [0.0, 0.0, 0.0], [0.0]]
    parts = anchored.Parts(N, problem.cost, terms, "whole")
    alone = anchored.Split(parts, np.array([0]), (), sp.csr_array([[1.0]]))
    assert alone.problem is None
    empty = anchored.Split(parts, np.array([0, 5]), (), sp.csr_array(np.eye(2)))
    assert empty.problem is None


def test_the_bound_of_anchored_points_is_that_of_their_problem(monkeypatch):
    problem = nm.Problem(GRAPH, cannot([0, 3], [1, 1]), name="whole")
    V, seen = np.arange(12.0).reshape(N, 2), []
    y = nm.Multipliers((np.array([0.5, 0.25]),))
    raised, directions = np.ones(3), np.ones((3, 1))
    answer = EigenBound(-0.5, 0.1, "proved", np.array([1.0, 2, 3]), raised=raised, directions=directions)

    def bound(inside, own, W, objective, upper, demand):
        seen.append((inside, own, W, objective, upper))
        return Dual(7.0, "probable", "shift", own, answer, 0.75)

    monkeypatch.setattr(fallbacks, "bound_from", bound)
    found = fallbacks.bound_of_anchored(problem, y, V, DEMAND)
    inside, own, W, objective, upper = seen[0]
    np.testing.assert_array_equal(W, V[:3])
    assert objective == inside.objective_of_factor(V[:3])
    assert upper == near(objective + rounding.objective(inside, W, objective))
    assert upper > objective
    assert own.terms[0].tolist() == [0.5]
    assert found.y.terms[0].tolist() == [0.5, 0.0]
    assert found.bound == near(-rounding.paid(problem, found.y))
    assert (found.rigour, found.repair, found.level) == ("probable", "anchored points (shift)", 0.75)
    assert found.found.vector.tolist() == [1, 2, 3, 0, 0, 0]
    assert (found.found.raised, found.found.directions) == (None, None)
    monkeypatch.setattr(fallbacks, "bound_from", lambda *a: SimpleNamespace(bound=-np.inf))
    assert fallbacks.bound_of_anchored(problem, y, V, DEMAND) is None
    assert (
        fallbacks.bound_of_anchored(nm.Problem(GRAPH + sp.eye_array(N), problem.terms), y, V, DEMAND) is None
    )
    fixed = nm.LossTerm(nm.Entries(N, ([3, 3], [4, 5])), "linear", 1.0)
    shifted = nm.Problem(GRAPH, (cannot([0], [1]), fixed))
    monkeypatch.setattr(fallbacks, "bound_from", bound)
    assert fallbacks.bound_of_anchored(shifted, nm.Multipliers((np.zeros(1), np.zeros(2))), V, DEMAND) is None
