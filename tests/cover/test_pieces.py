"""The largest gap between lines, against a fine grid; and bounds from multipliers, against weak duality."""

import numpy as np
import pytest
from problems import build, side_information

import npkl_models as nm
from npkl_models.cover.knots import crossing, knot, largest_gap, line, mixture
from npkl_models.cover.multipliers import mixed_bound, paid_range
from npkl_models.cover.parameters import Axis
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


@pytest.mark.parametrize(
    "kind", ["npkl:squared_hinge", "npkl:hinge", "row:square", "B2:huber", "G1:hinge", "G3:square"]
)
def test_multipliers_bound_values_that_they_were_not_made_for(kind):
    L, pairs = side_information("iris", 30)
    problem = build(kind, L, pairs)
    parameter = "penalty" if kind[0] == "G" else "weight"
    axis = Axis(problem, parameter, 0.5, 2.0)
    knots = [knot(axis, v, with_parameter(problem, parameter, v).solve(tol=1e-7)) for v in (0.5, 2.0)]
    for value in (0.5, 0.6, 1.0, 1.7, 2.0):
        here = with_parameter(problem, parameter, value)
        bound = mixed_bound(axis, value, knots[0].dual, knots[1].dual)
        assert bound <= here.solve(tol=1e-7).objective + 1e-9
        share = (value - 0.5) / 1.5
        chord = (1 - share) * knots[0].point + share * knots[1].point
        if kind == "npkl:squared_hinge":
            assert bound >= chord - 1e-9 * here.size(chord)  # the chord is one of the mixtures


def test_intervals_of_conjugates_hold_all_points_inside():
    L, pairs = side_information("iris", 30)
    problem = nm.npkl(L, pairs, loss="squared_hinge")
    y = problem.derivatives(np.random.default_rng(0).normal(size=(30, 3)) * 0.3)
    low, high = y.each(lambda a: 1.1 * a), y.each(lambda a: 0.9 * a)
    for share in (0.0, 0.3, 1.0):
        middle = y.each(lambda a, s=share: (1.1 - 0.2 * s) * a)
        assert problem.conjugate_sum(middle) <= paid_range(problem, low, high)[1]
    assert paid_range(problem, y.each(lambda a: -a), y)[1] == np.inf  # outside the domain


def test_a_mixture_of_factors_is_a_mixture_of_kernels():
    rng = np.random.default_rng(0)
    V, W = rng.normal(size=(6, 2)), rng.normal(size=(6, 3))
    K = mixture(V, W, 0.3)
    np.testing.assert_allclose(K @ K.T, 0.7 * V @ V.T + 0.3 * W @ W.T)
    np.testing.assert_array_equal(mixture(V, W, 0.0), V)
