"""Scores on held-out pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Mask
from npkl_models.model.pairs import Pairs


def some_pairs(pairs: Pairs, kept: Mask, confidence: Array) -> Pairs:
    """The pairs where ``kept`` (m,) is true, with other confidences (m,)."""
    must = pairs.sign > 0
    return Pairs(pairs.n, pairs.ends[kept & must], pairs.ends[kept & ~must], confidence[kept])


def softened(pairs: Pairs) -> Pairs:
    """The pairs with the largest finite confidence, at least 1, in the place of infinite ones."""
    hard = np.isinf(pairs.confidence)
    largest = np.max(pairs.confidence[~hard], initial=1.0)
    whole = np.where(hard, largest, pairs.confidence)
    return some_pairs(pairs, hard | True, whole) if hard.any() else pairs


def share_met(labels: ArrayLike, pairs: Pairs) -> float:
    """The mean of two shares: must-links within a cluster, and cannot-links across clusters.

    Pairs count by their confidences. Of pairs of one kind it is the share of that kind. Random clusters, and
    one cluster, score one half.
    """
    of, pairs = np.asarray(labels), softened(pairs)
    met = (of[pairs.i] == of[pairs.j]) == (pairs.sign > 0)
    kinds = (pairs.sign == sign for sign in np.unique(pairs.sign))
    return float(np.mean([np.average(met[kind], weights=pairs.confidence[kind]) for kind in kinds]))


def ranked_rightly(V: Array, pairs: Pairs) -> float:
    """The area under the ROC curve of the cosines of rows of V (n x r), as `roc_area`."""
    rows = V / np.maximum(np.linalg.norm(V, axis=1), 1e-300)[:, None]
    return roc_area(np.einsum("er,er->e", rows[pairs.i], rows[pairs.j]), pairs)


def roc_area(alike: Array, pairs: Pairs) -> float:
    """The area under the ROC curve of numbers (m,): how often a must-link has more than a cannot-link.

    A ProblemError says so if there are no must-links or no cannot-links.
    """
    from sklearn.metrics import roc_auc_score

    if not (len(pairs.must_link) and len(pairs.cannot_link)):
        raise ProblemError(f"pairs to rank must include must-links and cannot-links, got {pairs}")
    return float(roc_auc_score(pairs.sign > 0, alike, sample_weight=softened(pairs).confidence))
