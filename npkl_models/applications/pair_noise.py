"""A model of wrong pairs: each answer is right with an unknown probability.

The clusters of the points and the rates of wrong answers are found together. A point's neighbours in the
graph say something about its cluster, and so do the answers about it. The weight of the neighbours' word and
the rates maximise the probability of all answers (`npkl_models.applications.beliefs`). This is a local
maximum over clusters: it depends on the first clusters. Several first clusters can be tried; the ones that
make the answers most probable are kept. Messages are approximations on cycles of pairs. So a few answers
that contradict each other in a short cycle, and nothing else, may all be believed.

The rates of wrong answers about points of one cluster and of two clusters are equal, unless different rates
explain the answers so much better that Schwarz's criterion accepts one more parameter (Schwarz, "Estimating
the Dimension of a Model", Annals of Statistics 6, 1978).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
import scipy.sparse as sp

from npkl_models.applications.beliefs import Answers, Beliefs, wrong_answers
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.linalg.owned import real_number
from npkl_models.model.pairs import Pairs

RATES = (0.003, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.13, 0.16, 0.2, 0.25, 0.3, 0.35, 0.4)
# The neighbours' word is the mean belief w of the neighbours of a point (n x k). The point's evidence is
# ((1 - doubt) w + doubt / k) ** trust, scaled to the sum 1.
TRUST = tuple(np.exp(np.arange(-1.0, 1.25, 0.25)))
DOUBT = tuple(1 / (1 + np.exp(np.arange(4.0, -2.5, -0.5))))
USUAL = (6, 4, 4)  # where the search begins: a rate of 0.1, a power of 1, a doubt of 0.12
SPREAD_TRUST, SPREAD_DOUBT = 1.0, 1.5  # standard deviations of log trust and of doubt's log-odds beforehand
MEAN_DOUBT = -2.0  # mean of doubt's log-odds beforehand
ENOUGH = 20  # with fewer answers there is one rate, and its price is that of so many
FIRST = 0.9  # belief in the first cluster of a point
TURNS = 3  # number of times that the neighbours' word is asked again
NEAR = ((-3, -2, -1, 0, 1, 2, 3), (0,), (-2, 0, 2))  # steps from the best parameters that are averaged over


@dataclass(frozen=True, eq=False)
class PairNoise:
    """What the model says about the pairs and the points.

    Attributes
    ----------
    pairs : ndarray of int, shape (m, 2)
        The pairs.
    wrong : ndarray of shape (m,)
        Probability that the answer to a pair is wrong.
    beliefs : ndarray of shape (n, n_clusters)
        Probability of each cluster at each point.
    rates : tuple of (float, float)
        Estimated probability of a wrong answer about two points of one cluster (a cannot-link that should be
        a must-link), and about points of two clusters.
    log_evidence : float
        The number by which first clusters are compared: the logarithm of the probability of all answers, plus
        that of the weight of the neighbours' word beforehand, minus the price of a second rate.
    accuses : bool
        Whether estimated rates of wrong answers explain the pairs so much better than the smallest rate that
        Schwarz's criterion accepts them. False for a given rate.
    """

    pairs: Index
    wrong: Array
    beliefs: Array
    rates: tuple[float, float]
    log_evidence: float
    accuses: bool

    @property
    def labels(self) -> Index:
        """The most probable cluster of each point, shape (n,)."""
        return np.argmax(self.beliefs, axis=1).astype(np.intp)

    @property
    def weights(self) -> Array:
        """Weights of the pairs, shape (m,): 1 for a right answer, 0 if the answer is more likely wrong."""
        return np.maximum(1 - 2 * self.wrong, 0.0)

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
    graph: Matrix, pairs: Pairs, starts: Sequence[Index], n_clusters: int, noise: float | str = "auto"
) -> PairNoise:
    """Find the wrong pairs, the rates of wrong answers, and the clusters.

    Parameters
    ----------
    graph : sparse matrix of shape (n, n)
        Affinities of neighbouring points, or a Laplacian.
    pairs : Pairs
        The answers. Their confidences are not used.
    starts : sequence of ndarray of int, shape (n,)
        First clusters of the points, from 0 to n_clusters - 1; for example by k-means on a learnt kernel.
    n_clusters : int
        Number of clusters, at least 2.
    noise : "auto" or float
        The rate of wrong answers, below 0.5; "auto" estimates the rate. Rates below 0.003 count as 0.003.

    Returns
    -------
    PairNoise
        The result of the first clusters that make the answers most probable. Results without an empty
        cluster come first; a cluster that no answer speaks of may stay empty.

    Examples
    --------
    >>> import numpy as np
    >>> import npkl_models as nm
    >>> from npkl_models.applications.pair_noise import pair_noise
    >>> X = np.repeat([[0.0], [9.0]], 20, axis=0) + np.random.default_rng(0).normal(size=(40, 1))
    >>> y = np.repeat([0, 1], 20)
    >>> together = [(0, 1), (2, 3), (4, 5), (6, 7), (20, 21), (23, 24), (5, 25)]  # the last one is wrong
    >>> pairs = nm.Pairs(40, together, [(0, 22), (4, 23), (7, 26), (8, 27)])
    >>> found = pair_noise(nm.laplacian(X, 5), pairs, [y], 2)
    >>> found.pairs[found.wrong > 0.5].tolist()
    [[5, 25]]
    """
    if not len(pairs):
        raise ProblemError("pairs must hold at least one pair, got none")
    if n_clusters < 2:
        raise ProblemError(f"n_clusters must be at least 2, got {n_clusters}")
    fixed = None if noise == "auto" else rate(noise)
    mean = neighbour_mean(graph)
    answers = Answers(pairs.n, pairs.i, pairs.j, pairs.sign > 0)
    found = [_from(mean, answers, labels, n_clusters, fixed) for labels in different(starts)]
    whole = [
        (np.unique(search.beliefs(best).points.argmax(axis=1)).size, search, best) for search, best in found
    ]
    _, search, best = max(whole, key=lambda one: (one[0], one[1].value(one[2])))
    return search.result(best)


def different(starts: Sequence[Index]) -> list[Index]:
    """The partitions that are not, with other names of the clusters, one before."""
    found: list[Index] = []
    for labels in starts:
        groups = [np.unique(one * (int(labels.max()) + 1) + labels).size for one in found]
        counts = [(np.unique(one).size, np.unique(labels).size) for one in found]
        if not any(size == a == b for size, (a, b) in zip(groups, counts, strict=True)):
            found.append(labels)
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
    A = sp.coo_array(graph)
    off = (A.row != A.col) & (A.data != 0)
    W = sp.csr_array((np.abs(A.data[off]), (A.row[off], A.col[off])), shape=A.shape)
    degree = np.asarray(W.sum(axis=1)).ravel()
    return sp.csr_array(sp.diags_array(1 / np.where(degree > 0, degree, 1.0)) @ W)


def _from(
    mean: Matrix, answers: Answers, labels: Index, k: int, fixed: float | None
) -> tuple[_Search, _Place]:
    """The search from one set of first clusters, and the parameters that it has found."""
    beliefs = np.full((labels.size, k), (1 - FIRST) / k)
    beliefs[np.arange(labels.size), labels] += FIRST
    best = _Place(USUAL, None)
    for _ in range(TURNS):
        word = np.asarray(mean @ beliefs)
        said = word.sum(axis=1, keepdims=True)
        search = _Search(np.where(said > 0, word / np.where(said > 0, said, 1.0), 1.0 / k), answers, fixed)
        best = search.climb(best)
        beliefs = search.beliefs(best).points
    return search, best


@dataclass(frozen=True)
class _Place:
    """Positions of rate, trust and doubt in their lists; a second rate if it differs from the first."""

    at: tuple[int, int, int]
    other: int | None


def _without(place: _Place) -> _Place:
    """The same trust and doubt, with the smallest rate of wrong answers."""
    return _Place((0, *place.at[1:]), None)


class _Search:
    """The search for the parameters that make the answers most probable, given the neighbours' word."""

    def __init__(self, word: Array, answers: Answers, fixed: float | None) -> None:
        self.word, self.answers, self.fixed = word, answers, fixed
        self.price = float(np.log(max(len(answers), ENOUGH))) / 2  # Schwarz's price of a parameter
        self.known: dict[_Place, Beliefs] = {}

    def rates(self, place: _Place) -> tuple[float, float]:
        if self.fixed is not None:
            one = max(self.fixed, RATES[0])
            return one, one
        one = RATES[place.at[0]]
        return one, one if place.other is None else RATES[place.other]

    def beliefs(self, place: _Place) -> Beliefs:
        if place not in self.known:
            trust, doubt = TRUST[place.at[1]], DOUBT[place.at[2]]
            said = ((1 - doubt) * self.word + doubt / self.word.shape[1]) ** trust
            evidence = said / said.sum(axis=1, keepdims=True)
            self.known[place] = self.answers.propagate(evidence, self.rates(place))
        return self.known[place]

    def value(self, place: _Place) -> float:
        """Log evidence, with what is known of trust and doubt beforehand and Schwarz's price of a rate."""
        _, trust, doubt = place.at
        share = DOUBT[doubt]
        known = (np.log(TRUST[trust]) / SPREAD_TRUST) ** 2
        known += ((np.log(share / (1 - share)) - MEAN_DOUBT) / SPREAD_DOUBT) ** 2
        price = 0.0 if place.other is None else self.price
        return self.beliefs(place).log_evidence - float(known) / 2 - price

    def climb(self, place: _Place) -> _Place:
        """Steps of one parameter at a time until none is better; then two rates instead of one."""
        place = self._ascend(place, self._steps)
        if self.fixed is None:
            place = max(place, self._ascend(_without(place), self._steps), key=self.value)
        if self.fixed is None and place.other is None and len(self.answers) >= ENOUGH:
            apart = replace(place, other=place.at[0])
            better = self._ascend(apart, self._steps)
            if self.value(better) > self.value(place):
                return better
        return place

    def _ascend(self, place: _Place, steps: Callable[[_Place], list[_Place]]) -> _Place:
        """Take the first step that is better, until none is."""
        while True:
            now = self.value(place)
            better = next((one for one in steps(place) if self.value(one) > now), None)
            if better is None:
                return place
            place = better

    def _steps(self, place: _Place, first: int = 0) -> list[_Place]:
        """Neighbouring places; with ``first=2`` the rate stays."""
        moves = [(-1, 0, 0), (1, 0, 0), (0, -1, 0), (0, 1, 0), (0, 0, -1), (0, 0, 1)]
        found = [self._moved(place, move) for move in moves[first if self.fixed is None else 2 :]]
        if place.other is not None:
            for step in (-1, 1):
                if 0 <= place.other + step < len(RATES):
                    found.append(replace(place, other=place.other + step))
        return [one for one in found if one is not None]

    def _moved(self, place: _Place, move: tuple[int, ...]) -> _Place | None:
        first, second, third = (a + b for a, b in zip(place.at, move, strict=True))
        at = first, second, third
        inside = all(0 <= a < len(values) for a, values in zip(at, (RATES, TRUST, DOUBT), strict=True))
        return replace(place, at=at) if inside else None

    def result(self, best: _Place) -> PairNoise:
        """The means over parameters near the best ones, each weighted by its evidence."""
        near = NEAR if self.fixed is None else ((0,), *NEAR[1:])
        places = [place for move in product(*near) if (place := self._moved(best, move)) is not None]
        values = np.array([self.value(place) for place in places])
        share = np.exp(values - values.max())
        share /= share.sum()
        points, wrong, rates = 0.0, 0.0, np.zeros(2)
        for part, place in zip(share, places, strict=True):
            found = self.beliefs(place)
            points = points + part * found.points
            wrong = wrong + part * wrong_answers(self.answers, found.together, self.rates(place))
            rates += part * np.array(self.rates(place))
        if self.fixed is not None:
            rates[:] = self.fixed
        pairs = np.stack([self.answers.i, self.answers.j], axis=1)
        accuses = self.fixed is None and max(best.at[0], best.other or 0) > 0
        if accuses:
            right = self._ascend(_without(best), partial(self._steps, first=2))
            accuses = self.value(best) - self.value(right) > self.price
        return PairNoise(
            pairs, np.asarray(wrong), np.asarray(points), (float(rates[0]), float(rates[1])),
            self.value(best), accuses,
        )  # fmt: skip
