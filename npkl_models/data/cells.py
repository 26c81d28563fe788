"""The cells of a csv: pandas reads them; its first line and its bad cells are judged here."""

from __future__ import annotations

import csv
import io
import re
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.files.gate import gate, plain_bytes
from npkl_models.linalg import Array

if TYPE_CHECKING:
    from pandas import DataFrame

Row = tuple[int, list[str], int]  # the line on which a row ends, its cells, and the bytes up to its end
DECIMAL = r"^([+-]?\d*),(\d+(?:[eE][+-]?\d+)?)$"  # 1,5
BEGUN = re.compile(r"[+-]?\.?\d")  # a cell that begins like a number: its line is no header
RULE = "a first line is a header unless one of its cells begins with a digit"
MISSING = {"", "na", "n/a", "nan", "null", "none", "<na>", "nat", "?", "-", ".", "missing"}
NUMBER = r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?"
REMEDIES = (
    (r"[+-]?[\d.,]+\s*%", "leave the percent sign out"),
    (r"[+-]?\d{1,3}([,.'\s]\d{3})+([.,]\d+)?", "write the number without separators of thousands"),
    (r"[+-]?\d*,\d+", "write a point for the decimal comma, or separate the cells by semicolons"),
    (r"\d{1,4}[-/.:]\d{1,2}([-/.:T ].*)?", "write a date or time as a number, such as days since the first"),
    (r"[+-]?inf(inity)?|[+-]?\d+(\.\d*)?e\d+", "a number must be finite"),
    (rf"([^\w\s]\s*{NUMBER}|{NUMBER}\s*[^\W\d_.]+\S*)", "leave the unit out"),
    (r"true|false|yes|no", "write 1 and 0"),
)  # fmt: skip
"""What a cell that is no number looks like, and what to do about it."""


@dataclass(frozen=True, eq=False)
class Cells:
    """A table of cells, ``width`` in each row, below its header, if it has one.

    ``names`` of columns are empty without a header, and ``lines`` are those of the rows in the file. Rows and
    columns are counted from 0, and from 1 in words.
    """

    path: Path
    raw: bytes
    mark: str
    names: list[str]
    width: int
    lines: Sequence[int]
    start: int

    @property
    def columns(self) -> list[str]:
        """The names of the columns; their numbers in words if they have none."""
        return [name or f"column {k + 1}" for k, name in enumerate(self.names or [""] * self.width)]

    def texts(self, columns: Sequence[int]) -> DataFrame:
        """Columns as text without blanks around it."""
        import pandas

        parts = (part.apply(lambda one: one.str.strip()) for part in self._blocks(columns, dtype=object))
        return pandas.concat(parts, ignore_index=True)

    def numbers(self, columns: Sequence[int]) -> Array:
        """Columns of finite numbers."""
        out, row = np.empty((len(self.lines), len(columns))), 0
        for part in self._blocks(columns):
            for at, k in enumerate(columns):
                out[row : row + len(part), at] = self.floats(part[k])
            row += len(part)
        wrong = np.argwhere(~np.isfinite(out))
        if wrong.size:
            self.refuse(int(wrong[0, 0]), columns[wrong[0, 1]], "must be a number", True)
        return out

    def floats(self, column: Any) -> Array:
        """A column as floats; NaN for a cell that is no number."""
        return floats(column, self.mark == ";")

    def refuse(self, row: int, k: int, rule: str, remedied: bool = False) -> NoReturn:
        """Raise the error about a cell, with its place in the file; ``remedied`` adds what to do."""
        column = self.texts([k])[k].tolist()
        remedy = self._remedy(row, k, column) if remedied else ""
        where = f"{self.path}, line {self.lines[row]}, {self.column(k)}"
        raise ProblemError(f"{where}: {rule}, got {column[row][:60]!r}{remedy}")

    def column(self, k: int) -> str:
        """The place of a column in words: its number, and its name if it has one."""
        return f"column {k + 1} ({self.names[k]})" if self.names else f"column {k + 1}"

    def _blocks(self, columns: Sequence[int], **more: Any) -> Iterator[DataFrame]:
        """The columns, some rows at a time: the parser needs 16 bytes for each cell beside its value."""
        import pandas

        stream = io.BytesIO(self.raw)
        stream.seek(self.start)
        yield from pandas.read_csv(
            stream, header=None, names=range(self.width), usecols=[*columns], index_col=False,
            nrows=len(self.lines), sep=r"\s+" if self.mark == " " else self.mark, skipinitialspace=True,
            keep_default_na=False, na_values=[], low_memory=False, encoding="utf-8",
            decimal="," if self.mark == ";" else ".", chunksize=1 + (1 << 21) // self.width, **more,
        )  # fmt: skip

    def _remedy(self, row: int, k: int, column: list[str]) -> str:
        cell = column[row]
        if row == 0 and not self.names and not BEGUN.match(cell) and any(map(BEGUN.match, column)):
            return f"; {RULE}: begin the names of columns with letters, if these are names"
        given = [one for one in column if not is_missing(one)]
        if is_missing(cell):
            return (
                f"; {len(column) - len(given)} of {len(column)} values of this column are missing: fill them "
                "in (with its median, say), or leave the rows or the column out"
            )
        for form, words in REMEDIES:
            if re.fullmatch(form, cell, re.IGNORECASE):
                return f"; {words}"
        if 2 * int(np.isnan(self.floats(column)).sum()) < len(given):
            return ""
        label = self.names[k] if self.names else f"{k} (counted from 0)"
        distinct = len(set(given)) == len(column)
        kind, field = ("names of the rows", "ids") if distinct else ("the classes", "labels")
        return (
            f"; {self.column(k)} holds text: if these are {kind}, give {label} as {field}, else leave it "
            "out or write its categories as columns of 0 and 1, as pandas.get_dummies does"
        )


