"""The table of a cross-check and the forms in which it is shown."""

from __future__ import annotations

import html
import json
import math
import platform
from dataclasses import asdict, dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.errors import MissingDependencyError
from npkl_models.model.problem import Problem

_PACKAGES = ("npkl_models", "numpy", "scipy", "cvxpy", "clarabel", "scs", "scikit-learn")


@dataclass(frozen=True)
class Row:
    """What one backend did; numbers are nan where it did not run.

    ``difference`` is the objective minus the best one, relative to 1 + its size;
    ``kernel_distance`` is ||K - K_ref|| / ||K_ref|| in Frobenius norm.
    """

    backend: str
    status: str
    verdict: str
    objective: float = math.nan
    bound: float = math.nan
    difference: float = math.nan
    relative_gap: float = math.nan
    rigour: str = "none"
    kernel_min_eigenvalue: float = math.nan
    rank: int = 0
    iterations: int = 0
    seconds: float = math.nan
    kernel_distance: float = math.nan

    @property
    def ran(self) -> bool:
        """Whether the backend left a point."""
        return math.isfinite(self.objective)


@dataclass(frozen=True, eq=False)
class CrossCheck:
    """The table of a cross-check; prints as Markdown.

    Attributes
    ----------
    rows : tuple of Row
    solutions : dict
        Label to `Solution`, for the backends that ran.
    reference : str
        Label whose kernel the others are compared with.
    bound, objective : float
        The best proved bracket of the optimum over all backends.
    restriction_error : float
        What the basis costs at most: the best objective with it less the bound without it; nan where the
        problem without the basis was not solved.
    """

    problem: Problem
    rows: tuple[Row, ...]
    solutions: dict[str, Solution] = field(repr=False)
    reference: str
    bound: float
    objective: float
    restriction_error: float = math.nan

    @property
    def agrees(self) -> bool:
        """Whether at least one backend ran and all that ran agree."""
        tried = [row for row in self.rows if not row.verdict.startswith("not run")]
        return bool(tried) and all(row.verdict == "agrees" for row in tried)

    def to_markdown(self) -> str:
        """A Markdown table."""
        table = [COLUMNS, tuple("---" for _ in COLUMNS), *(cells(row) for row in self.rows)]
        return "\n".join("| " + " | ".join(line) + " |" for line in table)

    def __str__(self) -> str:
        return f"{self.headline()}\n\n{self.to_markdown()}"

    def headline(self) -> str:
        """The bracket of the optimum in a sentence."""
        line = f"{self.problem!r}: {self.bound:.9g} <= optimum <= {self.objective:.9g}"
        if math.isfinite(self.restriction_error):
            line += f"; the basis costs at most {self.restriction_error:.6g}"
        return line

    def to_json(self) -> str:
        """{"problem", "versions", "bracket", "reference", "rows"}; null for what did not run."""
        P = self.problem
        return json.dumps(
            {
                "problem": {
                    "name": P.name,
                    "n": P.n,
                    "order": P.order,
                    "values": P.n_pairs,
                    "losses": [term.loss.name for term in P.terms],
                    "regularizer": asdict(P.regularizer) | {"name": P.regularizer.name},
                },
                "versions": {name: version(name) for name in _PACKAGES}
                | {"python": platform.python_version()},
                "bracket": [_finite(self.bound), _finite(self.objective)],
                "reference": self.reference,
                "agrees": self.agrees,
                "restriction_error": _finite(self.restriction_error),
                "rows": [{k: _finite(v) for k, v in asdict(row).items()} for row in self.rows],
            },
            indent=2,
        )

    def to_frame(self) -> Any:
        """A pandas DataFrame, a row per backend (needs the extra ``frame``)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise MissingDependencyError(
                "to_frame needs pandas; install it with: pip install npkl_models[frame]"
            ) from error
        return pd.DataFrame([asdict(row) for row in self.rows]).set_index("backend")

    def plot(self, ax: Any = None) -> Any:
        """Certified gap and seconds of each backend on matplotlib axes (needs the extra ``plot``)."""
        try:
            import matplotlib.pyplot as plt
        except ImportError as error:
            raise MissingDependencyError(
                "plot needs matplotlib; install it with: pip install npkl_models[plot]"
            ) from error
        ran = [row for row in self.rows if row.ran]
        if ax is None:
            ax = plt.subplots(figsize=(6.5, 0.7 + 0.45 * len(ran)), layout="constrained")[1]
        height = np.arange(len(ran))[::-1]
        gaps = [max(row.relative_gap, 1e-16) for row in ran]
        colors = ["tab:green" if row.verdict == "agrees" else "tab:red" for row in ran]
        ax.barh(height, gaps, left=1e-16, color=colors, height=0.6)
        for y, row, gap in zip(height, ran, gaps, strict=True):
            ax.text(gap * 1.3, y, f"{row.rigour}, {row.seconds:.2g} s", va="center", fontsize=8)
        ax.set_yticks(height, [row.backend for row in ran])
        ax.set_xscale("log")
        ax.set_xlim(1e-16, max(1.0, *gaps) * 1e3)
        ax.set_xlabel("certified relative gap")
        return ax

    def report(self, path: str | Path) -> Path:
        """Write the table as a self-contained HTML page."""
        lines = [f"<tr>{''.join(f'<th>{name}</th>' for name in COLUMNS)}</tr>"]
        for row in self.rows:
            tone = "good" if row.verdict == "agrees" else "idle" if not row.ran else "bad"
            line = "".join(f"<td>{html.escape(cell)}</td>" for cell in cells(row))
            lines.append(f'<tr class="{tone}">{line}</tr>')
        page = _PAGE.format(
            title=html.escape(self.problem.name or "problem"),
            headline=html.escape(self.headline()),
            text=html.escape(self.problem.explain().text),
            rows="\n".join(lines),
        )
        target = Path(path)
        target.write_text(page, encoding="utf-8")
        return target


COLUMNS = (
    "backend", "status", "objective", "difference", "certified gap", "rigour", "min eig K",
    "rank", "iterations", "seconds", "|K - K ref|", "verdict",
)  # fmt: skip


def cells(row: Row) -> tuple[str, ...]:
    """The row as text, in the order of `COLUMNS`."""
    if not row.ran:
        return (row.backend, row.status, *[""] * (len(COLUMNS) - 3), row.verdict)
    return (
        row.backend, row.status, f"{row.objective:.8g}", f"{row.difference:.1e}",
        f"{row.relative_gap:.1e}", row.rigour, f"{row.kernel_min_eigenvalue:.1e}", str(row.rank),
        str(row.iterations), f"{row.seconds:.2f}", f"{row.kernel_distance:.1e}", row.verdict,
    )  # fmt: skip


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and not math.isfinite(value) else value


_PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Cross-check: {title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .6rem; border-bottom: 1px solid #ccc; text-align: left; }}
.good td:last-child {{ color: #17692f; }} .bad td:last-child {{ color: #a11; font-weight: bold; }}
.idle td {{ color: #777; }} pre {{ background: #f5f5f5; padding: 1rem; white-space: pre-wrap; }}
</style></head><body><h1>Cross-check: {title}</h1><p>{headline}</p><pre>{text}</pre>
<table>{rows}</table></body></html>
"""
