"""Formulas put together: letters replaced, numbers multiplied, and LaTeX written as plain text."""

from __future__ import annotations

import re
from collections.abc import Mapping

import numpy as np

from npkl_models.linalg import Array

COMMA = r",\; "
RELATION = {"equal": "=", "at most": r"\le", "at least": r"\ge"}
SIGN = {"at most": r"\ge", "at least": r"\le"}
"""Of a value and its bound, and of the multiplier of a bound and zero, by the kind of a constraint."""
NUMBER = r"\d+(?:\.\d+)?(?:e[+-]\d+)?"
RELATIONS = r"\\(?:le|ge|in|quad|cdot|succeq|text|rVert|;|,)"
TWO_NUMBERS = rf"(?<![\w.])({NUMBER}) ({NUMBER})(?![\w.])"
TIDY = (
    (r"--", ""),
    (rf"(?<![\w.{{}}^])1 (?=[A-Za-z(\\{{])(?!{RELATIONS})", ""),  # a factor of one
    (r"(?<![\w.])0 [^ ]+ \+ ", ""),  # a summand of zero
    (rf"(?<![\w.])({NUMBER}) -({NUMBER})(?![\w.])", r"-\1 \2"),
    (r"(w_e) 1(?![\w.])", r"\1"),
    (r"(w_e) -(?=[A-Za-z(\\])", r"-\1 "),
    (r"- -", "+ "),
    (r"\+ -", "- "),
    (r"\\; \+ ", r"\\; "),
    (r" - 0\)", ")"),
    (r"\(\(([^()]*)\) ([-+]) ", r"(\1 \2 "),
    (r"(\\sum_\{e \\le \d+\}) -(?=[A-Za-z])", r"-\1 "),  # the sign moves before the sum
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
    """Replace each single letter of a formula that is a key of ``marks``, and tidy the formula."""
    out, word = [], False
    for k, letter in enumerate(latex):
        word = letter == "\\" or (word and letter.isalpha())
        alone = letter in marks and not word and not (k and latex[k - 1].isalpha())
        mark = marks[letter] if alone else letter
        twice = "^" in mark and latex[k + 1 : k + 2] == "^"  # TeX refuses a second superscript
        out.append(f"{{{mark}}}" if twice else mark)
    return tidy("".join(out))


def tidy(latex: str) -> str:
    """Multiply adjacent numbers, remove factors of one and summands of zero, and write powers of ten."""
    before = ""
    while before != latex:
        before = latex
        latex = re.sub(TWO_NUMBERS, lambda m: f"{float(m[1]) * float(m[2]):g}", latex)
        for pattern, instead in TIDY:
            latex = re.sub(pattern, instead, latex)
    return re.sub(r"(\d+(?:\.\d+)?)e([+-]\d+)", _power, latex)


def constant(values: Array) -> float | None:
    """The number that all values are equal to; None if they differ."""
    return float(values[0]) if np.all(values == values[0]) else None


def number(values: Array, letter: str) -> str:
    """The number that all values are equal to; the letter with the index e if they differ."""
    one = constant(values)
    return f"{letter}_e" if one is None else f"{one:g}"


def plain(latex: str) -> str:
    """A short formula in LaTeX as plain text."""
    for pattern, instead in PLAIN:
        latex = re.sub(pattern, instead, latex)
    return latex.strip()


def _power(found: re.Match[str]) -> str:
    power = f"10^{{{int(found[2])}}}"
    return power if float(found[1]) == 1 else rf"{found[1]} \cdot {power}"
