"""Pairs whose kind is changed on purpose, and the audit that looks for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.applications.audit import audit_pairs
from npkl_models.errors import ProblemError
from npkl_models.linalg import Index
from npkl_models.model.pairs import Pairs
from npkl_models.recipe.made import Change
from npkl_models.recipe.script import Script, Shown

LISTED = 10  # number of pairs that the page lists
SOURCE = "with_mistakes"


def mistaken(count: int, share: float, seed: int = 0) -> Index:
    """The numbers of the pairs that get the wrong kind."""
    return np.random.default_rng(seed).choice(count, round(share * count), replace=False)


def with_mistakes(pairs: Pairs, share: float, seed: int = 0) -> Pairs:
    """The same pairs, with the other kind for a share of them.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.explore.mistakes import with_mistakes
    >>> pairs = nm.Pairs(6, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3), (0, 5)])
    >>> len(with_mistakes(pairs, 0.25)) == len(pairs)
    True
    """
    ends, sign = np.stack([pairs.i, pairs.j], axis=1), np.array(pairs.sign)
    sign[mistaken(len(sign), share, seed)] *= -1
    return Pairs(pairs.n, ends[sign > 0], ends[sign < 0])


def changer(share: float, seed: int) -> Change:
    """A step of `make` that changes the kind of a share of the pairs."""

    def change(script: Script, pairs: Shown) -> Shown:
        if pairs.value is None or not isinstance(pairs.value, Pairs):
            raise ProblemError("wrong pairs must be among drawn pairs, got a problem without them")
        script.imports.append(f"from {__name__} import {SOURCE}")
        return script.do("pairs", with_mistakes, SOURCE, pairs, share, seed)

    return change


def audited(solution: Solution, labels: Index) -> dict[str, Any]:
    """The first pairs of the audit, and how many of the first w pairs are wrong, if w pairs are wrong.

    A pair is wrong if its kind does not agree with the classes.
    """
    found = audit_pairs(solution)
    i, j = found.pairs.T
    is_wrong = found.must != (labels[i] == labels[j])
    count = int(np.sum(is_wrong))
    rows = zip(
        found.pairs.tolist(), found.must, found.value, found.expected, found.score, is_wrong, strict=True
    )
    return {
        "wrong": count, "pairs": len(found), "found": int(np.sum(is_wrong[:count])),
        "rows": [
            {
                "pair": f"{i} – {j}", "kind": "must-link" if must else "cannot-link", "value": value,
                "expected": expected, "score": score, "wrong": bad,
            }
            for (i, j), must, value, expected, score, bad in list(rows)[:LISTED]
        ],
    }  # fmt: skip
