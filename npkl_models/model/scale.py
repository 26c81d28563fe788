"""The units of costs and kernels of a problem, taken from the data of the problem.

(t C, t w) has the same optimal kernels as (C, w). If no loss has a unit of its own, s times the targets and
bounds have s times the kernels. So numbers are large or small only relative to these units.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np

from npkl_models.linalg import Array, Matrix, absolute_row_sums
from npkl_models.model.constraint import Constraint
from npkl_models.model.regularizer import Regularizer
from npkl_models.model.terms import LossTerm

FAINTEST = 0.01  # share of the losses' unit that the unit of cost has at least
FAINT = 1e-3  # theta: share of F in the unit of a gap; it speaks only where the optimum is next to zero


class Rated(Protocol):
    """The faces of a statement from which the unit of its gaps is taken."""

    @property
    def cost(self) -> Matrix: ...
    @property
    def losses(self) -> tuple[LossTerm, ...]: ...
    @property
    def least_loss(self) -> float: ...


def kernel_unit(
    terms: Sequence[LossTerm], constraints: Sequence[Constraint], regularizer: Regularizer, n: int
) -> float:
    """The unit of kernels: the largest target or bound; else the mean K_ii that R allows; else one.

    It is one if a loss has a unit of its own, as the hinge has with its kink at tz = 1.
    """
    if any(term.loss.rescaled(term.target, term.weight, 1.0) is None for term in terms):
        return 1.0
    asked = [part.value / part.functional.magnitudes for part in constraints]
    asked += [term.target for term in terms if not term.loss.sign_targets]
    largest = max((float(np.max(np.abs(values), initial=0.0)) for values in asked), default=0.0)
    if largest > 0:
        return largest
    granted = regularizer.trace_bound(n) / n
    return granted if 0 < granted < np.inf else 1.0


def cost_unit(cost: Matrix, losses: float, kernel: float) -> float:
    """The unit of cost: the largest entry of C, or a share of the losses' unit if the entry is tiny."""
    largest = float(np.max(np.abs(cost.data), initial=0.0))
    faint = FAINTEST * (losses / kernel) if largest > 0 else losses / kernel
    return max(largest, faint) or 1.0


def faint_unit(problem: Rated, point: float, multipliers: float) -> float:
    """The share of the unit of a relative gap that does not vanish with the optimum: theta F.

    F = min(A, max(B, l)), with A = ``point``, B = ``multipliers`` and l the least positive loss at K = 0.
    Each of the three can be forged or foreign: A grows along the null space of the cost, B where multipliers
    cancel, l with one heavy weight. Without a cost, F = l.
    """
    least = problem.least_loss
    return FAINT * (min(point, max(multipliers, least)) if problem.cost.data.any() else least)


def point_size(problem: Rated, lengths: Array, values: Iterable[Array], own: float = 0.0) -> float:
    """A = sum abs(C_ij) s_ij + sum abs(f_e(z_e)), s_ij the products of the ``lengths`` sqrt(K_ii) (n,).

    K -> DKD with C -> D^-1 C D^-1 leaves A as it is. ``own`` is the value of the regulariser.
    """
    cost = float(lengths @ absolute_row_sums(problem.cost, lengths))
    pairs = zip(problem.losses, values, strict=True)
    losses = (float(np.sum(np.abs(term.weight * term.loss.value(z, term.target)))) for term, z in pairs)
    return cost + sum(losses) + own


def least_loss(terms: Sequence[LossTerm]) -> float:
    """The least positive loss at K = 0, one value alone; 0 if there is none."""
    return float(np.min(losses_at_zero(terms), initial=np.inf)) if losses_at_zero(terms).size else 0.0


def typical_loss(terms: Sequence[LossTerm]) -> float:
    """The median of the positive losses at K = 0; zero if there are none."""
    positive = losses_at_zero(terms)
    return float(np.median(positive)) if positive.size else 0.0


def losses_at_zero(terms: Sequence[LossTerm]) -> Array:
    """The losses at K = 0 that are positive and finite."""
    with np.errstate(over="ignore"):
        values: list[Array] = [
            term.weight * term.loss.value(np.zeros_like(term.target), term.target) for term in terms
        ]
    every = np.concatenate([np.zeros(0), *values])
    return every[(every > 0) & np.isfinite(every)]
