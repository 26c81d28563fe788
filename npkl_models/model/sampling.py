"""Read labels, and answers about two points; draw distinct pairs, mostly without a list of all candidates."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Mask
from npkl_models.linalg.owned import whole_number

UNLABELLED = frozenset(("", "-1", "-1.0", "NA", "N/A", "<NA>", "NaN", "nan", "NaT", "None"))
AT_ONCE = 2_000_000  # most pairs of points, or paths through them, that are listed at a time
WORDS = {
    **dict.fromkeys(("must", "must-link", "ml", "same", "together", "match", "yes", "y", "true"), 1),
    **dict.fromkeys(("cannot", "cannot-link", "cl", "different", "apart", "distinct", "no", "n"), -1),
    "false": -1, "1": 1, "+1": 1, "1.0": 1, "-1": -1, "-1.0": -1,
}  # fmt: skip
ZERO = ("0", "0.0", "-0.0")
"""The words of a must-link and of a cannot-link; 0 is a cannot-link beside 1, and a tie of comparisons."""
KNOWN = (
    "must, same, together, yes, true or 1, and cannot, different, apart, no, false, 0 or -1 "
    "(leave rows without an answer out)"
)


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


def uniform_pairs(labels: Index, n_must: int, n_cannot: int, rng: np.random.Generator) -> tuple[Index, Index]:
    """Distinct pairs, uniform among all pairs within a class, and among all pairs across classes."""
    n = labels.size
    counts = np.bincount(labels).astype(float)
    n_same = int(np.sum(counts * (counts - 1)) / 2)
    n_other = n * (n - 1) // 2 - n_same
    order = np.argsort(labels, kind="stable")
    first = np.concatenate([[0], np.cumsum(counts)[:-1]]).astype(np.intp)
    share = counts**2  # ordered draws with i = j rejected leave n_c (n_c - 1)

    def draw_same(size: int) -> Index:
        c = rng.choice(counts.size, size=size, p=share / share.sum())
        members = (rng.random((size, 2)) * counts[c, None]).astype(np.intp)
        return order[first[c, None] + members]

    def draw_other(size: int) -> Index:
        return rng.integers(0, n, size=(size, 2))

    def keep(pairs: Index, same: bool) -> Index:
        return pairs[(labels[pairs[:, 0]] == labels[pairs[:, 1]]) == same]

    must = _distinct(n, n_must, n_same, "must-link", draw_same, partial(keep, same=True), rng)
    return must, _distinct(n, n_cannot, n_other, "cannot-link", draw_other, partial(keep, same=False), rng)


def pairs_per_class(
    labels: Index, names: list[str], n_must: int, n_cannot: int, rng: np.random.Generator
) -> tuple[Index, Index]:
    """Draw distinct pairs uniformly: ``n_must`` in each class, ``n_cannot`` between every two classes."""
    n_must = whole_number(n_must, "number of must-link pairs per class", 0)
    n_cannot = whole_number(n_cannot, "number of cannot-link pairs per two classes", 0)
    members = [np.flatnonzero(labels == c) for c in range(len(names))]
    must, cannot = [np.zeros((0, 2), dtype=np.intp)], [np.zeros((0, 2), dtype=np.intp)]
    for a, own in enumerate(members):
        m = own.size
        chosen = _chosen(m * (m - 1) // 2, n_must, f"must-link pairs in class {names[a]}", rng)
        left = m * (m - 1) // 2 - 1 - chosen  # pairs (i, j), i < j, in the order of the rows, from the end
        row = ((np.sqrt(8.0 * left + 1) - 1) / 2).astype(np.intp)
        must.append(own[np.stack([m - 2 - row, m - 1 - (left - row * (row + 1) // 2)], axis=1)])
        for b, other in enumerate(members[a + 1 :], a + 1):
            name = f"cannot-link pairs between classes {names[a]} and {names[b]}"
            chosen = _chosen(m * other.size, n_cannot, name, rng)
            cannot.append(np.stack([own[chosen // other.size], other[chosen % other.size]], axis=1))
    return np.concatenate(must), np.concatenate(cannot)


def _chosen(available: int, size: int, name: str, rng: np.random.Generator) -> Index:
    """``size`` distinct codes below ``available``."""
    if size > available:
        raise ProblemError(f"number of {name} must be at most the {available} that exist, got {size}")
    return rng.choice(available, size, replace=False).astype(np.intp) if size else np.zeros(0, np.intp)


def _distinct(
    n: int, size: int, available: int, name: str, draw: Callable[[int], Index],
    keep: Callable[[Index], Index], rng: np.random.Generator,
) -> Index:  # fmt: skip
    """``size`` distinct pairs that pass ``keep``, uniform, in random order."""
    size = whole_number(size, f"number of {name} pairs", 0)
    if size > available:
        raise ProblemError(
            f"number of {name} pairs must be between 0 and the {available} that exist, got {size}; "
            "only points with a label have pairs, and -1 is no label"
        )
    if n * (n - 1) // 2 <= AT_ONCE and 4 * size > available:
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
    """Which points have a label, and the classes 0, 1, ... of the points with a label."""
    if isinstance(y, np.ma.MaskedArray):
        raise ProblemError("labels must have no masked values; use -1 for points without a label")
    if not np.iterable(y) or isinstance(y, (str, bytes)) or sp.issparse(y):
        raise ProblemError(f"labels must be a list with the class of each point, got {type(y).__name__}")
    try:
        given = np.asarray(y, dtype=object).ravel()
    except ValueError:
        raise ProblemError("labels must be a list with the class of each point, got a ragged list") from None
    known = np.array([is_label(value) for value in given.tolist()], dtype=bool)
    if not known.any():
        raise ProblemError(
            "labels must name the class of at least one point, got none (-1, None, NaN, NA and empty text "
            "are no label)"
        )
    try:
        kept = np.array(given[known].tolist())
        classes: Index = np.unique(kept, return_inverse=True)[1].astype(np.intp).ravel()
    except (ValueError, TypeError):
        raise ProblemError("labels must be numbers or text, one for each point, got other types") from None
    return known, classes


def is_label(value: Any) -> bool:
    """Whether a value is a label: not -1, None, NaN, NA or an empty text, nor a text of one of these."""
    if isinstance(value, str):
        return value.strip() not in UNLABELLED
    return value is not None and str(value) not in UNLABELLED
