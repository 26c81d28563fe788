"""Soft distances by a factor: the factorised Hessian, restored lengths, certificates."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.data.synthetic import swiss_roll
from npkl_models.lowrank.factor.centred_system import CentredSystem, constant_eigenvalue, restorable
from npkl_models.lowrank.factor.objective import FactorObjective
from npkl_models.proof.factorisation import _dense_floor


def test_the_system_is_the_hessian_with_a_shift():
    X = np.random.default_rng(0).normal(size=(30, 3))
    problem = nm.mvu(X, 4, weight=7.0)
    assert constant_eigenvalue(problem) == -1.0
    f, (i, j) = FactorObjective(problem), problem.terms[0].functional.indices
    system = CentredSystem(problem.cost, -1.0, i, j)
    rng, tau = np.random.default_rng(1), 300.0
    point = f.at(rng.normal(size=(problem.order, 3)))
    D = rng.normal(size=point.W.shape)
    right = f.lift(0.5 * f.hessian(point)(D) + tau * D)
    solve, work = system.at(system.differences(point.V), point.slope, point.bend, tau)
    np.testing.assert_allclose(solve(right), f.lift(D), atol=1e-8)
    assert work > 0


def test_only_smooth_distances_over_all_centred_kernels_are_restorable():
    X = np.random.default_rng(0).normal(size=(30, 2))
    assert restorable(nm.mvu(X, 4, weight=7.0))
    assert not restorable(nm.mvu(X, 4))
    assert not restorable(nm.reg_mvu(X, 4, n_basis=10))
    assert not restorable(nm.mvu(X, 4, weight=7.0, reduce=False))


@pytest.mark.parametrize(
    ("n", "draw", "neighbors", "weight", "even"),
    [
        pytest.param(120, 0, 6, 1000.0, False, marks=pytest.mark.slow),
        (150, 1, 4, 1000.0, True),
        (150, 2, 5, 1.0, False),
        (400, 1, 6, 100.0, True),
    ],
)
def test_stiff_distances_are_certified(n, draw, neighbors, weight, even):
    X = swiss_roll(n, random_state=draw, even=even)[0]
    problem = nm.mvu(X, neighbors, components="connect", weight=weight)
    found = problem.solve("burer_monteiro", max_iter=300)
    assert found.is_optimal(1e-6)
    assert found.certificate.rigour == "proved"
    if n < 200:
        other = problem.solve("interior")
        assert found.objective == pytest.approx(other.objective, rel=2e-6)


def test_a_floor_below_the_spectrum_where_weights_differ_widely():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(420, 420))
    weights = 10.0 ** rng.uniform(-4, 4, 420)
    S = (A * weights) @ A.T
    low = float(np.linalg.eigvalsh(S)[0])
    floor = _dense_floor(S, 0.0)
    assert floor is not None
    assert -1e-2 < floor <= min(low, 0.0)
