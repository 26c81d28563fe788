"""A cross-check as a self-contained HTML page."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import ArrayLike

import npkl_models.show.plots as plots
from npkl_models.answer.solution import Solution
from npkl_models.files.atomic import write_text
from npkl_models.model.statement import Statement
from npkl_models.show.explain import explain
from npkl_models.show.figures import drawn
from npkl_models.show.formulas import mathml
from npkl_models.show.machine import date, machine, versions
from npkl_models.show.plots.tables import Tabled


class Checked(Tabled, Protocol):
    """What a page says of a cross-check; see `npkl_models.CrossCheck`."""

    @property
    def problem(self) -> Statement: ...
    @property
    def solutions(self) -> Mapping[str, Solution]: ...
    @property
    def reference(self) -> str: ...
    @property
    def agrees(self) -> bool: ...
    def headline(self) -> str:
        """One line."""

    def to_html(self) -> str:
        """The table."""


Drawing = tuple[str, Callable[[Any], Any]]


def write_report(check: Checked, path: str | Path, labels: ArrayLike | None = None, made: str = "") -> Path:
    """Write one page that needs no other file: table, problem, certificates, figures, versions, machine.

    Parameters
    ----------
    check : Checked
    path : str or Path
        Of the file.
    labels : array_like of shape (n,), optional
        Classes, by which kernel and embedding are shown.
    made : str
        The Python code that makes the problem.

    Returns
    -------
    Path

    Notes
    -----
    Without matplotlib the page has no figures and says so; a figure that cannot be drawn says why.
    """
    explained = explain(check.problem)
    page = PAGE.format(
        title=html.escape(check.problem.name or "problem"),
        date=html.escape(date()),
        headline=html.escape(check.headline()),
        verdict="all agree" if check.agrees else "NOT all agree",
        tone="good" if check.agrees else "bad",
        text=html.escape(explained.text),
        style=STYLE,
        formula=mathml(explained.latex),
        latex=html.escape(explained.latex),
        made=f"<h2>How it was made</h2><pre>{html.escape(made)}</pre>" if made else "",
        table=check.to_html(),
        certificates=_certificates(check.solutions),
        figures=drawn(_drawings(check, labels)) or "<p>No figures: no backend left a point.</p>",
        versions=_list(versions()),
        machine=_list(machine()),
    )
    return write_text(path, page)


def _drawings(check: Checked, labels: ArrayLike | None) -> list[Drawing]:
    """What is drawn: of all answers, then of the reference."""
    if not check.solutions:
        return []
    one, of = check.solutions[check.reference], f"(answer of {check.reference})"
    return [
        ("Certified gap of each backend, its rigour and its seconds", partial(plots.crosscheck, check)),
        ("Objectives and bounds against the seconds", partial(plots.convergence, check.solutions)),
        (
            "Objectives and bounds against the iterations",
            partial(plots.convergence, check.solutions, against="iterations"),
        ),
        ("Columns of the factor over the iterations", partial(plots.rank_history, check.solutions)),
        (f"The kernel {of}", partial(plots.kernel, one, labels)),
        (f"Eigenvalues of the kernel and of the dual slack {of}", partial(plots.joint_spectrum, one)),
        (f"The points by the kernel, with the graph {of}", lambda ax: plots.embedding(one, labels, ax, True)),
        (f"The pairs, as wide as their multipliers {of}", lambda ax: plots.pair_multipliers(one, ax=ax)),
    ]


def _certificates(solutions: Mapping[str, Solution]) -> str:
    return _list({name: f"{one.status}. {one.certificate}" for name, one in solutions.items()})


def _list(entries: Mapping[str, str]) -> str:
    lines = (f"<dt>{html.escape(key)}</dt><dd>{html.escape(text)}</dd>" for key, text in entries.items())
    return f"<dl>{''.join(lines)}</dl>"


STYLE = """body { font: 16px/1.5 system-ui, sans-serif; color: #1a1a1a; }
body { margin: 1.5rem auto; max-width: 76rem; padding: 0 1rem; }
h1 { font-size: 1.5rem; line-height: 1.2; } h2 { font-size: 1.15rem; margin-top: 2rem; }
p, dd, pre { overflow-wrap: anywhere; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .85rem; }
th, td { padding: .25rem .45rem; border-bottom: 1px solid #ccc; text-align: left; white-space: nowrap; }
td:last-child { white-space: normal; min-width: 13rem; }
tr.good td:last-child, .verdict.good { color: #17692f; }
tr.bad td:last-child, .verdict.bad { color: #a11; font-weight: bold; }
.idle td { color: #666; } pre { background: #f5f5f5; padding: 1rem; white-space: pre-wrap; }
.figures { display: grid; gap: 1.5rem; }
.figures { grid-template-columns: repeat(auto-fit, minmax(min(100%, 30rem), 1fr)); }
figure { margin: 0; break-inside: avoid; } figcaption { font-size: .9rem; color: #444; }
svg { width: 100%; max-width: 36rem; height: auto; }
dl { display: grid; grid-template-columns: minmax(6rem, max-content) 1fr; gap: .2rem 1rem; }
dt { font-weight: 600; overflow-wrap: anywhere; } dd { margin: 0; }
@media (max-width: 30rem) { dl { display: block; } dd { margin: 0 0 .5rem; } }
@media print {
  body { font-size: 10pt; max-width: none; margin: 0; } table { font-size: 7.5pt; }
  .wide { overflow: visible; } td:last-child { min-width: 0; } h2 { break-after: avoid; }
}
.formula { overflow-x: auto; overflow-y: hidden; padding: .3rem 0; margin: .5rem 0; }
"""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Cross-check: {title}</title><style>{style}</style></head><body><main><h1>Cross-check: {title}</h1>
<p>{headline}: <strong class="verdict {tone}">{verdict}</strong>. {date}</p>
<h2>The problem</h2>{formula}<pre>{text}</pre>
<details><summary>in LaTeX</summary><pre>{latex}</pre></details>
{made}
<h2>The answers</h2>
<div class="wide" tabindex="0" role="region" aria-label="Table of the answers">{table}</div>
<h2>The certificates</h2>{certificates}
<h2>Figures</h2><div class="figures">{figures}</div>
<h2>Versions</h2>{versions}
<h2>Machine</h2>{machine}
</main></body></html>
"""
