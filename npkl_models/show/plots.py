"""Pictures of answers, on matplotlib axes."""

from __future__ import annotations

from typing import Any

import numpy as np

from npkl_models.crosscheck.table import CrossCheck
from npkl_models.errors import optional


def plot_crosscheck(check: CrossCheck, ax: Any = None) -> Any:
    """Certified gap, rigour and seconds of each backend that ran; returns the axes."""
    plt = optional("matplotlib.pyplot", "plot", "plot")
    ran = [row for row in check.rows if row.ran]
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
