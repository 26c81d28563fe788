"""Distances and anchors: certified, equal to the exact SDP, and right where the positions are known."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.formulations.distances import positions
from npkl_models.formulations.known_distances import radio_network
from npkl_models.lowrank.factor.held import held_rows

KNOWN, X = radio_network(12, 4, 0.6, noise=0.05, random_state=0)
ANCHORS = {point: X[point] for point in range(12, 16)}
EXACT, Y = radio_network(30, 5, 0.5, random_state=1)
FIXED = (np.arange(30, 35), Y[30:])
FAST = ("burer_monteiro", "hybrid")


def biswas_ye(loss: str, penalty: float) -> float:
    """The optimum of the SDP as it is printed, Z = [I X'; X Y], solved by Clarabel."""
    n, d = 12, 2
    A = X[12:] - X[12:].mean(axis=0)
    Z = cp.Variable((d + n, d + n), PSD=True)
    total = penalty * cp.trace(Z[d:, d:])
    for i, j, length in zip(*KNOWN, strict=True):
        form = np.zeros(d + n)
        form[d + i] = 1.0
        if j < n:
            form[d + j] -= 1.0
        else:
            form[:d] -= A[j - n]
        off = form @ Z @ form - length**2
        total += cp.square(off) if loss == "square" else cp.abs(off)
    problem = cp.Problem(cp.Minimize(total), [Z[:d, :d] == np.eye(d)])
    return problem.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize(("loss", "penalty"), [("square", 0.0), ("square", -0.003), ("absolute", 0.0)])
def test_the_optimum_is_that_of_the_printed_sdp(loss, penalty):
    problem = nm.distances(KNOWN, loss=loss, anchors=ANCHORS, penalty=penalty)
    printed = biswas_ye(loss, penalty)
    others = ("qsdp", *FAST) if loss == "square" else FAST
    table = nm.crosscheck(problem, backends=["sdp_dual", "interior", *others])
    assert table.agrees, str(table)
    for row in table.rows:
        assert row.objective == pytest.approx(printed, abs=2e-5 * abs(printed) + 1e-7), row.backend


@pytest.mark.parametrize("backend", ["interior", "burer_monteiro"])
def test_exact_distances_give_the_positions(backend):
    problem = nm.distances(EXACT, anchors=FIXED)
    solution = problem.solve(backend)
    # without a cost the unit is a thousandth of the least loss at zero, beyond what an interior point reaches
    assert solution.is_optimal(1e-6) or (
        backend == "interior" and solution.certificate.gap <= 1e-6 * problem.least_loss
    )
    found, left = positions(solution.V, 2, FIXED)
    assert np.abs(found - Y).max() < 1e-5
    assert left.max() < 1e-5


def test_three_distances_are_a_closed_form():
    """A point between three anchors: the two equations of the differences are linear."""
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 3.0]])
    point = np.array([0.5, 1.0])
    d = np.linalg.norm(corners - point, axis=1)
    problem = nm.distances(([3, 3, 3], [0, 1, 2], d), anchors=(range(3), corners))
    found, left = positions(problem.solve("interior", tol=1e-8).V, 2, (range(3), corners))
    assert found[3] == pytest.approx(point, abs=1e-6)
    assert left[3] < 1e-5


def test_the_anchors_stay_exactly_where_they_are():
    problem = nm.distances(KNOWN, anchors=ANCHORS)
    V = problem.solve("burer_monteiro", tol=1e-4).V
    A = X[12:] - X[12:].mean(axis=0)
    assert np.abs(V[12:] @ V[12:].T - A @ A.T).max() < 1e-14
    held = held_rows(problem)
    assert np.allclose(held.root @ held.root.T, (problem.Q.T[:2, 12:] @ A) @ (problem.Q.T[:2, 12:] @ A).T)


