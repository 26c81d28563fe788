"""What speaks for a partition of the points: the answers to the pairs, and the edges of the graph.

The answers have been read by whoever made the partition, so they alone would choose the partition that
believes each of them. The graph is a second witness. Its edges are taken for a random graph with given
degrees, in which an edge within a cluster is more probable than one between clusters by an unknown factor
(a planted partition). At the most probable factor the logarithm of the likelihood is

    W_in log(W_in / E_in) + W_out log(W_out / E_out),

where W are the weights of the edges within and between clusters, and E what the degrees alone lead to expect.
It is 0 if there are fewer edges within clusters than expected, since then the most probable factor is 1.
Edges are no independent witnesses, and on some sets the graph says little of the clusters. So this number
counts 0.4 log(trust) times, where trust is the power of the neighbours' word that explains the answers best.

Sources: Karrer & Newman, "Stochastic Blockmodels and Community Structure in Networks", Physical Review E 83
(2011); Newman, "Equivalence between Modularity Optimization and Maximum Likelihood Methods for Community
Detection", Physical Review E 94 (2016).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.special import logit, xlogy

from npkl_models.applications.annotators import BEFOREHAND, MISLED, counted_misled, counted_rates
from npkl_models.applications.beliefs import Answers
from npkl_models.applications.noise_search import ENOUGH, RATES, Averaged
from npkl_models.applications.signed import affinities
from npkl_models.linalg import Array, Index, Matrix

FIRST = 0.9  # belief in the first cluster of a point
KEPT = 0.98  # the same of a partition that is kept as it is
HEARD = 0.4  # the graph counts this number times the logarithm of the trust
LARGEST = 0.45  # the largest rate of wrong answers
TURNS = 10  # number of times that rates and misleading pairs follow from each other


@dataclass(frozen=True, eq=False)
class Witnesses:
    """The answers and the graph.

    Attributes
    ----------
    edges : sparse matrix of shape (n, n)
        Weights of the edges, as `scaled_edges` returns them.
    answers : Answers
        The answers.
    fixed : float or None
        The rate of wrong answers, if it is known.
    """

    edges: Matrix
    answers: Answers
    fixed: float | None

    def rates(self, labels: Index) -> tuple[Array, Array, Answers]:
        """What a partition says of the answers.

        The common rates of wrong answers (2), those of each annotator (annotators x 2), and the answers with
        the share of misleading pairs.
        """
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
        """Logarithm of the probability of all answers, if the partition is true.

        ``answers`` are those of `rates`; by default no pair misleads.
        """
        together, apart = (answers or self.answers).log_likelihood(rates)
        same = labels[self.answers.i] == labels[self.answers.j]
        return float(np.where(same, together, apart).sum())

    def of_graph(self, labels: Index) -> float:
        """Logarithm of the likelihood of the edges, relative to that of one cluster."""
        degree = np.asarray(self.edges.sum(axis=1)).ravel()
        whole = float(degree.sum())
        if whole == 0:
            return 0.0
        edges = sp.coo_array(self.edges)
        inside = float(edges.data[labels[edges.row] == labels[edges.col]].sum())
        expected = float(np.sum(np.bincount(labels, degree) ** 2)) / whole
        shares = np.array([[inside, expected], [whole - inside, whole - expected]])
        told, awaited = np.maximum(shares, 0.0).T
        if inside <= expected:
            return 0.0
        return float(np.sum(xlogy(told, told / np.maximum(awaited, 1e-12 * whole)))) / 2

    def judged(self, labels: Index, trust: float) -> float:
        """What answers and graph say for a partition; ``trust`` is the power of the neighbours' word."""
        heard = HEARD * max(float(np.log(trust)), 0.0)
        return self.of_answers(labels, *self.rates(labels)[1:]) + heard * self.of_graph(labels)

    def as_it_is(self, labels: Index, k: int) -> Averaged:
        """The result of a partition that is kept as it is, with the rates that it leaves to the answers."""
        points = first_beliefs(labels, k, KEPT)
        common, own, answers = self.rates(labels)
        before = np.einsum("ec,ec->e", points[answers.i], points[answers.j])
        together, apart, _ = answers.likelihood(own)
        said = before * together
        said = said / (said + (1 - before) * apart)
        value = self.of_answers(labels, own, answers)
        right = self.of_answers(labels, np.full((answers.annotators, 2), RATES[0]))
        price = float(np.log(max(len(answers), ENOUGH))) / 2
        accuses = self.fixed is None and value - right > price
        added = logit(own) - logit(common) if answers.annotators > 1 else np.zeros((1, 2))
        return Averaged(points, said, before, common, added, own, value, accuses, None, answers.misled)


def first_beliefs(labels: Index, k: int, share: float = FIRST) -> Array:
    """Beliefs (n x k): a share for the cluster of each point, and the rest equal for all clusters."""
    beliefs = np.full((labels.size, k), (1 - share) / k)
    beliefs[np.arange(labels.size), labels] += share
    return beliefs


def scaled_edges(graph: Matrix) -> Matrix:
    """The weights of the edges (n x n, no diagonal) of a graph or Laplacian, scaled to count edges.

    The sum of the scaled weights is the number of equal edges with the same ratio of the squared sum to the
    sum of squares.
    """
    A = affinities(graph)
    squares = float(np.sum(A.data**2))
    return A * (float(A.data.sum()) / squares) if squares else A
