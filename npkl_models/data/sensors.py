"""Measured distances of named sensors, with anchors and bounds, from csv files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import numpy as np

from npkl_models.data.cells import Cells, is_missing, number_of, read_cells
from npkl_models.data.comparisons import in_order
from npkl_models.errors import ProblemError, meant
from npkl_models.files.gate import gate, is_there
from npkl_models.linalg import Array, Index

LENGTH = re.compile(r"d|.*(dist|length|range).*", re.IGNORECASE)  # the third column of a header
FIRST = re.compile(r"x_?[01]?|.*(east|lon|coord).*", re.IGNORECASE)  # the second, of anchors
LOWER = re.compile(r"l|.*(low|least|min).*", re.IGNORECASE)  # the third, of bounds


@dataclass(frozen=True, eq=False)
class Distances:
    """Each measured distance once, by the positions of its sensors in ``names``.

    Attributes
    ----------
    names : tuple of str
        The sensors, sorted: as numbers if all are whole numbers, else as text.
    i, j : ndarray of int, shape (m,)
    d : ndarray of shape (m,)
        The distances.
    weight : ndarray of shape (m,) or None
        Their weights, if the file has a fourth column.
    repeated : int
        Number of lines that say again what another line says.
    """

    names: tuple[str, ...]
    i: Index
    j: Index
    d: Array
    weight: Array | None
    repeated: int


def read_distances_csv(path: str | Path) -> Distances:
    """Read distances: a line has two sensors, their distance, and perhaps a weight.

    Sensors are names or numbers. A first line such as i,j,distance,weight is a header. A pair may come twice,
    in either order, if both lines say the same.

    Raises
    ------
    ProblemError
        If a line has another number of cells, names a sensor twice, or has a distance that is no number of
        at least 0 or a weight that is not positive; or if two lines differ about a pair. The message names
        the line.
    """
    what = "a csv of distances: two sensors, their distance, and perhaps a weight"
    cells = _read(path, what, (3, 4), 2, LENGTH)
    with gate(path, what):
        names = in_order({cell for row in cells.rows for cell in row[:2]})
        ends = _ends(cells, names)
        number = _numbers(cells, 2, "a distance must be a number of at least 0")
        weight = _numbers(cells, 3, "a weight must be a positive number") if cells.width == 4 else None
        if weight is not None and not (weight > 0).all():
            _refuse(cells, int(np.argmin(weight > 0)), 3, "a weight must be a positive number")
        said = np.stack([number, np.zeros(number.size) if weight is None else weight], axis=1)
        first = _once(cells, ends, said, "distance")
        kept = None if weight is None else weight[first]
        i, j = ends[first].T
        return Distances(names, i, j, number[first], kept, len(ends) - first.size)


def read_anchors_csv(path: str | Path, names: tuple[str, ...] | None = None) -> tuple[Index, Array]:
    """Read anchors: a line has a sensor of ``names`` and its coordinates; their positions in ``names``.

    A first line such as sensor,x,y is a header. By default, ``names`` are those of the file.

    Raises
    ------
    ProblemError
        If a sensor is unknown or comes twice, or if a coordinate is no number; the message names the line.
    """
    what = "a csv of anchors: a sensor and its coordinates"
    cells = _read(path, what, range(2, 100), 1, FIRST)
    with gate(path, what):
        points = _places(cells, 0, in_order({row[0] for row in cells.rows}) if names is None else names)
        order = np.argsort(points, kind="stable")
        again = np.flatnonzero(np.diff(points[order]) == 0)
        if again.size:
            one, two = sorted(order[again[0] : again[0] + 2])
            where = cells.where(int(two), 0)
            raise ProblemError(
                f"{where}: an anchor must come once, got {cells.rows[two][0]!r} in line "
                f"{cells.lines[one]} too"
            )
        columns = [
            _numbers(cells, k, "a coordinate must be a number", least=-np.inf) for k in range(1, cells.width)
        ]
        return points, np.stack(columns, axis=1)


def read_bounds_csv(path: str | Path, names: tuple[str, ...]) -> tuple[Index, Index, Array, Array]:
    """Read bounds: a line has two sensors of ``names``, and the least and the largest distance.

    An empty cell says nothing: only "farther than" or only "nearer than" is known. A first line such as
    i,j,lower,upper is a header.

    Raises
    ------
    ProblemError
        If a sensor is unknown, if a bound is negative or no number, if the lower bound is the larger one, or
        if two lines differ about a pair; the message names the line.
    """
    what = "a csv of bounds: two sensors, the least and the largest distance"
    cells = _read(path, what, (4,), 2, LOWER)
    with gate(path, what):
        ends = _ends(cells, names)
        rule = "a bound must be a number of at least 0, or empty"
        lower, upper = (_numbers(cells, k, rule, empty=value) for k, value in ((2, 0.0), (3, np.inf)))
        wrong = np.flatnonzero(lower > upper)
        if wrong.size:
            _refuse(cells, int(wrong[0]), 3, f"must be at least the lower bound {lower[wrong[0]]:g}")
        first = _once(cells, ends, np.stack([lower, upper], axis=1), "bound")
        i, j = ends[first].T
        return i, j, lower[first], upper[first]


def _read(
    path: str | Path, what: str, widths: tuple[int, ...] | range, at: int, head: re.Pattern[str]
) -> Cells:
    """The cells below a header; a first line is one if its cell ``at`` is a name as in ``head``."""
    path = Path(path)
    if not is_there(path):
        raise ProblemError(f"{path} must be {what}, got nothing: there is no file of that name")
    with gate(path, what):
        cells = read_cells(path, row_names=False)
        if cells.width not in widths:
            expected = " or ".join(map(str, widths)) if len(widths) < 3 else f"at least {widths[0]}"
            where = f"{path}, line {cells.lines[0]}"
            raise ProblemError(f"{where}: must have {expected} cells, got {cells.width}; expected is {what}")
        if cells.names and not head.fullmatch(cells.names[at]):  # names of sensors look like a header
            return Cells(path, [], [cells.names, *cells.rows], [1, *cells.lines])
        return cells


def _numbers(
    cells: Cells, column: int, rule: str, *, least: float = 0.0, empty: float | None = None
) -> Array:
    """A column of numbers of at least ``least``; ``empty`` stands for a missing number."""
    out = np.empty(len(cells.rows))
    for at, row in enumerate(cells.rows):
        cell = row[column]
        value = number_of(cell)
        if value is None and empty is not None and (is_missing(cell) or cell.lower() == "inf"):
            value = np.inf if cell.lower() == "inf" else empty
        if value is None or value < least:
            _refuse(cells, at, column, rule)
        out[at] = value
    return out


def _refuse(cells: Cells, row: int, column: int, rule: str) -> NoReturn:
    raise ProblemError(f"{cells.where(row, column)}: {rule}, got {cells.rows[row][column][:60]!r}")


def _places(cells: Cells, column: int, names: tuple[str, ...]) -> Index:
    """The positions of a column of sensors."""
    place = {name: at for at, name in enumerate(names)}
    for at, row in enumerate(cells.rows):
        if row[column] not in place:
            hint = meant(row[column], names)
            shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
            _refuse(cells, at, column, f"must be a sensor that has a distance{hint}, one of {shown}")
    return np.array([place[row[column]] for row in cells.rows], dtype=np.intp)


def _ends(cells: Cells, names: tuple[str, ...]) -> Index:
    """The two sensors of each line by position, the smaller first (m, 2)."""
    for at, row in enumerate(cells.rows):
        empty = next((k for k in range(2) if not row[k]), None)
        if empty is not None:
            _refuse(cells, at, empty, "must be the name of a sensor")
        if row[0] == row[1]:
            _refuse(cells, at, 1, "must be another sensor than that before it")
    ends = np.stack([_places(cells, k, names) for k in range(2)], axis=1)
    return np.sort(ends, axis=1)


def _once(cells: Cells, ends: Index, said: Array, what: str) -> Index:
    """The first line of each pair, in the order of the file; an error if another line says something else."""
    _, first, place = np.unique(ends, axis=0, return_index=True, return_inverse=True)
    own = first[place.ravel()]
    odd = np.flatnonzero((said != said[own]).any(axis=1))
    if odd.size:
        at, one = int(odd[0]), int(own[odd[0]])
        pair = " and ".join(repr(name) for name in cells.rows[at][:2])
        raise ProblemError(
            f"{cells.where(at, 2)}: the {what} of {pair} must be one, got {cells.rows[at][2:]} here and "
            f"{cells.rows[one][2:]} in line {cells.lines[one]}; give repeated measurements as their mean"
        )
    return np.sort(first)