def test_equalities_that_do_more_than_hold_rows_are_left_to_multipliers():
    eye = np.eye(6)
    term = nm.LossTerm(nm.Entries(6, ([4], [5])), "square", 0.5)
    block = nm.Constraint(nm.Entries(6, ([0, 0, 1], [0, 1, 1])), equal=[2.0, 0.5, 1.0])
    assert held_rows(nm.Problem(eye, (term, block))).rows.tolist() == [0, 1]
    for hard in (
        (nm.Constraint(nm.Entries(6, ([0, 0], [0, 1])), equal=[2.0, 0.5]),),  # K_11 is free
        (nm.Constraint(nm.Entries(6, ([0, 0, 1], [0, 1, 1])), equal=[1.0, 1.0, 1.0]),),  # singular
        (block, nm.Constraint(nm.Entries(6, ([0], [0])), equal=3.0)),  # contradictory
        (block, nm.Constraint(nm.TotalSum(6), equal=0.0)),
    ):
        assert held_rows(nm.Problem(eye, (term, *hard))) is None
    beside = nm.Problem(eye, (term, block, nm.Constraint(nm.Entries(6, ([4], [5])), lower=0.7)))
    assert held_rows(beside).rows.tolist() == [0, 1]  # bounds beside held rows are left to multipliers
    found = beside.solve("burer_monteiro")
    assert found.objective == pytest.approx(beside.solve("sdp").objective, rel=1e-6)


def test_held_rows_give_the_multipliers_of_the_exact_optimum():
    rng = np.random.default_rng(3)
    C = np.eye(6) + 0.1 * sum(np.outer(x, x) for x in rng.normal(size=(3, 6)))
    term = nm.LossTerm(nm.Entries(6, ([0, 1, 2, 3], [3, 4, 4, 5])), "square", [1.0, -1.0, 0.5, 2.0], 3.0)
    problem = nm.Problem(
        C, (term, nm.Constraint(nm.Entries(6, ([0, 0, 1], [0, 1, 1])), equal=[2.0, 0.5, 1.0]))
    )
    exact, fast = (problem.solve(name, tol=1e-8) for name in ("interior", "burer_monteiro"))
    assert fast.is_optimal(1e-6)
    assert fast.objective == pytest.approx(exact.objective, rel=1e-6)
    nu = [s.certificate.multipliers.constraints[0] for s in (exact, fast)]
    assert nu[1] == pytest.approx(nu[0], abs=1e-3)


def test_arrays_sparse_arrays_and_lists_say_the_same():
    i, j, d = KNOWN
    D = np.full((16, 16), np.nan)
    D[i, j] = D[j, i] = d
    weights = np.random.default_rng(0).uniform(0.5, 2.0, d.size)
    W = np.ones((16, 16))
    W[i, j] = W[j, i] = weights
    stored = sp.coo_array((d, (i, j)), shape=(16, 16))
    V = np.random.default_rng(0).normal(size=(16, 3))
    listed = nm.distances(KNOWN, weights=weights)
    expected = float(weights @ (np.sum((V[i] - V[j]) ** 2, axis=1) - d**2) ** 2)
    assert listed.objective_of_factor(V) == pytest.approx(expected)
    for problem in (nm.distances(D, weights=W), nm.distances(stored, weights=W)):
        assert problem.objective_of_factor(V) == pytest.approx(expected)


def test_bounds_cost_only_where_they_are_broken():
    line = np.array([[0.0], [1.0], [3.0]])
    bounds = ([0, 1, 0], [1, 2, 2], [1.5, 0.0, 0.0], [np.inf, 1.0, 4.0])
    problem = nm.distances(([0], [2], [3.0]), bounds=bounds)
    assert problem.objective_of_factor(line) == pytest.approx((1.5**2 - 1) ** 2 + (4 - 1) ** 2)
    zero = nm.distances(([0], [2], [3.0]), 3, bounds=([1], [2], [0.0], [0.0]))
    assert zero.objective_of_factor(line) == pytest.approx(16.0)


def test_a_lower_bound_resolves_a_reflection():
    """Two distances leave two places in the plane; the network is not localisable until a third is bounded."""
    corners = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 2.0]])
    point = np.array([1.0, -1.0])
    d = np.linalg.norm(corners[:2] - point, axis=1)
    known = ([3, 3], [0, 1], d)
    bounds = ([3], [2], [np.linalg.norm(corners[2] - point)], [np.inf])
    anchors = (range(3), corners)
    free = nm.distances(known, anchors=anchors).solve("interior")
    bounded = nm.distances(known, anchors=anchors, bounds=bounds).solve("interior")
    assert positions(free.V, 2, anchors)[1][3] > 0.1
    assert positions(bounded.V, 2, anchors)[0][3] == pytest.approx(point, abs=1e-2)


