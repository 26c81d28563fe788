"""A drawing of the two bounds of a certificate, for notebooks and pages."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

import numpy as np

from npkl_models.proof.eigenbound import CERTIFIED

if TYPE_CHECKING:
    from npkl_models.certify.certificate import Certificate

WIDTH, HEIGHT, EDGE = 460, 58, 130  # of the drawing, in pixels
GOOD, OPEN = "#17692f", "#a15c00"


def bracket(found: Certificate) -> str:
    """Draw bound <= optimum <= upper as an SVG; without an upper bound, the bound and the objective."""
    gap = found.relative_gap
    color = GOOD if found.rigour in CERTIFIED and found.feasible and gap <= 1e-4 else OPEN
    share = np.clip((np.log10(max(gap, 1e-12)) + 12) / 12, 0.02, 1.0) if np.isfinite(gap) else 1.0
    half, middle = share * (WIDTH - 2 * EDGE) / 2, WIDTH / 2
    left, right = middle - half, middle + half
    low = f"{found.bound:.8g}" if np.isfinite(found.bound) else "no bound"
    dash = "" if np.isfinite(gap) else ' stroke-dasharray="4 4"'
    said = f"gap {gap:.1e}, {found.rigour}" if np.isfinite(gap) else f"no gap, {found.rigour}"
    if np.isfinite(found.upper):
        high = f"{found.upper:.8g}"
    else:
        high, said = f"objective {found.objective:.8g}", f"{said}, violation {found.violation:.1e}"
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
