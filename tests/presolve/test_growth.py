"""Points that nothing holds: which components grow, and what a split keeps, on three small graphs."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certify import fallbacks
from npkl_models.certify.bounds import Demand
from npkl_models.presolve import anchored

DEMAND = Demand("auto", 1e-6, 1e-6, 0, False)


def edges(n, *ends):
    """The Laplacian of a graph with edges (i, j, weight)."""
    A = np.zeros((n, n))
    for i, j, weight in ends:
        A[i, j] = A[j, i] = weight
    return nm.laplacian(sp.csr_array(A), normalized=False)


PATHS = edges(7, (0, 1, 1.0), (1, 2, 1.0), (3, 4, 1.0), (5, 6, 1.0))
LABELS = np.array([0, 0, 0, 1, 1, 2, 2])


def hinge(*signed, n=7, weight=1.0):
    """Hinges on the entries (i, j) with the target t."""
    i, j, t = zip(*signed, strict=True)
    return nm.LossTerm(nm.Entries(n, (i, j)), "hinge", np.array(t, dtype=float), weight)


def test_components_are_those_of_the_entries_above_a_threshold():
    """An entry counts as an edge if it is above the threshold, whatever its sign."""
    C = edges(4, (0, 1, 1.0), (1, 2, 1e-3))
    assert anchored._components(C, 0.0).tolist() == [0, 0, 0, 1]
    assert anchored._components(C, 1e-2).tolist() == [0, 0, 1, 2]
    assert anchored._components(-C, 1e-2).tolist() == [0, 0, 1, 2]


def test_a_component_grows_where_a_multiplier_may_move_with_its_value():
    """Cannot-links inside of a component let x'Sx grow; must-links, and links across, do not."""
    problem = nm.Problem(PATHS, hinge((0, 2, 1), (3, 4, -1), (5, 5, 1), (2, 3, -1), (5, 0, -1)))
    found = anchored._growing(problem, LABELS, np.ones(7), 0.0)
    assert found.tolist() == [False, True, False]


@pytest.mark.parametrize("ends", [(0, 3), (3, 0)])
def test_a_value_that_leaves_a_component_at_either_end_is_across(ends):
    """A distance has its own diagonal entries: one end outside is enough to be no value of the inside."""
    f = nm.SquaredDistances(7, ([ends[0], 5], [ends[1], 6]))
    problem = nm.Problem(PATHS, nm.LossTerm(f, "square", 0.0))
    assert anchored._growing(problem, LABELS, np.arange(7.0), 0.0).tolist() == [False, False, True]


def test_values_that_gain_next_to_nothing_do_not_count():
    """Where the vector is tiny its value is no reason to grow."""
    problem = nm.Problem(PATHS, hinge((3, 4, -1), (0, 1, -1)))
    x = np.array([1.0, 1, 1, 1e-6, 1e-6, 1, 1])
    assert anchored._growing(problem, LABELS, x, 1e-9).tolist() == [True, False, False]
    assert anchored._growing(problem, LABELS, x, 1e-15).tolist() == [True, True, False]


def test_a_light_hinge_lets_a_component_grow_as_a_heavy_one_does():
    """The multiplier that is tried is small against the weight, whatever that is."""
    for weight in (1e-8, 1.0, 1e8):
        problem = nm.Problem(PATHS, hinge((3, 4, -1), (0, 1, 1), weight=weight))
        assert anchored._growing(problem, LABELS, np.ones(7), 0.0).tolist() == [False, True, False]


@pytest.mark.parametrize("scale", [2.0**-20, 1.0, 2.0**20])
def test_what_is_not_held_is_a_null_vector_that_nothing_lets_grow(scale):
    """Of three paths two have must-links only; each comes with its own positive null vector."""
    problem = nm.Problem(scale * PATHS, hinge((0, 2, 1), (3, 4, -1), (5, 6, 1)))
    cells = anchored._loose(problem, LABELS)
    assert [points.tolist() for points, _ in cells] == [[0, 1, 2], [5, 6]]
    for points, x in cells:
        np.testing.assert_allclose(x, np.full(points.size, points.size**-0.5))


