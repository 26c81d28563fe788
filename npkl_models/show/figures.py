"""Pictures as SVG that stands inside a page: no display, no state shared with pyplot."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Iterable
from threading import Lock
from typing import Any

from npkl_models.errors import MissingDependencyError, NPKLError, optional

PIXELS = 96  # in an inch, as browsers have it
_ONE_AT_A_TIME = Lock()  # the settings of matplotlib belong to the process

LIGHT = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "sans-serif"],
    "font.size": 10, "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
}  # fmt: skip
INK = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "legend.labelcolor")
DARK = LIGHT | dict.fromkeys(INK, "#e6e6e6")


def svg(
    draw: Callable[[Any], Any], words: str, width: int = 460, height: int = 350, dark: bool = False
) -> str:
    """What ``draw(axes)`` draws, as an ``<svg>`` element that scales with its page.

    Parameters
    ----------
    draw : callable
        Is handed matplotlib axes.
    words : str
        What the picture shows, for those who do not see it.
    width, height : int
        Pixels that the text is laid out for.
    dark : bool
        Light ink, for a dark page.

    Returns
    -------
    str

    Raises
    ------
    MissingDependencyError
        Without matplotlib.
    NPKLError
        As the drawing function says.
    """
    settings = optional("matplotlib", "a figure", "plot")
    make = optional("matplotlib.figure", "a figure", "plot").Figure
    with _ONE_AT_A_TIME, settings.rc_context(DARK if dark else LIGHT):
        figure = make(figsize=(width / PIXELS, height / PIXELS), layout="constrained")
        draw(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    return _inline(file.getvalue(), words)


def drawn(drawings: Iterable[tuple[str, Callable[[Any], Any]]]) -> str:
    """The figures of a page, each with its words below it; what cannot be drawn says why."""
    out = []
    for words, draw in drawings:
        try:
            picture = svg(draw, words)
        except MissingDependencyError as error:
            return f"<p>No figures: {html.escape(str(error))}</p>"
        except NPKLError as error:
            picture = f"<p>Not drawn: {html.escape(str(error))}</p>"
        out.append(f"<figure>{picture}<figcaption>{html.escape(words)}</figcaption></figure>")
    return "\n".join(out)


def _inline(text: str, words: str) -> str:
    """The element alone, named, without identifiers that other figures of a page have too."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.S)
    used = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r' id="([\w.-]+)"', lambda m: m[0] if m[1] in used else "", text)
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    label = words.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return f'{head} role="img" aria-label="{label}">{rest}'
