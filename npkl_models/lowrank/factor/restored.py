"""Newton's method with multipliers of its own, for stiff distances.

A step D changes the squared length of an edge by 2 <g, d> + ||d||^2. With stiff distances, the second-order
part costs so much that plain steps are short. Three means together allow long steps:

- The multipliers y in the Hessian are those that the last step has predicted, as in sequential quadratic
  programming. The slopes phi'(z) are not used, because the second-order part spoils them.
- A shift tau makes the slack positive semidefinite, and shortens steps that fail (Levenberg 1944,
  Marquardt 1963). Beside kinks or without anchors, tau rises until the whole matrix is definite: steps of an
  indefinite matrix end at a saddle, where the last column vanishes and the multipliers are no optimal ones.
- After a step, the lengths are restored to those that its linear part predicts, by a few solutions with the
  same factors. Then the objectives are compared.
"""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, frobenius, norm_bound
from npkl_models.lowrank.factor.centred_system import (
    BLOCKS,
    CentredSystem,
    anchored_points,
    constant_eigenvalue,
)
from npkl_models.lowrank.factor.minimisers import Newton
from npkl_models.lowrank.factor.objective import FactorObjective, Point
from npkl_models.lowrank.factor.rank import drop_null_columns
from npkl_models.lowrank.tolerances import STEPS

FIRST_SHIFT, AGAIN_SHIFT, LEAST_SHIFT = 1.0, 1e-3, 1e-7  # tau over the size of C: first, after a reset, least
RAISED, LOWERED = 8.0, 0.3  # factors of tau if all steps fail, and after a whole step
TRIALS, LENGTHS, SHORTER = 12, 4, 0.4  # values of tau; lengths of the step for each tau; ratio of two lengths
RESTORATIONS = 3  # solutions that restore the lengths after a step
FILLED = 3e7  # if the entries of C times r^2 exceed this number, C is too dense to factorise
SLOW = 1e-4  # steps of `Newton` end when one lowers the objective by less than this share


class RestoredNewton:
    """A minimiser with steps of `Newton` at first, and then steps that restore the lengths of the edges."""

    multipliers: Array | None = None  # the best known multipliers of the point
    inner: Array | None = None  # the multipliers in the Hessian, as the last steps have predicted them

    def __init__(self) -> None:
        self.coarse = Newton()
        self.system: CentredSystem | None = None
        self.reset()

    def reset(self) -> None:
        self.coarse.reset()
        self.count, self.tau, self.multipliers, self.inner = 0, 0.0, None, None
        self.exhausted = False  # True if no step lowers the objective: the point is stationary to rounding

    def step(self, f: FactorObjective, point: Point) -> Point:
        self.count += 1
        r = point.W.shape[1]
        large = point.W.size * r > BLOCKS or f.problem.cost.nnz * r**2 > FILLED
        if large or (self.system is None and self.count <= STEPS):
            new = self.coarse.step(f, point)
            self.count = STEPS if point.value - new.value < SLOW * abs(new.value) else self.count
            return new
        found = self._restored(f, point)
        if found is None and not f.smooth:  # the multipliers have moved the kinks
            plain = self.coarse.step(f, point)
            found = plain if plain.value < point.value else None
        self.exhausted = found is None
        if found is None:
            return point
        if not f.smooth:  # a column that is short now may be needed when the multipliers have moved
            return found
        W = drop_null_columns(found.W)
        if W.shape[1] == found.W.shape[1]:
            return found
        return f.at(W if f.held is None else f.held.fit(W))

    def _lay_out(self, f: FactorObjective) -> CentredSystem:
        if self.system is None:
            c, fixed = constant_eigenvalue(f.problem), anchored_points(f.problem)
            ends = [term.functional.indices for term in f.problem.losses]
            i, j = (np.concatenate([pair[k] for pair in ends]) for k in (0, 1))
            self.system = CentredSystem(f.problem.cost, c or 0.0, i, j, fixed)
        return self.system

    def _restored(self, f: FactorObjective, point: Point) -> Point | None:
        """A point with a smaller objective after a step; None if no step lowers the objective."""
        fresh = self.system is None
        system, size = self._lay_out(f), norm_bound(f.problem.cost) or f.problem.cost_unit
        m = system.edges.shape[0]  # equalities that held rows meet have no part in it
        z, slope, bend = point.z[:m], point.slope[:m], point.bend[:m]
        y = self.inner
        if y is None:
            y = slope.clip(min=0.0) if fresh else slope
        self.tau = self.tau or (FIRST_SHIFT if fresh else AGAIN_SHIFT) * size
        G, right = system.differences(point.V), -0.5 * f.lift(point.gradient)
        definite = system.centred or not f.smooth
        for _ in range(TRIALS):
            try:
                solve, work = system.at(G, y, bend, self.tau, definite)
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
                        ahead = np.sum(system.differences(V) ** 2, axis=1) - z - t * speed
                        V = V - solve(system.pulled((bend * ahead)[:, None] * G))
                    new = f.at(f.drop(V))
                    if new.value < point.value:
                        whole = slope + bend * speed
                        self.inner = y + t * (whole - y)
                        choices = (whole, self.inner, new.slope[:m])
                        best = _most_stationary(f, system, new, choices)
                        self.multipliers = np.pad(best, (0, new.slope.size - m))
                        self.tau = max(self.tau * (LOWERED if t == 1.0 else 1.0), LEAST_SHIFT * size)
                        return new
                    t *= SHORTER
            self.tau = RAISED * max(self.tau, LEAST_SHIFT * size)
        return None


def _most_stationary(
    f: FactorObjective, system: CentredSystem, point: Point, choices: tuple[Array, ...]
) -> Array:
    """The given multipliers y with the smallest norm of S(y) V, centred or without fixed points."""
    G, fixed = system.differences(point.V), f.problem.cost @ point.V

    def miss(y: Array) -> float:
        left = fixed + system.pulled(y[:, None] * G)
        return frobenius(left - left.mean(axis=0) if system.centred else left[system.points[: system.moving]])

    return min(choices, key=miss)
