"""Cross-validation on pairs: folds of pairs, and scores on held-out pairs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Mask
from npkl_models.linalg.owned import Seed, generator
from npkl_models.model.pairs import Pairs


@dataclass(frozen=True)
class PairFolds:
    """Splitter of pairs into folds; must-links and cannot-links are split separately.

    A held-out pair that follows from the other folds would be no test, so it is left out: it lies within a
    chain of must-links, or between two chains that a cannot-link keeps apart.

    Parameters
    ----------
    n_splits : int
        Number of folds: at least 2, at most the number of must-links and the number of cannot-links.
    random_state : int or Generator
        Seed of the assignment of pairs to folds.

    Examples
    --------
    >>> import npkl_models as nm
    >>> pairs = nm.Pairs(8, [(0, 1), (2, 3)], [(0, 4), (5, 6)])
    >>> [(len(train), len(held)) for train, held in nm.PairFolds(2).split(pairs)]
    [(2, 2), (2, 2)]
    """

    n_splits: int = 3
    random_state: Seed = 0

    def split(self, pairs: Pairs) -> Iterator[tuple[Pairs, Pairs]]:
        """Yield for each fold the pairs to learn from and the pairs that are held out.

        A ProblemError says so if there are fewer must-links or cannot-links than folds, or if all must-links
        or all cannot-links of a fold follow from the other folds.
        """
        kinds = (pairs.must_link, pairs.cannot_link)
        folds = self.n_splits
        if not isinstance(folds, (int, np.integer)) or folds < 2 or min(map(len, kinds)) < folds:
            raise ProblemError(
                "folds must be >= 2, and pairs must have at least one must-link and one cannot-link for each "
                f"fold; got {len(kinds[0])} must-links, {len(kinds[1])} cannot-links and {folds} folds"
            )
        rng = generator(self.random_state)
        place = [rng.permutation(len(kind)) % folds for kind in kinds]
        for fold in range(folds):
            yield _parted(pairs, np.concatenate(place) == fold, fold)


def _parted(pairs: Pairs, out: Mask, fold: int) -> tuple[Pairs, Pairs]:
    """The pairs to learn from, and the held-out pairs that do not follow from them."""
    train = some_pairs(pairs, ~out, pairs.confidence)
    ends = np.stack([pairs.i, pairs.j], axis=1)
    held = out.copy()
    held[out] = _open(ends[out], train)
    if not all((held & (pairs.sign == sign)).any() for sign in (1.0, -1.0)):
        raise ProblemError(
            f"pairs must not all follow from each other, but all must-links or all cannot-links of fold "
            f"{fold} follow from the other folds; use fewer folds or give other pairs"
        )
    return train, some_pairs(pairs, held, pairs.confidence)


def _open(ends: Index, known: Pairs) -> Mask:
    """Which pairs (m, 2) do not follow from the known pairs."""
    count, group = known.groups()
    codes = [np.sort(group[part], axis=1) @ np.array([count, 1]) for part in (ends, known.cannot_link)]
    return (group[ends[:, 0]] != group[ends[:, 1]]) & ~np.isin(codes[0], codes[1])


def some_pairs(pairs: Pairs, kept: Mask, confidence: Array) -> Pairs:
    """The pairs where ``kept`` (m,) is true, with other confidences (m,)."""
    ends, must = np.stack([pairs.i, pairs.j], axis=1), pairs.sign > 0
    return Pairs(pairs.n, ends[kept & must], ends[kept & ~must], confidence[kept])


def share_met(labels: ArrayLike, pairs: Pairs) -> float:
    """The mean of two shares: must-links within a cluster, and cannot-links across clusters.

    Of pairs of one kind it is the share of that kind. Random clusters, and one cluster, score one half.
    """
    of: Index = np.asarray(labels)
    met = (of[pairs.i] == of[pairs.j]) == (pairs.sign > 0)
    return float(np.mean([met[pairs.sign == sign].mean() for sign in np.unique(pairs.sign)]))


def ranked_rightly(V: Array, pairs: Pairs) -> float:
    """The area under the ROC curve of the cosines: how often a must-link has a larger one than a cannot-link.

    A ProblemError says so if there are no must-links or no cannot-links.
    """
    from sklearn.metrics import roc_auc_score

    if not (len(pairs.must_link) and len(pairs.cannot_link)):
        raise ProblemError(f"pairs to rank must include must-links and cannot-links, got {pairs}")
    rows = V / np.maximum(np.linalg.norm(V, axis=1), 1e-300)[:, None]
    return float(roc_auc_score(pairs.sign > 0, np.einsum("er,er->e", rows[pairs.i], rows[pairs.j])))


def cross_val_pairs(estimator: Any, X: Any, pairs: Pairs, folds: PairFolds | None = None) -> Array:
    """Cross-validate an estimator on held-out pairs: one score for each fold, shape (folds,).

    Parameters
    ----------
    estimator : NPKLClustering, NPKLKernel or the like
        An estimator with ``fit(X, pairs=...)`` and ``score(X, pairs=...)``; a clone is fitted in each fold.
    X : array_like of shape (n, d)
        The points.
    pairs : Pairs
        The pairs that are split.
    folds : PairFolds, optional
        The splitter; by default three folds.
    """
    from sklearn.base import clone

    parts = (folds or PairFolds()).split(pairs)
    return np.array(
        [clone(estimator).fit(X, pairs=train).score(X, pairs=held) for train, held in parts], dtype=float
    )
