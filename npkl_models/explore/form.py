"""What the page asks for, as numbers and names that are checked."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from npkl_models.errors import ProblemError, unknown
from npkl_models.explore.bodies import LONGEST, short
from npkl_models.formulations import FORMULATIONS
from npkl_models.model.losses import LOSSES
from npkl_models.routes import backends

GRAPH = ("n_neighbors", "delta")  # fields of the Laplacian
DRAWN = ("pairs", "seed")  # of pairs that are drawn from classes
NEEDS: dict[str, tuple[str, ...]] = {
    "X": (),
    "L": GRAPH,
    "pairs": (*DRAWN, "pairs_file"),
    "basis": (*GRAPH, "n_basis"),
    "C": ("gamma",),
    "labels_or_kernel": (),
    "W": ("n_neighbors",),
    **{name: (name,) for name in (
        "loss", "gamma", "row_norm", "p", "bound", "penalty", "n_neighbors", "n_basis", "nu",
    )},
}  # fmt: skip
"""The fields from which a formulation's parameter is made, by its name."""


@dataclass(frozen=True)
class Form:
    """The fields of the page; None is an empty one."""

    data: str = "iris"
    data_file: str = ""  # key of an upload, instead of a name
    pairs_file: str = ""
    n: int | None = None
    formulation: str = "pcp"
    loss: str = "squared_hinge"
    gamma: float = 1.0
    delta: float = 0.1
    n_neighbors: int = 5
    pairs: float = 0.6
    row_norm: float | None = None
    p: float = 2.0
    bound: float | None = None
    penalty: float | None = None
    n_basis: int | None = None
    nu: float = 100.0
    seed: int = 0
    backend: str = "auto"
    tol: float = 1e-6
    time_limit: float = 60.0
    clusters: int | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> Form:
        """From what the page sent.

        Raises
        ------
        UnsupportedError
            For a field, formulation or loss that does not exist.
        ProblemError
            For a field that is no number where it must be one.
        """
        kinds = {own.name: str(own.type) for own in fields(cls)}
        for name in given:
            if name not in kinds:
                raise unknown("field", name[:LONGEST], kinds)
        form = cls(**{name: _read(name, value, kinds[name]) for name, value in given.items()})
        if form.formulation not in FORMULATIONS:
            raise unknown("formulation", form.formulation[:LONGEST], FORMULATIONS)
        if form.loss not in LOSSES:
            raise unknown("loss", form.loss[:LONGEST], LOSSES)
        if form.backend != "auto" and form.backend not in backends():
            raise unknown("backend", form.backend[:LONGEST], ("auto", *backends()))
        if form.seed < 0:
            raise ProblemError(f"seed must be an integer >= 0, got {short(form.seed)}")
        return form


def fields_of(formulation: str) -> list[str]:
    """The fields that matter for a formulation; n_basis wherever a basis could be taken and none is yet."""
    wanted = inspect.signature(FORMULATIONS[formulation]).parameters
    found = [name for key in wanted for name in NEEDS.get(key, ())]
    if "n_basis" not in found and not {"basis", "reduce"} & set(wanted) and "L" in wanted:
        found.append("n_basis")
    return list(dict.fromkeys(found))


def _read(name: str, value: Any, kind: str) -> Any:
    if kind == "str":
        if not isinstance(value, str):
            raise ProblemError(f"{name} must be text, got {short(value)}")
        return value
    if "None" in kind and value in (None, ""):
        return None
    return number_of(name, value, kind.startswith("int"))


def number_of(name: str, value: Any, whole: bool = False) -> Any:
    """A field's value as a float or an int.

    Raises
    ------
    ProblemError
        If it is none, or not finite; the text names the field.
    """
    try:
        number = math.nan if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        number = math.nan
    if not math.isfinite(number) or (whole and number != int(number)):
        raise ProblemError(
            f"{name} must be {'an integer' if whole else 'a finite number'}, got {short(value)}"
        )
    return int(number) if whole else number
