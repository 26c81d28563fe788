"""What the page shows between the weights of a path; the bounds themselves are tested in tests/cover."""

import numpy as np

import npkl_models as nm
from npkl_models.explore.answers import between_numbers


def problem_of(loss):
    data = nm.datasets.load("iris").subset(30, random_state=0)
    pairs = nm.Pairs.from_labels(data.y, 12, 12, random_state=0)
    return nm.npkl(nm.laplacian(data.X, 5, shift=0.1), pairs, loss=loss)


def test_the_page_gets_gammas_not_weights():
    problem = problem_of("squared_hinge")
    path = nm.regularization_path(problem, "weight", [0.5, 1.0])
    told = between_numbers(path, 4.0)
    assert told["gamma"][0] == 2.0
    assert told["gamma"][-1] == 4.0
    assert told["gap"][0] <= 1e-6
    assert max(told["gap"]) <= told["worst"] < 0.1
    assert np.all(told["lower"] <= told["upper"])
    assert told["best"][0] == 0
    assert told["best"][-1] == 1
