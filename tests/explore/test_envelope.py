"""What a path proves between its weights, held against answers at those weights."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.explore.answers import between_numbers
from npkl_models.explore.envelope import Envelope, grid
from npkl_models.path import with_parameter


def problem_of(loss):
    data = nm.datasets.load("iris").subset(30, random_state=0)
    pairs = nm.Pairs.from_labels(data.y, 12, 12, random_state=0)
    return nm.npkl(nm.laplacian(data.X, 5, shift=0.1), pairs, loss=loss)


@pytest.mark.parametrize("loss", ["squared_hinge", "hinge"])
def test_the_envelopes_hold_the_optimum_at_weights_between(loss):
    problem = problem_of(loss)
    path = nm.regularization_path(problem, "weight", np.geomspace(0.1, 10, 5))
    found = Envelope.of(problem, path)
    between = np.sqrt(path.values[:-1] * path.values[1:])
    upper, best = found.upper(between)
    lower = found.lower(between)
    answers = [with_parameter(problem, "weight", g).solve("interior", tol=1e-8) for g in between]
    for g, high, low, k, own in zip(between, upper, lower, best, answers, strict=True):
        slack = 1e-9 * (1 + abs(high))
        assert low <= own.certificate.upper + slack
        assert high >= own.certificate.bound - slack
        stored = path.solutions[k].certificate.point
        assert with_parameter(problem, "weight", g).objective_of_factor(stored) == pytest.approx(high)
    assert np.all(upper - lower <= np.max(found.worst) + 1e-12)


def test_at_the_paths_own_weights_the_bounds_are_the_certificates():
    problem = problem_of("squared_hinge")
    path = nm.regularization_path(problem, "weight", [0.5, 1.0, 2.0])
    found = Envelope.of(problem, path)
    np.testing.assert_allclose(found.lower(path.values), [s.certificate.bound for s in path.solutions])
    upper, best = found.upper(path.values)
    np.testing.assert_allclose(upper, path.objective, rtol=1e-6)
    assert np.all(upper <= np.array([s.certificate.upper for s in path.solutions]) + 1e-12)
    assert best.tolist() == [0, 1, 2]
    assert np.all(np.isneginf(found.lower(np.array([0.4, 2.1]))))


def test_the_worst_gap_is_where_two_kernels_cross():
    found = Envelope(np.array([1.0, 3.0]), np.array([0.0, 2.0]), np.array([2.0, 1.0]), np.array([2.0, 5.0]))
    fine = np.linspace(1, 3, 2001)
    gaps = found.upper(fine)[0] - found.lower(fine)
    assert found.worst.tolist() == [pytest.approx(gaps.max(), abs=1e-6)]
    assert fine[np.argmax(gaps)] == pytest.approx(2.0, abs=2e-3)


def test_without_a_bound_nothing_is_proved_between():
    found = Envelope(np.array([1.0, 2.0, 4.0]), np.zeros(3), np.ones(3), np.array([1.0, -np.inf, 4.0]))
    assert np.isneginf(found.lower(np.array([1.5, 3.0]))).all()
    np.testing.assert_array_equal(found.lower(np.array([1.0, 4.0])), [1.0, 4.0])
    assert np.isinf(found.worst).all()


def test_the_grid_has_the_paths_weights_in_it():
    weights = np.array([0.1, 1.0, 5.0])
    fine = grid(weights, 3)
    assert fine.size == 9
    np.testing.assert_array_equal(fine[::4], weights)
    assert np.all(np.diff(fine) > 0)


def test_the_page_gets_gammas_not_weights():
    problem = problem_of("squared_hinge")
    path = nm.regularization_path(problem, "weight", [0.5, 1.0])
    told = between_numbers(problem, Envelope.of(problem, path), 4.0)
    assert told["gamma"][0] == 2.0
    assert told["gamma"][-1] == 4.0
    assert told["gap"][0] <= 1e-6
    assert max(told["gap"]) < 0.1
    assert told["worst"] > 0
