"""One iteration of the primal-dual method: predictor, corrector, step.

The variables are a kernel K, a slack S with Z = S^-1, and multipliers y in their boxes, with u >= 0 at the
ends of the boxes. The central path is K S = mu I, u (y - lower) = mu, u (upper - y) = mu. The HKM direction
linearises K = mu Z (with Mehrotra's predictor and corrector as in Toh, Todd & Tutuncu 1999). Every iteration
computes S anew from y, S = S(y) - rho R with the dual residual R of the start. So rounding errors do not
accumulate in S.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from npkl_models.interior.schur import inverse_of
from npkl_models.interior.start import cholesky, first_point, inverse, kernel_size
from npkl_models.interior.steps import MORE, SHARE, longest, ratio, shortened
from npkl_models.interior.values import Values
from npkl_models.linalg import Array, Matrix, dense, symmetrize

SMALLEST_SIGMA = 1e-6  # smallest share of mu that is kept
EARLY_SIGMA, MET = 0.1, 1e-3  # the same while more than MET of the first primal residual is left
ROUNDED = 1e-13  # residuals below this share of the largest target value are not refined
REFINEMENTS = 3  # refinements of a direction against rounding, once the equalities are nearly met
DONE = 1e-14  # a smaller share of the first dual residual counts as zero


@dataclass
class Direction:
    """Changes of y, S, K, and of the multipliers at the lower and the upper ends."""

    y: Array
    S: Matrix
    K: Array
    low: Array
    high: Array


class Iterate:
    """A point inside all cones, with its factors and residuals."""

    def __init__(self, values: Values) -> None:
        self.values, box = values, values.box
        n = values.order
        self.below, self.above = box.below, box.above
        self.count, self.bounded = n + box.count, box.count > 0
        self.steps = (1.0, 1.0)
        self.y, self.L, self.rho, self.R = first_point(values)
        self.roomy = self.rho == 0.0  # the start is dual feasible
        self.amiss = 1.0 if self.roomy else 0.0  # share that is left of the first primal residual
        self.S = self.slack()
        Z = inverse(self.L)
        mu = kernel_size(values) / float(np.mean(Z.diagonal()))
        self.K: Array = mu * Z
        self.L_K = cholesky(self.K)
        self.low = np.where(self.below, mu / self.to_lower, 0.0)
        self.high = np.where(self.above, mu / self.to_upper, 0.0)

    @property
    def to_lower(self) -> Array:
        """y - lower; one for multipliers without a lower end."""
        return np.where(self.below, self.y - np.where(self.below, self.values.box.lower, 0.0), 1.0)

    @property
    def to_upper(self) -> Array:
        """upper - y; one for multipliers without an upper end."""
        return np.where(self.above, np.where(self.above, self.values.box.upper, 0.0) - self.y, 1.0)

    def slack(self) -> Matrix:
        """The slack S(y) - rho R."""
        S = self.values.slack(self.y)
        if not self.rho:
            return S
        if not sp.issparse(S):
            return S - self.rho * self.R
        S.data -= self.rho * self.R.data
        return S

    @property
    def mu(self) -> float:
        """The barrier parameter: the average of the products that are zero at an optimum."""
        return (self.values.inner(self.S, self.K) + self._at_ends(0.0, 0.0, None)) / self.count

    def _at_ends(self, primal: float, dual: float, d: Direction | None) -> float:
        """The sum of u (y - lower) and u (upper - y), after steps along a direction."""
        if not self.bounded:
            return 0.0
        low, high, to_lower, to_upper = self.low, self.high, self.to_lower, self.to_upper
        if d is not None:
            low, high = low + primal * d.low, high + primal * d.high
            to_lower, to_upper = to_lower + dual * d.y, to_upper - dual * d.y
        return float((low * to_lower)[self.below].sum() + (high * to_upper)[self.above].sum())

    def _mu_after(self, primal: float, dual: float, d: Direction) -> float:
        """mu after steps along a direction."""
        inner = self.values.inner
        total = inner(self.S, self.K) + primal * inner(self.S, d.K)
        total += dual * (inner(d.S, self.K) + primal * inner(d.S, d.K))
        return (total + self._at_ends(primal, dual, d)) / self.count

    def bound(self) -> float:
        """The dual objective at y; a bound if S(y) is positive semidefinite and ``rho`` is zero."""
        return -self.values.box.conjugate(self.y) - self.values.constant

    def objective(self) -> float:
        """The objective at K, which may not satisfy the constraints yet."""
        values, K = self.values, self.K
        return values.of_cost(K) + values.losses(values.of(K)) - values.constant

    def advance(self) -> None:
        """Do one iteration; numpy.linalg.LinAlgError if K or S can no longer be factorised."""
        values, box, mu = self.values, self.values.box, self.mu
        Z = inverse(self.L)
        pulls = self.low / self.to_lower, self.high / self.to_upper  # zero for multipliers without an end
        pull = pulls[0] + pulls[1]
        bend, slope = box.bend(self.y), box.slope(self.y)
        solved = inverse_of(values, self.K, Z, bend + pull, (self.L_K, self.L))
        refinements = REFINEMENTS if values.problem.constraints and self.amiss <= MET else 0
        of_K, of_Z, base = values.of(self.K), values.of(Z), -slope
        if self.rho:
            base = base - values.of_product(self.K, np.asarray(self.rho * self.R @ Z))

        def solve(target: float, before: Direction | None) -> Direction:
            """The direction towards mu = ``target``; ``before`` is the predictor for a corrector step."""
            right = base + target * of_Z
            at_low, at_high = self._pushes(target, before)
            right += at_low - at_high
            crossed = None if before is None else np.asarray(before.S @ before.K)
            if crossed is not None:
                right = right - values.of_product(crossed.T, Z)
            dy = solved(right)
            dS = values.change(dy, self.rho, self.R)
            inner = np.asarray(dS @ self.K)
            dK = -symmetrize(Z @ (inner if crossed is None else inner + crossed))
            dK -= self.K
            if target:
                dK += target * Z
            least = np.inf
            for _ in range(refinements if before is not None else 0):
                missed = of_K + values.of(dK) - slope - bend * dy
                missed += at_low - at_high - pull * dy
                size = float(np.max(np.abs(missed), initial=0.0))
                if not ROUNDED * float(np.max(np.abs(box.b))) < size <= 0.5 * least:
                    break
                least = size
                more = solved(missed)
                dy, dS = dy + more, values.change(dy + more, self.rho, self.R)
                dK -= symmetrize(Z @ np.asarray(values.adjoint(more) @ self.K))
            low, high = pulls[0] * dy, pulls[1] * dy
            return Direction(dy, dS, dK, at_low - low - self.low, at_high + high - self.high)

        first = solve(0.0, None)
        self._go(solve(self._centring(first, mu) * mu, first))

    def _pushes(self, target: float, before: Direction | None) -> tuple[Array, Array]:
        """The multipliers at the ends that a direction aims at, with the predictor's second-order terms."""
        if not self.bounded:
            return self.low, self.high
        low = high = np.full_like(self.y, target)
        if before is not None:
            low, high = target - before.low * before.y, target + before.high * before.y
        low, high = low / self.to_lower, high / self.to_upper
        return np.where(self.below, low, 0.0), np.where(self.above, high, 0.0)

    def _centring(self, d: Direction, mu: float) -> float:
        """The share of mu to keep, from the length of the predictor's step.

        The power depends continuously on this length. A step that is too long leaves some eigenvalues of K S
        tens of times larger than others; on a4a they stayed so. If S has little room, measurements show that
        longer steps end nearer to the optimum.
        """
        primal, dual = self._reach(d, 1.0)
        after = self._mu_after(primal, dual, d)
        far = min(primal, dual) ** 2
        power = max(1.0, 3 * far) if self.roomy else min(3.0, 1 + 4 * far)
        least = EARLY_SIGMA if self.amiss > MET else SMALLEST_SIGMA
        kept = max(after, 0.0) / mu if mu > 0 else 1.0  # rounding alone makes mu negative
        return float(np.clip(kept**power, least, 1.0))

    def _reach(self, d: Direction, share: float) -> tuple[float, float]:
        primal, dual = (longest(L, D, share) for L, D in ((self.L_K, d.K), (self.L, d.S)))
        if not self.bounded:
            return primal, dual
        at, to = self.below, self.above
        primal = min(primal, ratio(self.low[at], d.low[at], share), ratio(self.high[to], d.high[to], share))
        dual = min(
            dual, ratio(self.to_lower[at], d.y[at], share), ratio(self.to_upper[to], -d.y[to], share)
        )  # fmt: skip
        return primal, dual

    def _go(self, d: Direction) -> None:
        primal, dual = self._reach(d, SHARE + MORE * min(self.steps))
        y, rho = self.y, self.rho

        def slack(step: float) -> Array:
            self.y, self.rho = y + step * d.y, (1 - step) * rho
            self.rho = self.rho if self.rho > DONE else 0.0
            self.S = self.slack()
            return cholesky(dense(self.S))

        def kernel(step: float) -> tuple[Array, Array]:
            K: Array = step * d.K
            K += self.K
            return K, cholesky(K)

        dual, self.L = shortened(dual, slack, "slack positive definite")
        primal, (self.K, self.L_K) = shortened(primal, kernel, "kernel positive definite")
        self.low, self.high = self.low + primal * d.low, self.high + primal * d.high
        self.steps = primal, dual
        self.amiss *= 1 - primal
        if 0 < self.rho <= MET:
            self._meet()

    def _meet(self) -> None:
        """Drop the rest of the dual residual if this leaves at least half of the slack: S + 2 rho R >= 0."""
        S = self.values.slack(self.y)
        try:
            cholesky(2 * dense(S) - dense(self.S))
            self.L = cholesky(dense(S))
        except np.linalg.LinAlgError:
            return
        self.S, self.rho = S, 0.0
