"""A problem in words and in LaTeX, made from its losses, equalities, regulariser and basis."""

from __future__ import annotations

from dataclasses import dataclass, field

from npkl_models.linalg import Array
from npkl_models.model.statement import Statement
from npkl_models.show.dual import Dual, explain_dual
from npkl_models.show.letters import COMMA, RELATION, constant, number, plain, put, tidy
from npkl_models.show.tables import Forms, forms_of


@dataclass(frozen=True)
class Explanation:
    """An explanation of a problem, which prints as its text.

    Attributes
    ----------
    text : str
        The problem in plain text.
    latex : str
        The problem in LaTeX, without dollar signs.
    """

    text: str
    latex: str
    problem: Statement = field(repr=False)

    @property
    def dual(self) -> Dual:
        """The dual problem with the numbers of this problem, and the conditions of optimality."""
        return explain_dual(self.problem)

    @property
    def forms(self) -> Forms:
        """The compiled form in each backend (cones and sizes), or the reason why there is none."""
        return forms_of(self.problem)

    def __str__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        return f"$${self.latex}$$"


def explain(problem: Statement) -> Explanation:
    """Explain the objective, the unknown and the constraints of a problem."""
    sums = [latex for _, latex in summands(problem)]
    lines = [
        f"{problem.name or 'problem'}: learn a positive semidefinite kernel K over {problem.n} points.",
        f"minimise <C, K>, C sparse with {problem.cost.nnz} entries," if problem.cost.nnz else "minimise",
    ]
    for term in problem.losses:
        kind = f"{term.loss.name} loss of {term.functional.size} {term.functional.kind}"
        lines.append(f"  + {kind} ({term.name}), weight {_range(term.weight)}, {_targets(term.target)},")
    rules = [r"K \succeq 0"]
    R = problem.regularizer
    if not R.vacuous and not R.constrains:
        lines.append(f"  + {R.words},")
    for part in problem.constraints:
        rule = rf"{part.functional.latex} {RELATION[part.kinds[0]]} {number(part.value, 'b')}"
        rules.append(rf"{rule} \; (e \le {part.functional.size})")
        said = "" if part.equal else f", {plain(rule)}"
        lines.append(f"  subject to {part.functional.size} {part.name} constraints{said},")
    if problem.basis is not None:
        rules.append(rf"K = Q U Q',\; U \in S_+^{{{problem.basis.size}}}")
        lines.append(f"  with K = Q U Q' over a basis of {problem.basis.size} vectors,")
    if not R.vacuous and R.constrains:
        rules.append(R.latex)
        lines.append(f"  subject to {R.words},")
    lines[-1] = lines[-1].rstrip(",") + "."
    objective = " + ".join(sums).replace("+ -", "- ") or "0"
    latex = tidy(rf"\min_{{K}} \; {objective} \quad \text{{s.t. }} " + COMMA.join(rules))
    return Explanation("\n".join(lines), latex, problem)


def summands(problem: Statement) -> list[tuple[str, str]]:
    """The summands of the objective: the name of each, and its LaTeX."""
    found = [("cost", r"\langle C, K \rangle")] if problem.cost.nnz else []
    for term in problem.losses:
        z = term.functional.latex
        weight, target = number(term.weight, "w"), number(term.target, "t")
        body = put(term.loss.latex, {"z": f"({z})" if " " in z else z, "t": target})
        total = rf"\sum_{{e \le {term.functional.size}}}"
        before = constant(term.weight) is not None
        latex = tidy(rf"{weight} {total} {body}") if before else rf"{total} {weight} {body}"
        found.append((f"losses of the {term.name}", latex))
    R = problem.regularizer
    if not R.vacuous and not R.constrains:
        found.append(("regulariser", R.latex))
    return found


def _range(values: Array) -> str:
    one = constant(values)
    return f"{one:g}" if one is not None else f"{values.min():g} to {values.max():g}"


def _targets(values: Array) -> str:
    return f"{'target' if constant(values) is not None else 'targets'} {_range(values)}"
