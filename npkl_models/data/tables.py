"""One's own data: points from csv, npz or LIBSVM files, pairs from a csv of two or three columns."""

from __future__ import annotations

import csv
import gzip
import os
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from npkl_models.data.datasets import Dataset
from npkl_models.data.readers import read_libsvm
from npkl_models.errors import ProblemError, unknown
from npkl_models.files.arrays import opened
from npkl_models.linalg import Array, Index
from npkl_models.model.pairs import Pairs

SUFFIXES = (".csv", ".npz", ".libsvm", ".svm")
KINDS = {
    "1": 1, "+1": 1, "must": 1, "must-link": 1, "must_link": 1, "ml": 1,
    "-1": -1, "cannot": -1, "cannot-link": -1, "cannot_link": -1, "cl": -1,
}  # fmt: skip
DECIMAL = re.compile(r"^(\s*[+-]?\d*),(\d+(?:[eE][+-]?\d+)?\s*)$")  # 1,5 where semicolons part the cells
HEADER = "i,j,kind"  # of a file of pairs
LABEL_NAMES = ("label", "labels", "class", "target", "y")  # the first of these that a csv has is taken


def is_csv(name: str) -> bool:
    """Whether a name means a csv."""
    return _suffix(Path(name)) == ".csv"


def is_file(name: str) -> bool:
    """Whether a name means a file rather than a known data set."""
    return _suffix(Path(name)) in SUFFIXES


def read_points(path: str | Path, label: str | None = None) -> Dataset:
    """Points and, where there are any, classes of a file.

    Parameters
    ----------
    path : str or Path
        ``.csv`` (commas, semicolons or tabs; a header or none; also ``.csv.gz``), ``.npz`` (arrays X and
        y) or LIBSVM's format.
    label : str, optional
        The column of a csv that holds the classes: its name, or its number from 0 (-1 is the last). Without
        it a column called label, class, target or y is taken, if there is one; "none" takes none.

    Returns
    -------
    Dataset
        With an empty ``y`` where the file has no classes.

    Raises
    ------
    ProblemError
        If the file is not there, or not of such a kind; the text says where.
    """
    path = Path(path)
    if not path.is_file():
        raise ProblemError(f"data must be the name of a set or a file, got {path}: there is no such file")
    suffix, none = _suffix(path), np.zeros(0, dtype=np.intp)
    if suffix == ".npz":
        with opened(path) as file:
            if "X" not in file:
                raise ProblemError(f"{path} must hold an array X (and y), got {sorted(file.names)}")
            if np.iscomplexobj(file["X"]):
                raise ProblemError(f"{path} must hold real numbers, got complex ones")
            X = np.asarray(file["X"], dtype=float)
            return Dataset(path.stem, X, _codes(file["y"]) if "y" in file else none, str(path))
    if suffix in (".libsvm", ".svm"):
        return Dataset(path.stem, *read_libsvm(path), str(path))
    if suffix != ".csv":
        raise ProblemError(f"data must be a file that ends with one of {', '.join(SUFFIXES)}, got {path}")
    names, rows = _rows(path)
    at = _label_column(path, names, len(rows[0]), label)
    y = none if at is None else _codes(np.array([row[at] for row in rows]))
    features = [k for k in range(len(rows[0])) if k != at]
    return Dataset(path.stem, _numbers(path, names, rows, features), y, str(path))


def column_names(path: str | Path, label: str | None = None) -> list[str]:
    """The names of the columns of a csv that `read_points` takes as points, by number where it has no header.

    Raises
    ------
    ProblemError
        As `read_points`.
    """
    path = Path(path)
    names, rows = _rows(path)
    at = _label_column(path, names, len(rows[0]), label)
    names = names or [f"column {k}" for k in range(len(rows[0]))]
    return [name for k, name in enumerate(names) if k != at]


def write_pairs(path: str | Path, pairs: Pairs) -> None:
    """Pairs as a csv that `read_pairs` reads, must-links first: as a whole or not at all.

    A file that is there is replaced by a complete one; if that cannot be written it stays as it was.
    """
    path = Path(path)
    kinds = ("must" if sign > 0 else "cannot" for sign in pairs.sign)
    lines = (f"{i},{j},{kind}" for i, j, kind in zip(pairs.i.tolist(), pairs.j.tolist(), kinds, strict=True))
    begun = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        begun.write_text("\n".join([HEADER, *lines, ""]), encoding="utf-8")
        os.replace(begun, path)
    finally:
        begun.unlink(missing_ok=True)


