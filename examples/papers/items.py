"""A table or figure of a paper: the runs it needs, each kept when it has ended, and how they are shown."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.files.atomic import save_figure

DOTS, COLOURS = 110, 32  # of a picture in the documentation: an inch, and in all

Task = Callable[[], Any]
Cells = Mapping[str, Task]
Results = Mapping[str, Any]


@dataclass(frozen=True)
class Item:
    """One table or figure.

    Attributes
    ----------
    name : str
        As in "kl_admm.table2".
    title : str
    cells : callable
        ``cells(quick)`` gives the runs by their keys; those of the quick form are among those of the whole.
    show : callable
        Markdown from the results.
    draw : callable or None
        Draws the results on a matplotlib figure.
    reason : str
        Why it cannot be re-run; then it has no cells.
    """

    name: str
    title: str
    cells: Callable[[bool], Cells] | None = None
    show: Callable[[Results], str] | None = None
    draw: Callable[[Results, Any], None] | None = None
    reason: str = ""
    files: Sequence[str] = field(default=())


def absent(name: str, title: str, reason: str) -> Item:
    """An item that cannot be re-run."""
    return Item(name, title, reason=reason)


def table(columns: Sequence[str], rows: Sequence[Sequence[object]]) -> str:
    """Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join("| " + " | ".join(map(str, line)) + " |" for line in lines)


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """The power of a fit by least squares in logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def save(draw: Callable[[Results, Any], None], results: Results, path: Path) -> None:
    """The drawing as a file, of the kind that its name ends with."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "npkl_models"  # the same picture is the same file
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 3.6), layout="constrained")
    draw(results, figure)
    path.parent.mkdir(parents=True, exist_ok=True)
    save_figure(figure, path, **({"dpi": DOTS} if path.suffix == ".png" else {"metadata": {"Date": None}}))
    if path.suffix == ".png":
        _few_colours(path)


def _few_colours(path: Path) -> None:
    """A third of the bytes, and no eye sees it."""
    from PIL import Image

    Image.open(path).convert("RGB").quantize(COLOURS).save(path, optimize=True)
