"""Parts of HTML pages that need no other file and no network: frame, formulas, tables and pictures."""

from __future__ import annotations

import html
import io
import re
from collections.abc import Callable, Iterable, Mapping
from importlib.resources import files
from itertools import zip_longest
from threading import Lock
from typing import Any

from npkl_models.errors import MissingDependencyError, NPKLError, optional

Drawing = Callable[[Any], Any]
"""A function that draws on matplotlib axes."""
TOKENS = re.compile(
    r"\\[{}]|(?P<open>\\begin|\\left(?![a-z])|{)|(?P<close>\\end|\\right(?![a-z])|})"
    r"|(?P<cut> (?=[+-] )|(?<=,\\; )|(?<=\\quad ))"
)
"""The brackets of a formula in LaTeX, and the places between them at which a line may break."""
PIXELS = 96  # pixels per inch, as in browsers
_ONE_AT_A_TIME = Lock()  # all threads of the process share the settings of matplotlib

LIGHT = {
    "svg.fonttype": "none", "font.family": "sans-serif", "font.sans-serif": ["DejaVu Sans", "sans-serif"],
    "font.size": 10, "figure.facecolor": "none", "axes.facecolor": "none", "savefig.facecolor": "none",
}  # fmt: skip
INK = ("text.color", "axes.edgecolor", "axes.labelcolor", "xtick.color", "ytick.color", "legend.labelcolor")
DARK = LIGHT | dict.fromkeys(INK, "#e6e6e6")


def page(title: str, words: str, parts: Mapping[str, str]) -> str:
    """A whole page in HTML: title in plain text, first words, and parts by their headings, in HTML."""
    name, style = html.escape(title), files("npkl_models.show").joinpath("page.css").read_text()
    body = "\n".join(f"<h2>{heading}</h2>{part}" for heading, part in parts.items() if part)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{name}</title><style>{style}</style></head><body><main><h1>{name}</h1>\n"
        f"<p>{words}</p>\n{body}</main></body></html>\n"
    )


def pre(text: str) -> str:
    """A plain text with its line breaks."""
    return f"<pre>{html.escape(text)}</pre>"


def mathml(latex: str) -> str:
    """A formula as MathML in pieces, between which a narrow page breaks lines; its title is the source."""
    from latex2mathml.converter import convert

    cuts, depth = [0], 0
    for token in TOKENS.finditer(latex):
        depth += (token.lastgroup == "open") - (token.lastgroup == "close")
        if token.lastgroup == "cut" and depth == 0:
            cuts.append(token.end())
    pieces = (latex[begin:end] for begin, end in zip(cuts, [*cuts[1:], None], strict=True))
    drawn = " ".join(str(convert(f"{{}}{piece}", display="block")) for piece in pieces)
    return f'<div class="formula" title="{html.escape(latex, quote=True)}">{drawn}</div>'


def definitions(entries: Iterable[tuple[str, str]], how: Callable[[str], str] = html.escape) -> str:
    """A definition list in HTML, from names in plain text, and descriptions that ``how`` writes as HTML."""
    lines = (f"<dt>{html.escape(name)}</dt><dd>{how(what)}</dd>" for name, what in entries)
    return f"<dl>{''.join(lines)}</dl>"


def table(columns: Iterable[str], rows: Iterable[Iterable[str]], tones: Iterable[str] = ()) -> str:
    """A table of plain texts in HTML; ``tones`` are the CSS classes of its rows."""
    lines: list[str] = []
    for row, tone in zip_longest((columns, *rows), ("", *tones), fillvalue=""):
        tag, how = "td" if lines else "th", f' class="{tone}"' if tone else ""
        cells = (f"<{tag}>{html.escape(text)}</{tag}>" for text in row)
        lines.append(f"<tr{how}>{''.join(cells)}</tr>")
    return "<table>" + "\n".join(lines) + "</table>"


def svg(draw: Drawing, words: str, width: int = 460, height: int = 350, dark: bool = False) -> str:
    """The drawing of ``draw(axes)`` as an ``<svg>`` element that scales with its page.

    ``words`` describe it to readers who cannot see it; the text is laid out for a size in pixels. The ink is
    light on a ``dark`` page. Without matplotlib, a `MissingDependencyError` is raised.
    """
    settings = optional("matplotlib", "a figure", "plot")
    make = optional("matplotlib.figure", "a figure", "plot").Figure
    with _ONE_AT_A_TIME, settings.rc_context(DARK if dark else LIGHT):
        figure = make(figsize=(width / PIXELS, height / PIXELS), layout="constrained")
        draw(figure.add_subplot())
        file = io.StringIO()
        figure.savefig(file, format="svg", metadata={"Date": None, "Creator": None})
    text = re.sub(r"^.*?(?=<svg)|<metadata>.*?</metadata>", "", file.getvalue(), count=2, flags=re.S)
    used = set(re.findall(r"#([\w.-]+)", text))
    text = re.sub(r' id="([\w.-]+)"', lambda m: m[0] if m[1] in used else "", text)
    head, rest = text.split(">", 1)
    head = re.sub(r' (width|height)="[^"]*"', "", head)
    return f'{head} role="img" aria-label="{html.escape(words)}">{rest}'


def drawn(drawings: Mapping[str, Drawing]) -> str:
    """The figures of a page by their captions; in place of a failed figure stands the reason."""
    out = []
    for words, draw in drawings.items():
        try:
            picture = svg(draw, words)
        except MissingDependencyError as error:
            return f"<p>No figures: {html.escape(str(error))}</p>"
        except NPKLError as error:
            picture = f"<p>Not drawn: {html.escape(str(error))}</p>"
        out.append(f"<figure>{picture}<figcaption>{html.escape(words)}</figcaption></figure>")
    return f'<div class="figures">{"".join(out)}</div>'
