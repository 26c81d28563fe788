"""Solutions along a parameter."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.path import with_parameter


def simple(loss, n=40, p=2.0, **how):
    L, pairs = side_information("iris", n)
    return nm.simple_npkl(L, pairs, loss=loss, p=p, **(how or {"trace_bound": float(n)}))


@pytest.mark.parametrize("parameter", ["bound", "p", "weight"])
def test_paths_are_warm_and_right(parameter):
    problem = simple("squared_hinge", trace_bound=20.0)
    values = {"bound": [5, 10, 20, 40], "p": [1.5, 2, 3], "weight": [0.5, 1, 2]}[parameter]
    path = nm.regularization_path(problem, parameter, values, "simple_npkl")
    assert np.all(path.relative_gap <= 1e-6)
    assert list(path.to_frame().index) == sorted(values)
    cold = [with_parameter(problem, parameter, v).solve("simple_npkl") for v in values]
    np.testing.assert_allclose(path.objective, [s.objective for s in cold], rtol=1e-5)
    if parameter == "bound":
        assert np.all(np.diff(path.objective) < 0)
        assert np.all(path.rank >= 1)
    for backend in ("burer_monteiro", "sdp"):
        if parameter != "p":
            again = nm.regularization_path(problem, parameter, values[:2], backend)
            np.testing.assert_allclose(again.objective, path.objective[:2], rtol=1e-5)


def test_bad_paths():
    problem = simple("hinge")
    with pytest.raises(nm.UnsupportedError, match="unknown parameter 'B'"):
        nm.regularization_path(problem, "B", [1.0])
    with pytest.raises(nm.ProblemError, match="penalty must be a parameter of the problem's regulariser"):
        nm.regularization_path(problem, "penalty", [1.0])
    with pytest.raises(nm.ProblemError, match="values must be finite numbers"):
        nm.regularization_path(problem, "bound", [])
    with pytest.raises(nm.UnsupportedError, match="unknown option of simple_npkl 'rule'"):
        problem.solve("simple_npkl", rule="newton")
    reason = simple("hinge", p=1.0, penalty=3.0).compatible_backends()["simple_npkl"]
    assert "needs tr K^p, bounded or (p > 1) penalised" in reason
    assert "needs linear losses, got hinge" in problem.compatible_backends()["closed_form"]
