"""Primal and dual side by side: each summand as a formula and as a number, and the gaps of the conditions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from npkl_models.linalg import Array, dense, gram_eigenvalues
from npkl_models.model.mistakes import ROUNDED
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.show.explain import dual_summands, every_dual_summand, explain, explain_dual, summands
from npkl_models.show.page import mathml

LARGEST = 2_000
"""The largest order of a slack whose spectrum is computed for the page."""

FENCHEL = r"\sum_e f_e(z_e) + f_e^*(y_e) - y_e z_e = 0"


def numbers(problem: Statement, V: Array, y: Multipliers | Sequence[Array] | None = None) -> dict[str, Any]:
    """The numbers of a kernel V V' (V is n x r) and of multipliers y, the slopes of the losses by default.

    "primal" and "dual" are the summands of "objective" and "bound", in the order of
    `npkl_models.show.explain.summands` and `npkl_models.show.explain.dual_summands`; the bound is minus
    infinity if y is not feasible. "fenchel" has f(z) + f*(y) - yz of each loss term, which is never negative.
    "complementarity" is tr(SK), plus R(K) + R*(-S) for a regulariser, plus nu (b - z) for bounds on one side.
    The gap is their sum, apart from rounding and from violated equalities.
    """
    y = problem.as_multipliers(problem.derivatives(V) if y is None else y)
    S, zs, R = problem.slack(y), problem.values(V), problem.regularizer
    spectrum = np.linalg.eigvalsh(dense(problem.restrict(S)))
    linear = float(np.sum(V * (problem.cost @ V)))
    penalty = 0.0 if R.vacuous or R.bounds else R.value(gram_eigenvalues(V))
    tiny = ROUNDED * (1.0 + float(np.abs(spectrum).max(initial=0.0)))
    support = R.support(np.where(np.abs(spectrum) <= tiny, 0.0, -spectrum))
    touching = float(np.sum(V * (S @ V))) + (penalty + support if np.isfinite(support) else 0.0)
    losses, fenchel, told, bound = [], [], list[float](), -support
    for term, z, own in zip(problem.losses, zs, y.losses, strict=True):
        losses.append(term.value(z))
        told.append(paid := -term.conjugate(own))
        fenchel.append(losses[-1] - paid - float(np.sum(own * z)))
        bound += paid
    for part, nu in zip(problem.constraints, y.constraints, strict=True):
        told.append(paid := -float(np.sum(part.value * nu)))
        bound += paid
        if not part.equal:
            touching += float(nu @ (part.value - part.functional.value_of_factor(V)))
    primal = ([linear] if problem.cost.nnz else []) + losses
    primal += [penalty] if not R.vacuous and not R.constrains else []
    every = zip((*told, -support), every_dual_summand(problem), strict=False)  # a support of zero has none
    dual = [paid for paid, (_, latex, _) in every if latex]
    objective = linear + sum(losses) + penalty
    return {
        "primal": primal, "dual": dual, "fenchel": fenchel,
        "objective": objective, "bound": bound, "gap": objective - bound, "violation": problem.violation(V),
        "complementarity": touching, "min_eigenvalue": float(spectrum[0]) if spectrum.size else 0.0,
    }  # fmt: skip


def formulas(problem: Statement) -> dict[str, Any]:
    """Primal, dual and conditions as MathML, in the order of `numbers`."""
    explained, dual = explain(problem), explain_dual(problem)
    first, *rest, last = dual.conditions
    slopes = rest[: len(problem.losses)]  # conditions of constraints follow
    eigenvalue = r"\lambda_{\min}(S)" if problem.basis is None else r"\lambda_{\min}(Q'SQ)"
    cone = bool(problem.regularizer.latex_dual[1]) and not problem.regularizer.shift
    single = {
        "primal": explained.latex, "dual": dual.latex, "slack": dual.slack, "feasibility": first[1],
        "fenchel": FENCHEL, "complementarity": last[1], "eigenvalue": eigenvalue,
        "product": r"\operatorname{tr}(SK)",
    }  # fmt: skip
    several = {
        "primal_terms": summands(problem), "dual_terms": dual_summands(problem), "slopes": slopes,
        "definitions": dual.definitions,
    }  # fmt: skip
    named = {
        key: [{"name": name, "formula": mathml(latex)} for name, latex in entries]
        for key, entries in several.items()
    }
    return {"cone": cone} | {key: mathml(latex) for key, latex in single.items()} | named
