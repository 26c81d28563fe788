"""Faces of flat cliques: nothing feasible is cut off, what is left out follows, and solvers agree there."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

import npkl_models as nm
from npkl_models.presolve.cliques import flatten, maximal_cliques


def points(seed, n, d):
    return np.random.default_rng(seed).normal(size=(n, d))


def distances(X):
    pairs = np.stack(np.triu_indices(len(X), 1), axis=1)
    apart = X[pairs[:, 0]] - X[pairs[:, 1]]
    return pairs, np.sum(apart**2, axis=1)


def test_maximal_cliques_are_all_and_only_those():
    rng = np.random.default_rng(0)
    for _ in range(20):
        n = 9
        A = np.triu(rng.random((n, n)) < 0.5, 1)
        near = A | A.T
        found = {tuple(clique) for clique in maximal_cliques(n, np.argwhere(A))}
        wanted = set()
        for bits in range(1, 2**n):
            clique = [i for i in range(n) if bits >> i & 1]
            whole = all(near[i, j] for i in clique for j in clique if i < j)
            if whole and not any(near[i, clique].all() for i in set(range(n)) - set(clique)):
                wanted.add(tuple(clique))
        assert found == wanted


@pytest.mark.parametrize("d", [1, 2, 3])
def test_all_distances_of_points_leave_their_own_gram_matrix(d):
    X = points(1, 12, d)
    flat = flatten(12, *distances(X))
    assert flat.basis.size == d
    assert flat.kept.sum() == d * (d + 1) // 2
    assert flat.missed < 1e-12
    assert flat.tilt < 1e-12
    centred = X - X.mean(axis=0)
    problem = nm.mvu(X, 11)
    found = problem.solve("interior")
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.rigour == "proved"
    np.testing.assert_allclose(found.V @ found.V.T, centred @ centred.T, atol=1e-5 * np.sum(centred**2))


@pytest.mark.parametrize(
    "transform", [lambda X: X, lambda X: np.round(X, 1), lambda X: X + 1e3, lambda X: 1e-5 * X]
)
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_points_themselves_stay_feasible(d, transform):
    """X is a feasible factor of the printed problem: the face must not cut it off."""
    X = transform(points(d, 40, d))
    for k in (6, 9):
        reduced, printed = nm.mvu(X, k), nm.mvu(X, k, reduce=False)
        assert reduced.order < 39
        assert reduced.constraints[0].value.size < printed.constraints[0].value.size
        centred = X - X.mean(axis=0)
        assert reduced.violation(centred) < 1e-9
        assert printed.violation(centred) < 1e-9
        inside = reduced.lift(points(7, reduced.order, 3))
        np.testing.assert_allclose(inside.sum(axis=0), 0, atol=1e-11)


def test_points_of_a_plane_in_general_position_that_are_no_cliques_are_left_as_they_are():
    angle = np.linspace(0, 1.5 * np.pi, 12)
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    assert nm.mvu(X, 2).order == 11


@pytest.mark.parametrize(
    ("data", "n", "k"), [("iris", 40, 4), ("iris", 40, 6), ("iris", 40, 8), ("iris", 60, 8), ("plane", 30, 4)]
)
def test_interior_and_sdp_agree_on_the_face(data, n, k):
    X = load_iris().data[:n] if data == "iris" else points(0, n, 2)  # the same wherever a data folder is set
    problem = nm.mvu(X, k)
    own, other = problem.solve("interior"), problem.solve("sdp", eps=1e-9)
    assert own.status is nm.Status.OPTIMAL
    assert own.certificate.rigour == "proved"
    assert own.certificate.bound <= other.objective + 1e-6 * abs(other.objective)
    assert own.objective <= other.objective + 2e-6 * abs(other.objective)  # the conic solver may end above
    printed = nm.mvu(X, k, reduce=False)
    assert printed.violation(own.V) < 1e-8
    assert -own.objective >= np.sum((X - X.mean(axis=0)) ** 2) * (1 - 1e-6)


def test_what_is_left_out_is_missed_by_no_more_than_is_said():
    X = points(3, 30, 2)
    printed = nm.mvu(X, 6, reduce=False).constraints[0]
    pairs = np.stack(printed.functional.indices, axis=1)
    flat = flatten(30, pairs, printed.value)
    V = nm.mvu(X, 6).solve("interior").V
    off = np.abs(printed.functional.value_of_factor(V) - printed.value)[~flat.kept]
    kept = np.abs(printed.functional.value_of_factor(V) - printed.value)[flat.kept].max()
    allowed = flat.missed * printed.value[~flat.kept] + flat.tilt * np.sum(V**2) + 100 * kept + 1e-13
    assert np.all(off <= allowed)


def test_duplicates_share_a_row():
    X = points(5, 12, 2)
    X = np.vstack([X, X[:3]])
    problem = nm.mvu(X, 5)
    assert np.all(problem.constraints[0].value > 0)
    V = problem.solve("interior").V
    np.testing.assert_allclose(V[:3], V[12:], atol=1e-7)


def test_distances_that_no_points_have_are_refused_by_name():
    pairs, squared = distances(points(2, 5, 2))
    squared[0] *= 30
    with pytest.raises(nm.ProblemError, match="between points 0, 1, 2, 3, 4 must be possible"):
        flatten(5, pairs, squared)


def test_distances_that_no_points_have_are_infeasible_as_printed():
    pairs, squared = distances(points(2, 5, 2))
    squared[0] *= 30
    functional = nm.SquaredDistances(5, (pairs[:, 0], pairs[:, 1]))
    problem = nm.Problem(
        -np.eye(5), nm.Constraint(functional, equal=squared), basis=nm.mvu(points(0, 5, 3), 1).basis
    )
    assert problem.solve("interior").status is nm.Status.INFEASIBLE


def test_nearly_flat_points_are_not_taken_for_flat():
    """Out of the plane by 1e-5 of its size, which the distances tell (1e-10 of their squares), but not well."""
    X = points(4, 10, 3) * [1, 1, 1e-5]
    assert flatten(10, *distances(X)) is None
    X[:, 2] *= 1e3
    assert flatten(10, *distances(X)).basis.size == 3
    X[:, 2] *= 1e-9
    assert flatten(10, *distances(X)).basis.size == 2


def test_points_that_coincide_are_kept_together():
    X = points(4, 12, 2)
    X[5] = X[3]
    solution = nm.mvu(X, 4).solve()
    assert solution.status is nm.Status.OPTIMAL
    assert nm.mvu(X, 4, reduce=False).violation(solution.V) < 1e-8
    apart = solution.V.copy()
    apart[5] += 0.1
    assert nm.mvu(X, 4, reduce=False).violation(apart) > 1e-4
