"""Newton's method with multipliers of its own, for distances that hardly give.

Along stiff distances a factor can only fold: a step D changes the squared length of an edge by
2 <g, d> + |d|^2, and what is second order there costs the whole weight of the distance. Three things together
let steps be long all the same. The multipliers y in the Hessian are those that the last step has predicted,
not the slopes phi'(z), which the second order spoils at once; as in sequential quadratic programming. A shift
tau makes up for a slack that is not positive semidefinite yet, and holds steps back where they fail
(Levenberg 1944, Marquardt 1963). And after a step the lengths are restored to what its linear part has
promised, by a few solutions with the same factors; only then is the objective compared.
"""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, frobenius, norm_bound
from npkl_models.lowrank.factor.centred_system import BLOCKS, CentredSystem, constant_eigenvalue
from npkl_models.lowrank.factor.minimisers import Newton
from npkl_models.lowrank.factor.objective import FactorObjective, Point
from npkl_models.lowrank.factor.rank import drop_null_columns

FIRST_SHIFT, AGAIN_SHIFT, LEAST_SHIFT = 1.0, 1e-3, 1e-7  # tau, of the size of C: at first, after a reset
RAISED, LOWERED, HELD_BACK = (
    8.0,
    0.3,
    3.0,
)  # what becomes of tau: no step is any good; a whole one; a short one
TRIALS, LENGTHS, SHORTER = 6, 4, 0.4  # values of tau, and for each lengths of the step, that are tried
SHORT = 0.3
RESTORATIONS = 3
FILLED = 3e7  # entries of C, times r^2: of a dense C whose blocks fill more a factorisation is out of reach
COARSE = 60  # steps of `Newton` at most before
SLOW = 1e-4  # of the objective: a step of `Newton` that lowers it by less is the last one


class RestoredNewton:
    """Steps of `Newton` at first, then steps after which the lengths of the edges are restored."""

    multipliers: Array | None = None  # the best that are known of the point
    inner: Array | None = None  # those in the Hessian, as the last steps have predicted them

    def __init__(self) -> None:
        self.coarse = Newton()
        self.system: CentredSystem | None = None
        self.reset()

    def reset(self) -> None:
        self.coarse.reset()
        self.count, self.tau, self.multipliers, self.inner = 0, 0.0, None, None
        self.exhausted = False  # no step is to be had: the point is stationary to rounding

    def step(self, f: FactorObjective, point: Point) -> Point:
        self.count += 1
        r = point.W.shape[1]
        large = point.W.size * r > BLOCKS or f.problem.cost.nnz * r**2 > FILLED
        if large or (self.system is None and self.count <= COARSE):
            new = self.coarse.step(f, point)
            self.count = COARSE if point.value - new.value < SLOW * abs(new.value) else self.count
            return new
        found = self._restored(f, point)
        self.exhausted = found is None
        if found is None:
            return point
        W = drop_null_columns(found.W)
        return found if W.shape[1] == found.W.shape[1] else f.at(W)

    def _lay_out(self, f: FactorObjective) -> CentredSystem:
        if self.system is None:
            c = constant_eigenvalue(f.problem)
            ends = [channel.functional.indices for channel in f.channels]
            i, j = (np.concatenate([pair[k] for pair in ends]) for k in (0, 1))
            self.system = CentredSystem(f.problem.cost, c or 0.0, i, j)
        return self.system

    def _restored(self, f: FactorObjective, point: Point) -> Point | None:
        """The point after a step, with a smaller objective; None if there is none to be had."""
        fresh = self.system is None
        system, size = self._lay_out(f), norm_bound(f.problem.cost) or 1.0
        y = self.inner
        if y is None:
            y = point.slope.clip(min=0.0) if fresh else point.slope
        self.tau = self.tau or (FIRST_SHIFT if fresh else AGAIN_SHIFT) * size
        G, right = system.differences(point.V), -0.5 * f.lift(point.gradient)
        for _ in range(TRIALS):
            try:
                solve, work = system.at(G, y, point.bend, self.tau)
            except RuntimeError:
                self.tau *= RAISED
                continue
            f.work += work
            D = solve(right)
            if float(np.sum(D * right)) > 0:
                speed = 2 * np.sum(G * system.differences(D), axis=1)
                t = 1.0
                for _ in range(LENGTHS):
                    V = point.V + t * D
                    for _ in range(RESTORATIONS):
                        ahead = np.sum(system.differences(V) ** 2, axis=1) - point.z - t * speed
                        V = V - solve(system.pulled((point.bend * ahead)[:, None] * G))
                    new = f.at(f.drop(V))
                    if new.value < point.value:
                        whole = point.slope + point.bend * speed
                        self.inner = y + t * (whole - y)
                        self.multipliers = _most_stationary(f, system, new, (whole, self.inner, new.slope))
                        self._adapt(t, size)
                        return new
                    t *= SHORTER
            self.tau = max(RAISED * self.tau, 10 * LEAST_SHIFT * size)
        return None

    def _adapt(self, t: float, size: float) -> None:
        if t == 1.0:
            self.tau *= LOWERED
        elif t < SHORT:
            self.tau *= HELD_BACK
        self.tau = max(self.tau, LEAST_SHIFT * size)


def _most_stationary(
    f: FactorObjective, system: CentredSystem, point: Point, choices: tuple[Array, ...]
) -> Array:
    """The y of these with the smallest S(y) V."""
    G, fixed = system.differences(point.V), f.problem.cost @ point.V

    def miss(y: Array) -> float:
        left = fixed + system.pulled(y[:, None] * G)
        return frobenius(left - left.mean(axis=0))

    return min(choices, key=miss)