def read_cells(path: Path, data: frozenset[str] = frozenset(), numbered: bool = False) -> Cells:
    """The cells of a csv; the first line shows whether commas, semicolons, tabs or blanks separate them.

    A file with a name for gzip or bzip2 is unpacked. A first line is a header unless one of its cells begins
    with a digit, or is one of ``data``, words that no header has. If the columns may be ``numbered``, the
    numbers 0, 1, 2, ... beside a name that does not come again below are a header, too, as pandas writes it.
    A header that is one name short, as R writes it, begins with an empty name. Blank rows at the end and an
    empty last column without a name are left out.
    """
    with gate(path, "a text file with commas"):
        raw = plain_bytes(path).replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        mark = _mark(raw)
        rows = _rows(path, raw, mark)
        first = next(rows, None)
        if first is None:
            raise ProblemError(f"{path} must have at least one row, got none")
        _refuse_habits(path, *first[:2])
        beside = _beside_counted(first[1]) if numbered else []
        named = bool(beside) or not any(BEGUN.match(cell) or cell in data for cell in first[1])
        names, start = (first[1], first[2]) if named else ([], 0)
        width, lines = _shape(path, chain([first][named:], rows))
        found = Cells(path, raw, mark, names, width, lines, start)
        if named and len(names) != width:
            return _with_names(found)
        again = beside and any((column == names[k]).any() for k, column in found.texts(beside).items())
        return read_cells(path, data) if again else found


def _with_names(found: Cells) -> Cells:
    """The cells with a name for each column, if their header is one name short."""
    names, width = found.names, found.width
    if len(names) == width - 1:
        empty = (found.texts([width - 1])[width - 1] == "").all()
        return replace(found, names=[*names, ""] if empty else ["", *names])
    raise ProblemError(
        f"{found.path} must have a header with a name for each of the {width} columns, got {len(names)} "
        f"names: {', '.join(names[:9])}; write a name for each column, and quote cells "
        "with a separator in them"
    )


