"""A cross-check, or a problem with a solution, as one HTML page that needs no other file."""

from __future__ import annotations

import html
from functools import partial
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

import npkl_models.show.plots as plots
from npkl_models.answer.solution import Solution
from npkl_models.certificates.certificate import bracket
from npkl_models.files.atomic import write_text
from npkl_models.model.diagnosis import diagnose
from npkl_models.model.statement import Statement
from npkl_models.show.explain import explain, explain_dual
from npkl_models.show.machine import date, machine, versions
from npkl_models.show.page import definitions, drawn, mathml, page, pre
from npkl_models.solve.choice import solve

WIDE = '<div class="wide" tabindex="0" role="region" aria-label="{}">{}</div>'
FOLDED = "<details><summary>{}</summary>{}</details>"


def write_report(check: Any, path: str | Path, labels: ArrayLike | None = None, made: str = "") -> Path:
    """Write one page that needs no other file: table, problem, certificates, figures, versions, machine.

    ``check`` is a `npkl_models.CrossCheck`. ``labels`` are classes that order the kernel and colour the
    embedding. ``made`` is the code that makes the problem. Without matplotlib the page has no figures. In
    place of a failed figure stands the reason.
    """
    explained, solutions = explain(check.problem), check.solutions
    tone, verdict = ("good", "all agree") if check.agrees else ("bad", "NOT all agree")
    figures = "<p>No figures: no backend left a point.</p>"
    if solutions:
        one, of = solutions[check.reference], f"(answer of {check.reference})"
        by_iterations = partial(plots.convergence, solutions, against="iterations")
        figures = drawn({
            "Certified gap of each backend, its rigour and its seconds": partial(plots.crosscheck, check),
            "Objectives and bounds against the seconds": partial(plots.convergence, solutions),
            "Objectives and bounds against the iterations": by_iterations,
            "Columns of the factor over the iterations": partial(plots.rank_history, solutions),
            f"The kernel {of}": partial(plots.kernel, one, labels),
            f"Eigenvalues of the kernel and of the dual slack {of}": partial(plots.joint_spectrum, one),
            f"The points by the kernel, with the graph {of}":
                lambda ax: plots.embedding(one, labels, ax, True),
            f"The pairs, as wide as their multipliers {of}": partial(plots.pair_multipliers, one),
        })  # fmt: skip
    words = f'{html.escape(check.headline())}: <strong class="verdict {tone}">{verdict}</strong>. {date()}'
    certificates = {name: f"{one.status}. {one.certificate}" for name, one in solutions.items()}
    return write_text(path, page(f"Cross-check: {check.problem.name or 'problem'}", words, {
        "The problem":
            mathml(explained.latex) + pre(explained.text) + FOLDED.format("in LaTeX", pre(explained.latex)),
        "How it was made": pre(made) if made else "",
        "The answers": WIDE.format("Table of the answers", check.to_html()),
        "The certificates": definitions(certificates.items()),
        "Figures": figures, "Versions": definitions(versions().items()),
        "Machine": definitions(machine().items()),
    }))  # fmt: skip


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
    figures = "<p>No pictures: there is no kernel.</p>" if found.V is None else drawn({
        "The kernel, by classes where they are known": partial(plots.kernel, found, labels),
        "Eigenvalues of the kernel and of the dual slack: where one is positive the other is zero":
            partial(plots.joint_spectrum, found),
        "Objective and bound against the seconds": partial(plots.convergence, [found]),
        "The pairs, as wide as their multipliers": partial(plots.pair_multipliers, found),
    })  # fmt: skip
    interval = bracket(found.certificate) if found.V is not None else ""
    used = ", ".join(f"{name} {number}" for name, number in versions().items())
    return write_text(path, page(problem.name or "problem", date(), {
        "The problem": mathml(explained.latex) + pre(explained.text),
        "Its dual": mathml(dual.latex) + mathml(dual.slack) + pre(dual.text)
            + definitions(dual.definitions, mathml),
        "Conditions of optimality": definitions(dual.conditions, mathml),
        "What may be wrong with it": f"<ul>{findings}</ul>" if findings else "<p>Nothing was found.</p>",
        "What each backend makes of it": WIDE.format("Table of the backends", explained.forms._repr_html_()),
        "An answer": interval + pre(found.summary()) + figures,
        "In LaTeX": FOLDED.format("source of the formulas", pre(source)) + f"<p><small>{used}</small></p>",
    }))  # fmt: skip
