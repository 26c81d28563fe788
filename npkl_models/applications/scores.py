"""The papers' measures of the quality of a partition or a metric; points of unknown class do not count."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError, chosen
from npkl_models.linalg import Index
from npkl_models.linalg.owned import finite, real_array
from npkl_models.model.sampling import labelled


def weighted_rand_index(labels: ArrayLike, clusters: ArrayLike, drawn_from: str = "clusters") -> float:
    """The Rand index in which pairs within a part and pairs across parts have weight one half each.

    The plain index is high for nearly any partition into many clusters, since most pairs lie across
    clusters. Yeung, Chang & Dai, Neural Computation 2008, section 5.3.2, after Xing, Ng, Jordan & Russell,
    NIPS 2003.

    Parameters
    ----------
    labels, clusters : array_like of shape (n,)
        The true partition, and the partition that is judged.
    drawn_from : {"clusters", "labels"}
        The partition that decides whether a pair is within a part; Xing et al. have "clusters". If all pairs
        are within parts, or all across, that kind decides alone.
    """
    from sklearn.metrics.cluster import pair_confusion_matrix

    chosen("drawn_from", drawn_from, ("clusters", "labels"))
    (separate, merged), (split, together) = pair_confusion_matrix(*_pair(labels, clusters)).astype(float)
    if drawn_from == "labels":
        split, merged = merged, split
    ones, twos = together + merged, separate + split
    shares = [good / total for good, total in ((together, ones), (separate, twos)) if total > 0]
    return float(np.mean(shares)) if shares else 1.0


def separation(factor: ArrayLike, labels: ArrayLike) -> float:
    """The ratio J: mean distance between points of different classes over mean distance within a class.

    Yeung, Chang & Dai, Neural Computation 2008, eq. (28), for the rows of a factor (n x r) of the kernel, or
    any coordinates; inf if all points of each class coincide. No n x n matrix is formed.
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


def _pair(labels: ArrayLike, clusters: ArrayLike) -> tuple[Index, Index]:
    known, y = labelled(labels)
    c = np.asarray(clusters)
    if np.ndim(labels) != 1 or known.shape != c.shape or y.size < 2:
        raise ProblemError(
            "two partitions must be of the same points, at least 2 with a label, got "
            f"{known.shape} and {c.shape}"
        )
    return y, c[known]
