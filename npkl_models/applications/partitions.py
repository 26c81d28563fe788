"""What speaks for a partition of the points: the answers to the pairs, and the edges of the graph.

The answers have been read by whoever made the partition, so they alone would choose the partition that
believes each of them. The graph is a second witness. Its edges are taken for a random graph with given
degrees, in which an edge within a cluster is more probable than one between clusters by an unknown factor
(a planted partition). At the most probable factor the logarithm of the likelihood is

    W_in log(W_in / E_in) + W_out log(W_out / E_out),

where W are the weights of the edges within and between clusters, and E what the degrees alone lead to expect;
it is 0 if there are fewer edges within clusters than expected. Edges are no independent witnesses, so this
number counts 0.4 log(trust) times, where trust is the power of the neighbours' word that explains the answers
best.

Sources: Karrer & Newman, Physical Review E 83 (2011); Newman, Physical Review E 94 (2016).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linear_sum_assignment
from scipy.special import softmax, xlogy

from npkl_models.applications.annotators import BEFOREHAND, MISLED, counted_misled, counted_rates
from npkl_models.applications.beliefs import Answers
from npkl_models.applications.noise_search import ANEW, ENOUGH, RATES, Part
from npkl_models.applications.propagated import affinities
from npkl_models.linalg import Array, Index, Matrix

FIRST = 0.98  # belief in the first cluster of a point
HEARD = 0.4  # the graph counts this number times the logarithm of the trust
TEMPER = 15.0  # what is said for each result is divided by it, for the weights of the mean


@dataclass(frozen=True, eq=False)
class Witnesses:
    """The answers, and the edges (n x n) as `scaled_edges` returns them.

    ``fixed`` is the rate of wrong answers if it is known.
    """

    edges: Matrix
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
            for _ in range(ANEW):
                seen, misled = answers.seen(own, same)
                if self.fixed is None:
                    common, own = self._counted(seen)
                answers = answers.misleading(counted_misled(misled[answers.several]))
        return common, own, answers

    def _counted(self, seen: Array) -> tuple[Array, Array]:
        """Rates from the probability (m,) that annotators saw one cluster."""
        answers, nobody = self.answers, np.zeros(len(self.answers), dtype=np.intp)
        doubtful = ~answers.right[answers.pair]
        same, must, who = seen[answers.pair][doubtful], answers.must[doubtful], answers.who[doubtful]
        every = counted_rates(must, same, nobody, np.full((1, 2), BEFOREHAND))
        own = every
        if answers.annotators > 1:
            own = counted_rates(must, same, who, np.tile(every, (answers.annotators, 1)))
        return np.clip(every[0], RATES[0], RATES[-1]), np.clip(own, RATES[0], RATES[-1])

    def of_answers(self, labels: Index, rates: Array, answers: Answers | None = None) -> float:
        """Logarithm of the probability of all answers (those of `rates`), if the partition is true."""
        together, separate = (answers or self.answers).log_likelihood(rates)
        same = labels[self.answers.i] == labels[self.answers.j]
        return float(np.where(same, together, separate).sum())

    def of_graph(self, labels: Index) -> float:
        """Logarithm of the likelihood of the edges, relative to that of one cluster."""
        degree = np.asarray(self.edges.sum(axis=1)).ravel()
        whole = float(degree.sum())
        edges = sp.coo_array(self.edges)
        inside = float(edges.data[labels[edges.row] == labels[edges.col]].sum())
        expected = float(np.sum(np.bincount(labels, degree) ** 2)) / (whole or 1.0)
        shares = np.array([[inside, expected], [whole - inside, whole - expected]])
        told, awaited = np.maximum(shares, 0.0).T
        if inside <= expected:
            return 0.0
        return float(np.sum(xlogy(told, told / np.maximum(awaited, 1e-12 * whole)))) / 2

    def judged(self, labels: Index, trust: float) -> float:
        """What answers and graph say for a partition; ``trust`` is the power of the neighbours' word."""
        heard = HEARD * max(float(np.log(trust)), 0.0)
        return self.of_answers(labels, *self.rates(labels)[1:]) + heard * self.of_graph(labels)

    def as_it_is(self, labels: Index, k: int) -> Part:
        """The result of a partition that is kept as it is, with the rates that it leaves to the answers."""
        points = first_beliefs(labels, k)
        common, own, answers = self.rates(labels)
        before = np.einsum("ec,ec->e", points[answers.i], points[answers.j])
        together, separate, _ = answers.likelihood(own)
        said = before * together
        said = said / (said + (1 - before) * separate)
        value = self.of_answers(labels, own, answers)
        right = self.of_answers(labels, np.full((answers.annotators, 2), RATES[0]))
        price = float(np.log(max(len(answers), ENOUGH))) / 2
        accuses = self.fixed is None and value - right > price
        return Part(points, said, common, own, accuses, None, answers.misled)


class Mixed(NamedTuple):
    """The result that answers and graph speak for most, what they say for it, and means over all results.

    ``points`` (n x k), ``together`` (m,) and ``rates`` (2) are those of `Part`. ``doubt`` is the share of the
    pairs that are in one cluster by some results of several clusters, and in two by others.
    """

    best: Part
    value: float
    points: Array
    together: Array
    rates: Array
    doubt: float


def mixed(parts: Sequence[Part], witnesses: Witnesses) -> Mixed:
    """The mean of the results of several first clusters (Hoeting et al., Statistical Science 14, 1999).

    Each result is weighted by a power below 1 of what answers and graph say for its clusters. Only results
    with the largest number of clusters are mixed.
    """
    labels = np.array([part.points.argmax(axis=1) for part in parts])
    sizes = np.array([np.unique(one).size for one in labels])
    full = np.flatnonzero(sizes == sizes.max()).tolist()
    kept = [parts[q] for q in full]
    trust = min((part.trust for part in parts if part.trust is not None), default=1.0)
    judged = np.array([witnesses.judged(one, trust) for one in labels[full]])
    best = kept[int(judged.argmax())]
    share = softmax(judged / TEMPER)
    points = np.einsum("p,pnk->nk", share, [_named(part.points, best.points) for part in kept])
    together = share @ np.array([part.together for part in kept])
    rates = share @ np.array([part.rates for part in kept])
    if witnesses.fixed is not None:
        rates = np.full(2, witnesses.fixed)
    points, together = (np.minimum(one, 1.0) for one in (points, together))  # shares sum to 1 to rounding
    i, j = (end[~witnesses.answers.right] for end in (witnesses.answers.i, witnesses.answers.j))
    same = labels[sizes > 1][:, i] == labels[sizes > 1][:, j]
    doubt = float(np.sum(same.any(axis=0) & ~same.all(axis=0))) / (i.size + 1)  # below 1: the order stays
    return Mixed(best, float(judged.max()), points, together, rates, doubt)


def _named(points: Array, like: Array) -> Array:
    """The beliefs with the clusters in the order that agrees best with other beliefs."""
    return np.asarray(points[:, linear_sum_assignment(-(like.T @ points))[1]])


def first_beliefs(labels: Index, k: int) -> Array:
    """Beliefs (n x k): a share for the cluster of each point, and the rest equal for all clusters."""
    return FIRST * np.eye(k)[labels] + (1 - FIRST) / k


def scaled_edges(graph: Matrix) -> Matrix:
    """The weights of the edges (n x n, no diagonal) of a graph or Laplacian, scaled to count edges.

    Their sum is the number of equal edges with the same ratio of the squared sum to the sum of squares.
    """
    A = affinities(graph)
    squares = float(np.sum(A.data**2))
    return A * (float(A.data.sum()) / squares) if squares else A
