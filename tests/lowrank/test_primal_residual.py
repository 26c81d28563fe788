"""The primal residual of a kinked loss is that of the point at hand, and what follows from it."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.engine import BETA_GROWTH, BCDEngine
from npkl_models.lowrank.structure import structure
from npkl_models.solve import engine as engines
from npkl_models.solve import looks
from npkl_models.solve.options import IterativeOptions
from npkl_models.solve.watch import Watch


def problem(gamma=0.02, shift=0.001, n=60, seed=0):
    X = np.random.default_rng(seed).normal(size=(n, 2))
    pairs = nm.Pairs.from_labels(X[:, 0] > 0, n // 2, n // 2, seed)
    return nm.npkl(nm.laplacian(X, 4, shift=shift), pairs, loss="hinge", gamma=gamma)


def run(P, sweeps, seed=0):
    V = np.random.default_rng(seed).normal(size=(P.n, 5))
    engine = BCDEngine(P, structure(P), BCDOptions(random_state=0), V)
    for _ in range(sweeps):
        engine.iterate()
        yield engine


@pytest.mark.parametrize("gamma", [0.02, 1.0])
def test_the_primal_residual_is_what_the_multipliers_would_move_by_at_this_point(gamma):
    P = problem(gamma)
    for engine in run(P, 40):
        if engine.handover.finisher is None:
            y = engine.model.derivative(engine.pairs.pair_values(engine.V))
            moved = np.abs(y - engine.model.y) @ engine.pairs.weight / engine.model.beta
            assert engine.primal_residual == pytest.approx(
                moved / P.size(2 * engine.objective), rel=1e-9, abs=1e-18
            )
            assert engine.residual == engine.smooth_residual + engine.primal_residual


@pytest.mark.parametrize(("primal", "grown"), [(1e-18, False), (0.0, False), (1e-6, True)])
def test_a_primal_residual_that_is_rounding_raises_no_penalty(primal, grown):
    """It is not halved by a step of the multipliers, however often there is one."""
    *_, engine = run(problem(), 5)
    before = engine.model.beta
    engine.smooth_residual, engine.primal_residual, engine.primal_then = 0.0, primal, primal
    engine._update_multipliers()
    assert engine.model.beta == before * (BETA_GROWTH if grown else 1)


def test_a_run_whose_objective_falls_is_not_stuck():
    """The residual rises for hundreds of sweeps on the way from a saddle."""

    class Saddle(engines.Engine):
        V = np.ones((6, 1))

        def __init__(self, problem):
            self.problem, self.objective, self.residual, self.at = problem, 1e3, 2e-3, 0

        def iterate(self):
            self.at += 1
            self.objective -= 0.1
            self.residual *= 1.001

        def restart(self, V):
            raise AssertionError("no reason to")

        def multipliers(self):
            raise AssertionError("nothing to look at")

    P = problem(n=6)
    assert looks.PATIENCE < 600
    made = looks.Run(P, Saddle(P), Watch(IterativeOptions(), "saddle"))
    assert made.until(600) is nm.Status.ITERATION_LIMIT