def is_missing(cell: str) -> bool:
    """Whether a cell stands for a missing value."""
    return cell.lower() in MISSING


def number_of(cell: str) -> float | None:
    """The finite number that a cell holds; None if the cell holds anything else."""
    return float(cell) if re.fullmatch(NUMBER, cell, re.ASCII) and np.isfinite(float(cell)) else None


def floats(column: Any, comma: bool = False) -> Array:
    """Values as floats, perhaps with a decimal ``comma``; NaN for a value that is no number."""
    import pandas

    column = pandas.Series(column)
    if column.dtype.kind == "b":
        return np.full(len(column), np.nan)
    if column.dtype.kind not in "iuf":
        text = column.astype(object).map(str).str.strip()
        text = text.str.replace(DECIMAL, r"\1.\2", regex=True) if comma else text
        column = pandas.to_numeric(text, errors="coerce")
    return column.to_numpy(float)


def _beside_counted(first: Sequence[str]) -> list[int]:
    """The places of the names in a first line that begins with 0, 1, 2, ...; none if it does not."""
    begin = int(first[0] == "")
    others = [k for k, cell in enumerate(first) if not BEGUN.match(cell)]
    count = len(first) - len(others)
    return others if count and first[begin : begin + count] == [*map(str, range(count))] else []


def _rows(path: Path, raw: bytes, mark: str) -> Iterator[Row]:
    """The rows of a file without its empty lines."""
    stream = io.BytesIO(raw)
    lines = (line.decode() for line in iter(stream.readline, b""))
    reader = csv.reader(lines, delimiter=mark, skipinitialspace=True, strict=True)
    try:
        for row in reader:
            cells = [cell.strip() for cell in row]
            if mark == " " and cells and not cells[-1]:
                cells.pop()
            if len(cells) > 1 or (cells and cells[0]):
                yield reader.line_num, cells, stream.tell()
    except csv.Error as error:
        where = f"line {reader.line_num}: {error}"
        raise ProblemError(f"{path} must be a text file with commas: {where}") from None


def _shape(path: Path, rows: Iterator[Row]) -> tuple[int, Sequence[int]]:
    """The number of columns, and the lines of the rows without blank rows at the end."""
    width = count = 0
    lines = array("q")  # eight bytes a row
    odd: tuple[int, list[str]] | None = None
    for line, cells, _ in rows:
        width = width or len(cells)
        lines.append(line)
        if odd is None and len(cells) != width:
            odd = line, cells
        if any(cells):
            count = len(lines)
            if odd is not None:
                _refuse_habits(path, *odd)
                raise ProblemError(
                    f"{path} must have rows of one length, got {width} cells in line {lines[0]} and "
                    f"{len(odd[1])} in line {odd[0]}"
                )
    if not count:
        raise ProblemError(f"{path} must have rows of one length below its header, got none at all")
    del lines[count:]
    return width, lines


def _mark(raw: bytes) -> str:
    """The separator of the cells (semicolon, comma, tab or blank), from the first line that is not blank."""
    line = next((line for line in io.BytesIO(raw) if line.strip()), b"").decode()
    first = re.sub('"[^"]*"', "q", line).strip()
    if first.count(";") > first.count(","):
        return ";"
    return next((mark for mark in (",", "\t", " ") if mark in first), ",")


def _refuse_habits(path: Path, line: int, cells: Sequence[str]) -> None:
    """Refuse lines that are neither a header nor data, as some programs write them."""
    if cells[0].startswith("#"):
        what = (
            "a line that begins with '#': delete comments, and the '#' before names of columns (numpy writes "
            "none with comments='')"
        )
    elif re.fullmatch(r"sep=.?", cells[0], re.IGNORECASE):
        what = f"{cells[0]!r}, which only Excel reads: delete this line; the separator is found without it"
    else:
        return
    raise ProblemError(f"{path}, line {line}: must be a header or data, got {what}")
