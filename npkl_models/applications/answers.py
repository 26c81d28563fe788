"""Answers to comparisons: read, held out for choices, and used to place points.

Held-out answers choose the penalty of an ordinal embedding and its refinement. The kernels that choose are
rough: L-BFGS minimises the factorised problem in few columns, without a certificate. Only the kernel that is
kept needs one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.applications.embedding import coordinates
from npkl_models.applications.refine import Compared, Rule, Slopes, refined
from npkl_models.errors import ProblemError
from npkl_models.formulations.comparisons import answered, number_of_points, read_comparisons
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import whole_array, whole_number
from npkl_models.model.losses import Loss, get_loss
from npkl_models.model.sampling import signs

EXACT, LONG = 1e-14, 2_000  # accuracy and most steps of the positions of new points
HELD_OUT = 3_000  # answers that are held out: their share has a standard error of one in a hundred
COLUMNS = 20  # of a rough kernel
COMPARED = 1e-3  # accuracy of refinements that are only compared
FIRST = 0.1  # standard deviation of the entries of its start

Way = tuple[str | None, int]  # a refinement and its number of dimensions; None and 0 for the kernel itself


@dataclass(frozen=True, eq=False)
class Answers:
    """Comparisons in the order that was said, and comparisons of equal distances or None."""

    rows: Index
    ties: Index | None

    @property
    def count(self) -> int:
        """The largest index plus one, at least 3."""
        return number_of_points([part for part in (self.rows, self.ties) if part is not None], None)


def read_answers(X: Any, y: ArrayLike | None) -> Answers:
    """Comparisons from rows, from rows with answers, or from a sparse tensor (n x n x n) of 1 and -1."""
    if hasattr(X, "coords") and hasattr(X, "data") and len(getattr(X, "shape", ())) == 3:
        if y is not None:
            raise ProblemError("y must be None for a sparse tensor, which has its answers as entries")
        coords = X.coords
        X, y = np.stack([np.asarray(axis) for axis in coords], axis=1), np.asarray(X.data)
    rows = read_comparisons(X, "comparisons")
    if y is None:
        return Answers(rows, None)
    sign = signs(y, ties=True)
    if sign.shape != (len(rows),):
        raise ProblemError(f"y must have an answer for each of {len(rows)} rows, got shape {sign.shape}")
    other = rows[:, [0, 2, 1]] if rows.shape[1] == 3 else rows[:, [2, 3, 0, 1]]
    ordered, equal = np.where((sign > 0)[:, None], rows, other)[sign != 0], rows[sign == 0]
    if not len(ordered):
        raise ProblemError("comparisons must hold at least one that is not a tie, got ties alone")
    return Answers(whole_array(ordered, "comparisons"), equal if len(equal) else None)


def placed(V: Array, rows: Index, count: int, loss: str | Loss, penalty: float) -> Array:
    """Rows (count x r) for new points, which are numbered from n on; the rows V of known points stay.

    The loss of the comparisons plus penalty ||W||^2 is minimised from W = 0 by L-BFGS.
    """
    n, r = V.shape
    if rows.max() >= n + count or not (rows >= n).any():
        raise ProblemError(
            f"comparisons must name points 0..{n + count - 1}, and new points from {n} on, got "
            f"{rows.min()} to {rows.max()}"
        )
    known = Compared(rows[(rows >= n).any(axis=1)], n + count)
    start = np.concatenate([V, np.zeros((count, r))])
    return known.descend(start, _rule(get_loss(loss), known.m), penalty, EXACT, LONG, held=n)[n:]


@dataclass(frozen=True, eq=False)
class Part:
    """Comparisons with a part of them held out."""

    known: Compared
    unknown: Index
    share: float  # of the comparisons that are known


@dataclass(frozen=True, eq=False)
class HeldAnswers:
    """Comparisons (m x 3 or m x 4) of n points, in ``cv`` parts that are held out one after the other.

    As many parts are held out as 3,000 answers need. ``loss`` is that of rough kernels, ``seed`` that of
    parts and starts.
    """

    rows: Index
    n: int
    loss: str | Loss
    cv: int
    seed: int

    @cached_property
    def parts(self) -> list[Part]:
        """The parts; repeated comparisons are in one part."""
        distinct, which = np.unique(self.rows, axis=0, return_inverse=True)
        count = whole_number(self.cv, "cv", 2)
        if len(distinct) < count:
            raise ProblemError(f"cv must be at most the number of comparisons, {len(distinct)}, got {count}")
        part = np.random.default_rng(self.seed).permutation(len(distinct))[which.ravel()] % count
        needed = min(count, -(-HELD_OUT * count // len(self.rows)))
        every = [part != k for k in range(needed)]
        return [
            Part(Compared(self.rows[known], self.n), self.rows[~known], float(np.mean(known)))
            for known in every
        ]

    def penalty(self, penalties: Array) -> tuple[int, Array, list[Array]]:
        """The place of the chosen penalty, the share that each answers, and the factors of the chosen one.

        Penalties descend. A penalty that is not better than the one before ends the search.
        """
        scores = np.full(penalties.size, np.nan)
        best, factors = 0, list[Array]()
        for at, penalty in enumerate(penalties.tolist()):
            tried = self.kernels(penalty)
            scores[at] = self._mean(tried)
            if at and not scores[at] > scores[best]:
                break  # smaller penalties have more columns, take longer, and are seldom better
            best, factors = at, tried
        return best, scores, factors

    def kernels(self, penalty: float) -> list[Array]:
        """Rough factors from random starts, one for each part."""
        rng, size = np.random.default_rng(self.seed), (self.n, min(self.n, COLUMNS))
        loss, found = get_loss(self.loss), list[Array]()
        for part in self.parts:
            start, rule = FIRST * rng.standard_normal(size), _rule(loss, part.known.m)
            found.append(part.known.descend(start, rule, part.share * penalty))
        return found

    def way(self, ways: list[Way], factors: list[Array]) -> Way:
        """The way that answers most held-out comparisons."""

        def told(way: Way) -> float:
            kind, size = way
            if kind is None:
                return self._mean(factors)
            every = zip(factors, self.parts, strict=True)
            return self._mean([refined(led(V, size), part.known, kind, COMPARED) for V, part in every])

        return max(ways, key=told)

    def _mean(self, factors: list[Array]) -> float:
        every = zip(factors, self.parts, strict=True)
        return float(np.mean([answered(V, part.unknown) for V, part in every]))


def led(V: Array, size: int) -> Array:
    """The leading coordinates of a factor, which may have as many columns as rows."""
    centred = V - V.mean(axis=0)
    if V.shape[1] >= len(V):  # the centred kernel has rank n - 1 at most
        U, s, _ = np.linalg.svd(centred, full_matrices=False)
        centred = (U * s)[:, : len(V) - 1]
    return coordinates(centred, size)


def _rule(loss: Loss, count: int) -> Rule:
    """A loss of ``count`` comparisons as a rule of their distances."""
    target = -np.ones(count)

    def rule(near: Array, far: Array) -> Slopes:
        z = near - far
        slope = loss.derivative(z, target)
        return float(np.sum(loss.value(z, target))), slope, -slope

    return rule
