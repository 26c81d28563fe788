"""A problem, its dual and its conditions of optimality, in words and in LaTeX, with its own numbers."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from npkl_models.linalg import Array
from npkl_models.model.constraint import Constraint
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.show.letters import COMMA, RELATION, SIGN, constant, number, plain, put, tidy
from npkl_models.show.tables import Forms, forms_of

Named = tuple[tuple[str, str], ...]
Part = TypeVar("Part", LossTerm, Constraint)


@dataclass(frozen=True)
class Dual:
    """The dual of a problem, which prints as its text."""

    text: str  # the dual problem in plain text
    latex: str  # the dual problem in LaTeX, without dollar signs
    slack: str  # the slack S(y) in LaTeX
    definitions: Named  # definitions of the letters: what is defined, and its LaTeX
    conditions: Named  # conditions of optimality: the name of each, and its LaTeX

    def __str__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        rows = [self.latex, self.slack, *(latex for _, latex in (*self.definitions, *self.conditions))]
        return r"$$\begin{gathered} " + r" \\ ".join(rows) + r" \end{gathered}$$"


@dataclass(frozen=True)
class Explanation:
    """A problem in plain ``text``, as which it prints, and in ``latex``, without dollar signs."""

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
    R, basis, rules = problem.regularizer, problem.basis, [r"K \succeq 0"]
    lines = [
        f"{problem.name or 'problem'}: learn a positive semidefinite kernel K over {problem.n} points.",
        f"minimise <C, K>, C sparse with {problem.cost.nnz} entries," if problem.cost.nnz else "minimise",
    ]
    for term in problem.losses:
        kind = f"{term.loss.name} loss of {term.functional.size} {term.functional.kind}"
        target = _range(term.target)
        word = "targets" if " to " in target else "target"
        lines.append(f"  + {kind} ({term.name}), weight {_range(term.weight)}, {word} {target},")
    if not R.vacuous and not R.constrains:
        lines.append(f"  + {R.words},")
    for part in problem.constraints:
        rules.append(rf"{_rule(part)} \; (e \le {part.functional.size})")
        said = "" if part.equal else f", {plain(_rule(part))}"
        lines.append(f"  subject to {part.functional.size} {part.name} constraints{said},")
    if basis is not None:
        rules.append(rf"K = Q U Q',\; U \in S_+^{{{basis.size}}}")
        lines.append(f"  with K = Q U Q' over a basis of {basis.size} vectors,")
    if not R.vacuous and R.constrains:
        rules.append(R.latex)
        lines.append(f"  subject to {R.words},")
    lines[-1] = lines[-1].rstrip(",") + "."
    objective = " + ".join(latex for _, latex in summands(problem)).replace("+ -", "- ") or "0"
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
    return [*found, ("regulariser", R.latex)] if not R.vacuous and not R.constrains else found


def explain_dual(problem: Statement) -> Dual:
    """The dual: maximise -sum f*(y) - R*(-S(y)), S(y) = C + sum y_e M_e; nu are the y of constraints.

    The formulas contain the conjugates of the losses and the support function of the regulariser
    (Boyd & Vandenberghe 2004, section 5.9).
    """
    losses, held = _multipliers(problem)
    named, found = [*losses, *held], every_dual_summand(problem)
    rules = [put(term.loss.latex_domain, _marks(term, y)) for term, y in losses]
    rules += [f"{nu} {SIGN[part.kinds[0]]} 0" for part, nu in held if not part.equal]
    R, S = problem.regularizer, _restricted(problem)
    cone = R.latex_dual[1].replace("S", S)
    rules += [cone] if cone else []
    formula = _slack(problem)
    many = (f"{part.functional.size} multipliers {plain(y)} of {part.name}" for part, y in named)
    lines = [f"maximise over {', '.join(many)}", *(f"  - {words}," for _, _, words in found)]
    order = f"{S} + {R.shift:g} I" if cone and R.shift else S
    end = " positive semidefinite." if cone else "."
    lines.append(f"with {plain(formula)}, {order} of order {problem.order}{end}")
    if rules:
        lines.append(f"subject to {plain(tidy(COMMA.join(rules)))},")
    definitions = _definitions(problem)
    lines += [f"  {name}: {plain(latex)}" for name, latex in definitions]
    objective = " ".join(latex for _, latex, _ in found if latex) or "0"
    latex = rf"\max_{{{', '.join(y for _, y in named)}}} \; {objective}"
    latex += rf" \quad \text{{s.t. }} {COMMA.join(rules)}" if rules else ""
    return Dual("\n".join(lines), tidy(latex), formula, definitions, _conditions(problem))


def dual_summands(problem: Statement) -> list[tuple[str, str]]:
    """The summands of the dual objective that are not zero: the name of each, and its LaTeX."""
    return [(name, tidy(latex)) for name, latex, _ in every_dual_summand(problem) if latex]


def every_dual_summand(problem: Statement) -> list[tuple[str, str, str]]:
    """The name, the LaTeX and the words of each summand of the dual objective; no LaTeX of a zero.

    In the order of losses, constraints, and the support function of the regulariser, if it is not zero.
    """
    (losses, held), out = _multipliers(problem), []
    for term, y in losses:
        size, paid = term.functional.size, put(term.loss.latex_conjugate, _marks(term, y))
        body = rf"\bigl({paid}\bigr)" if " + " in paid else paid
        latex, said = rf"- \sum_{{e \le {size}}} {body}", f"sum_e ({plain(paid)})"
        latex, said = ("", "0") if paid == "0" else (latex, said)
        what = f"the {term.loss.name} loss, f*({plain(y)}), of {size} {term.name}"
        out.append((f"conjugates of the {term.name}", latex, f"{said} for {what}"))
    for part, nu in held:
        one = constant(part.value)
        paid = rf"\sum_e b_e {nu}_e" if one is None else tidy(rf"{one:g} \sum_e {nu}_e") if one else ""
        words = f"{plain(paid) or 0} of the {part.functional.size} {part.name} constraints"
        out.append((f"values of the {part.name}", f"- {paid}" if paid else "", words))
    if support := problem.regularizer.latex_dual[0].replace("S", _restricted(problem)):
        words = f"{plain(tidy(support))} for {problem.regularizer.words}"
        out.append(("support of the regulariser", f"- {support}", words))
    return out


def _slack(problem: Statement) -> str:
    parts = ["C"] if problem.cost.nnz else []
    for part, y in (pair for pairs in _multipliers(problem) for pair in pairs):
        name = re.sub(r"[\\{}$&#%^~]", " ", part.name).replace("_", r"\_")  # a name is no formula
        parts.append(rf"\sum_e {y}_e M_e^{{\text{{{name}}}}}")
    return "S = " + " + ".join(parts)


def _definitions(problem: Statement) -> Named:
    """Definitions of C, Q and the indices, of the losses f_e and their conjugates, and of the matrices."""
    given = [(term.target, r",\; t_e \text{ its target}") for term in problem.losses]
    given += [(term.weight, r",\; w_e \text{ its weight}") for term in problem.losses]
    given += [(part.value, r",\; b_e \text{ its value}") for part in problem.constraints]
    of_each = "".join(dict.fromkeys(words for values, words in given if constant(values) is None))
    R, n, basis = problem.regularizer, problem.n, problem.basis
    value = r"\text{value } e \text{ is of the points } i, j"
    out = [("indices", rf"{value}{of_each},\; \delta_i \text{{ a unit vector}}")]
    if problem.cost.nnz:
        out.append(("cost", rf"C \in S^{{{n}}} \text{{ is given}}"))
    if basis is not None:
        size = rf"\mathbb R^{{{n} \times {basis.size}}}"
        out.append(("basis", rf"Q \in {size} \text{{ is given}},\; Q'Q = I"))
    if R.spectral is not None:
        out.append(("positive part", r"X_+ = \sum_k \max(0, \lambda_k) v_k v_k'"))
    for term in problem.losses:
        weight, loss = number(term.weight, "w"), put(term.loss.latex, {"t": number(term.target, "t")})
        out.append((f"loss of the {term.name}", tidy(f"f_e(z) = {weight} {loss}")))
    if problem.losses:
        out.append(("its conjugate", r"f_e^*(y) = \sup_z \; (y z - f_e(z))"))
    for part in problem.terms:
        matrix, means = part.functional.latex_matrix, rf"\langle M_e, K \rangle = {part.functional.latex}"
        out.append((f"matrices of the {part.name}", f"M_e = {matrix}{COMMA}{means}" if matrix else means))
    if R.kind == "other":
        out.append(("the regulariser, infinite off the cone", f"R: {R.latex}"))
    return tuple(out)


def _conditions(problem: Statement) -> Named:
    R, (losses, held) = problem.regularizer, _multipliers(problem)
    primal = [r"K \succeq 0"] if problem.basis is None else ["K = Q U Q'", r"U \succeq 0"]
    primal += [_rule(part) for part in problem.constraints]
    primal += [R.latex] if not R.vacuous and R.constrains else []
    out = [("primal feasibility", tidy(COMMA.join(primal)))]
    for term, y in losses:
        relation = "= f_e'" if term.loss.smooth else r"\in \partial f_e"
        means = rf"{y}_e {relation}(z_e){COMMA}z_e = {term.functional.latex}"
        out.append((f"slopes of the {term.name}", means))
    for part, nu in held:
        if not part.equal:
            z, b = part.functional.latex, number(part.value, "b")
            rules = rf"{nu}_e {SIGN[part.kinds[0]]} 0{COMMA}{nu}_e ({b} - {z}) = 0"
            out.append((f"complementarity of the {part.name}", tidy(rules)))
    optimal = R.latex_optimality(_restricted(problem), "K" if problem.basis is None else "U")
    return (*out, ("dual feasibility and complementarity", tidy(optimal)))


def _rule(part: Constraint) -> str:
    """A constraint in LaTeX, such as K_{ii} = 1."""
    return rf"{part.functional.latex} {RELATION[part.kinds[0]]} {number(part.value, 'b')}"


def _marks(term: LossTerm, y: str) -> dict[str, str]:
    return {"y": f"{y}_e", "w": number(term.weight, "w"), "t": number(term.target, "t")}


def _restricted(problem: Statement) -> str:
    return "S" if problem.basis is None else "Q'SQ"


def _multipliers(problem: Statement) -> tuple[list[tuple[LossTerm, str]], list[tuple[Constraint, str]]]:
    return _lettered("y", problem.losses), _lettered(r"\nu", problem.constraints)


def _lettered(letter: str, parts: Sequence[Part]) -> list[tuple[Part, str]]:
    """Each part with the letter of its multipliers, which is numbered if there are several parts."""
    several = len(parts) > 1
    return [(part, rf"{letter}^{{({k})}}" if several else letter) for k, part in enumerate(parts, 1)]


def _range(values: Array) -> str:
    one = constant(values)
    return f"{one:g}" if one is not None else f"{values.min():g} to {values.max():g}"
