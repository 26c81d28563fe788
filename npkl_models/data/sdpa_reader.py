"""Any file in SDPA's sparse format, as the numbers of a semidefinite program.

The file states: maximise <F_0, K> with <F_k, K> = c_k and K positive semidefinite, where K and all F_k have
the blocks of the file. So the problem is: minimise <-F_0, K> with the same constraints. All blocks are one
block of their total order: no number meets an entry between blocks, and principal blocks of a positive
semidefinite matrix are positive semidefinite. A diagonal block is as many blocks of order 1.

Format: Fujisawa, Kojima, Nakata & Yamashita 2002, "SDPA user's manual"; files: Borchers 1999, "SDPLIB 1.2".
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.storage import FEW

SEPARATORS = str.maketrans(",(){}\t", " " * 6)
EXPONENT = re.compile(r"(?<=[\d.])[dD](?=[+-]?\d)")
NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
LEADING = re.compile(NUMBER.pattern + r"(?=$|[^0-9.eE+-])")

MORE = re.compile(r"(?:^|[\r\n])[ \t]*\*[ \t]*(INT|RANK1)[^\r\n]*\s+\*[ \t]*[0-9]+[ \t]*(?=[\r\n]|$)", re.I)


@dataclass(frozen=True, eq=False)
class Program:
    """The numbers of a file: the cost -F_0 (n x n), F_1 to F_m, and c (m,)."""

    cost: Matrix
    F: SparseMatrices
    c: Array
    blocks: tuple[int, ...]


class Reader:
    """The lines of a file without its comments, and the words that are not read yet."""

    def __init__(self, path: Path, text: str) -> None:
        self.path, self.lines, self.at = path, text.splitlines(), -1
        self.words: list[str] = []

    def fail(self, words: str, line: int | None = None) -> ProblemError:
        """The error for a line, by default the last one that was read."""
        at = self.at if line is None else line
        if at >= len(self.lines):
            return ProblemError(f"{self.path}: {words}, got the end of the file")
        got = self.lines[max(at, 0)].strip()
        return ProblemError(f"{self.path}, line {max(at, 0) + 1}: {words}, got {got[:60]!r}")

    def next_line(self, words: str) -> list[str]:
        """The words of the next line that is neither empty nor a comment."""
        while True:
            self.at += 1
            if self.at >= len(self.lines):
                raise self.fail(words)
            line = self.lines[self.at]
            if line.lstrip()[:1] not in ("*", '"') and (found := _plain(line).split()):
                return found

    def count(self, what: str) -> int:
        """The whole number >= 1 at the start of the next line; SDPA ignores what follows it."""
        words = f"must begin with the number of {what}, a whole number from 1"
        found = re.match(r"\+?([0-9]{1,18})(?![0-9.eE])", self.next_line(words)[0])
        if found is None or int(found[1]) < 1:
            raise self.fail(words)
        return int(found[1])

    def numbers(self, count: int, what: str) -> list[str]:
        """So many numbers from the next lines; words after them are ignored, and more numbers an error."""
        found: list[str] = []
        words = f"must have {count} numbers, the {what}"
        while len(found) < count:
            for word in self.next_line(words):
                number = LEADING.match(word)
                if number is None and len(found) < count:
                    raise self.fail(words)
                if number is None:
                    break
                found.append(number[0])
                if number[0] != word:
                    break
        if len(found) > count:
            raise self.fail(words)
        return found


def refuse_more(path: Path, text: str) -> None:
    """Raise a ProblemError if comments ask for whole numbers or a rank of 1, as those of SCIP-SDP do."""
    if (found := MORE.search(text)) is not None:
        lines, at = text.splitlines(), len(text[: found.end(1)].splitlines())
        asked = "whole numbers" if found[1].upper() == "INT" else "matrices of rank 1"
        raise ProblemError(
            f"{path}, line {at}: must ask for no {asked}, got {lines[at - 1].strip()[:60]!r} and numbers; "
            "without these lines the file states a relaxation, whose optimum is a bound"
        )


def read_program(path: Path, text: str) -> Program:
    """The program of a file.

    Raises
    ------
    ProblemError
        If the text is not in SDPA's sparse format; the message names the line.
    """
    reader = Reader(path, text)
    most = max(FEW, len(text))
    m, count = reader.count("constraints"), reader.count("blocks")
    if max(m, count) > most:
        raise reader.fail(
            f"must have at most {most} constraints and blocks, as many as the file has characters"
        )
    sizes = reader.numbers(count, "orders of the blocks")
    blocks = [int(word) if re.fullmatch(r"[+-]?[0-9]{1,18}", word) else None for word in sizes]
    if None in blocks:
        raise reader.fail("must have whole numbers as the orders of the blocks")
    orders = np.array(blocks, dtype=np.int64)
    total = int(np.abs(orders.astype(float)).sum())
    if not 1 <= total <= most:
        raise reader.fail(f"the orders of the blocks must add up to 1 or more, and to at most {most}")
    c = np.array(reader.numbers(m, "values c of the constraints"), dtype=float)
    if not np.isfinite(c).all():
        raise reader.fail("must have finite numbers as the values c of the constraints")
    found, at = entries(reader)
    check(reader, found, at, 0, m, orders)
    k, i, j = found[:, 0].astype(np.intp), *places(found, orders)
    of_cost = k == 0
    low, high, value = np.minimum(i, j), np.maximum(i, j), found[:, 4]
    half = sp.coo_array((value[of_cost], (low[of_cost], high[of_cost])), shape=(total, total))
    rest = ~of_cost
    F = SparseMatrices(total, (k[rest] - 1, low[rest], high[rest], value[rest]), m)
    return Program(sp.csr_array(-(half + sp.triu(half, 1).T)), F, c, tuple(orders.tolist()))


def entries(reader: Reader) -> tuple[Array, Index]:
    """The five numbers of every further line, and the lines."""
    lines, first = reader.lines, reader.at + 1
    rows = [k for k in range(first, len(lines)) if lines[k].strip() and lines[k].lstrip()[0] not in '*"']
    if not rows:
        return np.zeros((0, 5)), np.zeros(0, dtype=np.intp)
    texts = _plain("\n".join(lines[k] for k in rows)).split("\n")
    try:
        found = np.loadtxt(texts, comments=None, ndmin=2)
    except ValueError:
        found = np.zeros((0, 0))
    if found.shape != (len(rows), 5):  # line by line, to find the wrong one
        words = [text.split() for text in texts]
        right = (len(one) == 5 and all(map(NUMBER.fullmatch, one)) for one in words)
        wrong = next((k for k, good in zip(rows, right, strict=True) if not good), rows[0])
        raise reader.fail("must be five numbers: matrix, block, row, column and value", wrong)
    return found, np.array(rows, dtype=np.intp)


def check(reader: Reader, found: Array, at: Index, least: int, m: int, orders: Index) -> None:
    """Raise an error for the first entry that lies outside of its block, or is stated twice.

    The matrices are numbered from ``least`` to ``m``.
    """
    k, block, i, j, value = found.T
    finite = np.isfinite(found).all(axis=1)
    whole = finite & (found[:, :4] == np.floor(found[:, :4])).all(axis=1)
    known = whole & (k >= least) & (k <= m) & (block >= 1) & (block <= orders.size)
    order = orders[np.where(known, block - 1, 0).astype(np.intp)]
    inside = known & (np.minimum(i, j) >= 1) & (np.maximum(i, j) <= np.abs(order))
    checks = (
        (finite, "must be finite numbers"),
        (whole, "must have whole numbers for matrix, block, row and column"),
        (known, f"must have a matrix from {least} to {m} and a block from 1 to {orders.size}"),
        (inside, "must have a row and a column of its block"),
        (~(inside & (order < 0) & (i != j) & (value != 0)), "must lie on the diagonal of a diagonal block"),
        (np.isfinite(2 * value), "must be finite, also times two"),
    )
    for right, words in checks:
        if not right.all():
            raise reader.fail(words, int(at[np.argmin(right)]))
    places = np.column_stack([k, block, np.minimum(i, j), np.maximum(i, j)])
    order_of = np.lexsort(places.T[::-1])
    twice = (np.diff(places[order_of], axis=0) == 0).all(axis=1)
    if twice.any():
        again = int(at[order_of[1:][twice]].min())
        raise reader.fail("must be stated once, in one of the triangles", again)


def places(found: Array, orders: Index) -> tuple[Index, Index]:
    """Rows and columns in the one block of all blocks, from 0."""
    start = np.concatenate([[0], np.cumsum(np.abs(orders))])[found[:, 1].astype(np.intp) - 1]
    i, j = (start + found[:, column].astype(np.intp) - 1 for column in (2, 3))
    return i, j


def _plain(text: str) -> str:
    """The text with separators as spaces, and with e for the letter of an exponent."""
    return EXPONENT.sub("e", text.translate(SEPARATORS))
