"""All of a problem on one page: primal, dual, optimality, compiled forms, an answer and its pictures."""

from __future__ import annotations

import html
from functools import partial
from pathlib import Path

from numpy.typing import ArrayLike

import npkl_models.show.plots as plots
from npkl_models.answer.solution import Solution
from npkl_models.certify.bracket import bracket
from npkl_models.files.atomic import write_text
from npkl_models.model.diagnosis import diagnose
from npkl_models.model.statement import Statement
from npkl_models.show.dual import Named, explain_dual
from npkl_models.show.explain import explain
from npkl_models.show.machine import date, versions
from npkl_models.show.page import definitions, drawn, mathml, page
from npkl_models.solve.choice import solve


def write_handout(
    problem: Statement, path: str | Path, solution: Solution | None = None, labels: ArrayLike | None = None
) -> Path:
    """Write a page for a class, which needs no other file and no network.

    Parameters
    ----------
    problem : Problem
    path : str or Path
        Of the file.
    solution : Solution, optional
        An answer; one by ``problem.solve()`` otherwise.
    labels : array_like of shape (n,), optional
        Classes, by which the kernel is ordered.

    Returns
    -------
    Path
    """
    explained, dual = explain(problem), explain_dual(problem)
    found = solve(problem) if solution is None else solution
    findings = "".join(f"<li>{html.escape(str(finding))}</li>" for finding in diagnose(problem))
    named = (*dual.definitions, *dual.conditions)
    source = "\n".join((explained.latex, dual.latex, dual.slack, *(latex for _, latex in named)))
    body = BODY.format(
        date=html.escape(date()), primal=mathml(explained.latex), primal_words=html.escape(explained.text),
        dual=mathml(dual.latex) + mathml(dual.slack), dual_words=html.escape(dual.text),
        definitions=_formulas(dual.definitions), conditions=_formulas(dual.conditions),
        findings=f"<ul>{findings}</ul>" if findings else "<p>Nothing was found.</p>",
        forms=explained.forms._repr_html_(),
        bracket=bracket(found.certificate) if found.V is not None else "",
        summary=html.escape(found.summary()), figures=_figures(found, labels), source=html.escape(source),
        versions=html.escape(", ".join(f"{name} {number}" for name, number in versions().items())),
    )  # fmt: skip
    return write_text(path, page(problem.name or "problem", body))


def _formulas(named: Named) -> str:
    return definitions((name, mathml(latex)) for name, latex in named)


def _figures(found: Solution, labels: ArrayLike | None) -> str:
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


BODY = """<p>{date}</p>
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
