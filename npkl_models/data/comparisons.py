"""Comparisons of named objects, from a csv of three or four columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from npkl_models.data.cells import Cells, is_missing, read_cells
from npkl_models.errors import ProblemError
from npkl_models.files.gate import gate, is_there
from npkl_models.linalg import Index

HEADERS = (("i", "j", "k"), ("i", "j", "k", "l"), ("anchor", "near", "far"))


@dataclass(frozen=True, eq=False)
class Comparisons:
    """Comparisons by position, and the names of the objects."""

    rows: Index
    names: tuple[str, ...]


def read_comparisons_csv(path: str | Path) -> Comparisons:
    """Read comparisons: of three objects in a line, the first is nearer to the second than to the third.

    With four columns, the first two objects are nearer to each other than the last two. Objects are names or
    numbers. A first line i,j,k or i,j,k,l or anchor,near,far is a header. Names that are all whole numbers
    are sorted as numbers, others as text.

    Raises
    ------
    ProblemError
        If a line has another number of columns, or an empty cell; the message names the line.
    """
    path = Path(path)
    if not is_there(path):
        raise ProblemError(f"comparisons must be a csv file, got {path}: there is no such file")
    with gate(path, "a csv of comparisons"):
        cells = read_cells(path, row_names=False)
        if cells.width not in (3, 4):
            where = f"{path}, line {cells.lines[0]}"
            raise ProblemError(f"{where}: a comparison must have three or four columns, got {cells.width}")
        every = _checked(cells)
        names = in_order({cell for row in every for cell in row})
        place = {name: at for at, name in enumerate(names)}
        rows = np.array([[place[cell] for cell in row] for row in every], dtype=np.intp)
        return Comparisons(rows, names)


def in_order(found: set[str]) -> tuple[str, ...]:
    """Names, sorted as numbers if all are whole numbers, and otherwise as text."""
    whole = all(cell.isdecimal() for cell in found)
    return tuple(sorted(found, key=(lambda cell: (int(cell), cell)) if whole else None))


def _checked(cells: Cells) -> list[list[str]]:
    """The rows without a header; an error if a cell is empty."""
    every, lines = cells.rows, cells.lines
    if cells.names and tuple(name.lower() for name in cells.names) not in HEADERS:
        every, lines = [cells.names, *every], [1, *lines]  # names of objects look like a header
    for line, row in zip(lines, every, strict=True):
        if any(is_missing(cell) for cell in row):
            where = f"{cells.path}, line {line}"
            raise ProblemError(f"{where}: a comparison must name its objects, got an empty cell")
    return every
