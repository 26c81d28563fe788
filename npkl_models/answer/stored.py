"""A solution as header and arrays, and back; parts that do not fit the problem are refused."""

from __future__ import annotations

from typing import Any

import numpy as np

from npkl_models.answer.history import STANDARD, STORED, History
from npkl_models.errors import ProblemError
from npkl_models.files.fields import listed, number, text, whole
from npkl_models.linalg import Array
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement

NUMBERS = ("reported_objective", "build_time", "solve_time", "kernel_min_eigenvalue")


def packed_arrays(V: Array | None, y: Multipliers | None, history: History) -> dict[str, Array]:
    """The arrays of a solution: factor, multipliers and history."""
    arrays = dict(history.pack())
    if V is not None:
        arrays["V"] = V
    if y is not None:
        arrays |= {f"y{k}": part for k, part in enumerate(y.terms)}
    return arrays


def unpacked(header: dict[str, Any], data: dict[str, Array], problem: Statement) -> dict[str, Any]:
    """The fields of a solution with checked types and sizes, except status and objective."""
    y = _multipliers(data, problem)
    return {
        "backend": text(header, "backend"), "message": text(header, "message"), "V": _factor(data, problem),
        "multipliers": None if y is None else problem.as_multipliers(y), "history": _history(data),
        "iterations": whole(header, "iterations"), **{name: number(header, name) for name in NUMBERS},
    }  # fmt: skip


def attempts(header: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    """Backend, seconds, status and gap of each attempt."""
    out = []
    for row in listed(header, "attempts"):
        if not isinstance(row, list) or len(row) != 4:
            raise ProblemError(f"an attempt must be a list of four, got {str(row)[:60]}")
        one = dict(zip(("backend", "seconds", "status", "gap"), row, strict=True))
        out.append((text(one, "backend"), number(one, "seconds"), text(one, "status"), number(one, "gap")))
    return out


def _factor(data: dict[str, Array], problem: Statement) -> Array | None:
    V = data.get("V")
    if V is None:
        return None
    if V.dtype.kind != "f" or V.shape[0] != problem.n or not np.isfinite(V).all():
        got = f"{V.dtype} of shape {V.shape}"
        raise ProblemError(f"V must hold finite numbers in {problem.n} rows, got {got}")
    return V


def _multipliers(data: dict[str, Array], problem: Statement) -> Multipliers | None:
    if "y0" not in data:
        return None
    count = len(problem.terms)
    missing = [k for k in range(count) if f"y{k}" not in data]
    if missing:
        raise ProblemError(f"the file must have multipliers for all parts, got none for {missing}")
    parts = [np.asarray(data[f"y{k}"], dtype=float) for k in range(count)]
    return problem.split_multipliers(parts)


def _history(data: dict[str, Array]) -> History:
    missing = [name for name in STANDARD if f"{STORED}{name}" not in data]
    if missing:
        raise ProblemError(f"the history must have the columns {', '.join(STANDARD)}, got no {missing}")
    odd = [name for name in data if name.startswith(STORED) and data[name].dtype.kind not in "fiu"]
    if odd:
        raise ProblemError(f"columns of the history must be numbers, got other types in {odd}")
    return History.unpack(data)
