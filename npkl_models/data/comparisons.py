"""Comparisons of named objects, from a csv of three or four columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from npkl_models.data.cells import is_missing
from npkl_models.data.named import Role, in_order, read_named
from npkl_models.errors import ProblemError
from npkl_models.files.gate import gate, is_there
from npkl_models.linalg import Index

FOUR = ("i", "j", "k", "l")
ROLES = (
    Role("i", "anchor|reference|ref|query|standard"),
    Role("j", "near|nearer|close|closer|similar|positive"),
    Role("k", "far|farther|further|distant|dissimilar|negative|other"),
    Role("l", "l", False),
)


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons by position, the names of the objects, and what the first line was taken for."""

    rows: Index
    names: tuple[str, ...]
    header: str = ""


def read_comparisons_csv(path: str | Path) -> Comparisons:
    """Read comparisons: of three objects in a line, the first is nearer to the second than to the third.

    With four columns, the first two objects are nearer to each other than the last two. Objects are names or
    numbers. A header names the columns: i,j,k or i,j,k,l, or the anchor (or reference), the near (or closer)
    and the far (or farther) object, in any order. A first line is data if one of its cells begins with a
    digit, or if it has no such name and one of its cells comes again below. Names that are all whole numbers
    are sorted as numbers, others as text.
    """
    path = Path(path)
    if not is_there(path):
        raise ProblemError(f"comparisons must be a csv file, got {path}: there is no such file")
    found = read_named(path, "a csv of comparisons", ROLES, (FOUR[:3], FOUR))
    with gate(path, "a csv of comparisons"):
        roles = [role for role in FOUR if role in found.texts]
        for role in roles:
            found.check(role, map(is_missing, found.texts[role]), "a comparison must name its objects")
        names = in_order(cell for role in roles for cell in found.texts[role])
        rows = [found.positions(role, names, "an object") for role in roles]
        return Comparisons(np.stack(rows, axis=1), names, found.header)
