"""Parts of HTML pages that need no other file and no network: frame, formulas, tables and pictures."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Iterable
from itertools import zip_longest
from threading import Lock
from typing import Any

from npkl_models.errors import MissingDependencyError, NPKLError, optional

PIXELS = 96  # pixels per inch, as in browsers
_ONE_AT_A_TIME = Lock()  # all threads of the process share the settings of matplotlib

LIGHT = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "sans-serif"],
    "font.size": 10, "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
}  # fmt: skip
INK = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "legend.labelcolor")
DARK = LIGHT | dict.fromkeys(INK, "#e6e6e6")


def page(title: str, body: str) -> str:
    """A whole page in HTML; the title is plain text."""
    name = html.escape(title)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title><style>{STYLE}</style></head><body><main><h1>{name}</h1>\n"
        f"{body}</main></body></html>\n"
    )


def mathml(latex: str) -> str:
    """A formula as MathML, which browsers display; its title is the LaTeX source."""
    from latex2mathml.converter import convert

    drawn = str(convert(latex, display="block"))
    return f'<div class="formula" title="{html.escape(latex, quote=True)}">{drawn}</div>'


def definitions(entries: Iterable[tuple[str, str]]) -> str:
    """A definition list in HTML, from names in plain text and descriptions in HTML."""
    lines = (f"<dt>{html.escape(name)}</dt><dd>{what}</dd>" for name, what in entries)
    return f"<dl>{''.join(lines)}</dl>"


def table(columns: Iterable[str], rows: Iterable[Iterable[str]], tones: Iterable[str] = ()) -> str:
    """A table of plain texts in HTML; ``tones`` are the CSS classes of its rows."""
    lines = [f"<tr>{_cells('th', columns)}</tr>"]
    for row, tone in zip_longest(rows, tones, fillvalue=""):
        lines.append(
            f'<tr class="{tone}">{_cells("td", row)}</tr>' if tone else f"<tr>{_cells('td', row)}</tr>"
        )
    return "<table>" + "\n".join(lines) + "</table>"


def svg(
    draw: Callable[[Any], Any], words: str, width: int = 460, height: int = 350, dark: bool = False
) -> str:
    """The drawing of ``draw(axes)`` as an ``<svg>`` element that scales with its page.

    Parameters
    ----------
    draw : callable
        Function that draws on matplotlib axes.
    words : str
        Description of the picture for readers who cannot see it.
    width, height : int
        Size in pixels for which the text is laid out.
    dark : bool
        Whether the ink is light, for a dark page.

    Raises
    ------
    MissingDependencyError
        If matplotlib is not installed.
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
    """The figures of a page with their captions; in place of a failed figure stands the reason."""
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


def _cells(tag: str, texts: Iterable[str]) -> str:
    return "".join(f"<{tag}>{html.escape(text)}</{tag}>" for text in texts)


def _inline(text: str, words: str) -> str:
    """The ``<svg>`` element alone, with a description, and without unused identifiers."""
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, count=1, flags=re.S)
    used = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r' id="([\w.-]+)"', lambda m: m[0] if m[1] in used else "", text)
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    label = words.replace("&", "&amp;").replace("<", "&lt;").replace('"', "&quot;")
    return f'{head} role="img" aria-label="{label}">{rest}'


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
