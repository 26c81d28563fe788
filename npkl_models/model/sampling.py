"""Reading labels, and drawing distinct pairs at random without listing all candidates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Index, Mask
from npkl_models.linalg.owned import whole_number

ENUMERATE = 2_000_000  # up to so many candidate pairs are listed rather than drawn


def draw_pairs(
    n: int,
    size: int,
    available: int,
    name: str,
    draw: Callable[[int], Index],
    keep: Callable[[Index], Index],
    rng: np.random.Generator,
) -> Index:
    """``size`` distinct pairs that pass ``keep``, uniform, in random order."""
    size = whole_number(size, f"number of {name} pairs", 0)
    if size > available:
        raise ProblemError(
            f"number of {name} pairs must be between 0 and the {available} that exist, got {size}"
        )
    if n * (n - 1) // 2 <= ENUMERATE and 4 * size > available:
        pairs = keep(np.stack(np.triu_indices(n, k=1), axis=1))
        return pairs[rng.choice(len(pairs), size=size, replace=False)]
    codes = np.zeros(0, dtype=np.intp)
    while codes.size < size:
        drawn = np.sort(draw(2 * (size - codes.size) + 16), axis=1)
        drawn = keep(drawn[drawn[:, 0] != drawn[:, 1]])
        codes = np.concatenate([codes, drawn[:, 0] * n + drawn[:, 1]])
        codes = codes[np.sort(np.unique(codes, return_index=True)[1])]
    chosen = codes[:size]
    return np.stack([chosen // n, chosen % n], axis=1)


def labelled(y: ArrayLike) -> tuple[Mask, Index]:
    """Which points have a label, and the classes 0, 1, ... of those that have."""
    if isinstance(y, np.ma.MaskedArray):
        raise ProblemError("labels must have no masked values; use -1 for points without a label")
    if not np.iterable(y) or isinstance(y, (str, bytes)) or sp.issparse(y):
        raise ProblemError(f"labels must be a list with the class of each point, got {type(y).__name__}")
    try:
        given = np.asarray(y, dtype=object).ravel()
    except ValueError:
        raise ProblemError("labels must be a list with the class of each point, got a ragged one") from None
    known = np.array([_is_label(value) for value in given.tolist()], dtype=bool)
    if not known.any():
        raise ProblemError(
            "labels must name the class of at least one point, got none (-1, None and NaN are no label)"
        )
    try:
        kept = np.array(given[known].tolist())
        classes: Index = np.unique(kept, return_inverse=True)[1].astype(np.intp).ravel()
    except (ValueError, TypeError):
        raise ProblemError("labels must be numbers or text, one for each point, got others") from None
    return known, classes


def _is_label(value: Any) -> bool:
    """Not -1, None or NaN."""
    return value is not None and value == value and not (not isinstance(value, str) and value == -1)
