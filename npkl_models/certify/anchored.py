"""The bound of the anchored points alone, which is one of the whole problem."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npkl_models.certify.bounds import Demand, Dual, bound_from
from npkl_models.linalg import Array
from npkl_models.model import rounding
from npkl_models.model.conjugates import projected
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Multipliers
from npkl_models.presolve.anchored import split

ANCHORED = "anchored points"  # the name of the repair


def bound_of_anchored(problem: Statement, y: Multipliers, V: Array, demand: Demand) -> Dual | None:
    """The bound from the anchored points' multipliers alone; None where all are held."""
    parts = split(problem)
    if parts is None:
        return None
    inside, zero = parts.problem, parts.unfold(None)
    if any((a != b).any() for a, b in zip(projected(problem, zero).terms, zero.terms, strict=True)):
        return None
    if inside is None:
        return None
    W = V[parts.anchored]
    objective = inside.objective_of_factor(W)
    upper = objective + rounding.objective(inside, W, objective)
    dual = bound_from(inside, parts.fold(y), W, objective, upper, demand)
    if not np.isfinite(dual.bound):
        return None
    vector = np.zeros(problem.n)
    vector[parts.anchored] = dual.found.vector
    y = parts.unfold(dual.y)
    found = replace(dual.found, vector=vector, raised=None, directions=None)
    repair = f"{ANCHORED} ({dual.repair})"
    return Dual(-rounding.paid(problem, y), dual.rigour, repair, y, found, dual.level)
