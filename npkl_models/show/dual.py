"""The dual of a problem and its conditions of optimality, with the problem's own numbers."""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.model.constraint import Constraint
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.show.letters import COMMA, RELATION, SIGN, constant, number, plain, put, tidy, written

Named = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class Dual:
    """The dual of a problem, which prints as its text.

    Attributes
    ----------
    text : str
        The dual problem in plain text.
    latex : str
        The dual problem in LaTeX, without dollar signs.
    slack : str
        The slack S(y) in LaTeX.
    definitions : tuple of (str, str)
        Definitions of the letters: what is defined, and its LaTeX.
    conditions : tuple of (str, str)
        Conditions of optimality: the name of each, and its LaTeX.
    """

    text: str
    latex: str
    slack: str
    definitions: Named
    conditions: Named

    def __str__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        rows = [self.latex, self.slack, *(latex for _, latex in (*self.definitions, *self.conditions))]
        return r"$$\begin{gathered} " + r" \\ ".join(rows) + r" \end{gathered}$$"


def explain_dual(problem: Statement) -> Dual:
    """The dual: maximise -sum f*(y) - R*(-S(y)), S(y) = C + sum y_e M_e; nu are the y of constraints.

    The formulas contain the conjugates of the losses and the support function of the regulariser
    (Boyd & Vandenberghe 2004, section 5.9).
    """
    ys, nus = _letters("y", len(problem.losses)), _letters(r"\nu", len(problem.constraints))
    sums, rules, lines = _paid(problem, ys, nus)
    lines.insert(0, f"maximise over {_unknowns(problem, ys, nus)}")
    paid, cone = problem.regularizer.latex_dual
    S, words = ("S", "S") if problem.basis is None else ("Q'SQ", "Q'SQ")
    if paid:
        sums.append(f"- {paid.replace('S', S)}")
        lines.append(f"  - {plain(tidy(paid.replace('S', S)))} for {problem.regularizer.words},")
    if cone:
        rules.append(cone.replace("S", S))
    shift = problem.regularizer.shift
    words = f"{words} + {shift:g} I" if cone and shift else words
    end = " positive semidefinite." if cone else "."
    slack = _slack(problem, ys, nus)
    lines.append(f"with {plain(slack)}, {words} of order {problem.order}{end}")
    if rules:
        lines.append(f"subject to {plain(tidy(COMMA.join(rules)))},")
    unknowns = [*ys, *nus]
    objective = " ".join(sums) or "0"
    latex = tidy(
        rf"\max_{{{', '.join(unknowns)}}} \; {objective}"
        + (rf" \quad \text{{s.t. }} {(COMMA).join(rules)}" if rules else "")
    )
    definitions = _definitions(problem)
    lines += [f"  {name}: {plain(formula)}" for name, formula in definitions]
    return Dual("\n".join(lines), latex, slack, definitions, _conditions(problem, ys, nus))


def dual_summands(problem: Statement) -> list[tuple[str, str]]:
    """The summands of the dual objective that are not zero: the name of each, and its LaTeX."""
    ys, nus = _letters("y", len(problem.losses)), _letters(r"\nu", len(problem.constraints))
    found = []
    for term, y in zip(problem.losses, ys, strict=True):
        paid = put(term.loss.latex_conjugate, _marks(term, f"{y}_e"))
        if paid != "0":
            found.append((f"conjugates of the {term.name}", tidy(_conjugates(term, paid))))
    for part, nu in zip(problem.constraints, nus, strict=True):
        if paid := _of_values(part, nu):
            found.append((f"values of the {part.name}", f"- {paid}"))
    support, _ = problem.regularizer.latex_dual
    if support:
        of = "S" if problem.basis is None else "Q'SQ"
        found.append(("support of the regulariser", tidy(f"- {support.replace('S', of)}")))
    return found


def _conjugates(term: LossTerm, paid: str) -> str:
    total = rf"\sum_{{e \le {term.functional.size}}}"
    return rf"- {total} {paid}" if " + " not in paid else rf"- {total} \bigl({paid}\bigr)"