def test_a_component_with_a_shift_holds_itself():
    """A cost that is positive definite on a component needs no multiplier there."""
    held = PATHS + sp.diags_array(1e-6 * (LABELS == 0))
    cells = anchored._loose(nm.Problem(held, hinge((0, 2, 1), (3, 4, -1))), LABELS)
    assert [points.tolist() for points, _ in cells] == [[5, 6]]


def test_a_split_lowers_the_cost_of_held_points_by_what_weak_edges_take():
    """Beside an edge of weight w to a cell of floor f the held point gives w / min(1, f / 2w)."""
    C = edges(4, (0, 1, 1.0), (2, 3, 1.0)) + sp.diags_array([0.0, 0, 1e-10, 1e-10])
    C = C.tolil()
    C[1, 2] = C[2, 1] = -1e-11
    problem = nm.Problem(sp.csr_array(C), hinge((0, 1, -1), n=4))
    cell = (np.array([2, 3]), np.full(2, 0.5**0.5))
    found = anchored._checked(problem, [cell])
    assert found.anchored.tolist() == [0, 1]
    lowered = (problem.cost[:2][:, :2] - found.cost).toarray()
    assert lowered[0, 0] == 0.0
    assert 1e-11 <= lowered[1, 1] <= 1.1e-11
    assert lowered[0, 1] == lowered[1, 0] == 0.0
    S = found.whole.cost - sp.block_diag([found.cost, sp.csr_array((2, 2))])
    assert np.linalg.eigvalsh(S.toarray())[0] >= -1e-16  # so that what is left over is PSD


def test_no_split_without_cells_or_with_a_cell_that_is_not_psd():
    """Nothing is split off where nothing is loose, or where the cost of the loose is not PSD."""
    problem = nm.Problem(PATHS, hinge((3, 4, -1)))
    assert anchored._checked(problem, []) is None
    low = nm.Problem(PATHS - 1e-3 * sp.eye_array(7), hinge((3, 4, -1)))
    assert anchored._checked(low, [(np.array([5, 6]), np.full(2, 0.5**0.5))]) is None


def test_multipliers_are_folded_and_unfolded_by_the_points_that_they_concern():
    """What concerns anchored points alone is kept; all else is zero on the way back."""
    terms = [hinge((3, 4, -1), (0, 3, 1)), hinge((0, 1, 1)), hinge((4, 4, -1))]
    found = anchored.split(nm.Problem(PATHS, terms))
    assert found.anchored.tolist() == [3, 4]
    assert [kept.tolist() for kept in found.kept] == [[True, False], [False], [True]]
    inner = found.fold(nm.Multipliers((np.array([5.0, 6.0]), np.array([7.0]), np.array([8.0]))))
    assert [part.tolist() for part in inner.terms] == [[5.0], [8.0]]
    back = found.unfold(inner)
    assert [part.tolist() for part in back.terms] == [[5.0, 0.0], [0.0], [8.0]]
    assert not any(part.any() for part in found.unfold(None).terms)
    assert found.problem.n == 2
    assert found.problem.terms[0].functional.indices[1].tolist() == [1]


def test_the_bound_of_the_held_points_is_the_bound_of_all():
    """The second path alone decides: min K_33 - 2 K_34 + K_44 + max(0, 1 + K_34) has an optimum of 1."""
    problem = nm.Problem(PATHS, hinge((3, 4, -1), (0, 2, 1)))
    y = nm.Multipliers((np.array([0.5, 0.0]),))
    found = fallbacks.bound_of_anchored(problem, y, np.ones((7, 1)), DEMAND)
    assert found.repair.startswith("anchored points (")
    assert found.rigour == "proved"
    assert found.bound <= problem.dual_bound(found.y) + 1e-12
    assert found.bound == pytest.approx(0.5, abs=1e-9)
    assert found.found.vector[[0, 1, 2, 5, 6]].tolist() == [0.0] * 5
    assert np.linalg.norm(found.found.vector) == pytest.approx(1)


def test_no_bound_of_held_points_where_all_are_held():
    """A shift holds every point."""
    problem = nm.Problem(PATHS + 0.1 * sp.eye_array(7), hinge((3, 4, -1)))
    y = nm.Multipliers((np.zeros(1),))
    assert fallbacks.bound_of_anchored(problem, y, np.ones((7, 1)), DEMAND) is None
