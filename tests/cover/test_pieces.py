"""The largest gap between lines, against a fine grid; and bounds from multipliers, against weak duality."""

import numpy as np
import pytest
from problems import build, side_information

from npkl_models.cover.knots import knot, mixture
from npkl_models.cover.parameters import Axis
from npkl_models.cover.pieces import crossing, largest_gap, line
from npkl_models.path import with_parameter


@pytest.mark.parametrize("seed", range(40))
def test_no_value_inside_has_a_larger_gap(seed):
    rng = np.random.default_rng(seed)
    lower = rng.normal(size=2) * 3
    upper = lower + rng.exponential(size=2)
    least, typical = rng.exponential(size=2)
    x = np.linspace(0.2, 1.0, 2001)
    reference = np.minimum(least * x, typical)  # concave, as that of a problem
    U, L = (np.interp(x, [0.2, 1.0], v) for v in (upper, lower))
    gaps = (U - L) / (reference + np.abs(U) + np.abs(L))
    found = largest_gap(tuple(upper), tuple(lower), (reference[0], reference[-1]))
    assert found >= gaps.max()
    if lower[0] * lower[1] > 0 and upper[0] * upper[1] > 0:
        assert found == pytest.approx(gaps.max(), rel=1e-9)


def test_lines_and_their_crossing():
    assert crossing((0.0, 2.0), (0.0, 2.0), (1.0, 1.0)) == pytest.approx(1.0)
    assert crossing((0.0, 2.0), (0.0, 2.0), (1.0, 3.0)) == 1.0  # parallel: the middle
    assert line(0.5, (0.0, 2.0), (0.0, 2.0), 1.0) >= 0.5 >= line(0.5, (0.0, 2.0), (0.0, 2.0), -1.0)
    assert line(0.5, (0.0, 2.0), (0.0, np.inf), 1.0) == np.inf
    assert line(0.5, (0.0, 2.0), (-np.inf, 1.0), -1.0) == -np.inf
    assert largest_gap((1.0, np.inf), (0.0, 0.0), (1.0, 1.0)) == np.inf
    assert largest_gap((0.0, 0.0), (0.0, 0.0), (0.0, 0.0)) < 1e-12
    assert largest_gap((1.0, 1.0), (-1.0, -1.0), (0.0, 0.0)) == pytest.approx(1.0)


@pytest.mark.parametrize("kind", ["B1:hinge", "B2:huber", "B2:squared_hinge", "B3:square"])
def test_multipliers_bound_radii_that_they_were_not_made_for(kind):
    L, pairs = side_information("iris", 30)
    problem = build(kind, L, pairs)
    own = problem.regularizer.bound
    axis = Axis(problem, "bound", 0.3 * own, 3.0 * own)
    one = knot(axis, own, problem.solve(tol=1e-7))
    for value in (0.3 * own, 0.8 * own, own, 1.5 * own, 3.0 * own):
        here, at = with_parameter(problem, "bound", value), axis.coordinate(value)
        bound = line(at, axis.ends, one.line, -1.0)
        assert -np.inf < bound <= here.solve(tol=1e-7).objective + 1e-9
        assert value != own or bound >= one.solution.certificate.bound - 1e-9 * here.size(bound)


def test_a_mixture_of_factors_is_a_mixture_of_kernels():
    rng = np.random.default_rng(0)
    V, W = rng.normal(size=(6, 2)), rng.normal(size=(6, 3))
    K = mixture(V, W, 0.3)
    np.testing.assert_allclose(K @ K.T, 0.7 * V @ V.T + 0.3 * W @ W.T)
    np.testing.assert_array_equal(mixture(V, W, 0.0), V)
