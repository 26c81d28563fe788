"""The positive part of a matrix by Lanczos."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.proof import positive


def simple(loss, n=40, p=2.0, **how):
    L, pairs = side_information("iris", n)
    return nm.simple_npkl(L, pairs, loss=loss, p=p, **(how or {"bound": float(n)}))


def test_lanczos_finds_the_same_positive_part(monkeypatch):
    problem = simple("linear", n=120, bound=50.0)
    dense = problem.solve("closed_form")
    monkeypatch.setattr(positive, "FULL", 20)
    sparse = problem.solve("closed_form")
    assert sparse.message == dense.message
    assert sparse.objective == pytest.approx(dense.objective, rel=1e-9)
    hinge = simple("squared_hinge", n=120, bound=50.0)
    assert hinge.solve("simple_npkl").status is nm.Status.OPTIMAL
    short = problem.solve("closed_form", max_iter=3)
    assert "were not computed" in short.message
    assert short.status is nm.Status.INACCURATE
    assert short.objective > dense.objective
    part = positive.positive_part(-problem.slack(problem.derivatives(np.zeros((120, 1)))), most=5)
    assert not part.complete
    assert part.tail == part.values[-1] > 0
