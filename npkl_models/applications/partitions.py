"""What the answers to the pairs say for a partition of the points, and means over several partitions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.optimize import linear_sum_assignment

from npkl_models.applications.annotators import BEFOREHAND, MISLED, counted_misled, counted_rates
from npkl_models.applications.beliefs import Answers
from npkl_models.applications.noise_search import RATES, Averaged
from npkl_models.linalg import Array, Index

FIRST = 0.9  # belief in the first cluster of a point
TEMPER = 15.0  # what is said for each result is divided by it, for the weights of the mean
LARGEST = 0.45  # the largest rate of wrong answers
TURNS = 10  # number of times that rates and misleading pairs follow from each other


@dataclass(frozen=True, eq=False)
class Witnesses:
    """The answers; ``fixed`` is the rate of wrong answers if it is known."""

    answers: Answers
    fixed: float | None

    def rates(self, labels: Index) -> tuple[Array, Array, Answers]:
        """The common rates of wrong answers (2), those of each annotator, and the answers with ``misled``."""
        answers = self.answers
        same = (labels[answers.i] == labels[answers.j]).astype(float)
        if self.fixed is None:
            common, own = self._counted(same)
        else:
            common = np.full(2, max(self.fixed, RATES[0]))
            own = np.tile(common, (answers.annotators, 1))
        if answers.several.any() and self.fixed != 0:
            answers = answers.misleading(MISLED)
            for _ in range(TURNS):
                seen, misled = answers.seen(own, same)
                if self.fixed is None:
                    common, own = self._counted(seen)
                answers = answers.misleading(counted_misled(misled[answers.several]))
        return common, own, answers

    def _counted(self, seen: Array) -> tuple[Array, Array]:
        """Rates from the probability (m,) that annotators saw one cluster."""
        answers = self.answers
        same, nobody = seen[answers.pair], np.zeros(len(answers), dtype=np.intp)
        every = counted_rates(answers.must, same, nobody, np.full((1, 2), BEFOREHAND))
        own = every
        if answers.annotators > 1:
            own = counted_rates(answers.must, same, answers.who, np.tile(every, (answers.annotators, 1)))
        return np.clip(every[0], RATES[0], LARGEST), np.clip(own, RATES[0], LARGEST)

    def of_answers(self, labels: Index, rates: Array, answers: Answers | None = None) -> float:
        """Logarithm of the probability of all answers (those of `rates`), if the partition is true."""
        together, separate = (answers or self.answers).log_likelihood(rates)
        same = labels[self.answers.i] == labels[self.answers.j]
        return float(np.where(same, together, separate).sum())

    def judged(self, labels: Index) -> float:
        """What the answers say for a partition at the rates that they have with it."""
        return self.of_answers(labels, *self.rates(labels)[1:])


class Mixed(NamedTuple):
    """The result that the answers speak for most, what they say for it, and means over all results.

    ``points`` (n x k), ``together`` (m,) and ``rates`` (2) are those of `Averaged`.
    """

    best: Averaged
    value: float
    points: Array
    together: Array
    rates: Array


def mixed(parts: Sequence[Averaged], witnesses: Witnesses) -> Mixed:
    """The mean of the results of several first clusters (Hoeting et al., Statistical Science 14, 1999).

    Each result is weighted by a power below 1 of what the answers say for its clusters. Only results
    with the largest number of clusters are mixed.
    """
    sizes = [np.unique(part.points.argmax(axis=1)).size for part in parts]
    kept = [part for part, size in zip(parts, sizes, strict=True) if size == max(sizes)]
    judged = np.array([witnesses.judged(part.points.argmax(axis=1)) for part in kept])
    best = kept[int(judged.argmax())]
    share = np.exp((judged - judged.max()) / TEMPER)
    share /= share.sum()
    points = np.einsum("p,pnk->nk", share, [_named(part.points, best.points) for part in kept])
    together = share @ np.array([part.together for part in kept])
    rates = share @ np.array([part.rates for part in kept])
    if witnesses.fixed is not None:
        rates = np.full(2, witnesses.fixed)
    points, together = (np.minimum(one, 1.0) for one in (points, together))  # shares sum to 1 to rounding
    return Mixed(best, float(judged.max()), points, together, rates)


def _named(points: Array, like: Array) -> Array:
    """The beliefs with the clusters in the order that agrees best with other beliefs."""
    return np.asarray(points[:, linear_sum_assignment(-(like.T @ points))[1]])


def first_beliefs(labels: Index, k: int, share: float = FIRST) -> Array:
    """Beliefs (n x k): a share for the cluster of each point, and the rest equal for all clusters."""
    beliefs = np.full((labels.size, k), (1 - share) / k)
    beliefs[np.arange(labels.size), labels] += share
    return beliefs
