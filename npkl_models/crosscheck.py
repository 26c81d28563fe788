"""One problem, every backend, one table: whether the answers agree, and what is proved of each."""

from __future__ import annotations

import html
import json
import math
import platform
import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution, Status
from npkl_models.backends import REGISTRY, get_backend
from npkl_models.errors import MissingDependencyError, NPKLError, ProblemError, unknown
from npkl_models.linalg import Array
from npkl_models.model.problem import Problem

AGREEMENT = 1e-5
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
    """

    problem: Problem
    rows: tuple[Row, ...]
    solutions: dict[str, Solution] = field(repr=False)
    reference: str
    bound: float
    objective: float

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
        return f"{self.problem!r}: {self.bound:.9g} <= optimum <= {self.objective:.9g}"

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


def crosscheck(
    problem: Problem,
    backends: Sequence[str] | None = None,
    reference: str | None = None,
    n_jobs: int = 1,
    *,
    agreement: float = AGREEMENT,
    progress: Callable[[str], None] | None = None,
    **options: Any,
) -> CrossCheck:
    """Solve a problem by several backends and compare the answers.

    Parameters
    ----------
    problem : Problem
    backends : sequence of str, optional
        Names; ``"sdp[SCS]"`` fixes a conic backend's solver. All by default; one that cannot take the
        problem gets a row with its reason.
    reference : str, optional
        Label whose kernel the others are compared with; the smallest certified gap by default.
    n_jobs : int
        Processes.
    agreement : float
        Largest relative difference from the best objective that still counts as agreement.
    progress : callable, optional
        Called with each label before it is solved (with ``n_jobs=1``).
    **options
        Handed to every backend that knows them.

    Returns
    -------
    CrossCheck
    """
    labels = list(REGISTRY) if backends is None else list(dict.fromkeys(backends))
    if not labels:
        raise ProblemError("backends must name at least one backend, got none")
    parsed = {label: _parse(label) for label in labels}
    _check_options(parsed, options)
    if reference is not None and reference not in labels:
        raise unknown("reference", reference, labels)
    tasks = [partial(_solve, problem, *parsed[label], options) for label in labels]
    if n_jobs == 1:
        outcomes = []
        for label, task in zip(labels, tasks, strict=True):
            if progress is not None:
                progress(label)
            outcomes.append(task())
    else:
        from joblib import Parallel, delayed

        outcomes = Parallel(n_jobs=n_jobs)(delayed(task)() for task in tasks)
    solved = {
        label: found
        for label, found in zip(labels, outcomes, strict=True)
        if isinstance(found, Solution) and found.V is not None
    }
    bound, objective = _bracket(solved)
    if reference is None or reference not in solved:
        reference = min(solved, key=lambda k: solved[k].certificate.relative_gap, default="")
    kernel = solved[reference].V if reference else None
    rows = tuple(
        _row(label, found, bound, objective, kernel, agreement)
        for label, found in zip(labels, outcomes, strict=True)
    )
    return CrossCheck(problem, rows, solved, reference, bound, objective)


def _parse(label: str) -> tuple[str, dict[str, Any]]:
    """Backend and options of a label such as "sdp[SCS]"."""
    match = re.fullmatch(r"(\w+)(?:\[(\w+)\])?", label)
    name, solver = match.groups() if match else (label, None)
    backend = get_backend(name)
    if solver is None:
        return name, {}
    if "solver" not in backend.option_names:
        raise ProblemError(f"{name} takes no solver in brackets, got {label!r}")
    return name, {"solver": solver}


def _check_options(parsed: dict[str, tuple[str, dict[str, Any]]], options: dict[str, Any]) -> None:
    known = {key for name, _ in parsed.values() for key in REGISTRY[name].option_names}
    for key in options:
        if key not in known:
            raise unknown("option", key, known)
    for name, own in parsed.values():  # a bad value is an error at once, not a row
        backend = REGISTRY[name]
        backend.options(**_known(name, options) | own)


def _known(name: str, options: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in options.items() if k in REGISTRY[name].option_names}


def _solve(problem: Problem, name: str, own: dict[str, Any], options: dict[str, Any]) -> Solution | str:
    """The solution, or why there is none."""
    backend = REGISTRY[name]
    reason = backend.supports(problem)
    if reason is not None:
        return f"not run: {reason}"
    try:
        return backend.compile(problem, **_known(name, options) | own).solve()
    except NPKLError as error:
        return f"not run: {error}"


def _bracket(solved: dict[str, Solution]) -> tuple[float, float]:
    bounds = [-math.inf]
    objectives = [math.inf]
    for solution in solved.values():
        if solution.certificate.rigour in ("proved", "probable"):
            bounds.append(solution.certificate.bound)
        if solution.certificate.violation <= AGREEMENT:
            objectives.append(solution.certificate.objective)
    return max(bounds), min(objectives)


def _row(
    label: str,
    found: Solution | str,
    bound: float,
    objective: float,
    kernel: Array | None,
    agreement: float,
) -> Row:
    if isinstance(found, str):
        return Row(label, "", found)
    if found.V is None:
        return Row(label, str(found.status), f"failed: {found.message}")
    certificate = found.certificate
    scale = 1 + abs(objective)
    difference = (certificate.objective - objective) / scale
    if certificate.objective < bound - agreement * scale or certificate.bound > objective + agreement * scale:
        verdict = "outside the proved bracket"
    elif difference > agreement or found.status is Status.FAILED:
        verdict = f"worse by {difference:.1e}"
    else:
        verdict = "agrees"
    return Row(
        label, str(found.status), verdict, certificate.objective, certificate.bound, difference,
        certificate.relative_gap, certificate.rigour, found.kernel_min_eigenvalue, found.rank,
        found.iterations, found.build_time + found.solve_time, _distance(found.V, kernel),
    )  # fmt: skip


def _distance(V: Array, W: Array | None) -> float:
    """||VV' - WW'|| / ||WW'|| without forming either."""
    if W is None:
        return math.nan
    own, other = float(np.sum((V.T @ V) ** 2)), float(np.sum((W.T @ W) ** 2))
    cross = float(np.sum((V.T @ W) ** 2))
    return math.sqrt(max(own - 2 * cross + other, 0.0) / max(other, 1e-300))


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