def _paid(problem: Statement, ys: list[str], nus: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The summands of losses and constraints, the domains of the multipliers, and the same in words."""
    sums, rules, lines = [], [], []
    for term, y in zip(problem.losses, ys, strict=True):
        paid = put(term.loss.latex_conjugate, _marks(term, f"{y}_e"))
        if paid != "0":
            sums.append(_conjugates(term, paid))
        rules.append(put(term.loss.latex_domain, _marks(term, f"{y}_e")))
        what = f"the {term.loss.name} loss, f*({plain(y)}), of {term.functional.size} {term.name}"
        total = "0" if paid == "0" else f"sum_e ({plain(paid)})"
        lines.append(f"  - {total} for {what},")
    for part, nu in zip(problem.constraints, nus, strict=True):
        paid = _of_values(part, nu)
        sums += [f"- {paid}"] if paid else []
        rules += [f"{nu} {SIGN[part.kinds[0]]} 0"] if not part.equal else []
        lines.append(f"  - {plain(paid) or 0} of the {part.functional.size} {part.name} constraints,")
    return sums, rules, lines


def _slack(problem: Statement, ys: list[str], nus: list[str]) -> str:
    named = zip(problem.terms, (*ys, *nus), strict=True)
    parts = ["C"] if problem.cost.nnz else []
    parts += [rf"\sum_e {letter}_e M_e^{{\text{{{written(part.name)}}}}}" for part, letter in named]
    return "S = " + " + ".join(parts)


def _definitions(problem: Statement) -> Named:
    """Definitions of C, Q and the indices, of the losses f_e and their conjugates, and of the matrices."""
    out = _given(problem)
    for term in problem.losses:
        weight, loss = number(term.weight, "w"), put(term.loss.latex, {"t": number(term.target, "t")})
        out.append((f"loss of the {term.name}", tidy(f"f_e(z) = {weight} {loss}")))
    if problem.losses:
        out.append(("its conjugate", r"f_e^*(y) = \sup_z \; (y z - f_e(z))"))
    for part in problem.terms:
        matrix = part.functional.latex_matrix
        means = rf"\langle M_e, K \rangle = {part.functional.latex}"
        out.append((f"matrices of the {part.name}", f"M_e = {matrix}{COMMA}{means}" if matrix else means))
    R = problem.regularizer
    if R.kind == R.name and not R.vacuous and R.spectral is None:
        out.append(("the regulariser, infinite off the cone", f"R: {R.latex}"))
    return tuple(out)


def _given(problem: Statement) -> list[tuple[str, str]]:
    """Definitions of C, Q, the indices, and of the numbers that vary with the index."""
    value = r"\text{value } e \text{ is of the points } i, j"
    given = [(term.target, "t_e", "target") for term in problem.losses]
    given += [(term.weight, "w_e", "weight") for term in problem.losses]
    given += [(part.value, "b_e", "value") for part in problem.constraints]
    varying = dict.fromkeys((letter, word) for values, letter, word in given if constant(values) is None)
    of_each = "".join(rf",\; {letter} \text{{ its {word}}}" for letter, word in varying)
    out = [("indices", rf"{value}{of_each},\; \delta_i \text{{ a unit vector}}")]
    if problem.cost.nnz:
        out.append(("cost", rf"C \in S^{{{problem.n}}} \text{{ is given}}"))
    if problem.basis is not None:
        size = rf"\mathbb R^{{{problem.n} \times {problem.basis.size}}}"
        out.append(("basis", rf"Q \in {size} \text{{ is given}},\; Q'Q = I"))
    if problem.regularizer.spectral is not None:
        out.append(("positive part", r"X_+ = \sum_k \max(0, \lambda_k) v_k v_k'"))
    return out


def _conditions(problem: Statement, ys: list[str], nus: list[str]) -> Named:
    R = problem.regularizer
    S, X, cone = ("S", "K", r"K \succeq 0") if problem.basis is None else ("Q'SQ", "U", r"U \succeq 0")
    primal = ["K = Q U Q'", cone] if problem.basis is not None else [cone]
    for part in problem.constraints:
        primal.append(rf"{part.functional.latex} {RELATION[part.kinds[0]]} {number(part.value, 'b')}")
    if not R.vacuous and R.constrains:
        primal.append(R.latex)
    out = [("primal feasibility", tidy(COMMA.join(primal)))]
    for term, y in zip(problem.losses, ys, strict=True):
        relation = "= f_e'" if term.loss.smooth else r"\in \partial f_e"
        means = rf"{y}_e {relation}(z_e){COMMA}z_e = {term.functional.latex}"
        out.append((f"slopes of the {term.name}", means))
    for part, nu in zip(problem.constraints, nus, strict=True):
        if not part.equal:
            z, b = part.functional.latex, number(part.value, "b")
            rules = rf"{nu}_e {SIGN[part.kinds[0]]} 0{COMMA}{nu}_e ({b} - {z}) = 0"
            out.append((f"complementarity of the {part.name}", tidy(rules)))
    out.append(("dual feasibility and complementarity", tidy(R.latex_optimality(S, X))))
    return tuple(out)


def _of_values(part: Constraint, nu: str) -> str:
    """The formula b'nu; if all values are equal, their number replaces b."""
    one = constant(part.value)
    if one is None:
        return rf"\sum_e b_e {nu}_e"
    return tidy(rf"{one:g} \sum_e {nu}_e") if one else ""


def _marks(term: LossTerm, y: str) -> dict[str, str]:
    return {"y": y, "w": number(term.weight, "w"), "t": number(term.target, "t")}


def _letters(letter: str, count: int) -> list[str]:
    return [letter] * count if count <= 1 else [rf"{letter}^{{({k + 1})}}" for k in range(count)]


def _unknowns(problem: Statement, ys: list[str], nus: list[str]) -> str:
    sizes = [
        f"{part.functional.size} multipliers {plain(letter)} of {part.name}"
        for part, letter in zip(problem.terms, (*ys, *nus), strict=True)
    ]
    return ", ".join(sizes)
