"""Slacks that are PSD by their signs alone: C is, and what is added to it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npkl_models.certify.bounds import Demand, Dual
from npkl_models.certify.certificate import CERTIFIED
from npkl_models.model import rounding
from npkl_models.model.floors import cost_floor, squares
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers
from npkl_models.proof.bounds import DENSE_EIGH


def by_signs(problem: Statement, dual: Dual, objective: float, demand: Demand) -> Dual:
    """The bound of multipliers whose slack is PSD by its signs, where that is more.

    C is proved PSD; of squares (K_ii, distances, 1'K1) those multipliers are kept that are positive, and all
    others are zero. With none at all the bound is zero if no loss is negative. Where the optimum is next to
    zero, or pairs ask for what costs nothing, other repairs pay more, or do not apply.
    """
    if not _worth(problem, dual, objective, demand) or cost_floor(problem) + problem.regularizer.shift < 0:
        return dual
    given, lower = dual.y, dual.bound < 0 or dual.rigour not in CERTIFIED
    if lower and all(term.loss.nonnegative for term in problem.terms):
        rows = np.zeros(problem.n) if problem.regularizer.row_multipliers else None
        terms, equalities = (tuple(map(np.zeros_like, parts)) for parts in (dual.y.terms, dual.y.equalities))
        none = Multipliers(terms, equalities, rows)
        dual = replace(dual, bound=0.0, rigour="proved", repair="no multipliers", y=none)
    y = _positive(problem, given)
    bound = float("-inf") if y is None else -rounding.paid(problem, y)
    if y is None or not bound > dual.bound:
        return dual
    return replace(dual, bound=bound, rigour="proved", repair="positive multipliers", y=y)


def _worth(problem: Statement, dual: Dual, objective: float, demand: Demand) -> bool:
    """Whether there may be more to be had, for what it costs."""
    if dual.rigour in CERTIFIED and enough(problem, objective, dual.bound, demand):
        return False
    nothing = objective <= demand.tol * problem.size(objective) or dual.bound == float("-inf")
    return nothing or (problem.order <= DENSE_EIGH and dual.rigour in CERTIFIED)


def enough(problem: Statement, objective: float, bound: float, demand: Demand) -> bool:
    """Whether there is a bound, and it is within the tolerance."""
    return bound > -np.inf and objective - bound <= demand.tol * problem.size(objective, bound)


def _positive(problem: Statement, y: Multipliers) -> Multipliers | None:
    """The positive multipliers of squares, zero for all others; None where a loss does not allow zero."""
    terms = []
    for term, own in zip(problem.terms, y.terms, strict=True):
        kept = np.where(squares(term.functional) & (own > 0), own, 0.0)
        if not np.all(term.loss.in_domain(kept, term.target, term.weight)):
            return None
        terms.append(kept)
    pairs = zip(problem.equalities, y.equalities, strict=True)
    return replace(
        y, terms=tuple(terms),
        equalities=tuple(np.where(squares(part.functional) & (own > 0), own, 0.0) for part, own in pairs),
    )  # fmt: skip
