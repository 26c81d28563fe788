"""Primal and dual side by side: each summand as a formula and as a number, and the gaps of the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from npkl_models.linalg import Array, Matrix, gram_eigenvalues
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.show.explain import dual_summands, explain, explain_dual, summands
from npkl_models.show.page import mathml

ROUNDED = 1e-9  # smaller eigenvalues, relative to the largest, count as zero
LARGEST = 2_000
"""The largest order of a slack whose spectrum is computed for the page."""

FENCHEL = r"\sum_e f_e(z_e) + f_e^*(y_e) - y_e z_e = 0"


@dataclass(frozen=True)
class Point:
    """The numbers of a kernel V V' and of multipliers y: all summands, and the gap of each condition.

    Attributes
    ----------
    primal, dual : tuple of float
        Summands, in the order of `npkl_models.show.explain.summands` and
        `npkl_models.show.explain.dual_summands`.
    objective, bound : float
        Objective and dual objective; the latter is minus infinity if y is not feasible.
    violation : float
        Violation of the constraints by the kernel, see `Statement.violation`.
    fenchel : tuple of float
        For each loss term, the sum of f(z) + f*(y) - yz, which is zero at an optimum and never negative.
    complementarity : float
        tr(SK), plus R(K) + R*(-S) for a regulariser, plus nu (b - z) for bounds on one side.
    min_eigenvalue : float
        Smallest eigenvalue of the slack S, restricted to the basis if there is one.
    """

    primal: tuple[float, ...]
    dual: tuple[float, ...]
    objective: float
    bound: float
    violation: float
    fenchel: tuple[float, ...]
    complementarity: float
    min_eigenvalue: float

    @classmethod
    def of(cls, problem: Statement, V: Array, y: Multipliers | Sequence[Array]) -> Point:
        """The numbers at V (n x r) and y.

        The gap ``objective - bound`` is the sum of ``fenchel`` and ``complementarity``, apart from rounding
        and from violated equalities.
        """
        y = problem.as_multipliers(y)
        S, zs, R = problem.slack(y), problem.values(V), problem.regularizer
        spectrum = _spectrum(problem, S)
        losses = [term.value(z) for term, z in zip(problem.losses, zs, strict=True)]
        paid = [term.conjugate(own) for term, own in zip(problem.losses, y.losses, strict=True)]
        products = [float(np.sum(own * z)) for own, z in zip(y.losses, zs, strict=True)]
        hard = tuple(zip(problem.constraints, y.constraints, strict=True))
        fixed = [float(np.sum(part.value * nu)) for part, nu in hard]
        linear = float(np.sum(V * (problem.cost @ V)))
        penalty = 0.0 if R.vacuous or R.bounds else R.value(gram_eigenvalues(V))
        tiny = ROUNDED * (1.0 + float(np.abs(spectrum).max(initial=0.0)))
        support = R.support(np.where(np.abs(spectrum) <= tiny, 0.0, -spectrum))
        summed = [linear] if problem.cost.nnz else []
        summed += losses + ([penalty] if not R.vacuous and not R.constrains else [])
        touching = float(np.sum(V * (S @ V))) + (penalty + support if np.isfinite(support) else 0.0)
        for part, nu in hard:
            if not part.equal:
                touching += float(nu @ (part.value - part.functional.value_of_factor(V)))
        return cls(
            tuple(summed), _told(problem, paid, fixed, support), linear + sum(losses) + penalty,
            -sum(paid) - sum(fixed) - support, problem.violation(V),
            tuple(f + c - p for f, c, p in zip(losses, paid, products, strict=True)),
            touching, float(spectrum[0]) if spectrum.size else 0.0,
        )  # fmt: skip

    def numbers(self) -> dict[str, Any]:
        """The numbers for the page."""
        return {
            "primal": list(self.primal), "dual": list(self.dual), "objective": self.objective,
            "bound": self.bound, "gap": self.objective - self.bound, "violation": self.violation,
            "fenchel": list(self.fenchel), "complementarity": self.complementarity,
            "min_eigenvalue": self.min_eigenvalue,
        }  # fmt: skip


def formulas(problem: Statement) -> dict[str, Any]:
    """Primal, dual and conditions as MathML, in the order of the numbers of a `Point`."""
    explained, dual = explain(problem), explain_dual(problem)
    first, *rest, last = dual.conditions
    slopes = rest[: len(problem.losses)]  # conditions of constraints follow
    S = "S" if problem.basis is None else "Q'SQ"
    eigenvalue = rf"\lambda_{{\min}}({S})"
    cone = bool(problem.regularizer.latex_dual[1]) and not problem.regularizer.shift
    return {
        "cone": cone, "primal": mathml(explained.latex), "dual": mathml(dual.latex),
        "slack": mathml(dual.slack),
        "primal_terms": _named(summands(problem)), "dual_terms": _named(dual_summands(problem)),
        "feasibility": mathml(first[1]), "slopes": _named(slopes), "fenchel": mathml(FENCHEL),
        "complementarity": mathml(last[1]), "eigenvalue": mathml(eigenvalue),
        "product": mathml(r"\operatorname{tr}(SK)"), "definitions": _named(dual.definitions),
    }  # fmt: skip


def live(problem: Statement, V: Array) -> dict[str, Any]:
    """The numbers of an iterate; y are the slopes of the losses at its values."""
    return Point.of(problem, V, problem.derivatives(V)).numbers()


def _named(entries: Sequence[tuple[str, str]]) -> list[dict[str, str]]:
    return [{"name": name, "formula": mathml(latex)} for name, latex in entries]


def _spectrum(problem: Statement, S: Matrix) -> Array:
    reduced = problem.restrict(S)
    return np.linalg.eigvalsh(reduced.toarray() if hasattr(reduced, "toarray") else reduced)


def _told(
    problem: Statement, paid: Sequence[float], fixed: Sequence[float], support: float
) -> tuple[float, ...]:
    """The numbers of the summands of the dual, in the order of their formulas."""
    names = [name for name, _ in dual_summands(problem)]
    known = {f"conjugates of the {t.name}": -one for t, one in zip(problem.losses, paid, strict=True)}
    known |= {f"values of the {e.name}": -one for e, one in zip(problem.constraints, fixed, strict=True)}
    known["support of the regulariser"] = -support
    return tuple(known[name] for name in names)
