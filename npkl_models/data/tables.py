"""The user's own data: points from csv, npz or LIBSVM files, pairs from a csv of two to four columns."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np

from npkl_models.data.cells import Cells, is_missing, number_of, read_cells
from npkl_models.data.datasets import Dataset
from npkl_models.data.readers import codes, read_libsvm
from npkl_models.errors import ProblemError, unknown
from npkl_models.files.arrays import opened
from npkl_models.files.atomic import write_text
from npkl_models.files.gate import PACKED, gate, is_there
from npkl_models.linalg import Array, Index
from npkl_models.model.pairs import Pairs

SUFFIXES = (".csv", ".npz", ".libsvm", ".svm")
KINDS = {
    "1": 1, "+1": 1, "must": 1, "must-link": 1, "must_link": 1, "ml": 1,
    "-1": -1, "cannot": -1, "cannot-link": -1, "cannot_link": -1, "cl": -1,
}  # fmt: skip
NONE = np.zeros(0, dtype=np.intp)
POINT = re.compile(r"-?[0-9]{1,18}")
HEADER = "i,j,kind"  # the header of a file of pairs
LABEL_NAMES = ("label", "labels", "class", "target", "y")  # the first of these in a header names the classes


def is_csv(name: str) -> bool:
    """Whether a name is the name of a csv file."""
    return _suffix(Path(name)) == ".csv"


def is_file(name: str) -> bool:
    """Whether a name is the name of a file, and not of a known data set."""
    return _suffix(Path(name)) in SUFFIXES


def read_points(path: str | Path, label: str | None = None) -> Dataset:
    """Points of a file, and their classes if the file has any.

    Parameters
    ----------
    path : str or Path
        ``.csv`` (with commas, semicolons, tabs or blanks, with or without a header; also ``.csv.gz``),
        ``.npz`` (arrays X and y) or LIBSVM's format. A first column that names the rows is left out. Its
        name in the header is missing or empty.
    label : str, optional
        The column of a csv that holds the classes: its name, or its number from 0 (-1 is the last). A column
        with names of rows does not count. By default a column called label, labels, class, target or y, if
        there is one. "none" means that there are no classes.

    Returns
    -------
    Dataset
        The data set; ``y`` is empty if the file has no classes.

    Raises
    ------
    ProblemError
        If the file does not exist or has another format. The message names the place of the defect.
    """
    path = Path(path)
    if not is_there(path):
        raise ProblemError(f"data must be the name of a set or a file, got {path}: there is no such file")
    suffix = _suffix(path)
    if suffix == ".npz":
        return _of_arrays(path)
    if suffix in (".libsvm", ".svm"):
        return Dataset(path.stem, *read_libsvm(path), str(path))
    if suffix != ".csv":
        raise ProblemError(f"data must be a file that ends with one of {', '.join(SUFFIXES)}, got {path}")
    with gate(path, "a table of numbers"):
        cells = read_cells(path)
        at = _label_column(cells, label)
        features = [k for k in range(cells.width) if k != at]
        if not features:
            raise ProblemError(f"{path} must have a column of numbers beside its classes, got none")
        y = NONE if at is None else _classes(cells, at)
        return Dataset(path.stem, cells.numbers(features), y, str(path))


def column_names(path: str | Path, label: str | None = None) -> list[str]:
    """The names of the columns of a csv that `read_points` takes as points; numbers if there is no header."""
    cells = read_cells(Path(path))
    at = _label_column(cells, label)
    names = cells.names or [cells.column(k) for k in range(cells.width)]
    return [name for k, name in enumerate(names) if k != at]


def write_pairs(path: str | Path, pairs: Pairs) -> None:
    """Write pairs as a csv that `read_pairs` reads, must-links first.

    An existing file is replaced only by a complete file. If the new file cannot be written, the existing file
    stays as it was.
    """
    kinds = ("must" if sign > 0 else "cannot" for sign in pairs.sign)
    lines = (f"{i},{j},{kind}" for i, j, kind in zip(pairs.i.tolist(), pairs.j.tolist(), kinds, strict=True))
    write_text(path, "\n".join([HEADER, *lines, ""]))


def read_pairs(path: str | Path, n: int) -> Pairs:
    """Read pairs from a csv: two columns with the numbers of the points, from 0, and a third with the kind.

    The third column holds 1, must or ml for a must-link, and -1, cannot or cl for a cannot-link. Without a
    third column all pairs are must-links. A header is skipped.

    Raises
    ------
    ProblemError
        If a line is invalid; the message names the line.
    """
    with gate(Path(path), "a csv of pairs"):
        ends, sign, _ = _answers(path, n, (2, 3))
        must, cannot = ends[sign > 0], ends[sign < 0]
        return Pairs(n, must if len(must) else None, cannot if len(cannot) else None)


def read_answers(path: str | Path, n: int) -> tuple[Index, Index, list[str]]:
    """Read answers from a csv like that of `read_pairs`; a fourth column has the names of the annotators.

    Returns
    -------
    tuple
        Points of each answer (t, 2), +1 or -1 for each answer (t,), and the names. Pairs may be repeated.
        Without a fourth column there are no names.
    """
    with gate(Path(path), "a csv of pairs"):
        return _answers(path, n, (2, 3, 4))


def _answers(path: str | Path, n: int, widths: tuple[int, ...]) -> tuple[Index, Index, list[str]]:
    path = Path(path)
    if not is_there(path):
        raise ProblemError(f"pairs must be a number or a csv file, got {path}: there is no such file")
    cells = read_cells(path, row_names=False)
    if cells.width not in widths:
        where, known = f"{path}, line {cells.lines[0]}", " or ".join(["two", "three", "four"][: len(widths)])
        known = known.replace(" or ", ", ", len(widths) - 2)
        raise ProblemError(f"{where}: a pair must have {known} columns, got {cells.width}")
    rows = [_pair(f"{path}, line {line}", row, n) for line, row in zip(cells.lines, cells.rows, strict=True)]
    kind, i, j = np.array(rows, dtype=np.intp).reshape(-1, 3).T
    return np.stack([i, j], axis=1), kind, [row[3] for row in cells.rows if len(row) == 4]


def _pair(where: str, row: list[str], n: int) -> tuple[int, int, int]:
    """The sign of a pair and its points."""
    kind = KINDS.get(row[2].lower()) if len(row) > 2 else 1
    if kind is None:
        known = "1, must, ml, -1, cannot or cl"
        raise ProblemError(f"{where}: the third column must be {known}, got {row[2][:60]!r}")
    if not all(POINT.fullmatch(cell) for cell in row[:2]):
        raise ProblemError(f"{where}: points must be numbers from 0, got {[cell[:60] for cell in row[:2]]}")
    i, j = (int(cell) for cell in row[:2])
    if not (0 <= i < n and 0 <= j < n):
        raise ProblemError(f"{where}: points must be 0 to {n - 1}, got {(i, j)}")
    return kind, i, j


def _label_column(cells: Cells, label: str | None) -> int | None:
    names, count = cells.names, cells.width
    if label == "none":
        return None
    if label is None:
        place = {name.lower(): k for k, name in reversed([*enumerate(names)])}
        return next((place[name] for name in LABEL_NAMES if name in place), None)
    if names.count(label) > 1:
        raise ProblemError(f"labels must name one column of {cells.path}, got {label!r}, the name of several")
    if label in names:
        return names.index(label)
    try:
        at = int(label)
    except ValueError:
        raise unknown(f"column of {cells.path}", label, names) from None
    if not -count <= at < count:
        raise ProblemError(f"labels must be a column of {cells.path} from 0 to {count - 1}, got {at}")
    return at % count


def _classes(cells: Cells, column: int) -> Index:
    """The classes of a column, as numbers if all cells are numbers, else as texts; coded from 0."""
    values = [row[column] for row in cells.rows]
    for i, value in enumerate(values):
        if is_missing(value):
            raise ProblemError(
                f"{cells.where(i, column)}: must be a class, got {value!r}; leave rows without a class out, "
                "or give them a class of their own"
            )
    numbers = [number_of(value) for value in values]
    if all(one is not None for one in numbers):
        return codes(np.array(numbers, dtype=float))
    return codes(np.array(values))


def _of_arrays(path: Path) -> Dataset:
    """Points, and classes if there are any, of a .npz file."""
    with opened(path) as file:
        if "X" not in file:
            raise ProblemError(f"{path} must hold an array X (and y), got {sorted(file.names)[:9]}")
        X = _points(path, file["X"])
        if "y" not in file:
            return Dataset(path.stem, X, NONE, str(path))
        y = file["y"]
        if y.shape != (len(X),) or y.dtype.kind == "c":
            raise ProblemError(f"{path} must hold a class y for each of {len(X)} points, got shape {y.shape}")
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ProblemError(f"{path} must hold finite classes y, got NaN or infinity")
        return Dataset(path.stem, X, codes(y), str(path))


def _points(path: Path, X: Array) -> Array:
    if X.dtype.kind == "c":
        raise ProblemError(f"{path} must hold real numbers, got complex ones")
    if X.dtype.kind not in "fiub" or X.ndim != 2 or not X.size:
        raise ProblemError(f"{path} must hold numbers X of shape (n, d), got {X.dtype} of shape {X.shape}")
    X = np.asarray(X, dtype=float)
    if not np.isfinite(X).all():
        i, j = np.argwhere(~np.isfinite(X))[0].tolist()
        where = f"row {i + 1}, column {j + 1} of X"
        raise ProblemError(f"{path} must hold finite numbers, got {X[i, j]} in {where}")
    return X


def _suffix(path: Path) -> str:
    return Path(path.stem).suffix if path.suffix in PACKED else path.suffix
