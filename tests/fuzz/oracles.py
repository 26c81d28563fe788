"""Plain readers, slow and strict, of what the library's readers take: what they say decides who is right."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np

from npkl_models.files.saved import checksum

NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)
WHOLE = re.compile(r"-?\d+", re.ASCII)
LABELS = ("label", "labels", "class", "target", "y")
KINDS = dict.fromkeys(
    ["1", "+1", "1.0", "must", "must-link", "must_link", "ml", "same", "match", "yes", "y", "true"], 1
)
KINDS |= dict.fromkeys(
    [
        "-1",
        "-1.0",
        "0",
        "0.0",
        "-0.0",
        "cannot",
        "cannot-link",
        "cannot_link",
        "cl",
        "different",
        "distinct",
        "no",
        "n",
        "false",
    ],
    -1,
)
LARGEST = 50_000_000  # numbers of a table


class Either(list):
    """Several readings, each of which is right."""


def same(expected: Any, value: Any) -> bool:
    """Whether what was read is what was expected."""
    if isinstance(expected, Either):
        return any(same(one, value) for one in expected)
    if isinstance(expected, str) or value is None:
        return expected == "nothing" and value is None
    if hasattr(value, "must_link"):
        own = {
            (int(min(i, j)), int(max(i, j)), int(s))
            for i, j, s in zip(value.i, value.j, value.sign, strict=True)
        }
        return own == expected
    got = (value.X, value.y) if hasattr(value, "X") else value
    return all(np.array_equal(np.asarray(a), np.asarray(b)) for a, b in zip(expected, got, strict=True))


def is_signed(data: bytes) -> bool:
    """Whether the checksum of a saved file is that of its header and arrays."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        arrays = dict(file)
    header = json.loads(str(arrays.pop("header")))
    return header["format"] == 4 and header["checksum"] == checksum(header, arrays)


def packed(oracle: Callable[[bytes], Any]) -> Callable[[bytes], Any]:
    """The oracle for what is inside of gzip or bzip2."""
    return lambda data: oracle((gzip if data[:2] == b"\x1f\x8b" else bz2).decompress(data))


