"""Tables whose columns have fixed roles: pairs, comparisons, distances, anchors and bounds."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from npkl_models.data.cells import Cells, is_missing, read_cells
from npkl_models.errors import ProblemError, meant
from npkl_models.files.gate import gate, is_there
from npkl_models.linalg import Array, Index, Mask

ENDS = "id|name|point|row|record|item|object|node|sensor|from|to"
FIRST = rf"i|a|from|first|left|source|left_id|({ENDS})_?1|({ENDS})_?a|sensor"
SECOND = rf"j|b|to|second|right|target|right_id|({ENDS})_?2|({ENDS})_?b"


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

    def check(self, role: str, wrong: Iterable[bool] | Mask, rule: str) -> None:
        """Raise the error about the first cell of a column that is ``wrong``, if there is one."""
        row = next((row for row, one in enumerate(wrong) if one), None)
        if row is not None:
            self.refuse(row, role, rule)

    def once(self, ends: Index, said: Array, what: str, role: str) -> Index:
        """The first line of each pair, in the order of the file; an error if another line differs."""
        _, first, place = np.unique(ends, axis=0, return_index=True, return_inverse=True)
        own = first[place.ravel()]
        odd = np.flatnonzero((said != said[own]).any(axis=1))
        if odd.size:
            at, one = int(odd[0]), int(own[odd[0]])
            pair = " and ".join(repr(self.texts[end][at]) for end in ("i", "j"))
            other, line = self.texts[role][one], self.cells.lines[one]
            self.refuse(
                at, role, f"the {what} of {pair} must be one (repeated measurements are given as their "
                f"mean), not {other!r} in line {line} and another here",
            )  # fmt: skip
        return np.sort(first)

    def numbers(self, role: str, rule: str, least: float = 0.0, empty: float | None = None) -> Array:
        """The columns of a role as numbers of at least ``least``, shape (m,) or (m, columns).

        ``empty`` stands for a missing number; only beside it may a cell say infinity.
        """
        out = []
        for k in self.places[role]:
            given = self.cells.texts([k])[k]
            found = self.cells.floats(given)
            if empty is not None:
                found = np.where(given.map(is_missing).to_numpy(bool), empty, found)
            endless = given.str.contains(r"\d").to_numpy(bool) | (empty is None)
            bad = np.isnan(found) | (found < least) | (np.isinf(found) & endless)
            if bad.any():
                self.cells.refuse(int(np.argmax(bad)), k, rule)
            out.append(found)
        return np.stack(out, axis=1) if len(out) > 1 or role == "x" else out[0]

    def weights(self, endless: bool = False) -> Array | None:
        """The column of positive weights, perhaps ``endless`` ones; None if there is none."""
        if "weight" not in self.texts:
            return None
        rule = "a weight must be a positive number" + ", or inf for a pair that must hold" * endless
        out = self.numbers("weight", rule, empty=0.0 if endless else None)
        self.check("weight", out == 0, rule)
        return out

    def positions(self, role: str, names: Sequence[str], what: str) -> Index:
        """The positions of a column of names in ``names``."""
        place = {name: at for at, name in enumerate(names)}
        for at, one in enumerate(self.texts[role]):
            if one not in place:
                shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
                self.refuse(at, role, f"must be {what}{meant(one, names)}, one of {shown}")
        return np.array([place[one] for one in self.texts[role]], dtype=np.intp)

    def ends(self, names: Sequence[str], what: str) -> Index:
        """The positions of the two names of each line, the smaller first (m, 2)."""
        for end in ("i", "j"):
            self.check(end, map(is_missing, self.texts[end]), "must be the name of a sensor")
        own = (one == two for one, two in zip(self.texts["i"], self.texts["j"], strict=True))
        self.check("j", own, "must be another sensor than that before it")
        return np.sort(np.stack([self.positions(end, names, what) for end in ("i", "j")], axis=1), axis=1)


def read_named(
    path: str | Path, what: str, roles: Sequence[Role], plain: Sequence[tuple[str, ...]],
    names: Sequence[str] = (), words: frozenset[str] = frozenset(),
) -> Named:  # fmt: skip
    """Read a table by its header; ``plain`` are the orders of columns in a file without a header.

    A first line is data if one of its cells begins with a digit, or is one of ``names``. Otherwise it is a
    header if it has a name of a role, and data if one of its cells is one of ``words`` or comes again below.
    Any other first line is a header, too, and its names must be known.
    """
    path = Path(path)
    if not is_there(path):
        raise ProblemError(f"{path} must be {what}, got nothing: there is no file of that name")
    with gate(path, what):
        cells = read_cells(path, frozenset(names))
        if cells.names and not any(_role(name, roles) for name in cells.names):
            texts, own = cells.texts(range(cells.width)), {name for name in cells.names if name}
            if words & {name.lower() for name in own} or texts.isin(own).any(axis=None):
                cells = read_cells(path, frozenset(own))
        places = _by_header(cells, roles, what) if cells.names else _in_order(cells, plain, what)
        found = cells.texts(sorted(k for at in places.values() for k in at))
        return Named(cells, places, {role: found[at[0]].tolist() for role, at in places.items()})


def in_order(found: Iterable[str]) -> tuple[str, ...]:
    """Distinct names, sorted as numbers if all are whole numbers, and otherwise as text."""
    names = set(found)
    whole = all(cell.isdecimal() for cell in names)
    return tuple(sorted(names, key=(lambda cell: (int(cell), cell)) if whole else None))


def _role(name: str, roles: Sequence[Role]) -> str | None:
    plain = re.sub(r"[\s.-]+", "_", name.lower())
    return next((one.name for one in roles if re.fullmatch(f"{one.name}|{one.also}", plain)), None)


def _by_header(cells: Cells, roles: Sequence[Role], what: str) -> dict[str, tuple[int, ...]]:
    wrong, places = "", dict[str, tuple[int, ...]]()
    for k, name in enumerate(cells.names):
        role = _role(name, roles)
        if role is None or (role in places and role != "x"):
            kind = "unknown" if role is None else "repeated"
            wrong = f"the {kind} column {name!r}{meant(name, [one.name for one in roles])}"
            break
        places[role] = (*places.get(role, ()), k)
    lacking = [one.name for one in roles if one.needed and one.name not in places]
    wrong = wrong or (f"none for {', '.join(lacking)}" if lacking else "")
    if wrong:
        raise ProblemError(
            f"{cells.path}, line 1: a header must name the columns of {what}, got {wrong}; known are: "
            f"{', '.join(map(_known, roles))}"
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
        f"{cells.path}, line {cells.lines[0]}: without a header the columns must be {expected}, got "
        f"{cells.width} cells; expected is {what}, or a header that names the columns"
    )
