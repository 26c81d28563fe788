"""The cells of a csv: their separator, the header, and the column that names the rows."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.files.gate import gate, text_of
from npkl_models.linalg import Array

DECIMAL = re.compile(r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$")  # 1,5 if semicolons separate the cells
QUOTED = re.compile(r'"[^"]*"')
MEANT = re.compile(r"[+-]?[\d.,][\d.,eE+-]*.?[\d.,eE+-]*")  # a number with at most one wrong character
MISSING = {"", "na", "n/a", "nan", "null", "none", "?", "-", ".", "missing"}


@dataclass(frozen=True)
class Cells:
    """The cells of a file, without blanks around them, in rows of one length.

    Attributes
    ----------
    path : Path
        The file.
    names : list of str
        Names of the columns; empty if there is no header.
    rows : list of list of str
        The cells.
    lines : list of int
        The line of the file, from 1, on which each row ends.
    first : int
        Number of the first column in the file, from 1; 2 if a column with names of rows is left out.
    """

    path: Path
    names: list[str]
    rows: list[list[str]]
    lines: list[int]
    first: int = 1

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.rows[0])

    def where(self, row: int, column: int) -> str:
        """The place of a cell in words: file, line and column, counted from 1."""
        return f"{self.path}, line {self.lines[row]}, {self.column(column)}"

    def column(self, k: int) -> str:
        """The place of a column in words: its number in the file, from 1, and its name."""
        return f"column {k + self.first} ({self.names[k]})" if self.names else f"column {k + self.first}"

    def numbers(self, columns: Sequence[int]) -> Array:
        """The numbers of the given columns.

        Raises
        ------
        ProblemError
            If a cell holds no number; the message names the first such cell and suggests a remedy.
        """
        out = np.empty((len(self.rows), len(columns)))
        for j, k in enumerate(columns):
            for i, row in enumerate(self.rows):
                value = number_of(row[k])
                if value is None:
                    remedy = self._remedy(i, k)
                    raise ProblemError(f"{self.where(i, k)}: must be a number, got {row[k][:60]!r}{remedy}")
                out[i, j] = value
        return out

    def _remedy(self, i: int, k: int) -> str:
        column = [row[k] for row in self.rows]
        if is_missing(column[i]):
            count = sum(map(is_missing, column))
            return (
                f"; {count} of {len(column)} values of this column are missing: fill them in (with its "
                "median, say), or leave the rows or the column out"
            )
        if i == 0 and not self.names and any(number_of(cell) is not None for cell in column):
            return "; most cells of this line are numbers or nearly numbers, so the line is no header"
        given = [cell for cell in column if not is_missing(cell)]
        if 2 * sum(number_of(cell) is None for cell in given) >= len(given):
            label = self.names[k] if self.names else f"{k} (counted from 0)"
            return (
                f"; {self.column(k)} holds text: if these are the classes say --labels {label}, else leave "
                "it out or write its categories as columns of 0 and 1, as pandas.get_dummies does"
            )
        return ""


def read_cells(path: Path, row_names: bool = True) -> Cells:
    """The cells of a csv; the first line shows whether commas, semicolons, tabs or blanks separate them.

    A file with a name for gzip or bzip2 is unpacked. With ``row_names``, a first column that names the rows
    is left out. It has no name in the header (as R writes it) or an empty one (as pandas and R write it). An
    empty last column without a name is left out too.

    Raises
    ------
    ProblemError
        If there is no row, or if the rows have different lengths; the message names the lines.
    """
    with gate(path, "a text file with commas"):
        rows, lines = _parsed(path, text_of(path))
        if not rows:
            raise ProblemError(f"{path} must have at least one row, got none")
        names = rows[0] if _is_header(rows) else []
        rows, lines = (rows[1:], lines[1:]) if names else (rows, lines)
        if not rows:
            raise ProblemError(f"{path} must have rows of one length below its header, got none at all")
        odd = next((k for k, row in enumerate(rows) if len(row) != len(rows[0])), None)
        if odd is not None:
            raise ProblemError(
                f"{path} must have rows of one length, got {len(rows[0])} cells in line {lines[0]} and "
                f"{len(rows[odd])} in line {lines[odd]}"
            )
        return _without_row_names(Cells(path, names, rows, lines), row_names)


def number_of(cell: str) -> float | None:
    """The finite number that a cell holds; None if the cell holds anything else."""
    try:
        value = float(cell)
    except ValueError:
        return None
    plain = cell.isascii() and "_" not in cell and abs(value) != np.inf and value == value
    return value if plain else None


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a missing value."""
    return cell.lower() in MISSING


