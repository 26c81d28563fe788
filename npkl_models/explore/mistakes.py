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


def with_mistakes(pairs: Pairs, share: float, seed: int = 0) -> Pairs:
    """The same pairs, with the other kind for a share of them, drawn by a seed."""
    ends, sign = np.stack([pairs.i, pairs.j], axis=1), np.array(pairs.sign)
    sign[np.random.default_rng(seed).choice(len(sign), round(share * len(sign)), replace=False)] *= -1
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
    """The first pairs of the audit, and how many of the first w pairs are wrong, if w pairs are wrong."""
    found = audit_pairs(solution)
    i, j = found.pairs.T
    wrong = found.must != (labels[i] == labels[j])
    count = int(np.sum(wrong))
    rows = [
        {"pair": f"{i[k]} – {j[k]}", "kind": "must-link" if found.must[k] else "cannot-link"}
        | {name: getattr(found, name)[k] for name in ("value", "expected", "score")}
        | {"wrong": wrong[k]}
        for k in range(min(LISTED, len(found)))
    ]
    return {"wrong": count, "pairs": len(found), "found": int(np.sum(wrong[:count])), "rows": rows}
