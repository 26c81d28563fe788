"""The bound of the anchored points pays for what their own bound is below the conjugates."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models import kernel
from npkl_models.certificates.bounds import ANCHORED, CertifyOptions, bound_from
from npkl_models.feasibility.anchored import split
from npkl_models.kernel import Bound


def completion():
    X = np.array([[1.0, 0.0], [0.5, 1.0], [2.0, 1.0]])
    i, j = np.array([0, 0, 1, 0]), np.array([0, 1, 1, 2])
    problem = nm.kernel_completion((i, j, np.sum(X[i] * X[j], axis=1)), n_points=3)
    return problem, nm.Multipliers((np.array([0.1, 0.05, 0.2, 0.0]),)), X


@pytest.mark.parametrize("rigour", ["proved", "probable"])
@pytest.mark.parametrize("short", [0.0, 1.0, 1e6])
def test_what_the_bound_of_the_anchored_points_lacks_is_paid(short, rigour):
    """As if a regulariser had paid for a slack that is not quite PSD; the rigour stays what it was."""
    problem, y, _ = completion()
    parts = split(problem)
    own = parts.fold(y)
    best = Bound(-kernel.paid(parts.problem, own), rigour)
    whole = parts.unfold(own)
    found = kernel.anchored_bound(problem, whole, parts.problem, own, best)
    assert found.value <= best.value
    assert found.value == pytest.approx(best.value, rel=1e-12)
    less = kernel.anchored_bound(problem, whole, parts.problem, own, Bound(best.value - short, rigour))
    assert less.value <= found.value - short
    assert less.value == pytest.approx(found.value - short, rel=1e-12)
    assert less.rigour == rigour


def test_the_anchored_points_alone_bound_the_whole():
    problem, y, X = completion()
    demand = CertifyOptions("auto", 1e-6, 1e-6, 0, False)
    dual = bound_from(problem, y, X, problem.objective_of_factor(X), demand)
    assert dual.rigour == "proved"
    assert ANCHORED in dual.repair or np.isfinite(dual.bound)
    assert dual.bound <= problem.solve("interior").certificate.upper
