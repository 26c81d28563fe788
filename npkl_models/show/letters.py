"""Formulas put together: letters replaced by a problem's own, numbers multiplied out, and LaTeX in words."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from npkl_models.linalg import Array

COMMA = r",\; "
NUMBER = r"\d+(?:\.\d+)?(?:e[+-]\d+)?"
RELATIONS = r"\\(?:le|ge|in|quad|cdot|succeq|text|rVert|;|,)"
TIDY = (
    (r"--", ""),
    (rf"(?<![\w.{{}}^])1 (?=[A-Za-z(\\{{])(?!{RELATIONS})", ""),  # a factor of one
    (r"(?<![\w.])0 [^ ]+ \+ ", ""),  # no summand
    (rf"-({NUMBER}) -({NUMBER})(?![\w.])", r"\1 \2"),
    (rf"(?<![\w.])({NUMBER}) -({NUMBER})(?![\w.])", r"-\1 \2"),
    (r"-(w_e) -1(?![\w.])", r"\1"),
    (r"(w_e) 1(?![\w.])", r"\1"),
    (r"(w_e) -(?=[A-Za-z(\\])", r"-\1 "),
    (r"- -", "+ "),
    (r"\+ -", "- "),
    (r"\\; \+ ", r"\\; "),
    (r" - 0\)", ")"),
    (r"\(\(([^()]*)\) ([-+]) ", r"(\1 \2 "),
    (r"(\\sum_\{e \\le \d+\}) -(?=[A-Za-z])", r"-\1 "),  # a sign before the sum and its number
    (rf"({NUMBER}) -(?=[A-Za-z\\])", r"-\1 "),
)
PLAIN = (
    (r"\\_", "_"),
    (r"\^\{\\text\{([^{}]*)\}\}", r" (\1)"),
    (r"\\langle ([^\\]*) \\rangle", r"<\1>"),
    (r"(?:^|(?<=,))([^,]+?) \\succeq 0", r"\1 is positive semidefinite"),
    (r"(y|\\nu)\^\{\((\d+)\)\}", r"\1\2"),
    (r"\{([^{}]*)\}\^", r"\1^"),
    (r"\^\{([^{}\\]*)\}", r"^\1"),
    (r"\\(?:tfrac|frac)\{([^{}]*)\}\{([^{} ]*)\}", r"\1/\2"),
    (r"\\frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/(\2)"),
    (r"\\cdot", "*"),
    (r"\\(?:operatorname|text|mathbf)\{([^{}]*)\}", r"\1"),
    (r"\\mathbb (\w)", r"\1"),
    (r"\\times", "x"),
    (r"\\partial ", "the subdifferential of "),
    (r"\\[lr]Vert", "||"),
    (r"\\le(?![a-z])", "<="),
    (r"\\ge(?![a-z])", ">="),
    (r"\\[;,]", " "),
    (r"\\([a-z]+)", r"\1"),
    (r"\{([^{}]*)\}", r"\1"),
    (r"\{([^{}]*)\}", r"\1"),
    (r" +", " "),
)


def put(latex: str, marks: Mapping[str, str]) -> str:
    """A formula with each single letter that ``marks`` knows replaced, and tidied."""
    out, word = [], False
    for k, letter in enumerate(latex):
        word = letter == "\\" or (word and letter.isalpha())
        alone = letter in marks and not word and not (k and latex[k - 1].isalpha())
        mark = marks[letter] if alone else letter
        twice = "^" in mark and latex[k + 1 : k + 2] == "^"  # TeX takes no second superscript
        out.append(f"{{{mark}}}" if twice else mark)
    return tidy("".join(out))


def tidy(latex: str) -> str:
    """Numbers side by side multiplied, factors of one and summands of zero left out, powers of ten."""
    before = ""
    while before != latex:
        before = latex
        latex = re.sub(rf"(?<![\w.])({NUMBER}) ({NUMBER})(?![\w.])", _product, latex)
        for pattern, instead in TIDY:
            latex = re.sub(pattern, instead, latex)
    return re.sub(r"(\d+(?:\.\d+)?)e([+-]\d+)", _power, latex)


def constant(values: Array) -> float | None:
    """The number that all of them are, None if they differ."""
    return float(values[0]) if np.all(values == values[0]) else None


def written(name: str) -> str:
    """A name as LaTeX's text."""
    return name.replace("_", r"\_")


def number(values: Array, letter: str) -> str:
    """The number that all values are, or the letter with an index."""
    one = constant(values)
    return f"{letter}_e" if one is None else f"{one:g}"


def plain(latex: str) -> str:
    """A short formula as text."""
    for pattern, instead in PLAIN:
        latex = re.sub(pattern, instead, latex)
    return latex.strip()


def _product(found: re.Match[str]) -> str:
    return f"{float(found[1]) * float(found[2]):g}"


def _power(found: re.Match[str]) -> str:
    power = f"10^{{{int(found[2])}}}"
    return power if float(found[1]) == 1 else rf"{found[1]} \cdot {power}"
