"""Paths along a penalty that the cost states: `ordinal` and `distances`, against optima beside the path."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.formulations.comparisons import ordinal_answers
from npkl_models.formulations.known_distances import radio_network
from npkl_models.formulations.ordinal import largest_penalty
from npkl_models.path import with_parameter

X = np.random.default_rng(0).normal(size=(14, 2))
ASKED = ordinal_answers(X, 150, noise=0.1, random_state=0)
PAIRS = np.stack(np.triu_indices(14, 1), axis=1)[np.random.default_rng(1).integers(91, size=(150, 2))]
PAIRS = PAIRS[(PAIRS[:, 0] != PAIRS[:, 1]).any(axis=1)]
FAR = np.linalg.norm(X[PAIRS[..., 0]] - X[PAIRS[..., 1]], axis=2)
FOUR = np.take_along_axis(PAIRS, np.argsort(FAR, axis=1)[..., None], axis=1).reshape(-1, 4)
KNOWN, Z = radio_network(14, 4, 0.6, noise=0.1, random_state=0)
ANCHORS = (np.arange(14, 18), Z[14:])
TOL = 3e-3


def compared(rows, loss, ties=None):
    problem = nm.ordinal(rows, loss=loss, ties=ties)
    top = largest_penalty(problem)
    return problem, (0.03 * top, 1.2 * top)


def measured(loss, **further):
    return nm.distances(KNOWN, 18, loss=loss, penalty=1.0, **further), (0.01, 10.0)


CASES = {
    f"triplets {loss}": lambda f=loss: compared(ASKED, f) for loss in ("logistic", "hinge", "squared_hinge")
}
CASES |= {
    f"quadruplets {loss}": lambda f=loss: compared(FOUR, f) for loss in ("logistic", "hinge", "squared_hinge")
}
CASES |= {"ties": lambda: compared(ASKED[:100], "logistic", ties=ASKED[100:])}
CASES |= {f"distances {loss}": lambda f=loss: measured(f) for loss in ("square", "absolute", "huber")}
CASES |= {
    f"anchors {loss}": lambda f=loss: measured(f, anchors=ANCHORS) for loss in ("square", "absolute", "huber")
}
CASES |= {
    "bounds": lambda: measured(
        "square", anchors=ANCHORS, bounds=([0, 1, 2], [8, 9, 10], [0.5, 0.0, 0.3], [1.0, 0.4, np.inf])
    )
}


@pytest.mark.parametrize("case", CASES)
def test_no_gap_is_larger_than_its_proof(case):
    problem, interval = CASES[case]()
    path = nm.regularization_path(problem, "penalty", interval, tol=TOL)
    assert path.uncovered == ()
    assert path.guarantee <= TOL
    assert path.rigour == "proved"
    rng = np.random.default_rng(1)
    for value in np.exp(rng.uniform(*np.log(interval), 4)):
        here, found = with_parameter(problem, "penalty", value), path.at(value)
        exact = here.solve("interior", tol=1e-8).certificate
        assert exact.relative_gap <= 1e-8
        room = 1e-12 * here.size(exact.bound, (exact.bound + exact.gap))
        assert found.bound <= (exact.bound + exact.gap) + room
        assert found.upper >= exact.bound - room
        assert here.objective_of_factor(found.V) <= found.upper + room
        assert found.relative_gap <= path.guarantee
        assert (found.upper - (exact.bound + exact.gap)) / here.size(
            found.upper, (exact.bound + exact.gap)
        ) <= found.relative_gap + 1e-12


@pytest.mark.parametrize(("loss", "anchors"), [("square", None), ("huber", ANCHORS)])
def test_a_value_gives_the_problem_of_the_builder(loss, anchors):
    one, other = (nm.distances(KNOWN, 18, loss=loss, anchors=anchors, penalty=p) for p in (0.7, 3.0))
    moved = with_parameter(one, "penalty", 3.0)
    assert abs(moved.cost - other.cost).max() <= 1e-15
    V = np.random.default_rng(0).normal(size=(18, 3))
    assert moved.objective_of_factor(V) == pytest.approx(other.objective_of_factor(V), rel=1e-14)
    asked = with_parameter(nm.ordinal(ASKED, penalty=2.0), "penalty", 5.0)
    assert np.array_equal(asked.cost.toarray(), 5.0 * np.eye(14))


def test_negative_penalties_are_a_list():
    problem = nm.distances(KNOWN, 18, anchors=ANCHORS, penalty=-0.01)
    path = nm.regularization_path(problem, "penalty", [-0.02, -0.01, -0.005])
    assert np.all(path.relative_gap <= 1e-5)
    assert np.all(np.diff(path.objective) > 0)  # less is paid for spread
    found = path.at(-0.012)
    exact = with_parameter(problem, "penalty", -0.012).solve("interior", tol=1e-8).certificate
    assert found.bound <= (exact.bound + exact.gap) + 1e-10
    assert found.upper >= exact.bound - 1e-10


def test_what_has_no_penalty_says_so():
    with pytest.raises(nm.ProblemError, match="begin with a penalty that is not 0"):
        nm.regularization_path(nm.distances(KNOWN, 18), "penalty", [1.0, 2.0])
    with pytest.raises(nm.ProblemError, match="must be positive, like the problem's own 1"):
        nm.regularization_path(nm.distances(KNOWN, 18, penalty=1.0), "penalty", [-1.0, 2.0])
    L = nm.laplacian(X, 3, shift=0.1)
    with pytest.raises(nm.ProblemError, match="parameter of the problem's regulariser"):
        nm.regularization_path(nm.pcp(L, nm.Pairs(14, [(0, 1)], [(2, 3)])), "penalty", [1.0])
