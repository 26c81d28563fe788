"""A numbered thing of a paper, and where it is here."""

from __future__ import annotations

import re
from dataclasses import dataclass

CHECKS = "tests/papers/test_equation_checks.py"
WRONG = "tests/papers/test_wrong_in_print.py"  # a counter-example each, written out from the paper alone
NUMBER = re.compile(r"\((\d+(?:\.\d+)?)\)(?:-\((\d+(?:\.\d+)?)\))?")


@dataclass(frozen=True)
class Row:
    """An equation, algorithm, statement, table or figure, or a few that belong together.

    Attributes
    ----------
    number : str
        As the paper numbers it: "(7)", "(15)-(18)" or "Table 2"; things without a number by their section.
    words : str
        What it is, in our words.
    names : tuple of str
        What it is here: dotted names, ``solve("backend", option=value)``, or a script with its argument. None
        where nothing here is it; ``missing`` says why.
    shown : tuple of str
        Tests ("file::test"), scripts with their argument, and pages that show the agreement.
    agreement : str
        How close they agree.
    missing : str
        What is not here, or departs, or is wrong in print.
    """

    number: str
    words: str
    names: tuple[str, ...] = ()
    shown: tuple[str, ...] = ()
    agreement: str = ""
    missing: str = ""

    @property
    def equations(self) -> list[str]:
        """The numbers of all equations that the row is of."""
        out: list[str] = []
        for first, last in NUMBER.findall(self.number):
            out += between(first, last or first)
        return out


@dataclass(frozen=True)
class Paper:
    """The rows of a paper, and its numbering, which they must cover.

    Attributes
    ----------
    title : str
    last : tuple of str
        The last equation of the paper, or of each of its chapters.
    named : tuple of str
        Its algorithms, statements, tables and figures.
    rows : tuple of Row
    """

    title: str
    last: tuple[str, ...]
    named: tuple[str, ...]
    rows: tuple[Row, ...]

    @property
    def numbers(self) -> list[str]:
        """All equation numbers."""
        return [number for last in self.last for number in between(re.sub(r"\d+$", "1", last), last)]

    @property
    def lacking(self) -> list[str]:
        """Numbers and names that no row has."""
        there = {number for row in self.rows for number in row.equations} | {row.number for row in self.rows}
        return [number for number in (*self.numbers, *self.named) if number not in there]


def between(first: str, last: str) -> list[str]:
    """The numbers from one to another of the same chapter: "2.9" to "2.11"."""
    chapter, _, begin = first.rpartition(".")
    other, _, end = last.rpartition(".")
    assert chapter == other
    return [f"{chapter}.{k}" if chapter else str(k) for k in range(int(begin), int(end) + 1)]


def counted(word: str, count: int) -> tuple[str, ...]:
    """Names of things that are counted from one, as in "Table 1" to "Table 4"."""
    return tuple(f"{word} {k}" for k in range(1, count + 1))