def _parsed(path: Path, text: str) -> tuple[list[list[str]], list[int]]:
    """The rows and the line on which each ends, without empty lines and without blank rows at the end."""
    mark = _mark(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True, strict=True)
    rows, lines = [], []
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if mark == " " and cells and not cells[-1]:
                cells.pop()
            if len(cells) > 1 or (cells and cells[0]):
                rows.append(cells)
                lines.append(reader.line_num)
    except csv.Error as error:
        where = f"line {reader.line_num}: {error}"
        raise ProblemError(f"{path} must be a text file with commas: {where}") from None
    while rows and not any(rows[-1]):
        rows.pop()
        lines.pop()
    if mark == ";":
        rows = [[DECIMAL.sub(r"\1.\2", cell) for cell in row] for row in rows]
    return rows, lines


def _mark(text: str) -> str:
    """The separator of the cells (semicolon, comma, tab or blank), from the first line that is not blank."""
    first = QUOTED.sub("q", next((line for line in text.splitlines() if line.strip()), "")).strip()
    if first.count(";") > first.count(","):
        return ";"
    return next((mark for mark in (",", "\t", " ") if mark in first), ",")


def _is_header(rows: list[list[str]]) -> bool:
    """Whether the first row names the columns: few cells are numbers, or pandas has numbered the columns."""
    given = [cell for cell in rows[0] if cell]
    if not _names(given):
        return False
    if not any(number_of(cell) is not None for cell in given):
        return True
    below = rows[1] if len(rows) > 1 else []
    named = [k for k, cell in enumerate(rows[0]) if cell and number_of(cell) is None]
    return 2 * sum(k < len(below) and number_of(below[k]) is not None for k in named) > len(named)


def _names(given: list[str]) -> bool:
    """Whether most cells are names, or the numbers among them count columns from 0."""
    meant = [cell for cell in given if number_of(cell) is not None or MEANT.fullmatch(cell)]
    counted = [cell for cell in given if cell.isdecimal()] == [str(k) for k in range(len(meant))]
    return len(meant) < len(given) and (2 * len(meant) < len(given) or counted)


def _without_row_names(cells: Cells, wanted: bool) -> Cells:
    """The cells without row names; an error if the number of names is not the number of columns."""
    path, names, width = cells.path, cells.names, cells.width
    if not names:
        return cells
    found = _left_out(cells) if wanted else cells
    if len(found.names) != found.width:
        hint = "; if the first column names the rows, none may come twice" if len(names) == width - 1 else ""
        raise ProblemError(
            f"{path} must have a header with a name for each of the {width} cells of line {cells.lines[0]}, "
            f"got {len(names)} names{hint}"
        )
    return found


def _left_out(cells: Cells) -> Cells:
    """The cells without an empty last column, or without a first column that names the rows."""
    path, names, rows, lines = cells.path, cells.names, cells.rows, cells.lines
    shorter, distinct = len(names) == cells.width - 1, len({row[0] for row in rows}) == len(rows)
    if shorter and not any(row[-1] for row in rows):
        return Cells(path, names, [row[:-1] for row in rows], lines)
    if shorter and distinct:
        return Cells(path, names, [row[1:] for row in rows], lines, first=2)
    if len(names) == cells.width > 1 and not names[0] and distinct:
        return Cells(path, names[1:], [row[1:] for row in rows], lines, first=2)
    return cells
