"""Formulas in a page that needs no network: MathML, which browsers set themselves."""

from __future__ import annotations

import html

from latex2mathml.converter import convert


def mathml(latex: str) -> str:
    """A formula as MathML, displayed; its LaTeX stays readable for those who copy it."""
    drawn = str(convert(latex, display="block"))
    return f'<div class="formula" title="{html.escape(latex, quote=True)}">{drawn}</div>'
