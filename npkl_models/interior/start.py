"""The start of the interior-point method: multipliers inside their boxes, sizes of slacks and kernels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from npkl_models.interior.part import Vector
from npkl_models.interior.program import Program
from npkl_models.linalg import Array, Mask
from npkl_models.model.box import Box

SHORTER = 12  # number of steps tried for a feasible start, each a quarter of the last
SINGULAR = 1e-6  # a slack with a smaller pivot, relative to the size of C, is no start


def first_point(program: Program) -> tuple[Array, float, Sequence[Any], list[Array]]:
    """The start: multipliers y inside their boxes, rho and R with S = S(y) - rho R inside the cones, and X.

    Take y as near zero as the boxes allow. There S(y) is near C, which is often positive definite. Then
    shorter and shorter steps into the boxes are tried until S(y) is positive definite. Half of such a step
    is a feasible start. Otherwise S is a multiple of the identity of the size of S(y). With equalities, S is
    always such a multiple: if C is far from the identity, K = mu C^-1 is far from satisfying them.
    """
    if program.kernel_size is None:
        return _from_rows(program)
    y = None if loose(program).any() else _feasible(program)
    if y is not None:
        return y, 0.0, (), _kernel(program, program.slack(y))
    middle, no_cost = _inside(program), not _size_of_cost(program)
    S = program.slack(middle)
    sizes = program.slack(np.abs(middle))  # multipliers of opposite signs may cancel in S
    alpha = max(_norm(program, S), _norm(program, sizes), _size_of_slack(program) if no_cost else 0.0)
    alpha = alpha or _size_of_cost(program)  # C may cancel, too
    R = [part.shifted(one, -alpha) for part, one in zip(program.parts, S, strict=True)]
    return middle, 1.0, R, _kernel(program, [part.unit(alpha) for part in program.parts])


def _kernel(program: Program, S: Sequence[Any]) -> list[Array]:
    """X = mu S^-1 with a diagonal of the program's size."""
    Z = [part.inverse(L) for part, L in zip(program.parts, program.factors(S), strict=True)]
    ones = [part.unit(1.0) for part in program.parts]
    mu = (program.kernel_size or 1.0) * program.inner(ones, ones) / program.inner(ones, Z)
    return [mu * one for one in Z]


def _feasible(program: Program) -> Array | None:
    """Multipliers inside their boxes with positive definite slacks; None if no step has them."""
    box, parts = program.box, program.parts
    size = _size_of_cost(program) or _size_of_slack(program)
    zero = np.clip(np.zeros(box.b.size), box.lower, box.upper)
    furthest = np.where(box.q > 0, _bent(box), np.inf)
    width = np.where(box.below & box.above, 0.5 * (box.upper - box.lower), furthest)
    side = np.where(zero == box.lower, 1.0, np.where(zero == box.upper, -1.0, 0.0))
    lift = 0.0
    if all(part.grows for part in parts) and not _size_of_cost(program):  # S is a sum of Laplacians
        side, lift = np.where(box.upper > 0, 1.0, -1.0), np.inf  # raise what may grow
    for k in range(SHORTER):
        shorter = size * 4.0**-k
        step = side * np.minimum(np.where(side < 0, shorter, max(shorter, lift)), width)
        y = zero + 0.5 * step
        try:
            far = program.factors(program.slack(zero + step))
            program.factors(program.slack(y))
        except np.linalg.LinAlgError:
            continue
        if min(float(np.min(L.diagonal())) for L in far) ** 2 > SINGULAR * size:
            return y
    return None


def _from_rows(program: Program) -> tuple[Array, float, Sequence[Any], list[Array]]:
    """S and X as multiples of the identity from the sizes of rows and costs (Toh, Todd & Tutuncu 1999)."""
    b, y = np.abs(program.box.b), _inside(program)
    sizes = [part.sizes(b) for part in program.parts if isinstance(part, Vector)]
    S = [part.slack(y) for part in program.parts]
    R = [part.shifted(one, -of_S) for part, one, (_, of_S) in zip(program.parts, S, sizes, strict=True)]
    return y, 1.0, R, [part.unit(of_X) for part, (of_X, _) in zip(program.parts, sizes, strict=True)]


def _norm(program: Program, S: Sequence[Any]) -> float:
    return max(part.norm(one) for part, one in zip(program.parts, S, strict=True))


def _size_of_cost(program: Program) -> float:
    return _norm(program, [part.C for part in program.parts])


def loose(program: Program) -> Mask:
    """Which multipliers have no end and no curvature of f*: those of equalities."""
    box = program.box
    return ~(box.below | box.above) & (box.q == 0)


def _inside(program: Program) -> Array:
    """Multipliers inside their boxes: the middle, or a step from the only end of the size of the slack."""
    box = program.box
    below, above = box.below, box.above
    lower, upper = np.where(below, box.lower, 0.0), np.where(above, box.upper, 0.0)
    y = np.where(below & above, 0.5 * (lower + upper), 0.0)
    size = max(_size_of_cost(program), _norm(program, program.slack(y))) or _size_of_slack(program)
    step = np.minimum(size, np.where(box.q > 0, _bent(box), size))
    y = np.where(below & ~above, lower + step, y)
    return np.where(above & ~below, upper - step, y)


def _bent(box: Box) -> Array:
    """The sizes of multipliers that double the slope of f*; one over q where the slope at zero is zero."""
    q = np.where(box.q > 0, box.q, 1.0)
    return np.where(box.b != 0, np.abs(box.b), 1.0) / q


def _size_of_slack(program: Program) -> float:
    """The size of the slack without a cost: from multipliers of half the width of their boxes, or `_bent`."""
    box = program.box
    ends = box.below & box.above
    upper, lower = np.where(ends, box.upper, 0.0), np.where(ends, box.lower, 0.0)
    typical = np.where(ends, 0.5 * (upper - lower), np.where(box.q > 0, _bent(box), 0.0))
    return _norm(program, [part.adjoint(typical) for part in program.parts]) or program.cost_unit
