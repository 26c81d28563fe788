"""Randomness from a seed, which is checked."""

from __future__ import annotations

import numpy as np

from npkl_models.errors import ProblemError

Seed = int | np.random.Generator | None


def generator(random_state: Seed) -> np.random.Generator:
    """The generator of a seed, a generator itself, or one from fresh entropy for None.

    Raises
    ------
    ProblemError
        For anything else, negative integers among it.
    """
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    if random_state is None or isinstance(random_state, np.random.Generator) or (whole and random_state >= 0):
        return np.random.default_rng(random_state)
    raise ProblemError(f"random_state must be an integer >= 0, a Generator or None, got {random_state!r}")
