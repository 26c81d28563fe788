"""Answers of several annotators about pairs: which answer is right, and how often each annotator is wrong.

Each annotator has two unknown rates of wrong answers, about points of one cluster and about points of two.
Expectation and maximisation alternate between the probability that each pair is a must-link and the rates;
they end at a local maximum. Without a graph, nothing but repeated answers tells a good annotator from a bad
one, and mistakes count as independent (`npkl_models.applications.pair_noise` reads the graph, too).

Source: Dawid & Skene, "Maximum Likelihood Estimation of Observer Error-Rates Using the EM Algorithm",
Applied Statistics 28 (1979), here for the two classes must-link and cannot-link.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Mask
from npkl_models.linalg.owned import whole_array
from npkl_models.model.colouring import listed, way
from npkl_models.model.pairs import Pairs
from npkl_models.model.sampling import signs

STRENGTH = 5.0  # what is known of a rate beforehand counts as so many answers
BEFOREHAND = 0.1  # a rate beforehand
MISLED = 0.02  # share of pairs that mislead everybody, beforehand
TURNS = 200  # of expectation and maximisation


@dataclass(frozen=True, eq=False)
class AnnotatedPairs:
    """Pairs with all answers to them.

    Attributes
    ----------
    pairs : Pairs
        Each pair once, with its more probable answer; m pairs.
    probability : ndarray of shape (m,)
        Probability that each pair is a must-link, by the answers alone.
    must, pair, who : ndarray of shape (t,)
        The answers as booleans, and the positions of their pairs in ``pairs`` and annotators in ``names``.
    names : ndarray of shape (a,)
        The annotators.
    rates : ndarray of shape (a, 2)
        Probabilities of a wrong answer about two points of one cluster, and of two, by the answers alone.
    """

    pairs: Pairs
    probability: Array
    must: Mask
    pair: Index
    who: Index
    names: Array
    rates: Array

    @property
    def weights(self) -> Array:
        """Weights of the pairs, shape (m,): 1 for a certain answer, 0 if both are equally probable."""
        return np.abs(2 * self.probability - 1)

    def agree(self, names: Any = None) -> None:
        """Refuse pairs that have both answers, which a ProblemError names."""
        share = np.bincount(self.pair, self.must) / np.bincount(self.pair)
        both = [way(ends, names) for ends in self.pairs.ends[(share > 0) & (share < 1)].tolist()]
        if both:
            raise ProblemError(f"answers must agree where all are right, got opposite ones to {listed(both)}")


def annotated_pairs(n: int, pairs: ArrayLike, answers: ArrayLike, annotator: ArrayLike) -> AnnotatedPairs:
    """Weigh the answers of several annotators: each pair once, and the rates of the annotators.

    Parameters
    ----------
    n : int
        Number of points.
    pairs : array_like of int, shape (t, 2)
        The pair of each answer; pairs may be repeated.
    answers : array_like of shape (t,)
        +1 for must-links and -1 for cannot-links, or booleans, or 1 and 0, or words such as must and cannot.
    annotator : array_like of shape (t,)
        Who gave each answer: names or numbers.

    Raises
    ------
    ProblemError
        If the lengths differ, or a pair or an answer is invalid.
    """
    ends, must = whole_array(pairs, "pairs of shape (m, 2)"), signs(answers) > 0
    names, who = _names(annotator)
    if ends.size and (ends.ndim != 2 or ends.shape[1] != 2):
        raise ProblemError(f"pairs must be integers of shape (m, 2), got shape {ends.shape}")
    if not len(ends) == must.size == who.size:
        raise ProblemError(
            f"pairs, answers and annotator must have one length, got {len(ends)}, {must.size} and {who.size}"
        )
    one = Pairs(n, ends, None)  # checks the pairs
    code, pair = np.unique(np.sort(ends, axis=1) @ np.array([n, 1]), return_inverse=True)
    pair = pair.ravel()
    probability, rates = _alternate(must, pair, who, len(one), len(names))
    order = np.argsort(probability < 0.5, kind="stable")  # must-links first, as in Pairs
    both, said = np.stack([code // n, code % n], axis=1), probability >= 0.5
    kept = Pairs(n, both[said], both[~said])
    return AnnotatedPairs(kept, probability[order], must, np.argsort(order)[pair], who, names, rates)


def _names(annotator: Any) -> tuple[Array, Index]:
    import pandas

    values = np.asarray(annotator)
    if values.ndim != 1 or values.dtype.kind not in "biuUSOf":
        raise ProblemError(
            "annotator must have a name or number for each answer, in one row, got an array of "
            f"{values.dtype} with shape {values.shape}"
        )
    where = np.flatnonzero(pandas.isna(values))[:5].tolist()
    if where:
        raise ProblemError(
            f"annotator must have a name or a number for each answer, got None or NaN at positions {where}"
        )
    names, who = np.unique(values.astype(str) if values.dtype.kind == "O" else values, return_inverse=True)
    return names, who.ravel().astype(np.intp)


def _alternate(must: Mask, pair: Index, who: Index, m: int, a: int) -> tuple[Array, Array]:
    """The probabilities of must-links (m,) and the rates (a x 2), by turns.

    A pair that one annotator alone answered says nothing of the rates. Otherwise the annotator would judge
    himself. Beforehand must-links and cannot-links are equally probable.
    """
    yes, every = np.bincount(pair, must, m), np.bincount(pair, minlength=m)
    probability = (yes + 0.5) / (every + 1.0)
    voices = np.bincount(np.unique(pair * a + who) // a, minlength=m)
    shared = voices[pair] > 1
    for _ in range(TURNS):
        same, before = probability[pair], np.full((a, 2), BEFOREHAND)
        rates = counted_rates(must[shared], same[shared], who[shared], before)
        one, two = rates[who].T
        odds = np.log(np.where(must, 1 - one, one)) - np.log(np.where(must, two, 1 - two))
        probability = expit(np.bincount(pair, odds, m))
    return probability, rates


def counted_rates(must: Mask, same: Array, who: Index, before: Array) -> Array:
    """Rates of wrong answers (a x 2) from the probability that each answer is about one cluster.

    ``before`` (a x 2) are the rates that are expected beforehand.
    """
    a = len(before)
    wrong = [np.bincount(who, part, a) for part in (same * ~must, (1 - same) * must)]
    every = [np.bincount(who, part, a) for part in (same, 1 - same)]
    return (np.stack(wrong, axis=1) + STRENGTH * before) / (np.stack(every, axis=1) + STRENGTH)


def counted_misled(misled: Array) -> float:
    """The share of misleading pairs from the probability that each pair misleads."""
    return float((misled.sum() + STRENGTH * MISLED) / (misled.size + STRENGTH))
