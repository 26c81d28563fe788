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
from npkl_models.show.machine import date, machine, versions
from npkl_models.show.page import definitions, drawn, mathml, page
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
    certificates = {name: f"{one.status}. {one.certificate}" for name, one in check.solutions.items()}
    body = BODY.format(
        date=html.escape(date()), headline=html.escape(check.headline()),
        verdict="all agree" if check.agrees else "NOT all agree", tone="good" if check.agrees else "bad",
        text=html.escape(explained.text), formula=mathml(explained.latex), latex=html.escape(explained.latex),
        made=f"<h2>How it was made</h2><pre>{html.escape(made)}</pre>" if made else "",
        table=check.to_html(), certificates=_list(certificates),
        figures=drawn(_drawings(check, labels)) or "<p>No figures: no backend left a point.</p>",
        versions=_list(versions()), machine=_list(machine()),
    )  # fmt: skip
    return write_text(path, page(f"Cross-check: {check.problem.name or 'problem'}", body))


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


def _list(entries: Mapping[str, str]) -> str:
    return definitions((name, html.escape(text)) for name, text in entries.items())


BODY = """<p>{headline}: <strong class="verdict {tone}">{verdict}</strong>. {date}</p>
<h2>The problem</h2>{formula}<pre>{text}</pre>
<details><summary>in LaTeX</summary><pre>{latex}</pre></details>
{made}
<h2>The answers</h2>
<div class="wide" tabindex="0" role="region" aria-label="Table of the answers">{table}</div>
<h2>The certificates</h2>{certificates}
<h2>Figures</h2><div class="figures">{figures}</div>
<h2>Versions</h2>{versions}
<h2>Machine</h2>{machine}
"""
