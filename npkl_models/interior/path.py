"""One iteration of the primal-dual method: predictor, corrector, step.

A program is: minimise sum <C_k, X_k> + f(sum A_k(X_k)) with X_k in cones, where f* is a box of multipliers y
with curvature (`model.box`), and perhaps y'Py / 2. The slacks are S_k = C_k + A_k'y - rho R_k with the dual
residual R of the start, and every iteration computes them anew from y, so rounding does not accumulate. The
central path is X_k S_k = mu I, u (y - lower) = mu, u (upper - y) = mu with u >= 0 at the ends of the boxes.

The direction is that of Helmberg, Rendl, Vanderbei & Wolkowicz (1996), Kojima, Shindoh & Hara (1997) and
Monteiro (1997), which linearises X = mu S^-1; predictor and corrector are those of Mehrotra, as in Toh, Todd
& Tutuncu (1999). With Z_k = S_k^-1, H = sum A_k (X_k x Z_k) A_k' + diag(f*'' + u / distance) + P and

    H dy = A(mu Z - X dS Z of the residual - dX dS Z of the predictor) - f*'(y) - Py + u of the ends.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import numpy as np

from npkl_models.interior.program import Program
from npkl_models.interior.start import first_point
from npkl_models.interior.steps import MORE, SHARE, ratio, shortened, solved
from npkl_models.linalg import Array, dense, raised_cholesky

P = TypeVar("P", bound=Program)
SMALLEST_SIGMA = 1e-6  # smallest share of mu that is kept
EARLY_SIGMA, MET = 0.1, 1e-3  # the same while more than MET of the first primal residual is left
ROUNDED = 1e-9  # a residual of a direction above this share of the largest target is corrected
LEAST = 1e-14  # of the first dual residual, a share that is rounding


@dataclass
class Direction:
    """Changes of y, S, X, and of the multipliers at the lower and the upper ends."""

    y: Array
    S: list[Any]
    X: list[Any]
    low: Array
    high: Array


class Iterate(Generic[P]):
    """A point inside all cones, with its factors and residuals."""

    def __init__(self, program: P) -> None:
        self.program, box = program, program.box
        self.below, self.above = box.below, box.above
        self.degree, self.bounded = program.degree, box.count > 0
        self.steps = (1.0, 1.0)
        self.y, self.rho, self.R, self.X = first_point(program)
        self.roomy = self.rho == 0.0  # the start is dual feasible
        self.amiss = 1.0 if self.roomy else 0.0  # share that is left of the first primal residual
        self.S = program.slack(self.y, self.rho, self.R)
        self.L_S, self.L_X = program.factors(self.S), program.factors(self.X)
        mu = program.inner(self.S, self.X) / sum(part.degree for part in program.parts)
        self.low = np.where(self.below, mu / self.to_lower, 0.0)
        self.high = np.where(self.above, mu / self.to_upper, 0.0)

    @property
    def to_lower(self) -> Array:
        """y - lower; one for multipliers without a lower end."""
        return np.where(self.below, self.y - np.where(self.below, self.program.box.lower, 0.0), 1.0)

    @property
    def to_upper(self) -> Array:
        """upper - y; one for multipliers without an upper end."""
        return np.where(self.above, np.where(self.above, self.program.box.upper, 0.0) - self.y, 1.0)

    @property
    def mu(self) -> float:
        """The barrier parameter: the average of the products that are zero at an optimum."""
        return (self.program.inner(self.S, self.X) + self._at_ends(0.0, 0.0, None)) / self.degree

    @property
    def met(self) -> bool:
        """Whether nothing but rounding is left of the first dual residual."""
        return self.rho <= LEAST

    @property
    def bound(self) -> float:
        """The dual objective at y; a bound if S(y) is in the cones."""
        return -self.program.conjugate(self.y)

    @property
    def slope(self) -> Array:
        """The derivatives of f* at y."""
        P = self.program.P
        own = self.program.box.slope(self.y)
        return own if P is None else own + P @ self.y

    @property
    def missed(self) -> Array:
        """The primal residual: how far the values are from f*' and the pulls of the ends."""
        return self.slope - self.low + self.high - self.program.of(self.X)

    def advance(self) -> None:
        """Do one iteration; numpy.linalg.LinAlgError if X, S or H can no longer be factorised."""
        program, box, mu = self.program, self.program.box, self.mu
        parts, P, X, rho = program.parts, program.P, self.X, self.rho
        Z = [part.inverse(L) for part, L in zip(parts, self.L_S, strict=True)]
        pulls = self.low / self.to_lower, self.high / self.to_upper  # zero for multipliers without an end
        bend, slope = box.bend(self.y) + pulls[0] + pulls[1], self.slope
        newton = self._newton(Z, bend)
        of_X, of_Z, base = program.of(X), program.of(Z), -slope
        if rho:
            base = base - program.of(self._between(X, [rho * R for R in self.R], Z))

        def solve(target: float, before: Direction | None) -> Direction:
            """The direction towards mu = ``target``; ``before`` is the predictor for a corrector step."""
            at_low, at_high = self._pushes(target, before)
            right = base + at_low - at_high + target * of_Z
            crossed = None if before is None else self._between(before.X, before.S, Z)
            if crossed is not None:
                right -= program.of(crossed)
            dy = newton(right)
            dS = self._change(dy)
            dX = [-one - own for one, own in zip(self._between(X, dS, Z), X, strict=True)]
            for one, centre, cross in zip(dX, Z, crossed or (), strict=crossed is not None):
                one += target * centre - cross
            if crossed is not None:
                curved = bend * dy if P is None else bend * dy + P @ dy
                self._correct(dX, curved - of_X + slope - at_low + at_high - program.of(dX))
            low, high = pulls[0] * dy, pulls[1] * dy
            return Direction(dy, dS, dX, at_low - low - self.low, at_high + high - self.high)

        first = solve(0.0, None)
        self._go(solve(self._centring(first, mu) * mu, first))

    def _newton(self, Z: list[Any], bend: Array) -> Callable[[Array], Array]:
        """The map of a right side to dy, by a factor of H."""
        program, P = self.program, self.program.P
        if len(program.parts) == 1 and P is None:
            rows = program.parts[0].rows(self.L_X[0], self.L_S[0])
            if rows is not None:
                return rows.solve
        H: Array = np.zeros((bend.size, bend.size), order="F")
        for part, X, own in zip(program.parts, self.X, Z, strict=True):
            H = part.schur(X, own, H)
        if P is not None:
            H += dense(P)
        H.reshape(-1, order="F")[:: len(H) + 1] += bend
        return partial(solved, raised_cholesky(H, "the Schur complement"))

    def _between(self, X: list[Any], D: Sequence[Any], Z: list[Any]) -> list[Any]:
        """The symmetric parts of X_k D_k Z_k."""
        return [p.between(a, b, c) for p, a, b, c in zip(self.program.parts, X, D, Z, strict=True)]

    def _change(self, dy: Array) -> list[Any]:
        """dS for dy, with the residual."""
        parts = self.program.parts
        if self.rho:
            return [part.change(dy, self.rho, R) for part, R in zip(parts, self.R, strict=True)]
        return [part.adjoint(dy) for part in parts]

    def _correct(self, dX: list[Any], missed: Array) -> None:
        """Move dX against rounding: it meets the equations by the least change in the metric of X."""
        parts, b = self.program.parts, self.program.box.b
        largest = float(np.max(np.abs(b), initial=0.0)) or 1.0
        if float(np.max(np.abs(missed), initial=0.0)) <= ROUNDED * largest:
            return
        H: Array = np.zeros((missed.size, missed.size), order="F")
        for part, X in zip(parts, self.X, strict=True):
            H = part.schur(X, X, H)
        w = solved(raised_cholesky(H, "the Schur complement"), missed)
        for k, (part, X) in enumerate(zip(parts, self.X, strict=True)):
            dX[k] += part.between(X, part.adjoint(w), X)

    def _pushes(self, target: float, before: Direction | None) -> tuple[Array, Array]:
        """The multipliers at the ends that a direction aims at, with the predictor's second-order terms."""
        if not self.bounded:
            return self.low, self.high
        low = high = np.full_like(self.y, target)
        if before is not None:
            low, high = target - before.low * before.y, target + before.high * before.y
        low, high = low / self.to_lower, high / self.to_upper
        return np.where(self.below, low, 0.0), np.where(self.above, high, 0.0)

    def _at_ends(self, primal: float, dual: float, d: Direction | None) -> float:
        """The sum of u (y - lower) and u (upper - y), after steps along a direction."""
        if not self.bounded:
            return 0.0
        low, high, to_lower, to_upper = self.low, self.high, self.to_lower, self.to_upper
        if d is not None:
            low, high = low + primal * d.low, high + primal * d.high
            to_lower, to_upper = to_lower + dual * d.y, to_upper - dual * d.y
        return float((low * to_lower)[self.below].sum() + (high * to_upper)[self.above].sum())

    def _centring(self, d: Direction, mu: float) -> float:
        """The share of mu to keep, from the length of the predictor's step.

        The power depends continuously on this length. A step that is too long leaves some eigenvalues of X S
        tens of times larger than others; on a4a they stayed so. If S has little room, measurements show that
        longer steps end nearer to the optimum.
        """
        (primal, dual), inner = self._reach(d, 1.0), self.program.inner
        after = inner(self.S, self.X) + primal * inner(self.S, d.X) + self._at_ends(primal, dual, d)
        after += dual * (inner(d.S, self.X) + primal * inner(d.S, d.X))
        far = min(primal, dual) ** 2
        power = max(1.0, 3 * far) if self.roomy else min(3.0, 1 + 4 * far)
        least = EARLY_SIGMA if self.amiss > MET else SMALLEST_SIGMA
        kept = max(after, 0.0) / (self.degree * mu) if mu > 0 else 1.0  # rounding alone makes mu negative
        return float(np.clip(kept**power, least, 1.0))

    def _reach(self, d: Direction, share: float) -> tuple[float, float]:
        parts = self.program.parts
        primal = min(part.longest(L, D, share) for part, L, D in zip(parts, self.L_X, d.X, strict=True))
        dual = min(part.longest(L, D, share) for part, L, D in zip(parts, self.L_S, d.S, strict=True))
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
        if self.program.P is not None:  # another step of y would move the targets of X
            primal = dual = min(primal, dual)
        program, y, rho = self.program, self.y, self.rho

        def slack(step: float) -> list[Any]:
            self.y, self.rho = y + step * d.y, max((1 - step) * rho, LEAST) if rho else 0.0
            self.S = program.slack(self.y, self.rho, self.R)
            return program.factors(self.S)

        def kernel(step: float) -> tuple[list[Any], list[Any]]:
            X = [own + step * D for own, D in zip(self.X, d.X, strict=True)]
            return X, program.factors(X)

        dual, self.L_S = shortened(dual, slack, "slack positive definite")
        primal, (self.X, self.L_X) = shortened(primal, kernel, "kernel positive definite")
        self.low, self.high = self.low + primal * d.low, self.high + primal * d.high
        self.steps = primal, dual
        self.amiss *= 1 - primal
        if 0 < self.rho <= MET:
            self._meet()

    def _meet(self) -> None:
        """Drop the rest of the dual residual if this leaves at least half of the slack: S + 2 rho R >= 0.

        Where no slack has an interior, the least residual stays.
        """
        program, S = self.program, self.program.slack(self.y, 0.0, self.R)
        try:
            if self.rho > LEAST:
                program.factors([2 * dense(one) - dense(own) for one, own in zip(S, self.S, strict=True)])
            self.L_S = program.factors(S)
        except np.linalg.LinAlgError:
            return
        self.S, self.rho = S, 0.0
