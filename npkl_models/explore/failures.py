"""Presets that fail: the fields of each, the symptom, the cause and the cure."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any


@dataclass(frozen=True)
class Failure:
    """One preset that fails.

    Attributes
    ----------
    name, title : str
        Name of the preset, and its title on the page.
    form : dict
        Fields that differ from the page's defaults.
    seen, why, helps : str
        Texts of the page: the symptom, the cause, and the cure.
    cure : dict
        Fields with which the problem is solved.
    figure : str
        The figure that shows the failure best.
    """

    name: str
    title: str
    form: dict[str, Any]
    seen: str
    why: str
    helps: str
    cure: dict[str, Any]
    figure: str


HINGE = {"formulation": "npkl", "loss": "hinge"}

FAILURES = (
    Failure(
        "rank", "Rank too small", {"backend": "burer_monteiro", "rank": 2},
        "The solver stops at a stationary point. The certificate has a large gap, and the smallest "
        "eigenvalue of the slack S is negative.",
        "The factor V has two columns, but the optimal kernel has the rank 4. With two columns, no small "
        "step lowers the objective. The eigenvector of S shows a way down, but the way needs a third column.",
        "Leave the rank empty: the solver then takes the eigenvector as a new column until S is positive "
        "semidefinite.",
        {"backend": "burer_monteiro", "rank": ""}, "joint_spectrum",
    ),
    Failure(
        "shift", "No shift", HINGE | {"backend": "admm", "shift": 0, "max_iter": 300},
        "admm ends at its iteration limit with a gap of some per cent. The problem in words warns of a null "
        "space.",
        "Without a shift δ the Laplacian L is singular on each component of its graph. Along that null space "
        "the kernel K may grow at no cost. The solver follows K, whose optimum may lie at infinity.",
        "Set the shift δ to 0.1: tr(LK) then grows with every direction of K. The same solver reaches the "
        "optimum within the same 300 iterations.",
        HINGE | {"backend": "admm", "shift": 0.1, "max_iter": 300}, "spectrum",
    ),
    Failure(
        "pairs", "Wrong pairs", {"n": "", "n_neighbors": 10, "gamma": 10, "wrong": 0.1},
        "The status is OPTIMAL: the solver has not failed. The kernel is bent by pairs that are wrong. The "
        "table of the audit has most of the wrong pairs at its top.",
        "One pair in ten has the wrong kind. A certificate proves how good the kernel is for the given "
        "pairs. It proves nothing about the pairs.",
        "Look at the pairs with the highest score first: they fight the graph and the other pairs. Correct "
        "them, or give them less weight.",
        {"n": "", "n_neighbors": 10, "gamma": 10, "wrong": ""}, "pair_multipliers",
    ),
    Failure(
        "hinge", "Hinge stall", HINGE | {"backend": "printed_bcdkl", "rank": 8, "max_iter": 10},
        "The objective falls for a few sweeps and then hardly moves, some per cent above the optimum. The "
        "certificate does not close.",
        "The algorithm minimises over one row of V at a time. The hinge loss has a kink, where no single row "
        "has a way down, although two rows together have one.",
        "Take bcd: the method of multipliers smooths the kinks, so the descent by rows reaches the optimum.",
        HINGE | {"backend": "bcd"}, "kernel",
    ),
)  # fmt: skip


def told() -> list[dict[str, Any]]:
    """All presets, for the page."""
    return [asdict(one) for one in FAILURES]
