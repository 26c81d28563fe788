"""Belief propagation: the clusters of points from what each point and each pair says.

Every point i has an unknown cluster c_i, and evidence u_i(c) for each cluster. An answer to a pair (i, j) is
right with a known probability, so the probability of all answers is

    Z = sum_c prod_i u_i(c_i) prod_(i,j) psi_ij(c_i, c_j),

where psi depends only on whether c_i = c_j. Messages between points compute the probability of each cluster
at each point and, by Bethe's formula, log Z. Both are exact if the pairs form no cycle.

Sources: Pearl, "Probabilistic Reasoning in Intelligent Systems" (1988), chapter 4; Yedidia, Freeman & Weiss,
IEEE Transactions on Information Theory 51 (2005), section IV.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.linalg import Array, Index, Mask

DAMPING = 0.3  # share of the old message in a new one; without it, messages on cycles may oscillate
ROUNDS = 40  # number of times that all messages are computed, unless they stay
STILL = 1e-2  # the largest change of a message that stays; a tenth of it gives the same clusters
LEAST = 1e-12  # the smallest message; no two points are surely together, or surely apart, beyond it


@dataclass(frozen=True, eq=False)
class Beliefs:
    """What the messages say."""

    points: Array  # n x k: probability of each cluster at each point
    before: Array  # m: probability that a pair's points are in one cluster, without the answers to this pair
    together: Array  # m: the same with them
    log_evidence: float  # log Z, by Bethe's formula


class Answers:
    """The answers to m pairs of n points, laid out for messages.

    Parameters
    ----------
    n : int
        Number of points.
    i, j : ndarray of int, shape (m,)
        The two points of each pair; no pair is repeated.
    must : ndarray of bool, shape (t,)
        The answers: whether the pair is said to be a must-link.
    pair, who : ndarray of int, shape (t,), optional
        The pair and the annotator of each answer; by default one answer to each pair in turn, of one
        annotator.

    Attributes
    ----------
    several : ndarray of bool, shape (m,)
        Whether a pair has more than one answer.
    right : ndarray of bool, shape (m,)
        Whether the answers to a pair are surely right; at first none are.
    misled : float
        Probability that a pair with several answers misleads: all annotators see the opposite of what is
        true, and answer that. Their mistakes are independent otherwise.
    """

    misled = 0.0

    def __init__(
        self, n: int, i: Index, j: Index, must: Mask, pair: Index | None = None, who: Index | None = None
    ) -> None:  # fmt: skip
        m = i.size
        self.i, self.j, self.must = i, j, must
        self.pair = np.arange(m) if pair is None else pair
        self.who = np.zeros(must.size, dtype=np.intp) if who is None else who
        self.annotators = int(self.who.max()) + 1
        self.right: Mask = np.zeros(m, dtype=bool)
        self.several = np.bincount(self.pair, minlength=m) > 1
        self.sender = np.concatenate([i, j])
        receiver = np.concatenate([j, i])
        self.opposite = np.concatenate([np.arange(m, 2 * m), np.arange(m)])
        self.sums = sp.csr_array((np.ones(2 * m), (receiver, np.arange(2 * m))), shape=(n, 2 * m))

    def __len__(self) -> int:
        """The number of answers that may be wrong."""
        return int(np.sum(~self.right[self.pair]))

    def misleading(self, share: float) -> Answers:
        """The same answers, if this share of the pairs with several answers misleads."""
        other = copy(self)
        other.misled = share if self.several.any() else 0.0
        return other

    def log_likelihood(self, rates: ArrayLike) -> Array:
        """Logarithms (2 x m) of the probability of the answers to each pair, in one cluster and in two.

        ``rates`` (2, or annotators x 2) are the probabilities of a wrong answer about points of one cluster
        and of two clusters.
        """
        logs = self._of_seen(rates)
        if self.misled == 0:
            return logs
        both = np.logaddexp(np.log1p(-self.misled) + logs, np.log(self.misled) + logs[::-1])
        return np.where(self.several, both, logs)

    def seen(self, rates: ArrayLike, same: Array) -> tuple[Array, Array]:
        """What annotators saw: the probability that it was one cluster, and that they were misled, both (m,).

        ``same`` (m,) is the probability that the points of each pair are in one cluster, without its answers.
        """
        logs = self._of_seen(rates)
        one, two = np.exp(logs - logs.max(axis=0))
        misled = np.where(self.several, self.misled, 0.0)
        same = np.clip(same, LEAST, 1 - LEAST)
        right = (1 - misled) * same * one, (1 - misled) * (1 - same) * two
        wrong = misled * (1 - same) * one, misled * same * two
        every = right[0] + right[1] + wrong[0] + wrong[1]
        return (right[0] + wrong[0]) / every, (wrong[0] + wrong[1]) / every

    def _of_seen(self, rates: ArrayLike) -> Array:
        """The logarithms of `log_likelihood` if no pair misleads."""
        table = np.broadcast_to(np.asarray(rates, dtype=float), (self.annotators, 2))
        one, two = np.where(self.right[self.pair], LEAST, table[self.who].T)
        of_one, of_two = np.where(self.must, 1 - one, one), np.where(self.must, two, 1 - two)
        return np.stack([np.bincount(self.pair, np.log(part), self.i.size) for part in (of_one, of_two)])

    def likelihood(self, rates: ArrayLike) -> tuple[Array, Array, float]:
        """The probability of the answers to each pair, if its points are of one cluster, and if of two.

        ``rates`` are those of `log_likelihood`. Both are divided by the larger one; the third number is the
        sum of the logarithms of the divisors. Many answers to one pair may leave a probability of 0.
        """
        logs = self.log_likelihood(rates)
        largest = logs.max(axis=0)
        together, separate = np.exp(logs - largest)
        return together, separate, float(largest.sum())

    def propagate(self, evidence: Array, rates: ArrayLike, still: float = STILL) -> Beliefs:
        """The beliefs after rounds of messages, until none changes by more than ``still``.

        ``evidence`` (n x k) is u_i(c), positive with rows of sum 1; ``rates`` are as in `log_likelihood`,
        strictly between 0 and 1.
        """
        m, k = self.i.size, evidence.shape[1]
        together, separate, divided = self.likelihood(rates)
        size = together + (k - 1) * separate  # the sum of a new message, whose sender's belief has the sum 1
        base, step = (np.tile(part / size, 2)[:, None] for part in (separate, together - separate))
        logs = np.log(np.maximum(evidence, LEAST))
        message = np.full((2 * m, k), 1.0 / k)
        for turn in range(ROUNDS):
            new = base + step * self._cavity(logs, message)[0]
            if turn > 0 and np.abs(new - message).max() < still:
                break
            damping = DAMPING if turn > 0 else 0.0
            message = np.maximum(damping * message + (1 - damping) * new, LEAST)
        cavity, points, logs_of_points = self._cavity(logs, message)
        same = np.clip(np.einsum("ek,ek->e", cavity[:m], cavity[m:]), LEAST, 1 - LEAST)
        of_pairs = np.log(together * same + separate * (1 - same)).sum()
        of_messages = np.log(np.einsum("ek,ek->e", cavity, message[self.opposite])).sum()
        value = float(logs_of_points.sum() + of_pairs - of_messages) + divided
        with_answers = same * together / (same * together + (1 - same) * separate)
        return Beliefs(points / points.sum(axis=1, keepdims=True), same, with_answers, value)

    def _cavity(self, logs: Array, message: Array) -> tuple[Array, Array, Array]:
        """For each message its sender's belief without the receiver's message; and what points believe.

        The beliefs of points have the largest value 1; the third array has the logarithms of their sums
        before.
        """
        total = logs + self.sums @ np.log(message)
        largest = total.max(axis=1, keepdims=True)
        points = np.exp(total - largest)
        cavity = points[self.sender] / message[self.opposite]
        ones = np.ones(logs.shape[1])  # a product is a faster sum of few columns
        cavity /= (cavity @ ones)[:, None]
        return cavity, points, np.log(points @ ones) + largest[:, 0]