def arrays(data: bytes) -> Any:
    """X and the codes of y, by numpy."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        X, y = np.asarray(file["X"], dtype=float), file["y"] if "y" in file.files else None
    fits = X.ndim == 2 and X.size and np.isfinite(X).all() and (y is None or y.shape == (len(X),))
    return (X, np.zeros(0) if y is None else _codes(y)) if fits else None


def table(data: bytes) -> Any:
    """Points and classes of a csv: with its first row as names, as numbers, or either."""
    rows = _rows(data)
    return Either(one for names in (True, False) for one in _tables(rows, names))


def labelled(data: bytes) -> Any:
    """Points and labels of a csv whose label is last."""
    rows = _rows(data)
    if len(rows) < 2 or _begun(rows[0]):
        return None
    if len(rows[0]) == len(rows[1]) - 1 and not any(row[-1] for row in rows[1:]):
        rows = [rows[0], *(row[:-1] for row in rows[1:])]
    if len({len(row) for row in rows}) > 1 or len(rows[0]) < 2 or not all(row[-1] for row in rows[1:]):
        return None
    X = _numbers([row[:-1] for row in rows[1:]])
    if X is None:
        return None
    y = _numbers([row[-1:] for row in rows[1:]])
    if y is not None and (y == np.floor(y)).all() and (abs(y) < 2**53).all():
        return X, y[:, 0].astype(int)
    return X, _codes(np.array([row[-1] for row in rows[1:]]) if y is None else y[:, 0])


def _tables(rows: list[list[str]], header: bool) -> Any:
    if header == (not rows or _begun(rows[0])) and not (rows and _counted(rows[0])):
        return
    names, rows = (rows[0], rows[1:]) if header else (None, rows)
    while (
        names
        and len(names) > 1
        and not names[-1]
        and rows
        and len({len(names), *map(len, rows)}) == 1
        and not any(row[-1] for row in rows)
    ):
        names, rows = names[:-1], [row[:-1] for row in rows]
    if not rows or len({len(row) for row in rows}) > 1:
        return
    distinct = len({row[0] for row in rows}) == len(rows)
    if names is not None:
        if len(names) == len(rows[0]) - 1 and not any(row[-1] for row in rows):
            rows = [row[:-1] for row in rows]
        elif len(names) == len(rows[0]) - 1 and distinct:
            rows = [row[1:] for row in rows]
        elif len(names) == len(rows[0]) > 1 and not names[0] and distinct:
            names, rows = names[1:], [row[1:] for row in rows]
        if len(names) != len(rows[0]):
            return
    low = [name.lower() for name in names or ()]
    at = next((low.index(name) for name in LABELS if name in low), None)
    X = _numbers([[cell for k, cell in enumerate(row) if k != at] for row in rows])
    if X is None or not X.size:
        return
    if at is None:
        yield X, np.zeros(0)
        return
    cells = [row[at] for row in rows]
    known = [k for k, cell in enumerate(cells) if not _none(cell) and cell not in ("-1", "-1.0")]
    given = _numbers([[cells[k]] for k in known])
    if given is not None:
        known = [k for k, one in zip(known, given[:, 0], strict=True) if one != -1]
        given = given[given[:, 0] != -1]
    y = np.full(len(rows), -1)
    if known:
        y[known] = _codes(np.array([cells[k] for k in known]) if given is None else given[:, 0])
        yield X, y


def _rows(data: bytes) -> list[list[str]]:
    text = data.decode("utf-8-sig")
    if "\0" in text:
        return []
    first = re.sub(
        r'"[^"]*"', "q", next((line for line in re.split("\r\n|\r|\n", text) if line.strip()), "")
    ).strip()
    mark = ";" if first.count(";") > first.count(",") else ","
    mark = mark if mark in first else "\t" if "\t" in first else " " if " " in first else mark
    limit = csv.field_size_limit(2**30)  # the readers have a limit of their own
    try:
        given = [*csv.reader(io.StringIO(text, newline=""), delimiter=mark, skipinitialspace=True)]
    finally:
        csv.field_size_limit(limit)
    rows = [[cell.strip() for cell in row] for row in given]
    if mark == " ":
        rows = [row[:-1] if row and not row[-1] else row for row in rows]
    rows = [row for row in rows if len(row) > 1 or any(row)]
    while rows and not any(rows[-1]):
        rows.pop()
    if mark == ";":
        rows = [
            [re.sub(r"^([+-]?\d*),(\d+([eE][+-]?\d+)?)$", r"\1.\2", cell) for cell in row] for row in rows
        ]
    return rows


def _begun(row: list[str]) -> bool:
    """Whether a cell of a row begins with a digit, so that the row is none of names."""
    return any(re.match(r"[+-]?\.?\d", cell) for cell in row)


def _counted(row: list[str]) -> bool:
    """Whether a row begins with 0, 1, 2, ... as pandas numbers columns, and has a name, too."""
    rest = row[row[:1] == [""] :]
    count = sum(_begun([cell]) for cell in row)
    return 0 < count < len(row) and rest[:count] == [str(k) for k in range(count)]


def _meant(row: list[str]) -> bool:
    """Whether half of a row are numbers, so that it is none of names."""
    given = [cell for cell in row if cell]
    return 2 * sum(NUMBER.fullmatch(cell) is not None for cell in given) >= len(given)


def _numbers(rows: list[list[str]]) -> Any:
    if not all(NUMBER.fullmatch(cell) for row in rows for cell in row):
        return None
    out = np.array([[float(cell) for cell in row] for row in rows])
    return out if np.isfinite(out).all() else None


def _codes(values: Any) -> Any:
    return np.unique(values, return_inverse=True)[1].ravel()


def libsvm(data: bytes, width: int | None = None) -> Any:
    """Points and classes in LIBSVM's format."""
    rows, labels = [], []
    for line in data.split(b"\n"):
        words = [word.decode("latin-1") for word in line.split(b"#")[0].split()]
        if not words:
            continue
        labels.append(words[0])
        rows.append([word.split(":") for word in words[1:]])
    y = _numbers([[label] for label in labels])
    cells = [cell for row in rows for cell in row]
    if (
        y is None
        or not cells
        or any(len(cell) != 2 or not WHOLE.fullmatch(cell[0].lstrip("+")) for cell in cells)
    ):
        return None
    values = _numbers([[cell[1] for cell in cells]])
    places = [[int(cell[0]) for cell in row] for row in rows]
    top = max(max(row, default=0) for row in places) if width is None else width
    if values is None or top * len(rows) > LARGEST or any(row != sorted(set(row)) for row in places):
        return None
    if any(not 1 <= place <= top for row in places for place in row):
        return None
    X, given = np.zeros((len(rows), top)), iter(values.ravel())
    for i, row in enumerate(places):
        for place in row:
            X[i, place - 1] = next(given)
    return X, _codes(y)