LINE = ([0, 1], [1, 2], [1.0, 1.0])


@pytest.mark.parametrize(("call", "words"), [
    (lambda: nm.distances(([0], [1], [-1.0])), r"must not be negative, got \[\(0, 1, -1.0\)\]"),
    (lambda: nm.distances(([0, 2], [1, 3], [1.0, 1.0])), "2 of 4 points that could move without limit"),
    (lambda: nm.distances(LINE, 4, anchors={0: [0.0], 1: [1.0]}), r"to an anchor .* 1 of 4 points .* limit: 3;"),
    (lambda: nm.distances(LINE, anchors={0: [0.0, 0.0], 1: [1.0, 1.0]}), "3 of them in general position"),
    (lambda: nm.distances(LINE, anchors={0: [0.0], 7: [1.0]}), r"different points of 0\.\.2"),
    (lambda: nm.distances(LINE, anchors=5), "a dictionary"),
    (lambda: nm.distances(LINE, anchors=([0, 1], [0.0, 1.0])), r"positions of shape \(m, d\)"),
    (lambda: nm.distances(LINE, anchors={0: [0.0], 1: [np.nan]}), "finite"),
    (lambda: nm.distances(([0], [1], [1.0]), anchors={0: [0.0], 1: [1.0]}), "that the anchors do not fix"),
    (lambda: nm.distances(LINE, bounds=([0], [2], [3.0], [2.0])), r"0 <= lower <= upper, got \[\(0, 2, 3.0"),
    (lambda: nm.distances(LINE, bounds=([0], [2], [np.inf], [np.inf])), "0 <= lower <= upper"),
    (lambda: nm.distances(LINE, bounds=([0], [0], [0.0], [2.0])), "different points"),
    (lambda: nm.distances(LINE, bounds=[0]), r"\(i, j, lower, upper\)"),
    (lambda: nm.distances(LINE, penalty=np.nan), "penalty must be finite"),
    (lambda: nm.distances(sp.coo_array(np.ones((2, 3)))), r"shape \(n, n\)"),
    (lambda: nm.distances(([0, 1], [1, 0], [1.0, 2.0])), "two values"),
])  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(nm.ProblemError, match=words):
        call()


def test_an_unknown_loss_lists_those_that_exist():
    with pytest.raises(nm.UnsupportedError, match="absolute"):
        nm.distances(LINE, loss="cubic")


def test_a_network_is_as_it_is_said():
    (i, j, d), points = radio_network(200, 20, 0.2, random_state=4)
    true = np.linalg.norm(points[i] - points[j], axis=1)
    assert d == pytest.approx(true)
    assert (d < 0.2).all()
    assert (i < 200).all()
    every = np.linalg.norm(points[:, None] - points[None], axis=2)
    every[200:, 200:] = 1.0
    assert d.size == np.sum(np.triu(every < 0.2, 1))


@pytest.mark.parametrize("backend", ["burer_monteiro", "interior"])
def test_lower_bounds_that_do_not_bind_leave_the_certificate(backend):
    """Their multipliers may not grow; the repair of the slack raises those of the distances alone."""
    (i, j, d), X = radio_network(16, 4, 0.6, noise=0.1, random_state=1)
    seen = np.zeros((20, 20), dtype=bool)
    seen[i, j] = seen[j, i] = True
    a, b = np.nonzero(np.triu(~seen, 1))
    bounds = (a, b, np.full(a.size, 0.5), np.full(a.size, np.inf))
    found = nm.distances((i, j, d), 20, anchors=(range(16, 20), X[16:]), bounds=bounds).solve(backend)
    assert found.status is nm.Status.OPTIMAL, found.summary()


@pytest.mark.parametrize("X", [[[0.1], [0.1], [0.1]], [[0.0, 0.0], [1.0, 1.0], [2.0, 2.0 + 1e-7]]])
def test_anchors_that_are_flat_up_to_rounding_are_refused(X):
    with pytest.raises(nm.ProblemError, match="must not lie on a flat"):
        nm.distances(([3], [0], [1.0]), anchors=(range(3), np.array(X)))
