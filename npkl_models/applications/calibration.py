"""Probabilities of wrong pairs that are less sure of themselves: what the answers say of earlier predictions.

Each pair has a prediction of its answers that was made without them: the probability q that its two points
are in one cluster. If the predictions are too sure, the answers contradict them more often than the rates of
wrong answers allow. So the log-odds of q are multiplied by a factor of at most 1. The answers say how
probable each factor is, together with each pair of rates, and the posterior is averaged over all of them. A
factor above 1 is not believed: the first clusters have seen the answers, so they agree too well. Several
results are mixed, each weighted by a power below 1 of what the answers and the graph say for its clusters.

Sources: Platt, "Probabilistic Outputs for Support Vector Machines", Advances in Large Margin Classifiers
(1999), for the factor; Hoeting et al., "Bayesian Model Averaging", Statistical Science 14 (1999).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.optimize import linear_sum_assignment
from scipy.special import expit, logit

from npkl_models.applications.beliefs import Answers
from npkl_models.applications.noise_search import RATES, Averaged, with_own
from npkl_models.applications.partitions import Witnesses
from npkl_models.linalg import Array

FACTORS = np.exp(np.arange(-1.5, 0.25, 0.25))  # of the log-odds of a prediction; above 1 it would be surer
SPREAD = 1.0  # standard deviation of the logarithm of the factor beforehand
TWO = 0.01  # probability beforehand that there are two rates
TEMPER = 15.0  # what is said for each result is divided by it, for the weights of the mean
SURE = 0.85  # factor of the log-odds of the mean: messages on cycles count some words twice
LEAST = 1e-9  # the smallest probability


@dataclass(frozen=True, eq=False)
class Mixed:
    """Means over several first clusters.

    Attributes
    ----------
    best : Averaged
        The result that the answers and the graph speak for most.
    value : float
        What they say for it.
    points : ndarray of shape (n, k)
        Probability of each cluster at each point.
    together : ndarray of shape (m,)
        Probability that the two points of each pair are in one cluster.
    rates : ndarray of shape (2,)
        Rates of wrong answers.
    """

    best: Averaged
    value: float
    points: Array
    together: Array
    rates: Array


def mixed(parts: Sequence[Averaged], witnesses: Witnesses) -> Mixed:
    """The mean of the results of several first clusters.

    Results without an empty cluster come first; only those with the largest number of clusters are mixed.
    ``together`` is the mean of two probabilities, that of the messages and that of `recalibrated`, with its
    log-odds multiplied by 0.85. The factor was chosen among six on eight sets.

    Parameters
    ----------
    parts : sequence of Averaged
        A result for each set of first clusters.
    witnesses : Witnesses
        The answers and the graph, which judge the results.
    """
    sizes = [np.unique(part.points.argmax(axis=1)).size for part in parts]
    kept = [part for part, size in zip(parts, sizes, strict=True) if size == max(sizes)]
    fixed = witnesses.fixed
    trust = min((part.trust for part in parts if part.trust is not None), default=1.0)
    judged = np.array([witnesses.judged(part.points.argmax(axis=1), trust) for part in kept])
    best = kept[int(judged.argmax())]
    share = np.exp((judged - judged.max()) / TEMPER)
    share /= share.sum()
    points = np.einsum("p,pnk->nk", share, [_named(part.points, best.points) for part in kept])
    points = np.minimum(points, 1.0)  # the shares have the sum 1 but for rounding
    together, rates = (
        share @ np.array([getattr(part, name) for part in kept]) for name in ("together", "rates")
    )
    if fixed is not None:
        rates = np.full(2, fixed)
    searched = np.array([part.trust is not None for part in kept])
    if searched.any():  # a partition that is kept as it is makes no prediction without the answers
        share = share * searched / np.sum(share * searched)
    answers = witnesses.answers.misleading(best.misled)
    again = recalibrated(share @ np.array([part.before for part in kept]), answers, best.own, fixed)
    return Mixed(best, float(judged.max()), points, expit(SURE * _odds((together + again) / 2)), rates)


def recalibrated(before: Array, answers: Answers, own: Array, fixed: float | None) -> Array:
    """The probability that the points of each pair are in one cluster, from a prediction and the answers.

    Parameters
    ----------
    before : ndarray of shape (m,)
        Probability that the points of each pair are in one cluster, without the answers to this pair.
    answers : Answers
        The answers.
    own : ndarray of shape (annotators, 2)
        What is added to the log-odds of the common rates for each annotator.
    fixed : float or None
        The rate of wrong answers, if it is known.
    """
    q = expit(FACTORS[:, None] * _odds(before))
    known = -((np.log(FACTORS) / SPREAD) ** 2) / 2
    mean, weight, largest = (
        np.zeros(before.size),
        0.0,
        -np.inf,
    )  # a running mean: m numbers, not m for all rates
    for rates, log_known in _rates(fixed):
        together, apart, divided = answers.likelihood(with_own(rates, own))
        said = q * together + (1 - q) * apart
        value = np.log(said).sum(axis=1) + divided + known + log_known
        before_it, largest = largest, max(largest, float(value.max()))
        share, kept = np.exp(value - largest), np.exp(before_it - largest)
        mean, weight = kept * mean + share @ (q * together / said), kept * weight + float(share.sum())
    return np.asarray(mean / weight)


def _rates(fixed: float | None) -> list[tuple[Array, float]]:
    """Pairs of rates, and the logarithms of their probabilities beforehand."""
    if fixed is not None:
        return [(np.full(2, max(fixed, RATES[0])), 0.0)]
    count = len(RATES)
    equal, different = np.log((1 - TWO) / count), np.log(TWO / (count * (count - 1)))
    return [
        (np.array([one, two]), float(equal if one == two else different)) for one in RATES for two in RATES
    ]


def _odds(probability: Array) -> Array:
    return np.asarray(logit(np.clip(probability, LEAST, 1 - LEAST)))


def _named(points: Array, like: Array) -> Array:
    """The beliefs with the clusters in the order that agrees best with other beliefs."""
    return np.asarray(points[:, linear_sum_assignment(-(like.T @ points))[1]])
