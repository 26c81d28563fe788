"""The table of a cross-check and the forms in which it is shown."""

from __future__ import annotations

import html
import json
import math
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from npkl_models.answer.solution import Solution
from npkl_models.files.atomic import plain
from npkl_models.problem import Problem
from npkl_models.show.machine import versions
from npkl_models.show.page import table as html_table
from npkl_models.show.plots.curves import crosscheck as plot_crosscheck
from npkl_models.show.report import write_report


@dataclass(frozen=True)
class Row:
    """The row of one backend in the table of a cross-check; numbers are nan if the backend did not run.

    ``difference`` is the objective minus the best objective, over the absolute values of both and the
    ``faint`` part of the certificate's unit; points that miss equalities a little are compared at the same
    targets. ``violation`` is the largest amount
    by which the point misses a constraint. ``kernel_distance`` is
    ||K - K_ref|| / ||K_ref|| in Frobenius norm.
    """

    backend: str
    status: str
    verdict: str
    objective: float = math.nan
    bound: float = math.nan
    difference: float = math.nan
    relative_gap: float = math.nan
    rigour: str = "none"
    violation: float = math.nan
    kernel_min_eigenvalue: float = math.nan
    rank: int = 0
    iterations: int = 0
    seconds: float = math.nan
    kernel_distance: float = math.nan

    @property
    def ran(self) -> bool:
        """Whether the backend returned a point."""
        return math.isfinite(self.objective)


@dataclass(frozen=True, eq=False, repr=False)
class CrossCheck:
    """The table of a cross-check, which prints as columns of text.

    Attributes
    ----------
    problem : Problem
        The problem.
    rows : tuple of Row
        One row for each backend or point.
    solutions : dict
        `Solution` by label, for the backends that ran.
    reference : str
        Label of the solution whose kernel all others are compared with.
    bound, objective : float
        Best certified bound and best feasible objective of all backends.

    Examples
    --------
    >>> import npkl_models as nm
    >>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
    >>> table = nm.crosscheck(problem, ["bcd", "interior"])
    >>> table.agrees
    True
    >>> [row.backend for row in table.rows]
    ['bcd', 'interior']
    """

    problem: Problem
    rows: tuple[Row, ...]
    solutions: dict[str, Solution] = field(repr=False)
    reference: str
    bound: float
    objective: float

    @property
    def agrees(self) -> bool:
        """Whether at least one backend ran, and all backends that ran agree."""
        tried = [row for row in self.rows if not row.verdict.startswith("not run")]
        return bool(tried) and all(row.verdict == "agrees" for row in tried)

    @property
    def upper(self) -> float:
        """The smallest proved upper bound on the optimum; inf if no point is proved to be feasible."""
        return min((one.certificate.upper for one in self.solutions.values()), default=math.inf)

    def to_markdown(self) -> str:
        """The table in Markdown."""
        rows = [
            tuple(cell.replace("|", r"\|") for cell in line) for line in (COLUMNS, *map(cells, self.rows))
        ]
        table = [rows[0], tuple("---" for _ in COLUMNS), *rows[1:]]
        return "\n".join("| " + " | ".join(line) + " |" for line in table)

    def __str__(self) -> str:
        judged = any(row.status.endswith("POINT") for row in self.rows)  # a point from elsewhere
        wanted = {*NARROW_COLUMNS, "rank", *(MISSING if judged else ())}
        shown = [k for k, name in enumerate(COLUMNS) if name in wanted]
        lines = [COLUMNS, *(cells(row) for row in self.rows if row.ran)]
        width = [max(len(line[k]) for line in lines) for k in shown]
        text = [
            "  ".join(
                f"{line[k]:<{w}}" if COLUMNS[k] in LEFT else f"{line[k]:>{w}}"
                for k, w in zip(shown, width, strict=True)
            ).rstrip()
            for line in lines
        ]
        left = [f"{row.backend}: {row.verdict}" for row in self.rows if not row.ran]
        return "\n".join([*text, *left, self.headline()])

    def __repr__(self) -> str:
        agree = "all agree" if self.agrees else "NOT all agree"
        return f"CrossCheck({len(self.rows)} rows, {len(self.solutions)} answers, {agree})"

    def headline(self) -> str:
        """The bounds on the optimum in a sentence; the best objective if no upper bound is proved."""
        line = f"{self.problem!r}: {self.bound:.9g} <= optimum"
        proved = math.isfinite(self.upper)
        return line + (f" <= {self.upper:.9g}" if proved else f", best objective {self.objective:.9g}")

    def to_json(self) -> str:
        """The table as JSON; a number of a backend that did not run is null.

        The keys are "problem", "versions", "bracket" (of the optimum), "objective" (the best), "reference",
        "agrees" and "rows".
        """
        P = self.problem
        document = {
            "problem": {
                "name": P.name, "n": P.n, "order": P.order, "values": P.n_pairs,
                "losses": [term.loss.name for term in P.losses],
                "regularizer": asdict(P.regularizer) | {"name": P.regularizer.name},
            },
            "versions": versions(),
            "bracket": [self.bound, self.upper], "objective": self.objective, "reference": self.reference,
            "agrees": self.agrees, "rows": [asdict(row) for row in self.rows],
        }  # fmt: skip
        return json.dumps(plain(document), indent=2, default=repr)

    def to_frame(self) -> Any:
        """The table as a pandas DataFrame, with a row for each backend."""
        import pandas as pd

        return pd.DataFrame([asdict(row) for row in self.rows]).set_index("backend")

    def plot(self, ax: Any = None) -> Any:
        """Plot certified gap and seconds of each backend on matplotlib axes (needs the extra ``plot``)."""
        return plot_crosscheck(self, ax)

    def report(self, path: str | Path, labels: Any = None, made: str = "") -> Path:
        """Write a self-contained HTML page: tables, figures, versions, machine, and the code ``made``."""
        return write_report(self, path, labels, made)

    def to_html(self) -> str:
        """The table in HTML."""
        tones = ["good" if row.verdict == "agrees" else "bad" if row.ran else "idle" for row in self.rows]
        return html_table(COLUMNS, map(cells, self.rows), tones)

    def _repr_html_(self) -> str:
        return f"<p>{html.escape(self.headline())}</p>{self.to_html()}"


COLUMNS = (
    "backend", "status", "objective", "difference", "certified gap", "rigour", "violation",
    "min eig K", "rank", "iterations", "seconds", "|K - K ref|", "verdict",
)  # fmt: skip
NARROW_COLUMNS = ("backend", "status", "objective", "certified gap", "rigour", "seconds", "verdict")
MISSING = ("violation", "min eig K")  # columns that a text has only beside a point from elsewhere
LEFT = ("backend", "status", "verdict")  # columns of words, aligned at the left; numbers at the right


def cells(row: Row) -> tuple[str, ...]:
    """The row as text, in the order of `COLUMNS`."""
    if not row.ran:
        return (row.backend, row.status, *[""] * (len(COLUMNS) - 3), row.verdict)
    return (
        row.backend, row.status, f"{row.objective:.8g}", f"{row.difference:.1e}",
        f"{row.relative_gap:.1e}", row.rigour, f"{row.violation:.1e}", f"{row.kernel_min_eigenvalue:.1e}",
        str(row.rank), str(row.iterations), f"{row.seconds:.2f}", f"{row.kernel_distance:.1e}", row.verdict,
    )  # fmt: skip
