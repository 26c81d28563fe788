"""``npkl label``: it asks about pairs of rows in the terminal, and writes the answers."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
from rich.table import Table

import npkl_models.interrupts as interrupts
from npkl_models.answer.solution import Status
from npkl_models.applications.labelling import Labelling
from npkl_models.cli import output
from npkl_models.cli.console import new_table, say
from npkl_models.cli.estimated import builder, points
from npkl_models.data import tables
from npkl_models.data.datasets import Dataset
from npkl_models.errors import ProblemError
from npkl_models.files.gate import text_of
from npkl_models.linalg import Array
from npkl_models.model.answers import sign
from npkl_models.model.pairs import Pairs

CERTIFIED, NOT_CERTIFIED = 0, 1
SHOWN = 12  # the largest number of columns that are shown of two rows
SKIP = ("s", "skip")
LEAVE = ("q", "quit")
QUESTION = "same cluster? y(es), n(o), s(kip), q(uit), or a pair of your own as I J y: "


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options.links, "--pairs", (".csv",))
    if options.every < 1:
        raise ProblemError(f"--every must be an integer >= 1, got {options.every}")
    data, X, recipe = points(options)
    known = _answered(options.links, data.n, data.ids)
    solving = {key: value for key, value in recipe.solving().items() if key != "random_state"}
    build = builder(recipe, X)
    if known is None:  # errors in the options come before the first question
        build(Pairs(data.n, [(0, 1)], []))
    loop = Labelling(
        build, data.n if known is None else known,
        backend=recipe.backend, random_state=recipe.seed, **solving,
    )  # fmt: skip
    names = data.columns or [f"column {k + 1}" for k in range(data.X.shape[1])]
    say(f"{data.name}: {data.n} points, {_said_of(loop)}")
    session = _Session(loop, options.links, data.ids, partial(_show, data, X, names))
    session.solve()
    while session.ask(options.every):
        session.solve()
    say(f"{options.links} has {_said_of(loop)}")
    good = all(one.status is Status.OPTIMAL for one in loop.rounds[-1:])
    return CERTIFIED if good else NOT_CERTIFIED


class _Session:
    """The dialogue of questions and answers."""

    def __init__(
        self, loop: Labelling, path: Path, ids: Sequence[str], show: Callable[[int, int], Table]
    ) -> None:
        self.loop, self.path, self.ids, self.show = loop, path, ids, show

    def solve(self) -> None:
        """Solve with all answers if there are new ones, and print a line about the certificate."""
        pairs, done = self.loop.pairs, [one.pairs for one in self.loop.rounds[-1:]]
        if pairs is None or done == [len(pairs)]:
            return
        with output.progress(f"n = {self.loop.n}, {len(pairs)} pairs"):
            found = self.loop.solve()
        last = self.loop.rounds[-1]
        how = "from the last kernel" if last.warm else "from the beginning"
        say(
            f"{last.pairs} pairs: {found.status}, relative gap {last.relative_gap:.1e}, "
            f"{last.seconds:.2g} s {how}"
        )
        interrupts.heed_all()
        output.status_of(found)

    def ask(self, every: int) -> bool:
        """Ask about ``every`` pairs; False if the user leaves or no pair is left."""
        told = 0
        for i, j in self.loop.suggest(every).tolist():
            say(self.show(i, j))
            new = self._one(i, j)
            if new is None:
                return False
            told += new
        if not told and not len(self.loop.suggest(1)):
            say("no pair is left to ask about")
            return False
        return True

    def _one(self, i: int, j: int) -> int | None:
        """Ask about a pair until an answer does not contradict the others; None if the user leaves."""
        told = 0
        while True:
            try:
                words = input(QUESTION).strip().lower().split()
            except EOFError:
                say("")
                return None
            if words and words[0] in LEAVE:
                return None
            own = _of_ones_own(words)
            one = _answer(words[0]) if len(words) == 1 else None
            if own is None and one is None:
                say(f"an answer must be y, n, s, q or such as 3 17 y, got {' '.join(words)!r}")
                continue
            try:
                told += self._add(*(own or (i, j, one or 0)))
            except ProblemError as error:
                say(str(error))
                continue
            if own is None:
                return told

    def _add(self, i: int, j: int, sign: int) -> bool:
        """Add an answer, and write all answers if the answer is new."""
        new = self.loop.answer(i, j, sign)
        pairs = self.loop.pairs
        if new and pairs is not None:
            tables.write_pairs(self.path, pairs, self.ids)
        return new


def _of_ones_own(words: list[str]) -> tuple[int, int, int] | None:
    """The pair and the sign of ``I J y``; None for anything else."""
    one = _answer(words[2]) if len(words) == 3 else None
    if one is not None and words[0].isdecimal() and words[1].isdecimal():
        return int(words[0]), int(words[1]), one
    return None


def _answer(word: str) -> int | None:
    """The sign of an answer, 0 to skip; None for any other word."""
    return 0 if word in SKIP else sign(word) or None


def _answered(path: Path, n: int, ids: Sequence[str] = ()) -> Pairs | None:
    """The answers in a file; None if there is no file, or no answer in the file."""
    if not path.exists():
        return None
    if text_of(path).strip() in ("", tables.HEADER):
        return None
    return tables.read_pairs(path, n, ids)


def _said_of(loop: Labelling) -> str:
    pairs = loop.pairs
    must, cannot = (0, 0) if pairs is None else (len(pairs.must_link), len(pairs.cannot_link))
    return f"{must} must-links, {cannot} cannot-links"


def _show(data: Dataset, scaled: Array, names: Sequence[str], i: int, j: int) -> Table:
    """A table of two rows; the columns with the largest scaled difference come first."""
    X = data.X
    order = np.argsort(-np.abs(scaled[i] - scaled[j]), kind="stable")
    order = order[X[i, order] != X[j, order]]
    table = new_table()
    table.add_column("")
    for end in (i, j):
        table.add_column(f"row {end}{f', {data.ids[end]}' if data.ids else ''}", justify="right")
    for k in order[:SHOWN].tolist():
        table.add_row(names[k], f"{X[i, k]:.6g}", f"{X[j, k]:.6g}")
    left, same = max(len(order) - SHOWN, 0), X.shape[1] - len(order)
    table.caption = f"{left} more columns differ, {same} do not" if left else f"{same} columns do not differ"
    return table
