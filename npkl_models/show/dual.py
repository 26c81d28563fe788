"""The dual of a problem and its conditions of optimality, with the problem's own numbers."""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.model.problem import Problem
from npkl_models.model.terms import LossTerm

COMMA = r",\; "


@dataclass(frozen=True)
class Dual:
    """The dual of a problem; prints as the text.

    Attributes
    ----------
    text : str
        For reading.
    latex : str
        The dual problem for typesetting, without dollars.
    slack : str
        LaTeX of S(y).
    conditions : tuple of (str, str)
        The conditions of optimality: what it is called, and its LaTeX.
    """

    text: str
    latex: str
    slack: str
    conditions: tuple[tuple[str, str], ...]

    def __str__(self) -> str:
        return self.text

    def _repr_latex_(self) -> str:
        rows = [self.latex, self.slack, *(latex for _, latex in self.conditions)]
        return r"$$\begin{gathered} " + r" \\ ".join(rows) + r" \end{gathered}$$"


def explain_dual(problem: Problem) -> Dual:
    """The dual: maximise -sum f*(y) - nu'b - R*(-S(y)), S(y) = C + sum y_e M_e + sum nu_k M_k.

    Boyd & Vandenberghe 2004, section 5.9, with the conjugates of the losses and the support of the
    regulariser written out.
    """
    letters = _letters(len(problem.terms))
    lines, sums, rules, slack = [f"maximise over {_unknowns(problem)}"], [], [], ["C"]
    for term, y in zip(problem.terms, letters, strict=True):
        size, name = term.functional.size, term.name
        sums.append(rf"- \sum_{{e \le {size}}} \Bigl({_named(term.loss.latex_conjugate, y, term)}\Bigr)")
        rules.append(_named(term.loss.latex_domain, f"{y}_e", term, indexed=True))
        slack.append(rf"\sum_e {y}_e M_e^{{({name})}}")
        lines.append(f"  - f*(y) of the {term.loss.name} loss, summed over {size} {name},")
    for k, part in enumerate(problem.equalities):
        nu = rf"\nu^{{({k + 1})}}" if len(problem.equalities) > 1 else r"\nu"
        sums.append(rf"- b'{nu}")
        slack.append(rf"\sum_k {nu}_k M_k^{{({part.name})}}")
        lines.append(f"  - b'nu of the {part.functional.size} {part.name} constraints,")
    paid, cone = problem.regularizer.latex_dual
    S, words = ("S", "S") if problem.basis is None else ("Q'S Q", "Q'SQ")
    if paid:
        sums.append(f"- {paid.replace('S', S)}")
        lines.append(f"  - what {problem.regularizer.words} costs,")
    if cone:
        rules.append(cone.replace("S", S))
    unknowns = [*letters, *([r"\nu"] if problem.equalities else [])]
    if problem.regularizer.row_multipliers:
        unknowns.append("d")
        slack.append(r"\operatorname{Diag}(d)")
    penalised = problem.regularizer.shift
    words = f"{words} + {penalised:g} I" if cone and penalised else words
    end = " positive semidefinite." if cone else "."
    lines.append(f"with S = {_plain(problem)}, {words} of order {problem.order}{end}")
    head = rf"\max_{{{', '.join(unknowns)}}} \; {' '.join(sums)}"
    latex = head + (rf" \quad \text{{s.t. }} {(COMMA).join(rules)}" if rules else "")
    return Dual("\n".join(lines), latex, "S = " + " + ".join(slack), _conditions(problem, letters))


def _conditions(problem: Problem, letters: list[str]) -> tuple[tuple[str, str], ...]:
    S = "S" if problem.basis is None else "Q'S Q"
    K = "K" if problem.basis is None else "U"
    out = [
        (
            "primal feasibility",
            rf"{K} \succeq 0" + "".join(rf",\; {part.functional.latex} = b_k" for part in problem.equalities),
        )
    ]
    for term, y in zip(problem.terms, letters, strict=True):
        relation = "=" if term.loss.smooth else r"\in"
        face = "f'" if term.loss.smooth else r"\partial f"
        out.append(
            (
                f"slopes of the {term.name}",
                rf"{y}_e {relation} {face}_e(z_e),\; z_e = {term.functional.latex}",
            )
        )
    R = problem.regularizer
    if R.vacuous:
        out.append(("dual feasibility and complementarity", rf"{S} \succeq 0,\; {S} {K} = 0"))
    elif R.row_multipliers:
        out.append(
            (
                "dual feasibility and complementarity",
                rf"{S} \succeq 0,\; {S} {K} = 0,\; d \ge 0,\; d_i (b^2 - K_{{ii}}) = 0",
            )
        )
    else:
        out.append(("dual feasibility and complementarity", rf"-{S} \in \partial R({K})"))
    return tuple(out)


def _named(latex: str, y: str, term: LossTerm, indexed: bool = False) -> str:
    """The face of a loss with the multiplier's own letter and the weight's number."""
    weight = f"{term.weight[0]:g}" if term.weight.min() == term.weight.max() else "w_e"
    target = f"{term.target[0]:g}" if term.target.min() == term.target.max() else "t_e"
    marks = {"y": y if indexed else f"{y}_e", "w": weight, "t": target}
    out, word = [], False
    for k, letter in enumerate(latex):
        word = letter == "\\" or (word and letter.isalpha())
        alone = letter in marks and not word and not (k and latex[k - 1].isalpha())
        mark = marks[letter] if alone else letter
        twice = "^" in mark and latex[k + 1 : k + 2] == "^"  # TeX takes no second superscript
        out.append(f"{{{mark}}}" if twice else mark)
    return "".join(out)


def _letters(count: int) -> list[str]:
    return ["y"] if count == 1 else [rf"y^{{({k + 1})}}" for k in range(count)]


def _unknowns(problem: Problem) -> str:
    sizes = [f"{term.functional.size} multipliers of {term.name}" for term in problem.terms]
    sizes += [f"{part.functional.size} of {part.name}" for part in problem.equalities]
    if problem.regularizer.row_multipliers:
        sizes.append(f"{problem.n} of the rows")
    return ", ".join(sizes)


def _plain(problem: Problem) -> str:
    parts = ["C", *("sum y_e M_e" for _ in problem.terms), *("sum nu_k M_k" for _ in problem.equalities)]
    return " + ".join(parts + (["Diag(d)"] if problem.regularizer.row_multipliers else []))
