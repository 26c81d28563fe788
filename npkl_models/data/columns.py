"""What each column of a table of points is: a feature, the classes, names of rows, or left out."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from npkl_models.data.cells import RULE, Cells, is_missing
from npkl_models.errors import ProblemError, unknown
from npkl_models.linalg import Index

LABEL_NAMES = ("label", "labels", "class", "target", "y")  # the first of these in a header names the classes
NAMELESS = re.compile(r"|unnamed: *\d.*", re.IGNORECASE)
COUNTING = re.compile(r"index|level_0|id|row|row_?id|rownames|row_?names|no|nr", re.IGNORECASE)
SHOWN = 8  # columns that are named


def label_column(cells: Cells, label: str | None) -> int | None:
    """The column of the classes, by its name or number, or by its usual names; None if there is none."""
    if label == "none":
        return None
    if label is not None:
        return place_of(cells, label, "labels")
    low = [name.lower() for name in cells.names]
    return next((low.index(name) for name in LABEL_NAMES if name in low), None)


def place_of(cells: Cells, name: str, what: str) -> int:
    """The column with a name, or with a number from 0."""
    names, count = cells.names, cells.width
    if names.count(name) > 1:
        raise ProblemError(f"{what} must name one column of {cells.path}, got {name!r}, the name of several")
    if name in names:
        return names.index(name)
    try:
        at = int(name)
    except ValueError:
        raise unknown(f"column of {cells.path}", name, names) from None
    if not -count <= at < count:
        raise ProblemError(f"{what} must be a column of {cells.path} from 0 to {count - 1}, got {at}")
    return at % count


def why_left_out(cells: Cells, k: int) -> str:
    """Why a column is no feature: it names or counts the rows. An empty text for a feature."""
    name = cells.names[k] if cells.names else "a feature"
    nameless = bool(NAMELESS.fullmatch(name))
    if not nameless and not COUNTING.fullmatch(name):
        return ""
    given = cells.texts([k])[k]
    numbers = cells.floats(given)
    if nameless and not (given != "").any():
        return "empty"
    if name or k == 0:  # a later column without a name is a mistake
        counted = np.array_equal(np.sort(numbers) - (numbers.min() == 1), np.arange(given.size))
        if counted and given.size > 1:
            return "counts the rows"
        if nameless and given.is_unique and (np.isnan(numbers) | (numbers == np.floor(numbers))).all():
            return "names the rows"
    if not name:
        names = ", ".join(cells.names[1:9])
        raise ProblemError(
            f"{cells.path} must have a header with a name for each of the {cells.width} columns, got no name "
            f"for column {k + 1} beside {names}; if this column names the rows, none may come twice"
        )
    return ""


def row_names(cells: Cells, key: int) -> tuple[str, ...]:
    """The names of the rows."""
    given = cells.texts([key])[key]
    wrong = (given.map(is_missing) | given.duplicated()).to_numpy(bool)
    if wrong.any():
        row = int(np.argmax(wrong))
        first = int(np.argmax(given == given[row]))
        again = "" if first == row else f", as none of line {cells.lines[first]}"
        cells.refuse(row, key, f"must be a name of the row{again}")
    return tuple(given)


def about_columns(
    cells: Cells, columns: Sequence[str], used: tuple[int | None, int | None], y: Index, left: dict[int, str]
) -> str:
    """Which columns are used, in words."""
    shown = ", ".join(columns[:SHOWN]) + (", ..." if len(columns) > SHOWN else "")
    words = [f"{len(columns)} feature{'s' * (len(columns) > 1)}: {shown}"]
    at, key = ("" if k is None else repr(cells.columns[k]) for k in used)
    known = int(np.sum(y >= 0))
    some = f", of {known} of {y.size} rows" if known < y.size else ""
    words += [f"classes from {at}{some}"] if at else []
    words += [f"names of rows from {key}"] if key else []
    if left:
        named = ", ".join(f"{cells.names[k]!r} ({why})" for k, why in left.items())
        words.append(f"{len(left)} column{'s' * (len(left) > 1)} left out: {named}")
    return "; ".join(words if cells.names else [*words, f"no header: {RULE}"])
