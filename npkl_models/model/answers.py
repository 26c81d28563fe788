"""The words for answers about two points, in files, in Python and on the page."""

from __future__ import annotations

from typing import Any

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array

WORDS = {
    **dict.fromkeys(("must", "must-link", "ml", "same", "match", "yes", "y", "true", "1", "+1", "1.0"), 1),
    **dict.fromkeys(("cannot", "cannot-link", "cl", "different", "distinct", "no", "n", "false"), -1),
    **dict.fromkeys(("-1", "-1.0"), -1),
}  # fmt: skip
ZERO = ("0", "0.0", "-0.0")
"""The words of a must-link and of a cannot-link; 0 is a cannot-link beside 1, and a tie of comparisons."""
KNOWN = "must, same, match, yes, true or 1, and cannot, different, distinct, no, false, 0 or -1"


def sign(answer: Any) -> int | None:
    """+1 for a must-link, -1 for a cannot-link, 0 for a zero, and None for a value that is no answer."""
    if isinstance(answer, (bool, np.bool_)):
        return 1 if answer else -1
    word = str(answer).strip().lower().replace("_", "-").replace(" ", "-")
    return 0 if word in ZERO else WORDS.get(word)


def signs(answers: Any, what: str = "answers", ties: bool = False) -> Array:
    """Answers in one row as +1 and -1, and as 0 for ties, if ``ties`` are allowed."""
    given = np.asarray(answers, dtype=object if isinstance(answers, (list, tuple)) else None)
    if given.ndim != 1:
        raise ProblemError(f"{what} must be in one row, got shape {given.shape}")
    values = given.tolist()
    known = {str(one): sign(one) for one in values}
    odd = [one for one in dict.fromkeys(map(str, values)) if known[one] is None]
    if odd:
        raise ProblemError(f"{what} must be {KNOWN}, got {odd[:5]}")
    out = np.array([known[str(one)] for one in values], dtype=float)
    if not ties:
        if (out == 0).any() and any(str(one).strip() in ("-1", "-1.0") for one in known):
            raise ProblemError(f"{what} must have 0 or -1 for cannot-links, got both")
        out[out == 0] = -1.0
    return out
