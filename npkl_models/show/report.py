"""A cross-check, or a problem with a solution, as one HTML page that needs no other file."""

from __future__ import annotations

import html
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from numpy.typing import ArrayLike

import npkl_models.show.plots as plots
from npkl_models.answer.solution import Solution
from npkl_models.certify.bracket import bracket
from npkl_models.files.atomic import write_text
from npkl_models.model.diagnosis import diagnose
from npkl_models.model.statement import Statement
from npkl_models.show.dual import Named, explain_dual
from npkl_models.show.explain import explain
from npkl_models.show.machine import date, machine, versions
from npkl_models.show.page import definitions, drawn, mathml, page
from npkl_models.show.plots.tables import Tabled
from npkl_models.solve.choice import solve


class Checked(Tabled, Protocol):
    """The parts of a cross-check that a page shows; see `npkl_models.CrossCheck`."""

    @property
    def problem(self) -> Statement: ...
    @property
    def solutions(self) -> Mapping[str, Solution]: ...
    @property
    def reference(self) -> str: ...
    @property
    def agrees(self) -> bool: ...
    def headline(self) -> str:
        """The bounds on the optimum in one line."""

    def to_html(self) -> str:
        """The table in HTML."""


Drawing = tuple[str, Callable[[Any], Any]]


def write_report(check: Checked, path: str | Path, labels: ArrayLike | None = None, made: str = "") -> Path:
    """Write one page that needs no other file: table, problem, certificates, figures, versions, machine.

    ``labels`` are classes that order the kernel and colour the embedding. ``made`` is the code that makes the
    problem. Without matplotlib the page has no figures. In place of a failed figure stands the reason.
    """
    explained = explain(check.problem)
    certificates = {name: f"{one.status}. {one.certificate}" for name, one in check.solutions.items()}
    body = REPORT.format(
        date=html.escape(date()), headline=html.escape(check.headline()),
        verdict="all agree" if check.agrees else "NOT all agree", tone="good" if check.agrees else "bad",
        text=html.escape(explained.text), formula=mathml(explained.latex), latex=html.escape(explained.latex),
        made=f"<h2>How it was made</h2><pre>{html.escape(made)}</pre>" if made else "",
        table=check.to_html(), certificates=_list(certificates),
        figures=drawn(_drawings(check, labels)) or "<p>No figures: no backend left a point.</p>",
        versions=_list(versions()), machine=_list(machine()),
    )  # fmt: skip
    return write_text(path, page(f"Cross-check: {check.problem.name or 'problem'}", body))


def write_handout(
    problem: Statement, path: str | Path, solution: Solution | None = None, labels: ArrayLike | None = None
) -> Path:
    """Write a page about a problem for teaching, which needs no other file and no network.

    ``solution`` is shown with the problem; by default the problem is solved. ``labels`` are classes that
    order the kernel.
    """
    explained, dual = explain(problem), explain_dual(problem)
    found = solve(problem) if solution is None else solution
    findings = "".join(f"<li>{html.escape(str(finding))}</li>" for finding in diagnose(problem))
    named = (*dual.definitions, *dual.conditions)
    source = "\n".join((explained.latex, dual.latex, dual.slack, *(latex for _, latex in named)))
    body = HANDOUT.format(
        date=html.escape(date()), primal=mathml(explained.latex), primal_words=html.escape(explained.text),
        dual=mathml(dual.latex) + mathml(dual.slack), dual_words=html.escape(dual.text),
        definitions=_formulas(dual.definitions), conditions=_formulas(dual.conditions),
        findings=f"<ul>{findings}</ul>" if findings else "<p>Nothing was found.</p>",
        forms=explained.forms._repr_html_(),
        bracket=bracket(found.certificate) if found.V is not None else "",
        summary=html.escape(found.summary()), figures=_pictures(found, labels), source=html.escape(source),
        versions=html.escape(", ".join(f"{name} {number}" for name, number in versions().items())),
    )  # fmt: skip
    return write_text(path, page(problem.name or "problem", body))


def _drawings(check: Checked, labels: ArrayLike | None) -> list[Drawing]:
    """The figures: those of all solutions, then those of the reference."""
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


def _formulas(named: Named) -> str:
    return definitions((name, mathml(latex)) for name, latex in named)


def _pictures(found: Solution, labels: ArrayLike | None) -> str:
    if found.V is None:
        return "<p>No pictures: there is no kernel.</p>"
    drawings = (
        ("The kernel, by classes where they are known", partial(plots.kernel, found, labels)),
        ("Eigenvalues of the kernel and of the dual slack: where one is positive the other is zero",
         partial(plots.joint_spectrum, found)),
        ("Objective and bound against the seconds", partial(plots.convergence, [found])),
        ("The pairs, as wide as their multipliers", lambda ax: plots.pair_multipliers(found, ax=ax)),
    )  # fmt: skip
    return drawn(drawings)


REPORT = """<p>{headline}: <strong class="verdict {tone}">{verdict}</strong>. {date}</p>
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

HANDOUT = """<p>{date}</p>
<h2>The problem</h2>{primal}<pre>{primal_words}</pre>
<h2>Its dual</h2>{dual}<pre>{dual_words}</pre>{definitions}
<h2>Conditions of optimality</h2>{conditions}
<h2>What may be wrong with it</h2>{findings}
<h2>What each backend makes of it</h2>
<div class="wide" tabindex="0" role="region" aria-label="Table of the backends">{forms}</div>
<h2>An answer</h2>{bracket}<pre>{summary}</pre>
<div class="figures">{figures}</div>
<h2>In LaTeX</h2><details><summary>source of the formulas</summary><pre>{source}</pre></details>
<p><small>{versions}</small></p>
"""
