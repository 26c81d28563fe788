"""Folds of pairs, for scikit-learn's cross-validation."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.model_selection import StratifiedGroupKFold
from sklearn.utils.metadata_routing import _MetadataRequester

from npkl_models.applications.held_out import some_pairs
from npkl_models.errors import ProblemError
from npkl_models.linalg import Mask
from npkl_models.linalg.owned import Seed, generator
from npkl_models.model.pairs import Pairs


@dataclass(frozen=True)
class PairFolds(_MetadataRequester):  # type: ignore[misc]
    """Splitter of pairs into folds, with about as many must-links and cannot-links in each.

    All pairs of an ``owner`` are in one fold (`sklearn.model_selection.StratifiedGroupKFold`). It is a ``cv``
    of scikit-learn for `Pairs` that reach ``fit`` and ``score`` by metadata routing: all points are learnt
    from in each fold, with its own pairs.

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

    __metadata_request__split = {"pairs": True}

    def get_n_splits(self, X: Any = None, y: Any = None, groups: Any = None, pairs: Any = None) -> int:
        """The number of folds."""
        return self.n_splits

    def split(
        self, X: Any, y: Any = None, groups: Any = None, pairs: Pairs | None = None
    ) -> Iterator[tuple[Any, Any]]:
        """Yield for each fold what to learn from and what is held out.

        If X is `Pairs`, these are `Pairs`; if X has the points, all of their rows, which pick the pairs of
        the fold. A ProblemError says so if there are fewer must-links or cannot-links than folds, or if all
        must-links or all cannot-links of a fold follow from the other folds.
        """
        if isinstance(X, Pairs):
            for train, held in self._parts(X):
                yield some_pairs(X, train, X.confidence), some_pairs(X, held, X.confidence)
            return
        if not isinstance(pairs, Pairs):
            raise ProblemError(
                f"PairFolds must be given Pairs, got {type(pairs).__name__}; call fit(X, pairs=pairs) with "
                "pairs = Pairs.from_arrays(ends, y_pairs, n) after set_config(enable_metadata_routing=True)"
            )
        for train, held in self._parts(pairs):
            rows = np.arange(pairs.n)
            rows[pairs.owner[~train]] -= pairs.n
            yield rows, pairs.ends[held].ravel() - pairs.n

    def _parts(self, pairs: Pairs) -> Iterator[tuple[Mask, Mask]]:
        kinds = (pairs.must_link, pairs.cannot_link)
        folds = self.n_splits
        if not isinstance(folds, (int, np.integer)) or folds < 2 or min(map(len, kinds)) < folds:
            raise ProblemError(
                "folds must be >= 2, and pairs must have at least one must-link and one cannot-link for each "
                f"fold; got {len(kinds[0])} must-links, {len(kinds[1])} cannot-links and {folds} folds"
            )
        seed = int(generator(self.random_state).integers(2**31 - 1))
        splitter = StratifiedGroupKFold(folds, shuffle=True, random_state=seed)
        for fold, (_, out) in enumerate(splitter.split(pairs.sign, pairs.sign, pairs.owner)):
            yield _parted(pairs, np.isin(np.arange(len(pairs)), out), fold)


def _parted(pairs: Pairs, out: Mask, fold: int) -> tuple[Mask, Mask]:
    """Which pairs to learn from, and which held-out pairs do not follow from them."""
    train = some_pairs(pairs, ~out, pairs.confidence)
    count, group = train.groups()
    ours, apart = (np.sort(group[part], axis=1) for part in (pairs.ends[out], train.cannot_link))
    follows = (ours[:, 0] == ours[:, 1]) | np.isin(ours @ [count, 1], apart @ [count, 1])
    held = out.copy()
    held[out] = ~follows
    if not all((held & (pairs.sign == sign)).any() for sign in (1.0, -1.0)):
        raise ProblemError(
            f"pairs must not all follow from each other, but all must-links or all cannot-links of fold "
            f"{fold} follow from the other folds; use fewer folds or give other pairs"
        )
    return ~out, held
