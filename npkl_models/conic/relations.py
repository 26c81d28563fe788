"""Constraints of a problem in CVXPY, and the signs of their duals."""

from __future__ import annotations

from typing import Any

import numpy as np

from npkl_models.linalg import Array
from npkl_models.model.constraint import Constraint


def relation(part: Constraint, value: Any, bound: Array) -> Any:
    """``value`` = bound, <= bound or >= bound, as the kind of the constraint says."""
    if part.equal:
        return value == bound
    return value <= bound if np.isfinite(part.upper).all() else value >= bound


def signed(part: Constraint, dual: Any) -> Array:
    """The multipliers y of S = C + sum y_e M_e, from the dual values that CVXPY gives a `relation`."""
    y = np.atleast_1d(dual)
    return y if part.equal or np.isfinite(part.upper).all() else -y
