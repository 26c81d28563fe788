"""The user's own data: points from csv, npz or LIBSVM files, and pairs from a csv."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.data.cells import floats, is_missing, read_cells
from npkl_models.data.columns import about_columns, label_column, place_of, row_names, why_left_out
from npkl_models.data.datasets import Dataset
from npkl_models.data.named import FIRST, SECOND, Named, Role, read_named
from npkl_models.data.readers import read_libsvm
from npkl_models.errors import ProblemError, calling
from npkl_models.files.arrays import opened
from npkl_models.files.gate import PACKED, gate, is_there
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import real_array
from npkl_models.model.pairs import Pairs
from npkl_models.model.sampling import KNOWN, WORDS, is_label, labelled, sign

SUFFIXES = (".csv", ".npz", ".libsvm", ".svm")
RENAMED = "give it a name with .csv; commas, semicolons, tabs and blanks are found"
OTHERS = {
    ".mat": "load it with scipy.io.loadmat, and write X and y with numpy.savez",
    ".npy": "write X and y with numpy.savez",
    ".parquet": "read it by pandas, and save it as csv without the index",
    **dict.fromkeys((".tsv", ".txt", ".data"), RENAMED),
    **dict.fromkeys((".xlsx", ".xls"), "save the sheet as csv"),
}
"""What to do about files of other kinds."""
NONE = np.zeros(0, dtype=np.intp)
POINT = re.compile(r"([0-9]{1,18})(\.0*)?")
PAIRS = (
    Role("i", FIRST), Role("j", SECOND),
    Role("kind", "answer|label|link|type|constraint|y|sign|match|same|must|must_link|link_type", False),
    Role("weight", "weights|confidence", False), Role("annotator", "annotators|worker|rater|user|who", False),
)  # fmt: skip
ORDERS = (("i", "j"), ("i", "j", "kind"))  # of the columns of a file without a header


def is_csv(name: str) -> bool:
    """Whether a name is the name of a csv file."""
    return _suffix(Path(name)) == ".csv"


def is_file(name: str) -> bool:
    """Whether a name is that of a file, and not of a data set: it has a suffix, or there is such a file."""
    return bool(_suffix(Path(name))) or (bool(name) and is_there(Path(name)))


def read_points(path: str | Path, label: str | None = None, ids: str | None = None) -> Dataset:
    """Points of a file, and their classes if the file has any.

    Parameters
    ----------
    path : str or Path
        ``.csv`` (with commas, semicolons, tabs or blanks, with or without a header; also ``.csv.gz``),
        ``.npz`` (arrays X and y) or LIBSVM's format. The first line of a csv is a header unless one of its
        cells begins with a digit; but 0, 1, 2, ... beside a name are one, as pandas numbers columns. A
        column that names or counts the rows is left out: a first column without a name, or one called index
        or id that counts.
    label : str, optional
        The column of a csv that holds the classes: its name, or its number from 0 (-1 is the last). By
        default a column called label, labels, class, target or y, if there is one. "none" means that there
        are no classes. The class of a row is unknown if the cell is -1, or empty, NaN, None or NA.
    ids : str, optional
        The column of a csv whose cells name the rows, as ``label`` names a column.

    Returns
    -------
    Dataset
        The data set; ``y`` is empty if the file has no classes, and -1 where a class is unknown. Its
        ``about`` says which columns are used.

    Raises
    ------
    ProblemError
        If the file does not exist or has another format. The message names the place of the defect.
    """
    path = Path(path)
    suffix = _suffix(path)
    if suffix not in SUFFIXES:
        remedy = f"; {OTHERS[suffix]}" if suffix in OTHERS else ""
        raise ProblemError(f"data must be a file with {', '.join(SUFFIXES)}, got {path}{remedy}")
    if not is_there(path):
        raise ProblemError(f"data must be the name of a set or a file, got {path}: there is no such file")
    if suffix == ".npz":
        return _of_arrays(path)
    if suffix != ".csv":
        return Dataset(path.stem, *read_libsvm(path), str(path))
    with gate(path, "a table of numbers"):
        cells = read_cells(path, numbered=True)
        at, key = label_column(cells, label), None if ids is None else place_of(cells, ids, "ids")
        free = [k for k in range(cells.width) if k not in (at, key)]
        left = {k: why for k in free if (why := why_left_out(cells, k))}
        features = [k for k in free if k not in left]
        if not features:
            raise ProblemError(f"{path} must have a column of numbers beside its classes and names, got none")
        X = cells.numbers(features)
        y = NONE if at is None else _classes(cells.texts([at])[at], cells.floats)
        names = () if key is None else row_names(cells, key)
        columns = tuple(np.array(cells.columns)[features].tolist())
        about = about_columns(cells, columns, (at, key), y, left)
        return Dataset(path.stem, X, y, str(path), names, columns, about)


def read_pairs(path: str | Path, n: int, ids: Sequence[str] = ()) -> Pairs:
    """Read pairs from a csv with the columns i, j, kind and perhaps weight, as its header names them.

    Rows are named by their numbers from 0, or by ``ids``, if these are given. The kind is a word such as
    must, same, together, yes, true or 1, or such as cannot, different, apart, no, false, 0 or -1. Without
    this column all pairs are must-links. Without a header the columns are i, j and perhaps kind.
    """
    found = read_answers(path, n, ids)
    with gate(Path(path), "a csv of pairs"):
        if found.annotator is not None:
            raise ProblemError(f"{path} must have one answer to each pair, got a column of annotators")
        return found.pairs(n, ids)


@dataclass(frozen=True, eq=False)
class Answered:
    """Answers about pairs: points (t, 2), +1 or -1 (t,), weights, annotators, and what was read."""

    ends: Index
    sign: Array
    weight: Array | None
    annotator: list[str] | None
    about: str

    def pairs(self, n: int, ids: Sequence[str] = ()) -> Pairs:
        """The answers as pairs over n points, which errors call by their names."""
        must = self.sign > 0
        weight = None if self.weight is None else np.concatenate([self.weight[must], self.weight[~must]])
        with calling(ids or None):
            return Pairs(n, self.ends[must], self.ends[~must], weight)


def read_answers(path: str | Path, n: int, ids: Sequence[str] = ()) -> Answered:
    """Read answers from a csv like that of `read_pairs`; a column of annotators may name who answered."""
    if not is_there(Path(path)):
        raise ProblemError(f"pairs must be a number or a csv file, got {path}: there is no such file")
    with gate(Path(path), "a csv of pairs"):
        found = read_named(path, "a csv of pairs", PAIRS, ORDERS, ids, frozenset(WORDS))
        ends = np.stack([_points(found, end, n, ids) for end in ("i", "j")], axis=1)
        weight, annotator = found.weights(endless=True), found.texts.get("annotator")
        found.check("annotator", map(is_missing, annotator or ()), "must name an annotator")
        if weight is not None and annotator is not None:
            raise ProblemError(f"{path} must have a column of weights or of annotators, got both")
        return Answered(ends, _kinds(found, len(ends)), weight, annotator, f"{path}: {found.header}")


def _kinds(found: Named, count: int) -> Array:
    """The signs of the answers; 0 is a cannot-link, unless the file has -1, too."""
    if "kind" not in found.texts:
        return np.ones(count)
    given = [sign(word) for word in found.texts["kind"]]
    found.check("kind", (one is None for one in given), f"the kind of a pair must be {KNOWN}")
    if any(word.startswith("-1") for word in found.texts["kind"]):
        found.check("kind", (one == 0 for one in given), "cannot-links must be 0 or -1 in the whole file")
    return np.array([one or -1 for one in given], dtype=float)


def _points(found: Named, end: str, n: int, ids: Sequence[str]) -> Index:
    """The rows that a column names."""
    if ids:
        return found.positions(end, ids, "the name of a row")
    cells = found.texts[end]
    rule = "points must be numbers from 0, or names of rows if ids says which column has them"
    found.check(end, (not POINT.fullmatch(cell) for cell in cells), rule)
    points = np.array([int(cell.split(".")[0]) for cell in cells], dtype=np.intp)
    found.check(end, points >= n, f"points must be 0 to {n - 1}")
    return points


def _classes(values: Iterable[Any], number: Callable[[Any], Array]) -> Index:
    """The classes of values, as numbers if all are finite numbers, else as texts: from 0, and -1 for none."""
    found: dict[Any, int] = {}  # the place of each distinct value
    place = np.fromiter((found.setdefault(value, len(found)) for value in values), dtype=np.intp)
    given = [value if is_label(value) and not is_missing(str(value)) else None for value in found]
    pairs = list(zip(given, number([*found]).tolist(), strict=True))
    if all(value is None or np.isfinite(number) for value, number in pairs):
        given = [None if value is None else number for value, number in pairs]
    known, classes = labelled(np.array(given, dtype=object))
    y = np.full(len(given), -1, dtype=np.intp)
    y[known] = classes
    return y[place]


def _of_arrays(path: Path) -> Dataset:
    """Points, and classes if there are any, of a .npz file."""
    with opened(path) as file:
        if "X" not in file:
            raise ProblemError(f"{path} must hold an array X (and y), got {sorted(file.names)[:9]}")
        X = _array(path, file["X"])
        if "y" not in file:
            return Dataset(path.stem, X, NONE, str(path))
        y = file["y"]
        if y.shape != (len(X),) or y.dtype.kind == "c":
            raise ProblemError(f"{path} must hold a class y for each of {len(X)} points, got shape {y.shape}")
        if y.dtype.kind == "f" and np.isinf(y).any():
            raise ProblemError(f"{path} must hold finite classes y, got infinity")
        return Dataset(path.stem, X, _classes(y.tolist(), floats), str(path))


def _array(path: Path, X: Array) -> Array:
    if X.dtype.kind == "c":
        raise ProblemError(f"{path} must hold real numbers, got complex ones")
    if X.dtype.kind not in "fiub" or X.ndim != 2 or not X.size:
        raise ProblemError(f"{path} must hold numbers X of shape (n, d), got {X.dtype} of shape {X.shape}")
    X = real_array(X, f"X of {path}")
    if not np.isfinite(X).all():
        i, j = np.argwhere(~np.isfinite(X))[0].tolist()
        where = f"row {i + 1}, column {j + 1} of X"
        raise ProblemError(f"{path} must hold finite numbers, got {X[i, j]} in {where}")
    return X


def _suffix(path: Path) -> str:
    return Path(path.stem).suffix if path.suffix in PACKED else path.suffix
