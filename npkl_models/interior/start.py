"""The start of the interior-point method: multipliers inside their boxes, sizes of slack and kernel."""

from __future__ import annotations

import numpy as np
from scipy.linalg import lapack

from npkl_models.interior.values import Values
from npkl_models.linalg import Array, Mask, Matrix, dense, norm_bound
from npkl_models.model.box import Box

SHORTER = 12  # number of steps tried for a feasible start, each a quarter of the last
LARGER = 5.0  # the start is so many times a kernel of the targets' size (examples/benchmarks/small_hard.py)
SINGULAR = 1e-6  # a slack with a smaller pivot, relative to the size of C, is no start


def first_point(values: Values) -> tuple[Array, Array, float, Matrix]:
    """The start: multipliers y inside their boxes, the factor of S, rho and R with S = S(y) - rho R.

    Take y as near zero as the boxes allow. There S(y) is near C, which is often positive definite. Then
    shorter and shorter steps into the boxes are tried until S(y) is positive definite. Half of such a step
    is a feasible start. Otherwise S is a multiple of the identity of the size of S(y). With equalities, S is
    always such a multiple: if C is far from the identity, K = mu C^-1 is far from satisfying them.
    """
    box, n = values.box, values.order
    size = norm_bound(values.C) or _size_of_slack(values)
    zero = np.clip(np.zeros(values.size), box.lower, box.upper)
    furthest = np.where(box.q > 0, _bent(box), np.inf)
    width = np.where(box.below & box.above, 0.5 * (box.upper - box.lower), furthest)
    side = np.where(zero == box.lower, 1.0, np.where(zero == box.upper, -1.0, 0.0))
    lift = 0.0
    if values.edges is not None and not norm_bound(values.C):  # S is a sum of Laplacians: raise what may grow
        side, lift = np.where(box.upper > 0, 1.0, -1.0), np.inf
    for k in range(0 if loose(values).any() else SHORTER):
        shorter = size * 4.0**-k
        step = side * np.minimum(np.where(side < 0, shorter, max(shorter, lift)), width)
        try:
            far = cholesky(dense(values.slack(zero + step)))
            y = zero + 0.5 * step
            L = cholesky(dense(values.slack(y)))
        except np.linalg.LinAlgError:
            continue
        if float(np.min(far.diagonal())) ** 2 > SINGULAR * size:
            return y, L, 0.0, 0.0 * values.slack(y)
    middle = _inside(values)
    S = values.slack(middle)
    sizes = values.slack(np.abs(middle))  # multipliers of opposite signs may cancel in S
    without_cost = 0.0 if norm_bound(values.C) else _size_of_slack(values)
    alpha = max(norm_bound(S), norm_bound(sizes), without_cost) or norm_bound(values.C)  # C may cancel, too
    return middle, np.sqrt(alpha) * np.eye(n, order="F"), 1.0, values.shifted(S, -alpha)


def loose(values: Values) -> Mask:
    """Which multipliers have no end and no curvature of f*: those of equalities."""
    box = values.box
    return ~(box.below | box.above) & (box.q == 0)


def _inside(values: Values) -> Array:
    """Multipliers inside their boxes: the middle, or a step from the only end of the size of the slack."""
    box = values.box
    below, above = box.below, box.above
    lower, upper = np.where(below, box.lower, 0.0), np.where(above, box.upper, 0.0)
    y = np.where(below & above, 0.5 * (lower + upper), 0.0)
    size = max(norm_bound(values.C), norm_bound(values.slack(y))) or _size_of_slack(values)
    step = np.minimum(size, np.where(box.q > 0, _bent(box), size))
    y = np.where(below & ~above, lower + step, y)
    return np.where(above & ~below, upper - step, y)


def _bent(box: Box) -> Array:
    """The sizes of multipliers that double the slope of f*; one over q where the slope at zero is zero."""
    q = np.where(box.q > 0, box.q, 1.0)
    return np.where(box.b != 0, np.abs(box.b), 1.0) / q


def _size_of_slack(values: Values) -> float:
    """The size of the slack without a cost: from multipliers of half the width of their boxes, or `_bent`."""
    box = values.box
    ends = box.below & box.above
    upper, lower = np.where(ends, box.upper, 0.0), np.where(ends, box.lower, 0.0)
    typical = np.where(ends, 0.5 * (upper - lower), np.where(box.q > 0, _bent(box), 0.0))
    return norm_bound(values.adjoint(typical)) or values.problem.cost_unit


def kernel_size(values: Values) -> float:
    """The size of the diagonal of the first kernel, ``LARGER`` than one whose values are near their targets.

    A start that is too small ends on the boundary at once, one that is too large costs an iteration: from 2
    to 30 times take the same number (42 problems with equalities, 13 % fewer than 1).
    """
    wanted = np.abs(values.targets[values.targets != 0])
    size = LARGER * (float(np.mean(wanted)) if wanted.size else 1.0)
    if values.problem.basis is not None:
        size *= values.problem.n / values.order
    return size


def cholesky(X: Array) -> Array:
    """L with X = L L', stored by columns; LinAlgError if X is not positive definite."""
    out: Array
    out, failed = lapack.dpotrf(X.T if X.flags.c_contiguous else X, lower=1, clean=1)
    if failed or not np.isfinite(out[-1, -1]):
        raise np.linalg.LinAlgError("not positive definite, or numbers out of range")
    return out


def inverse(L: Array) -> Array:
    """The inverse of L L'; LinAlgError if it is singular."""
    Z: Array
    Z, failed = lapack.dpotri(L, lower=1)
    if failed:
        raise np.linalg.LinAlgError("the slack is singular")
    Z += np.tril(Z, -1).T
    return Z
