"""Answers as they show themselves in a notebook: a bracket drawn, a few lines, a formula."""

from __future__ import annotations

import html

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.certify.certificate import CERTIFIED, Certificate
from npkl_models.model.problem import Problem

WIDTH, HEIGHT, EDGE = 460, 58, 130  # of the bracket, in pixels
GOOD, OPEN = "#17692f", "#a15c00"


def bracket(found: Certificate) -> str:
    """The bounds on the optimum as an SVG: bound <= optimum <= upper, on a line as long as the gap is wide.

    The line's length grows with the logarithm of the relative gap, from 1e-12 to 1.
    """
    gap = found.relative_gap
    color = GOOD if found.rigour in CERTIFIED and found.feasible and gap <= 1e-4 else OPEN
    share = np.clip((np.log10(max(gap, 1e-12)) + 12) / 12, 0.02, 1.0) if np.isfinite(gap) else 1.0
    half, middle = share * (WIDTH - 2 * EDGE) / 2, WIDTH / 2
    left, right = middle - half, middle + half
    low = f"{found.bound:.8g}" if np.isfinite(found.bound) else "no bound"
    high = f"{found.upper:.8g}" if np.isfinite(found.upper) else "no upper bound"
    dash = "" if np.isfinite(gap) else ' stroke-dasharray="4 4"'
    said = f"gap {gap:.1e}, {found.rigour}" if np.isfinite(gap) else f"no gap, {found.rigour}"
    return (
        f'<svg role="img" aria-label="{low} up to {high}, {said}" viewBox="0 0 {WIDTH} {HEIGHT}" '
        f'style="max-width:{WIDTH}px;width:100%" font-family="system-ui, sans-serif" font-size="12" '
        'fill="currentColor">'
        f'<g stroke="{color}" stroke-width="2"><path d="M{left} 14v16M{right} 14v16"/>'
        f'<path d="M{left} 22H{right}"{dash}/></g>'
        f'<text x="{left}" y="46" text-anchor="end">{low}</text>'
        f'<text x="{right}" y="46" text-anchor="start">{high}</text>'
        f'<text x="{middle}" y="11" text-anchor="middle">{html.escape(said)}</text></svg>'
    )


def certificate_html(found: Certificate) -> str:
    """The bracket and the sentence."""
    return f"<div>{bracket(found)}<div>{html.escape(str(found))}</div></div>"


def solution_html(solution: Solution) -> str:
    """The status, the bracket, and the summary."""
    head, *lines = solution.summary().splitlines()
    drawn = bracket(solution.certificate) if solution.V is not None else ""
    rows = "".join(f"<tr><td>{html.escape(line)}</td></tr>" for line in lines)
    return f"<div><strong>{html.escape(head)}</strong><br>{drawn}<table>{rows}</table></div>"


def problem_html(problem: Problem) -> str:
    """The formula (for MathJax, which notebooks have) and the words."""
    explained = problem.explain()
    return f"<div>$${html.escape(explained.latex)}$$<pre>{html.escape(explained.text)}</pre></div>"
