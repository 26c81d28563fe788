"""The units of a problem: what its costs and its kernels are measured in, read off its own data.

A problem has no natural one: (t C, t w) has the kernels of (C, w), and where no loss has a unit of its own,
targets and bounds times s have s times the kernels. What is large or small is said relative to these units.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from npkl_models.linalg import Array, Matrix
from npkl_models.model.regularizer import Regularizer
from npkl_models.model.terms import Equality, LossTerm

FAINT = 0.01  # of the losses' unit: what the unit of cost is at least, where the cost is next to nothing


def kernel_unit(
    terms: Sequence[LossTerm], equalities: Sequence[Equality], regularizer: Regularizer, n: int
) -> float:
    """The largest value that is asked of the kernel; else what the regulariser grants each K_ii; else one.

    Only losses without a unit of their own ask for values: z = 1 is where a hinge has its kink.
    """
    if any(term.loss.rescaled(term.target, term.weight, 1.0) is None for term in terms):
        return 1.0
    asked = [part.value for part in equalities]
    asked += [term.target for term in terms if not term.loss.sign_targets]
    largest = max((float(np.max(np.abs(values), initial=0.0)) for values in asked), default=0.0)
    if largest > 0:
        return largest
    granted = regularizer.trace_bound(n) / n
    return granted if 0 < granted < np.inf else 1.0


def cost_unit(cost: Matrix, losses: float, kernel: float) -> float:
    """The largest entry of C; where that is next to nothing, what the losses at K = 0 are by."""
    largest = float(np.max(np.abs(cost.data), initial=0.0))
    faint = FAINT * (losses / kernel) if largest > 0 else losses / kernel
    return max(largest, faint) or 1.0


def reference(cost: Matrix, terms: Sequence[LossTerm], kernel: float) -> float:
    """What a gap is relative to besides its ends: the least loss at K = 0, or a typical cost if that is less.

    A typical cost is the median of C's diagonal, of what is not zero, times the unit of kernels; without both
    it is of the slopes of the losses at K = 0 (linear ones are a cost). The smaller of the two, and the least
    loss: a few heavy pairs that can be met exactly must not make a gap look small that is a good part of the
    optimum.
    """
    diagonal = np.abs(cost.diagonal())
    diagonal = diagonal[diagonal > 0]
    entry = float(np.median(diagonal)) if diagonal.size else float(np.max(np.abs(cost.data), initial=0.0))
    least = float(np.min(losses_at_zero(terms), initial=np.inf))
    sizes = [x for x in (entry * kernel, least) if 0 < x < np.inf]
    return min(sizes) if sizes else kernel * _slope_at_zero(terms)


def _slope_at_zero(terms: Sequence[LossTerm]) -> float:
    """The median size of the losses' slopes at K = 0, of those that are not zero; a cost by another name."""
    slopes = [np.abs(term.derivative(np.zeros_like(term.target))) for term in terms]
    every = np.concatenate([np.zeros(0), *slopes])
    every = every[(every > 0) & np.isfinite(every)]
    return float(np.median(every)) if every.size else 0.0


def typical_loss(terms: Sequence[LossTerm]) -> float:
    """The median of the losses at K = 0, of those that are positive; zero where none is."""
    positive = losses_at_zero(terms)
    return float(np.median(positive)) if positive.size else 0.0


def losses_at_zero(terms: Sequence[LossTerm]) -> Array:
    """The losses at K = 0 that are positive, and not too large to be numbers."""
    with np.errstate(over="ignore"):
        values: list[Array] = [
            term.weight * term.loss.value(np.zeros_like(term.target), term.target) for term in terms
        ]
    every = np.concatenate([np.zeros(0), *values])
    return every[(every > 0) & np.isfinite(every)]
