"""Drawing distinct pairs at random, without listing all candidates where there are many."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Index

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
    if size < 0 or size > available:
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
