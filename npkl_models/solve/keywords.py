"""The options as types, for editors and type checkers; a test holds them against the dataclasses."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypedDict

from npkl_models.answer.history import Iterate
from npkl_models.answer.solution import Solution
from npkl_models.linalg import Array


class Keywords(TypedDict, total=False):
    """Of every backend, closed_form among them."""

    tol: float
    max_iter: int | None
    time_limit: float | None
    verbose: bool
    callback: Callable[[Iterate], bool | None] | None


class IterativeKeywords(Keywords, total=False):
    """Of the backends that iterate in this library."""

    start: Solution | Array | None
    rigour: Literal["probable", "proved"]


class FactorKeywords(IterativeKeywords, total=False):
    """Of the backends that work on a factor."""

    rank: int | Literal["auto", "pataki"]
    random_state: int | None


class BCDKeywords(FactorKeywords, total=False):
    """Of bcd."""

    extrapolation: bool
    kernel: Literal["auto", "numpy", "numba"]
    newton: bool


class BurerMonteiroKeywords(FactorKeywords, total=False):
    """Of burer_monteiro and hybrid."""

    method: Literal["auto", "newton", "lbfgs"]


class ADMMKeywords(FactorKeywords, total=False):
    """Of admm."""

    rho: float
    rho_floor: float | None
    sigma: float
    relaxation: float
    polish: Literal["none", "newton", "bcd"]


class SimpleNPKLKeywords(IterativeKeywords, total=False):
    """Of simple_npkl."""

    rule: Literal["quasi_newton", "accelerated"]


class MFPCKeywords(IterativeKeywords, total=False):
    """Of mfpc."""

    continuation: bool


class ConicKeywords(Keywords, total=False):
    """Of the conic backends."""

    solver: str | None
    eps: float | None
    solver_options: dict[str, Any]


class SweepKeywords(FactorKeywords, total=False):
    """Of printed_bcd_npkl."""

    epsilon: float


class BCDKLKeywords(SweepKeywords, total=False):
    """Of printed_bcdkl."""

    unlabelled: Literal["rows", "step", "block"]


class KLADMMKeywords(FactorKeywords, total=False):
    """Of printed_kl_admm."""

    rho: float
    rho_floor: float
    epsilon: float
    misprint: bool
    checks: bool


class PrintedSimpleNPKLKeywords(IterativeKeywords, total=False):
    """Of printed_simple_npkl."""

    eigenpairs: Literal["all", "pataki"]


class PrintedKeywords(SweepKeywords, total=False):
    """Of the papers' algorithms as printed, as far as no other backend has them too."""

    unlabelled: Literal["rows", "step", "block"]
    misprint: bool
    checks: bool
    eigenpairs: Literal["all", "pataki"]


class AnyKeywords(
    BCDKeywords, BurerMonteiroKeywords, ADMMKeywords, SimpleNPKLKeywords, MFPCKeywords, ConicKeywords,
    PrintedKeywords, total=False,
):  # fmt: skip
    """Of any of them; which backend knows which is checked when it is compiled."""


KEYWORDS: dict[str, type[Any]] = {
    "bcd": BCDKeywords,
    "burer_monteiro": BurerMonteiroKeywords,
    "hybrid": BurerMonteiroKeywords,
    "admm": ADMMKeywords,
    "simple_npkl": SimpleNPKLKeywords,
    "closed_form": Keywords,
    "mfpc": MFPCKeywords,
    "interior": Keywords,
    **dict.fromkeys(("sqlp", "qsdp", "scsdp", "sdp", "sdp_dual"), ConicKeywords),
    "printed_kl_admm": KLADMMKeywords,
    "printed_bcdkl": BCDKLKeywords,
    "printed_bcd_npkl": SweepKeywords,
    "printed_simple_npkl": PrintedSimpleNPKLKeywords,
    "printed_sqlp": ConicKeywords,
}
"""By the names of the backends."""
