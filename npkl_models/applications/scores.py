"""The papers' measures of the quality of a partition or a metric; points of unknown class do not count."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.stats import ttest_rel

from npkl_models.errors import ProblemError, chosen
from npkl_models.linalg import Index
from npkl_models.linalg.owned import finite, real_array
from npkl_models.model.sampling import labelled


def weighted_rand_index(labels: ArrayLike, clusters: ArrayLike, drawn_from: str = "clusters") -> float:
    """The Rand index in which pairs within a part and pairs across parts have weight one half each.

    The plain index is high for nearly any partition into many clusters, since most pairs lie across clusters.
    Yeung, Chang & Dai, Neural Computation 2008, section 5.3.2, after Xing, Ng, Jordan & Russell, NIPS 2003.

    Parameters
    ----------
    labels, clusters : array_like of shape (n,)
        The true partition, and the partition that is judged.
    drawn_from : {"clusters", "labels"}
        The partition that decides whether a pair is within a part: "clusters", as in Xing et al., or
        "labels".

    Returns
    -------
    float
        The index, between 0 and 1. If all pairs are within parts, or all across, that kind decides alone.

    Examples
    --------
    >>> from npkl_models.applications.scores import weighted_rand_index
    >>> weighted_rand_index([0, 0, 1, 1], [0, 0, 1, 1])
    1.0
    >>> weighted_rand_index([0, 0, 1, 1], [0, 0, 0, 1])
    0.5
    """
    from sklearn.metrics.cluster import pair_confusion_matrix

    chosen("drawn_from", drawn_from, ("clusters", "labels"))
    (apart, merged), (split, together) = pair_confusion_matrix(*_pair(labels, clusters)).astype(float)
    if drawn_from == "labels":
        split, merged = merged, split
    ones, twos = together + merged, apart + split
    shares = [good / total for good, total in ((together, ones), (apart, twos)) if total > 0]
    return float(np.mean(shares)) if shares else 1.0


def separation(factor: ArrayLike, labels: ArrayLike) -> float:
    """The ratio J: mean distance between points of different classes over mean distance within a class.

    Yeung, Chang & Dai, Neural Computation 2008, eq. (28). Distances of the rows of a factor V are distances
    in the feature space of the kernel. They are computed in blocks; no n x n matrix is formed.

    Parameters
    ----------
    factor : array_like of shape (n, r)
        A factor of the kernel, or any coordinates.
    labels : array_like of shape (n,)
        Class of each point.

    Returns
    -------
    float
        The ratio; inf if all points of each class coincide.

    Examples
    --------
    >>> from npkl_models.applications.scores import separation
    >>> separation([[0.0], [1.0], [10.0], [11.0]], [0, 0, 1, 1])
    10.0
    """
    from sklearn.metrics import pairwise_distances_chunked

    V = finite(real_array(factor, "a factor"), "a factor")
    known, y = labelled(labels)
    if V.ndim != 2 or len(V) != known.size:
        raise ProblemError(f"a factor must have a row for each of {known.size} labels, got shape {V.shape}")
    V = V[known]
    counts = np.bincount(y)
    if counts.size < 2 or counts.max() < 2:
        raise ProblemError(
            "labels must have at least two classes, one of them with at least two points, "
            f"got class sizes {counts.tolist()[:5]}"
        )
    within = total = 0.0
    at = 0
    for block in pairwise_distances_chunked(V):
        total += float(block.sum())
        within += float(np.sum(block[y[at : at + len(block), None] == y]))
        at += len(block)
    inside = float(np.sum(counts * (counts - 1.0)))
    between = y.size * (y.size - 1.0) - inside
    return float((total - within) / between / (within / inside)) if within > 0 else float("inf")


@dataclass(frozen=True)
class Comparison:
    """A comparison of two methods over the same repetitions.

    Attributes
    ----------
    mean, spread : tuple of float
        Mean and standard deviation (with n - 1) of the results of each method.
    difference : float
        Mean of the first method minus mean of the second.
    p_value : float
        Two-sided p-value of a paired t-test; 1 if all differences are zero, 0 if all are equal but not zero.
    """

    mean: tuple[float, float]
    spread: tuple[float, float]
    difference: float
    p_value: float

    def differs(self, level: float = 0.05) -> bool:
        """Whether the difference is significant at the given level."""
        return self.p_value < level

    def __str__(self) -> str:
        one, two = (f"{m:.4g} +- {s:.2g}" for m, s in zip(self.mean, self.spread, strict=True))
        return (
            f"{one} against {two}, difference {self.difference:+.3g}, p = {self.p_value:.2g} (paired t-test)"
        )


def compare(first: ArrayLike, second: ArrayLike) -> Comparison:
    """Means, spreads and a paired t-test of two methods' results over the same repetitions.

    Parameters
    ----------
    first, second : array_like of shape (k,)
        Results of the two methods: at least two of each, in the same order.

    Examples
    --------
    >>> from npkl_models.applications.scores import compare
    >>> compare([0.9, 0.8, 0.95], [0.7, 0.6, 0.8]).differs()
    True
    """
    a, b = (finite(real_array(part, "results"), "results") for part in (first, second))
    if a.ndim != 1 or a.shape != b.shape or a.size < 2:
        raise ProblemError(f"results must be two series of the same length >= 2, got {a.shape} and {b.shape}")
    p = 1.0 if a[0] == b[0] else 0.0  # the p-value if all differences are equal
    if np.ptp(a - b) > 0:
        p = float(ttest_rel(a, b).pvalue)
    return Comparison(
        (float(a.mean()), float(b.mean())),
        (float(a.std(ddof=1)), float(b.std(ddof=1))),
        float(np.mean(a - b)),
        p,
    )


def _pair(labels: ArrayLike, clusters: ArrayLike) -> tuple[Index, Index]:
    known, y = labelled(labels)
    c = np.asarray(clusters)
    if np.ndim(labels) != 1 or known.shape != c.shape or y.size < 2:
        raise ProblemError(
            "two partitions must be of the same points, at least 2 with a label, got "
            f"{known.shape} and {c.shape}"
        )
    return y, c[known]
