"""Tables whose columns have fixed roles: pairs, comparisons, distances, anchors and bounds."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from npkl_models.data.cells import Cells, is_missing, read_cells
from npkl_models.errors import ProblemError, meant
from npkl_models.files.gate import gate, is_there
from npkl_models.linalg import Array, Index

ENDS = "id|name|point|row|record|item|object|node|sensor|from|to"
FIRST = rf"i|a|from|first|left|source|left_id|({ENDS})_?1|({ENDS})_?a|sensor"
SECOND = rf"j|b|to|second|right|target|right_id|({ENDS})_?2|({ENDS})_?b"
TRIPLETS = ("anchor|reference|ref|query|standard", "near|nearer|close|closer|similar|positive",
            "far|farther|further|distant|dissimilar|negative|other")  # fmt: skip


@dataclass(frozen=True)
class Role:
    """What a column holds: its name, further names as a regular expression, and whether it must be there."""

    name: str
    also: str
    needed: bool = True


@dataclass(frozen=True, eq=False)
class Named:
    """The texts of the columns by role, and the file that they are from."""

    cells: Cells
    places: Mapping[str, tuple[int, ...]]
    texts: Mapping[str, list[str]]

    @property
    def header(self) -> str:
        """What the first line was taken for, in words."""
        names = ", ".join(self.cells.names)
        return f"columns by the header {names}" if names else "no header: line 1 is data"

    def refuse(self, row: int, role: str, rule: str) -> NoReturn:
        """Raise the error about a cell, with its place in the file."""
        self.cells.refuse(row, self.places[role][0], rule)

    def once(self, ends: Index, said: Array, what: str, role: str) -> Index:
        """The first line of each pair, in the order of the file; an error if another line differs."""
        _, first, place = np.unique(ends, axis=0, return_index=True, return_inverse=True)
        own = first[place.ravel()]
        odd = np.flatnonzero((said != said[own]).any(axis=1))
        if odd.size:
            at, one = int(odd[0]), int(own[odd[0]])
            pair = " and ".join(repr(self.texts[end][at]) for end in ("i", "j"))
            other, line = self.texts[role][one], self.cells.line(one)
            self.refuse(
                at, role, f"the {what} of {pair} must be one (repeated measurements are given as their "
                f"mean), not {other!r} in line {line} and another here",
            )  # fmt: skip
        return np.sort(first)

    def numbers(self, role: str, rule: str, *, least: float = 0.0, empty: float | None = None) -> Array:
        """A column of numbers of at least ``least``; ``empty`` stands for a missing number."""
        return self._numbers(self.places[role][0], role, rule, least, empty)

    def coordinates(self, role: str, rule: str) -> Array:
        """All columns of a role as numbers, a column each."""
        columns = [self._numbers(k, role, rule, -np.inf, None) for k in self.places[role]]
        return np.stack(columns, axis=1)

    def _numbers(self, k: int, role: str, rule: str, least: float, empty: float | None) -> Array:
        given = self.cells.texts([k])[k]
        out = self.cells.floats(given)
        if empty is not None:
            out = np.where(given.map(is_missing).to_numpy(bool), empty, out)
        bad = np.isnan(out) | (out < least) | (np.isinf(out) & given.str.contains(r"\d").to_numpy(bool))
        bad |= np.isinf(out) & (empty is None)
        if bad.any():
            self.cells.refuse(int(np.argmax(bad)), k, rule)
        return out

    def positions(self, role: str, names: Sequence[str], what: str) -> Index:
        """The positions of a column of names in ``names``."""
        place = {name: at for at, name in enumerate(names)}
        for at, one in enumerate(self.texts[role]):
            if one not in place:
                shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
                self.refuse(at, role, f"must be {what}{meant(one, names)}, one of {shown}")
        return np.array([place[one] for one in self.texts[role]], dtype=np.intp)


def read_named(
    path: str | Path, what: str, roles: Sequence[Role], plain: Sequence[tuple[str, ...]],
    names: Sequence[str] = (), words: frozenset[str] = frozenset(),
) -> Named:  # fmt: skip
    """Read a table by its header; ``plain`` are the orders of columns in a file without a header.

    A first line is data if one of its cells begins with a digit, or is one of ``names``. Otherwise it is a
    header if it has a name of a role, and data if one of its cells is one of ``words`` or comes again below.
    Any other first line is a header, too, and its names must be known.

    Raises
    ------
    ProblemError
        If there is no such file, or if a name of the header is unknown or missing; the known ones are listed.
    """
    path = Path(path)
    if not is_there(path):
        raise ProblemError(f"{path} must be {what}, got nothing: there is no file of that name")
    with gate(path, what):
        cells = read_cells(path, frozenset(names))
        if cells.names and not any(_role(name, roles) for name in cells.names):
            texts, own = cells.texts(range(cells.width)), {name for name in cells.names if name}
            if words & {name.lower() for name in own} or any(texts[k].isin(own).any() for k in texts):
                cells = read_cells(path, frozenset(own))
        places = _by_header(cells, roles, what) if cells.names else _in_order(cells, plain, what)
        columns = sorted(k for at in places.values() for k in at)
        found = cells.texts(columns)
        return Named(cells, places, {role: found[at[0]].tolist() for role, at in places.items()})


def in_order(found: set[str]) -> tuple[str, ...]:
    """Names, sorted as numbers if all are whole numbers, and otherwise as text."""
    whole = all(cell.isdecimal() for cell in found)
    return tuple(sorted(found, key=(lambda cell: (int(cell), cell)) if whole else None))


def two_ends(found: Named, names: Sequence[str], what: str) -> Index:
    """The positions of the two names of each line, the smaller first (m, 2)."""
    for at, (one, two) in enumerate(zip(found.texts["i"], found.texts["j"], strict=True)):
        if is_missing(one) or is_missing(two):
            found.refuse(at, "i" if is_missing(one) else "j", "must be the name of a sensor")
        if one == two:
            found.refuse(at, "j", "must be another sensor than that before it")
    return np.sort(np.stack([found.positions(end, names, what) for end in ("i", "j")], axis=1), axis=1)


def _role(name: str, roles: Sequence[Role]) -> str | None:
    plain = re.sub(r"[\s.-]+", "_", name.lower())
    return next((one.name for one in roles if re.fullmatch(f"{one.name}|{one.also}", plain)), None)


def _by_header(cells: Cells, roles: Sequence[Role], what: str) -> dict[str, tuple[int, ...]]:
    known = ", ".join(_known(one) for one in roles)
    places: dict[str, tuple[int, ...]] = {}
    for k, name in enumerate(cells.names):
        role = _role(name, roles)
        if role is None or (role in places and role != "x"):
            kind = "unknown" if role is None else "repeated"
            raise ProblemError(
                f"{cells.path}, line 1: a header must name the columns of {what}, got the {kind} column "
                f"{name!r}{meant(name, [one.name for one in roles])}; known are: {known}"
            )
        places[role] = (*places.get(role, ()), k)
    lacking = [one.name for one in roles if one.needed and one.name not in places]
    if lacking:
        raise ProblemError(
            f"{cells.path}, line 1: a header must name the columns of {what}, got none for "
            f"{', '.join(lacking)}; known are: {known}"
        )
    return places


def _known(role: Role) -> str:
    """The name of a role, with its first other names that are plain words."""
    others = [one for one in role.also.split("|") if one.isidentifier() and one != role.name][:3]
    return f"{role.name} (or {', '.join(others)})" if others else role.name


def _in_order(cells: Cells, plain: Sequence[tuple[str, ...]], what: str) -> dict[str, tuple[int, ...]]:
    """The roles of the columns of a file without a header."""
    for order in plain:
        if order[-1] == "x" and cells.width >= len(order):  # coordinates
            return {order[0]: (0,), "x": tuple(range(1, cells.width))}
        if len(order) == cells.width:
            return {role: (k,) for k, role in enumerate(order)}
    expected = " or ".join(",".join(order) for order in plain)
    raise ProblemError(
        f"{cells.path}, line {cells.line(0)}: without a header the columns must be {expected}, got "
        f"{cells.width} cells; expected is {what}, or a header that names the columns"
    )
