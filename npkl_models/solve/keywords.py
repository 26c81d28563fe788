"""The options of the backends as a type, for editors and type checkers.

Written by ``python tests/house/derived.py``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypedDict

from npkl_models.answer.history import Iterate
from npkl_models.answer.solution import Solution
from npkl_models.linalg import Array


class AnyKeywords(TypedDict, total=False):
    """All options of all backends. `compile` checks whether the backend knows the given ones."""

    tol: float
    feasibility: float
    max_iter: int | None
    time_limit: float | None
    verbose: bool
    callback: Callable[[Iterate], bool | None] | None
    start: Solution | Array | None
    rigour: Literal["probable", "proved"]
    rank: int | Literal["auto", "pataki"]
    random_state: int | None
    extrapolation: bool
    newton: bool
    method: Literal["auto", "newton", "lbfgs"]
    rho: float
    rho_floor: float | None
    sigma: float
    relaxation: float
    continuation: bool
    solver: str | None
    eps: float | None
    solver_options: dict[str, Any]
    epsilon: float
    misprint: bool
    checks: bool
    unlabelled: Literal["rows", "step", "block"]
    eigenpairs: Literal["all", "pataki"]
