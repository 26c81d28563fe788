"""Choices by comparisons that are held out: the penalty of an ordinal embedding, and its refinement.

The kernels that choose are rough: L-BFGS minimises the factorised problem in few columns, from the factor of
the next larger penalty, without a certificate. Only the kernel that is kept needs one.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from npkl_models.applications.embedding import coordinates
from npkl_models.applications.refine import Compared, Rule, Slopes, refined
from npkl_models.errors import ProblemError
from npkl_models.formulations.comparisons import answered
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import whole_number
from npkl_models.model.losses import Loss, get_loss

HELD_OUT = 3_000  # answers that are held out: their share has a standard error of one in a hundred
COLUMNS = 20  # of a rough kernel
FIRST = 0.1  # standard deviation of the entries of the first start
JOLT = 0.3  # the same of what is added to later starts, relative to their entries: it lets the rank grow
FALL = 1e-4  # a rough descent ends if a step lowers its objective by this share of it
COMPARED = 1e-3  # the same of refinements that are only compared
STEPS = 100  # of a rough descent
MARGIN = 0.003  # a smaller penalty must answer more held-out comparisons by this share
SURVIVORS = (3, 2)  # ways that are left after the first part, and after the second

Way = tuple[str | None, int]  # a refinement and its number of dimensions; None and 0 for the kernel itself


@dataclass(frozen=True, eq=False)
class Part:
    """Comparisons with a part of them held out."""

    known: Compared
    unknown: Index
    share: float  # of the comparisons that are known

    def answered(self, V: Array) -> float:
        """The share of held-out comparisons that a factor answers."""
        return answered(V, self.unknown)


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

        Penalties descend. A penalty that is not better than the one before, by the margin, ends the search.
        """
        scores = np.full(penalties.size, np.nan)
        best, factors = 0, list[Array]()
        for at in range(penalties.size):
            tried = self.kernels(float(penalties[at]), factors)
            scores[at] = self._mean(tried)
            if at and not scores[at] > scores[best] + MARGIN:
                break  # smaller penalties have more columns, take longer, and are seldom better
            best, factors = at, tried
        return best, scores, factors

    def kernels(self, penalty: float, starts: list[Array] | None = None) -> list[Array]:
        """Rough factors, one for each part, from given factors or from random ones."""
        rng, size = np.random.default_rng(self.seed), (self.n, min(self.n, COLUMNS))
        loss, found = get_loss(self.loss), list[Array]()
        for at, part in enumerate(self.parts):
            before = starts[at] if starts else np.zeros(size)
            spread = JOLT * np.sqrt(np.mean(before**2)) if starts else FIRST
            start, rule = before + spread * rng.standard_normal(size), _rule(loss, part.known.m)
            found.append(part.known.descend(start, rule, part.share * penalty, FALL, STEPS))
        return found

    def way(self, ways: list[Way], factors: list[Array]) -> Way:
        """The way that answers most held-out comparisons; few are left after each part."""
        told: dict[Way, list[float]] = {way: [] for way in ways}
        for at, (V, part) in enumerate(zip(factors, self.parts, strict=True)):
            leading = {size: led(V, size) for size in {size for _, size in ways if size}}
            for kind, size in ways:
                W = V if kind is None else refined(leading[size], part.known, kind, COMPARED)
                told[kind, size].append(part.answered(W))
            best = sorted(ways, key=lambda way: -float(np.mean(told[way])))
            kept = best[: SURVIVORS[min(at, len(SURVIVORS) - 1)]]
            ways = [way for way in ways if way in kept]
        return best[0]

    def _mean(self, factors: list[Array]) -> float:
        every = zip(factors, self.parts, strict=True)
        return float(np.mean([part.answered(V) for V, part in every]))


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