def read_pairs(path: str | Path, n: int) -> Pairs:
    """Pairs from a csv: two columns of point numbers from 0, and a third that says what they are.

    The third column holds 1, must or ml, or -1, cannot or cl; with two columns all pairs are must-links. A
    header is passed over.

    Raises
    ------
    ProblemError
        With the line that is wrong.
    """
    path = Path(path)
    if not path.is_file():
        raise ProblemError(f"pairs must be a number or a csv file, got {path}: there is no such file")
    names, rows = _rows(path)
    first = 2 if names else 1
    must: list[tuple[int, int]] = []
    cannot: list[tuple[int, int]] = []
    for k, row in enumerate(rows, start=first):
        if len(row) not in (2, 3):
            raise ProblemError(f"{path}, line {k}: a pair must have two or three columns, got {len(row)}")
        kind = KINDS.get(row[2].strip().lower()) if len(row) == 3 else 1
        if kind is None:
            known = "1, must, ml, -1, cannot or cl"
            raise ProblemError(f"{path}, line {k}: the third column must be {known}, got {row[2]!r}")
        try:
            ends = int(row[0]), int(row[1])
        except ValueError:
            raise ProblemError(f"{path}, line {k}: points must be numbers from 0, got {row[:2]}") from None
        if not all(0 <= end < n for end in ends):
            raise ProblemError(f"{path}, line {k}: points must be 0 to {n - 1}, got {ends}")
        (must if kind > 0 else cannot).append(ends)
    return Pairs(n, must or None, cannot or None)


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    """The header (empty where there is none) and the rows of a csv."""
    try:
        rows = _cells(path)
    except (csv.Error, UnicodeDecodeError) as error:
        raise ProblemError(f"{path} must be a text file with commas: {error}") from None
    if not rows:
        raise ProblemError(f"{path} must have at least one row, got none")
    header = not any(_number(cell) is not None for cell in rows[0])
    names, rows = (rows[0], rows[1:]) if header else ([], rows)
    if not rows or any(len(row) != len(rows[0]) for row in rows):
        sizes = sorted({len(row) for row in rows})
        raise ProblemError(f"{path} must have rows of one length below its header, got lengths {sizes}")
    return [name.strip() for name in names], rows


def _cells(path: Path) -> list[list[str]]:
    """All cells, by commas; by semicolons, with decimal commas; or by tabs: what the first line has."""
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", newline="", encoding="utf-8-sig") as file:
        lines = [line for line in file if line.strip()]
    first = lines[0] if lines else ""
    mark = ";" if first.count(";") > first.count(",") else ","
    if "\t" in first and mark not in first:
        mark = "\t"
    rows = csv.reader(lines, delimiter=mark, skipinitialspace=True, strict=True)
    cells = [row for row in rows if any(cell.strip() for cell in row)]
    return [[DECIMAL.sub(r"\1.\2", cell) for cell in row] for row in cells] if mark == ";" else cells


def _label_column(path: Path, names: list[str], count: int, label: str | None) -> int | None:
    if label == "none":
        return None
    if label is None:
        place = {name.lower(): k for k, name in reversed([*enumerate(names)])}
        return next((place[name] for name in LABEL_NAMES if name in place), None)
    if label in names:
        return names.index(label)
    try:
        at = int(label)
    except ValueError:
        raise unknown(f"column of {path}", label, names) from None
    if not -count <= at < count:
        raise ProblemError(f"labels must be a column of {path} from 0 to {count - 1}, got {at}")
    return at % count


def _numbers(path: Path, names: list[str], rows: Sequence[Sequence[str]], columns: list[int]) -> Array:
    out = np.empty((len(rows), len(columns)))
    for i, row in enumerate(rows):
        for j, k in enumerate(columns):
            value = _number(row[k])
            if value is None:
                name = f" ({names[k]})" if names else ""
                line = i + (2 if names else 1)
                raise ProblemError(f"{path}, line {line}, column {k}{name}: must be a number, got {row[k]!r}")
            out[i, j] = value
    return out


def _number(cell: str) -> float | None:
    try:
        return float(cell)
    except ValueError:
        return None


def _codes(values: Array) -> Index:
    return np.unique(values, return_inverse=True)[1].astype(np.intp).ravel()


def _suffix(path: Path) -> str:
    return Path(path.stem).suffix if path.suffix in (".gz", ".bz2") else path.suffix
