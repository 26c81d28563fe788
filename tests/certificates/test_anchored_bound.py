"""The bound of the anchored points pays for what a trace bound costs among them."""

from dataclasses import replace

import numpy as np

import npkl_models as nm
from npkl_models.certificates import fallbacks
from npkl_models.certificates.bounds import CertifyOptions, bound_from


def test_what_the_slack_of_the_anchored_points_misses_is_paid(monkeypatch):
    X = np.array([[1.0, 0.0], [0.5, 1.0], [2.0, 1.0]])
    i, j = np.array([0, 0, 1, 0]), np.array([0, 1, 1, 2])
    problem = nm.kernel_completion((i, j, np.sum(X[i] * X[j], axis=1)), n_points=3)
    y = nm.Multipliers((np.array([0.1, 0.05, 0.2, 0.0]),))
    demand = CertifyOptions("auto", 1e-6, 1e-6, 0, False)
    whole = fallbacks.bound_of_anchored(problem, y, X, demand)

    def short(*given):  # as if a trace bound paid one for a slack that is not quite PSD
        dual = bound_from(*given)
        return replace(dual, bound=dual.bound - 1.0)

    monkeypatch.setattr(fallbacks, "bound_from", short)
    less = fallbacks.bound_of_anchored(problem, y, X, demand)
    assert less.bound <= whole.bound - 1.0
