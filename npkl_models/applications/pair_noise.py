"""A model of wrong pairs: each answer is right with an unknown probability.

The clusters of the points and the rates of wrong answers are found together. A point's neighbours in the
graph say something about its cluster, and so do the answers about it. The weight of the neighbours' word and
the rates maximise the probability of all answers (`npkl_models.applications.beliefs`), a local maximum that
depends on the first clusters. Several are tried and mixed (`npkl_models.applications.partitions`). Messages
are approximations on cycles of pairs: a few answers that contradict each other in a short cycle, and nothing
else, may all be believed.

The first clusters have read the answers, so each result is too sure. The share of the pairs about which
results disagree is taken for the probability that they know nothing of a pair, which is then as often wrong
as the mean pair.

A pair may mislead every annotator: two points that look alike, or a wrong join of two tables. So a pair with
several answers misleads with a probability that is estimated, too. The rates about points of one cluster and
of two are equal, unless different ones explain the answers so much better that Schwarz's criterion accepts
one more parameter (Schwarz, Annals of Statistics 6, 1978).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.applications.annotators import MISLED, AnnotatedPairs
from npkl_models.applications.beliefs import Answers
from npkl_models.applications.noise_search import USUAL, Part, Search
from npkl_models.applications.partitions import Witnesses, first_beliefs, mixed, scaled_edges
from npkl_models.applications.propagated import affinities
from npkl_models.errors import ProblemError, instance
from npkl_models.linalg import Array, Index, Mask, Matrix
from npkl_models.linalg.owned import real_number, whole_array, whole_number
from npkl_models.model.pairs import Pairs

TURNS = 2  # number of times that the neighbours' word is asked again


@dataclass(frozen=True, eq=False)
class PairNoise:
    """What the model says about the pairs and the points.

    Attributes
    ----------
    pairs, must : ndarray of shape (m, 2) and (m,)
        The pairs, and whether the answer to each is must-link.
    wrong : ndarray of shape (m,)
        Probability that the answer to a pair is wrong.
    weights : ndarray of shape (m,)
        Weights of the pairs in a kernel: 1 for a right answer, 0 for one that is wrong by the mean of the
        results. They do not heed that the results disagree, which made kernels measurably worse.
    beliefs : ndarray of shape (n, n_clusters)
        Probability of each cluster at each point.
    rates : tuple of (float, float)
        Estimated probability of a wrong answer about two points of one cluster, and about points of two.
    log_evidence : float
        What the answers and the graph say for the clusters of the best result; it compares results.
    accuses : bool
        Whether estimated rates explain the pairs so much better than the smallest rate that Schwarz's
        criterion accepts them. False for a given rate.
    annotator_rates : ndarray of shape (annotators, 2) or None
        The rates of each annotator, if the pairs have annotators.
    parts : tuple of Part
        The result of each set of first clusters, before they were mixed.
    misled : float
        Estimated share of the pairs with several answers that mislead all annotators.
    """

    pairs: Index
    must: Mask
    wrong: Array
    weights: Array
    beliefs: Array
    rates: tuple[float, float]
    log_evidence: float
    accuses: bool
    annotator_rates: Array | None = None
    parts: tuple[Part, ...] = ()
    misled: float = 0.0

    @property
    def labels(self) -> Index:
        """The most probable cluster of each point, shape (n,)."""
        return np.argmax(self.beliefs, axis=1).astype(np.intp)

    @property
    def count(self) -> int:
        """Number of answers that are more likely wrong than right."""
        return int(np.sum(self.wrong > 0.5))

    def __repr__(self) -> str:
        one, two = self.rates
        return f"PairNoise({len(self.wrong)} pairs, {looks(self.count)} wrong, rates {one:.2g} and {two:.2g})"


def looks(count: int) -> str:
    """The number with its verb."""
    return f"{count} {'looks' if count == 1 else 'look'}"


def pair_noise(
    graph: Matrix, pairs: Pairs, starts: Sequence[Index], n_clusters: int, noise: float | str = "auto",
    annotated: AnnotatedPairs | None = None, others: Sequence[Part] = (),
    as_they_are: Sequence[Index] = (),
) -> PairNoise:  # fmt: skip
    """Find the wrong pairs, the rates of wrong answers, and the clusters.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Affinities of neighbouring points, or a Laplacian.
    pairs : Pairs
        The answers. An answer of infinite confidence is right; other confidences are not used.
    starts : sequence of ndarray of int, shape (n,)
        First clusters of the points, from 0 to n_clusters - 1; for example by k-means on a learnt kernel.
    n_clusters : int
        Number of clusters, at least 2.
    noise : "auto" or float
        The rate of wrong answers, below 0.5; "auto" estimates it. Rates below 0.003 count as 0.003.
    annotated : AnnotatedPairs, optional
        All answers to the pairs, if several annotators answered; ``pairs`` are then ``annotated.pairs``.
    others : sequence of Part, optional
        The ``parts`` of an earlier result for the same answers, which are mixed in.
    as_they_are : sequence of ndarray of int, shape (n,)
        Further partitions, which are mixed in without a search that begins at them.

    Returns
    -------
    PairNoise
        The mean of the results of all first clusters. Results without an empty cluster come first.

    Raises
    ------
    ProblemError
        If there are no first clusters, or if graph, pairs and first clusters are not over the same points.
    """
    n_clusters = whole_number(n_clusters, "n_clusters", 2)
    instance(pairs, Pairs, "pairs")
    graph = affinities(graph, pairs.n)
    if annotated is not None and annotated.pairs is not pairs and len(annotated.pairs) != len(pairs):
        raise ProblemError(f"pairs must be annotated.pairs, got {pairs!r} beside {annotated.pairs!r}")
    starts, as_they_are = (
        [_clusters(one, name, pairs.n, n_clusters) for one in given]
        for given, name in ((starts, "starts"), (as_they_are, "as_they_are"))
    )
    if not (starts or as_they_are or others):
        raise ProblemError("starts must hold at least one partition of the points, got none")
    fixed = None if noise == "auto" else rate(noise)
    mean, right, must = neighbour_mean(graph), np.isinf(pairs.confidence), pairs.sign > 0
    told = (must,) if annotated is None else (annotated.must, annotated.pair, annotated.who)
    answers = Answers(pairs.n, pairs.i, pairs.j, *told)
    answers.right = right
    witnesses = Witnesses(scaled_edges(graph), answers, fixed)
    parts = [*others, *(_from(mean, answers, labels, n_clusters, fixed) for labels in starts)]
    parts += [witnesses.as_it_is(labels, n_clusters) for labels in as_they_are]
    whole = mixed(parts, witnesses)
    (one, two), best = whole.rates.tolist(), whole.best
    own = None if annotated is None else best.own_rates
    said = np.where(right, 0.0, np.where(must, 1 - whole.together, whole.together))
    usual = min(said.sum() / max(np.sum(~right), 1), 0.5)
    wrong = np.where(right, 0.0, said + whole.doubt * (usual - said))
    judged = (one, two), whole.value, best.accuses, own, tuple(parts), best.misled
    return PairNoise(pairs.ends, must, wrong, np.maximum(1 - 2 * said, 0.0), whole.points, *judged)


def _clusters(labels: ArrayLike, name: str, n: int, k: int) -> Index:
    """First clusters, which are checked."""
    found = whole_array(labels, name)
    if found.shape != (n,) or found.min() < 0 or found.max() >= k:
        raise ProblemError(
            f"{name} must hold clusters 0..{k - 1} of {n} points each, got shape {found.shape}"
            + (f" with {found.min()} to {found.max()}" if found.size else "")
        )
    return found


def rate(noise: float | str) -> float:
    """The rate of wrong answers that a user gives, from 0 to below 0.5."""
    if isinstance(noise, str):
        raise ProblemError(f"noise must be 'auto' or a number from 0 to below 0.5, got {noise!r}")
    value = real_number(noise, "noise")
    if not 0 <= value < 0.5:
        raise ProblemError(f"noise, the rate of wrong pairs, must be from 0 to below 0.5, got {noise}")
    return value


def neighbour_mean(graph: Matrix) -> Matrix:
    """The sparse matrix (n x n) that averages over each point's neighbours; a lonely point has a zero row."""
    W = affinities(graph)
    degree = np.asarray(W.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1 / np.where(degree > 0, degree, 1.0)) @ W)


def _from(mean: Matrix, answers: Answers, labels: Index, k: int, fixed: float | None) -> Part:
    """The result of one set of first clusters."""
    beliefs, best = first_beliefs(labels, k), USUAL
    if fixed != 0:
        answers = answers.misleading(MISLED)
    own: Array = np.zeros((answers.annotators, 2))
    for turn in range(TURNS):
        word = np.asarray(mean @ beliefs)
        said = word.sum(axis=1, keepdims=True)
        share = np.where(said > 0, word / np.where(said > 0, said, 1.0), 1.0 / k)
        search = Search(share, answers, fixed, own)
        best = search.climb(best, whole=turn == TURNS - 1)
        if turn < TURNS - 1:
            beliefs, (own, answers) = search.beliefs(best).points, search.learnt(best)
    return search.part(best)
