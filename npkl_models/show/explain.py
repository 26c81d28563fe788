"""A problem in words and in LaTeX, made from the faces of its parts."""

from __future__ import annotations

from dataclasses import dataclass, field

from npkl_models.linalg import Array
from npkl_models.model.problem import Problem
from npkl_models.show.dual import Dual, explain_dual
from npkl_models.show.forms import Forms, forms_of


@dataclass(frozen=True)
class Explanation:
    """A problem explained; prints as the text.

    Attributes
    ----------
    text : str
        For reading.
    latex : str
        For typesetting, without dollars.
    """

    text: str
    latex: str
    problem: Problem = field(repr=False)

    @property
    def dual(self) -> Dual:
        """The dual with this problem's numbers, and the conditions of optimality."""
        return explain_dual(self.problem)

    @property
    def forms(self) -> Forms:
        """What each backend makes of it: cones and sizes, or why it cannot. It compiles each of them."""
        return forms_of(self.problem)

    def __str__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        return f"$${self.latex}$$"


def explain(problem: Problem) -> Explanation:
    """Describe what is minimised, over what, subject to what."""
    sums = [r"\langle C, K \rangle"]
    lines = [
        f"{problem.name or 'problem'}: learn a positive semidefinite kernel K over {problem.n} points.",
        f"minimise <C, K>, C sparse with {problem.cost.nnz} entries,",
    ]
    for term in problem.terms:
        z = term.functional.latex
        weight = _constant(term.weight)
        body = term.loss.latex.replace("z", f"({z})" if len(z) > 6 else z)
        total = rf"\sum_{{e \le {term.functional.size}}}"
        sums.append(rf"{total} w_e {body}" if weight is None else rf"{weight:g} {total} {body}")
        kind = f"{term.loss.name} loss of {term.functional.size} {term.functional.kind}"
        lines.append(f"  + {kind} ({term.name}), weight {_range(term.weight)}, {_targets(term.target)},")
    rules = [r"K \succeq 0"]
    R = problem.regularizer
    power = R.spectral
    if power is not None and power.penalty is not None:
        sums.append(R.latex)
        lines.append(f"  + {R.words},")
    elif not R.vacuous:
        rules.append(R.latex)
    for part in problem.equalities:
        rules.append(rf"{part.functional.latex} = b_e \; (e \le {part.functional.size})")
        lines.append(f"  subject to {part.functional.size} {part.name} constraints,")
    if problem.basis is not None:
        rules.append(rf"K = Q U Q',\; U \in S_+^{{{problem.basis.size}}}")
        lines.append(f"  with K = Q U Q' over a basis of {problem.basis.size} vectors,")
    if not R.vacuous and len(rules) > 1 and R.latex in rules:
        lines.append(f"  subject to {R.words},")
    lines[-1] = lines[-1].rstrip(",") + "."
    latex = r"\min_{K} \; " + " + ".join(sums) + r" \quad \text{s.t. } " + r",\; ".join(rules)
    return Explanation("\n".join(lines), latex, problem)


def _constant(values: Array) -> float | None:
    return float(values[0]) if values.min() == values.max() else None


def _range(values: Array) -> str:
    one = _constant(values)
    return f"{one:g}" if one is not None else f"{values.min():g} to {values.max():g}"


def _targets(values: Array) -> str:
    one = _constant(values)
    return f"target {one:g}" if one is not None else f"targets {values.min():g} to {values.max():g}"
