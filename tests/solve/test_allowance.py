"""A run that has done its share, or falls too slowly, is ended in favour of another."""

import numpy as np

import npkl_models as nm
from npkl_models.solve.portfolio import AUTO


def test_the_default_hands_over_for_the_rate_of_fall_and_not_as_stopped():
    data = nm.datasets.load("iris")
    L = nm.laplacian(data.X, 5, shift=0.0001)
    problem = nm.npkl(L, nm.Pairs.from_labels(data.y, 90, 90, 0), loss="square", gamma=1e4)
    solution = AUTO.in_stages(problem, {}, np.inf, [("admm", 3.0), ("interior", np.inf)])
    assert solution.status is nm.Status.OPTIMAL
    assert solution.attempts[0].status in (nm.Status.ITERATION_LIMIT, nm.Status.OPTIMAL)
    stopped = AUTO.in_stages(
        problem, {"callback": lambda row: True}, np.inf, [("bcd", 3.0), ("interior", np.inf)]
    )
    assert stopped.status is nm.Status.STOPPED
    assert len(stopped.attempts) == 1
