"""The conjugates of all values of a problem; see `box`."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from npkl_models.errors import UnsupportedError
from npkl_models.linalg import Array, Mask, Matrix
from npkl_models.model.box import Box
from npkl_models.model.box_loss import BoxLoss
from npkl_models.model.incidence import Incidence
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm


def quadratic_conjugates(terms: Iterable[LossTerm], entropy: bool = False) -> str | None:
    """The reason why a conjugate is not quadratic on its domain, perhaps with an entropy; None if all are."""
    others = (term.loss for term in terms if (term.loss.entropy and not entropy) or not _is_boxed(term))
    first = next(others, None)
    words = "needs losses whose conjugate is quadratic on its domain, got"
    return None if first is None else f"{words} {first.name}"


def _is_boxed(term: LossTerm) -> bool:
    if type(term.loss) is BoxLoss:
        return True
    t, w, box = term.target, term.weight, term.box
    with np.errstate(over="ignore", invalid="ignore"):
        for share in (-0.9, -0.3, 0.2, 0.7):
            y = term.project(share * w)
            value = term.loss.conjugate(y, t, w)
            if not np.allclose(value, box.each(y), rtol=1e-9, atol=1e-9 * float(np.max(w))):
                return False
    return True


def stated(problem: Statement) -> tuple[Incidence, Box, Mask, Array, Matrix]:
    """The values and conjugates of all terms, which multipliers are not fixed, the others, and the cost.

    The domain of a fixed multiplier is a number, as of a linear loss; the cost has its share of the slack.
    """
    incidence = Incidence.stack([term.functional.incidence for term in problem.terms])
    box = Box.join([term.box for term in problem.terms])
    moving = box.lower < box.upper
    fixed = np.where(moving, 0.0, box.lower)
    cost = problem.cost if moving.all() else problem.cost + incidence.adjoint(fixed)
    return incidence, box, moving, fixed, cost


def box_rows(problem: Statement) -> list[list[float | None]]:
    """A row b, q, weight, lower, upper for each value, with f*(y) = b y + (q / weight) y^2 / 2; None: no end.

    Raises
    ------
    UnsupportedError
        If a loss is not such a box.
    """
    rows: list[list[float | None]] = []
    for part in problem.terms:
        box, q = part.box, 0.0
        weight: Array = np.ones(part.functional.size)
        if isinstance(part, LossTerm):
            if not isinstance(part.loss, BoxLoss):
                raise UnsupportedError(f"a proof file needs losses that are boxes, got {part.loss.name}")
            q, weight = (part.loss.q, part.weight) if part.loss.q > 0 else (q, weight)
        for b, w, *ends in zip(box.b, weight, box.lower, box.upper, strict=True):
            low, high = (float(end) if np.isfinite(end) else None for end in ends)
            rows.append([float(b), float(q), float(w), low, high])
    return rows


def projected(problem: Statement, y: Multipliers) -> Multipliers:
    """The nearest multipliers in the domain of the conjugates."""
    parts = zip(problem.terms, y.terms, strict=True)
    return problem.split_multipliers(term.project(part) for term, part in parts)