def pairs(data: bytes, n: int = 6) -> Any:
    """Pairs of a csv, as a set of (i, j, sign)."""
    rows = _rows(data)
    header = (
        []
        if not rows or _begun(rows[0]) or (rows[0][-1].lower() in KINDS and "i" not in rows[0])
        else rows[0]
    )
    rows = rows[1:] if header else rows
    order = [name.lower() for name in header]
    if (
        header
        and "i" in order
        and "j" in order
        and len(order) == len({*order}) == len(rows[0] if rows else order)
    ):
        third = [k for k, name in enumerate(order) if name not in ("i", "j")]
        rows = [
            [row[k] for k in (order.index("i"), order.index("j"), *third)]
            for row in rows
            if len(row) == len(order)
        ]
    if not rows or len({len(row) for row in rows}) > 1 or len(rows[0]) not in (2, 3):
        return None
    out = set()
    for i, j, *kind in rows:
        sign = KINDS.get(kind[0].lower()) if kind else 1
        i, j = (cell.removesuffix(".0") for cell in (i, j))
        if (
            sign is None
            or not WHOLE.fullmatch(i)
            or not WHOLE.fullmatch(j)
            or not (0 <= int(i) < n and 0 <= int(j) < n)
        ):
            return None
        out.add((min(int(i), int(j)), max(int(i), int(j)), sign))
    return out


def comparisons(data: bytes) -> list[Any]:
    """The rows of names, with and without a header."""
    found = (rows for rows in _readings(data, (3, 4)) if all(all(row) for row in rows))
    return [[tuple(row) for row in rows] for rows in found]


def distances(data: bytes) -> list[Any]:
    """Two names in order, a distance and a weight (0 without), each pair once, with and without a header."""
    return [one for rows in _readings(data, (3, 4)) if (one := _measured(rows, "", "")) is not None]


def bounds(data: bytes) -> list[Any]:
    """Two names in order and two bounds, each pair once; an empty cell is 0 and inf."""
    every = (_measured(rows, "0", "inf") for rows in _readings(data, (4,)))
    return [one for one in every if one is not None and all(low <= high for *_, low, high in one)]


def anchors(data: bytes) -> list[Any]:
    """The coordinates in the order of the names, with and without a header."""
    out = []
    for rows in _readings(data, range(2, 100)):
        X, names = _numbers([row[1:] for row in rows]), [row[0] for row in rows]
        if X is not None and len(set(names)) == len(names):
            whole = all(name.isdecimal() for name in names)
            order = sorted(range(len(names)), key=lambda k: (int(names[k]) if whole else 0, names[k]))
            out.append([tuple(X[k].tolist()) for k in order])
    return out


def _readings(data: bytes, widths: Any) -> list[list[list[str]]]:
    """The rows, with and without the first, if all have one of the given lengths."""
    rows = _rows(data)
    return [own for own in (rows, rows[1:]) if own and len({*map(len, own)}) == 1 and len(own[0]) in widths]


def _measured(rows: list[list[str]], low: str, high: str) -> Any:
    """Rows of two names and one or two numbers as a sorted list; None if they are not that."""
    out = set()
    for a, b, *cells in rows:
        if low:
            cells = [low if _none(cells[0]) else cells[0], high if _none(cells[1]) else cells[1].lower()]
        numbers = [np.inf if cell == "inf" and low else _numbers([[cell]]) for cell in cells]
        if not a or not b or a == b or any(one is None or float(np.min(one)) < 0 for one in numbers):
            return None
        found = [float(np.min(one)) for one in numbers]
        if not low and len(found) == 2 and found[1] <= 0:
            return None
        out.add((*sorted((a, b)), *found, *([0.0] * (2 - len(found)))))
    return sorted(out) if len({row[:2] for row in out}) == len(out) else None


def _none(cell: str) -> bool:
    return cell.lower() in {"", "na", "n/a", "nan", "null", "none", "?", "-", ".", "missing"}


def csdp(data: bytes, order: int) -> Any:
    """X and the matrix of an answer."""
    text = re.sub(r"[,(){}\t]", " ", data.decode("utf-8-sig"))
    lines = [line for line in text.splitlines() if line.strip() and line.lstrip()[0] not in '*"']
    lines = [re.sub(r"(?<=[\d.])[dD](?=[+-]?\d)", "e", line) for line in lines]
    x, rest = _numbers([lines[0].split()]), [line.split() for line in lines[1:]]
    if x is None or {len(row) for row in rest} - {5} or _numbers(rest) is None:
        return None
    K, seen = np.zeros((order, order)), set()
    for row in rest:
        matrix, block, i, j = (float(word) for word in row[:4])
        if (
            matrix not in (1, 2)
            or block < 1
            or any(place != int(place) or place < 1 for place in (block, i, j))
        ):
            return None
        if (matrix, block) == (2, 1):
            key = (min(i, j), max(i, j))
            if key in seen or key[1] > order:
                return None
            seen.add(key)
            K[int(i) - 1, int(j) - 1] = K[int(j) - 1, int(i) - 1] = float(row[4])
    return x.ravel(), K
