"""The units of costs and kernels of a problem, taken from the data of the problem.

(t C, t w) has the same optimal kernels as (C, w). If no loss has a unit of its own, s times the targets and
bounds have s times the kernels. So numbers are large or small only relative to these units.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npkl_models.linalg import Array, Matrix
from npkl_models.model.constraint import Constraint
from npkl_models.model.regularizer import Regularizer
from npkl_models.model.terms import LossTerm

FAINT = 0.01  # share of the losses' unit that the unit of cost has at least


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
    faint = FAINT * (losses / kernel) if largest > 0 else losses / kernel
    return max(largest, faint) or 1.0


def least_unit(constraints: Sequence[Constraint], kernel: float) -> float:
    """The unit of kernels in a reference value: the least that a constraint asks for if matrices enter."""
    if all(np.ndim(part.functional.magnitudes) == 0 for part in constraints):
        return kernel
    asked = np.concatenate([np.abs(part.value / part.functional.magnitudes) for part in constraints])
    return float(np.min(asked[asked > 0], initial=kernel))


def reference(cost: Matrix, terms: Sequence[LossTerm], kernel: float) -> float:
    """The reference value of relative gaps: the least loss at K = 0, or a typical cost if that is less.

    A typical cost is the median of the diagonal entries of C that are not zero, times the unit of kernels. If
    there is neither a loss at K = 0 nor a cost, the median slope of the losses at K = 0 replaces the entry
    (linear losses are a cost). So a few heavy pairs that can be met exactly make no large gap look small.
    """
    diagonal = np.abs(cost.diagonal())
    diagonal = diagonal[diagonal > 0]
    entry = float(np.median(diagonal)) if diagonal.size else float(np.max(np.abs(cost.data), initial=0.0))
    least = float(np.min(losses_at_zero(terms), initial=np.inf))
    sizes = [x for x in (entry * kernel, least) if 0 < x < np.inf]
    return min(sizes) if sizes else kernel * _slope_at_zero(terms)


def _slope_at_zero(terms: Sequence[LossTerm]) -> float:
    """The median absolute value of the losses' slopes at K = 0 that are not zero; 0 without such slopes."""
    slopes = [np.abs(term.derivative(np.zeros_like(term.target))) for term in terms]
    every = np.concatenate([np.zeros(0), *slopes])
    every = every[(every > 0) & np.isfinite(every)]
    return float(np.median(every)) if every.size else 0.0


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
