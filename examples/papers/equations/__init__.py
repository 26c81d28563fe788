"""Every equation, algorithm, statement, table and figure of the five papers, and what it is in this library."""

from __future__ import annotations

from collections.abc import Sequence

from equations.bcdkl import PAPER as BCDKL
from equations.kl_admm import PAPER as KL_ADMM
from equations.kml import PAPER as KML
from equations.row import Paper, Row
from equations.simple_npkl import PAPER as SIMPLE_NPKL
from equations.sqlp import PAPER as SQLP

PAPERS: tuple[Paper, ...] = (KL_ADMM, SIMPLE_NPKL, SQLP, BCDKL, KML)
COLUMNS = ("number", "what", "here", "shown by", "agreement", "missing")
HEAD = """# From equation to API

Every numbered equation, algorithm, statement, table and figure of the five papers: what it is, what it is in this library, which test or script
shows that they agree and how closely, and what is missing, departs or is wrong in print. Of {rows} rows {here} have a name here; the others are
steps of a proof, background or data that we do not have, and say so. "exact" means equal but for rounding; tolerances are those that the tests
ask for. What is wrong in print is wrong in the text that we have, extracted from the papers' files, which may have lost a letter; a counter-example
in `tests/papers/test_wrong_in_print.py` shows each. A test is run by `pytest` with its name, a script by `python`; `solve("name")` is the method of a problem. What the defaults do
otherwise than the papers is on the page [as printed](../printed.md); what they measured, re-run, on [the papers' pages](../papers.md).
"""


def page() -> str:
    """The page of all papers."""
    rows = [row for paper in PAPERS for row in paper.rows]
    head = HEAD.format(rows=len(rows), here=sum(bool(row.names) for row in rows))
    return "\n".join([head, *(f"## {paper.title}\n\n{_table(paper.rows)}\n" for paper in PAPERS)])


def _table(rows: Sequence[Row]) -> str:
    lines = [COLUMNS, ("---",) * len(COLUMNS), *map(_cells, rows)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _cells(row: Row) -> tuple[str, ...]:
    names, shown = (", ".join(f"`{one}`" for one in given) for given in (row.names, row.shown))
    agreement, missing = row.agreement or "no number", row.missing or "nothing"
    return row.number, row.words, names or "nothing", shown or "nothing", agreement, missing
