"""A solution as header and arrays, and back; parts that do not fit the problem are refused."""

from __future__ import annotations

from typing import Any

from npkl_models.answer.history import STORED, History
from npkl_models.files.fields import listed, number, text, whole
from npkl_models.linalg import Array
from npkl_models.linalg.owned import finite, real_array
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
    """The fields of a solution with checked types, except status and objective; or a KeyError."""
    y = [real_array(data[f"y{k}"], f"y{k}") for k in range(len(problem.terms))] if "y0" in data else None
    return {
        "backend": text(header, "backend"), "message": text(header, "message"),
        "V": finite(real_array(data["V"], "V"), "V") if "V" in data else None,
        "multipliers": None if y is None else problem.as_multipliers(problem.split_multipliers(y)),
        "history": History.unpack({k: real_array(data[k], k) for k in data if k.startswith(STORED)}),
        "iterations": whole(header, "iterations"), **{name: number(header, name) for name in NUMBERS},
    }  # fmt: skip


def attempts(header: dict[str, Any]) -> list[tuple[str, float, str, float]]:
    """Backend, seconds, status and gap of each attempt."""
    rows = (
        dict(zip(("backend", "seconds", "status", "gap"), row, strict=True))
        for row in listed(header, "attempts")
    )
    return [
        (text(one, "backend"), number(one, "seconds"), text(one, "status"), number(one, "gap"))
        for one in rows
    ]
