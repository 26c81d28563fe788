"""Multipliers that are sharper than the slopes of the losses at a factor.

Beside a heavy pair a small error of a row changes the slope of the loss much: the multiplier errs by the
weight times the error. So the slack S of the slopes has S V far from zero at a few points, and no proof
succeeds, although the objective has six correct digits. Multipliers may differ from the slopes.
A change delta of them costs the dual bound sum delta_e^2 / (2 phi_e''), which is little for a heavy pair.
Here delta minimises that cost plus the cost of what remains of S V,

    sum_e delta_e^2 / (2 phi_e'') + || S V + sum_e delta_e M_e V ||^2 in the norm of diag(|S_ii|)^-1.

With delta_e = phi_e'' <M_e, V D' + D V'> this is the linear system of a Newton step in which the diagonal of
the slack replaces the slack: (2 diag(|S_ii|) + sum_e phi_e'' g_e g_e') D = -gradient. It is positive definite
at every point, and ten steps of conjugate gradients solve it well enough.
"""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array
from npkl_models.lowrank.factor.minimisers import truncated_newton
from npkl_models.lowrank.factor.objective import FactorObjective, Point
from npkl_models.lowrank.factor.preconditioners import HessianBlocks

STEPS, TOLERANCE = 10, 1e-3  # steps of conjugate gradients; share of the first residual that may remain


def sharpens(f: FactorObjective, point: Point) -> bool:
    """Whether `sharpened` supports the problem, and there are curved losses."""
    plain = f.Q is None and not f.problem.constraints and f.problem.regularizer.vacuous
    plain = plain and f.incidence.identity
    return plain and bool(np.any(point.bend))


def sharpened(f: FactorObjective, point: Point) -> Array:
    """Multipliers (m,) of all values near the slopes at a point, with S V closer to zero."""
    gradient, inverse, bends = point.gradient, f.row_preconditioner(point), f.curvature(point)
    own = 2 * HessianBlocks.raised(f.S(point.slope).diagonal())[:, None]
    size = np.sqrt(float(np.vdot(gradient, inverse(gradient))))

    def product(D: Array) -> Array:
        out = own * D
        bends(D, out)
        return out

    D = truncated_newton(product, inverse, gradient, TOLERANCE * size, STEPS)[0]
    found = point.slope + point.bend * f.incidence.along(point.V, D)
    return np.asarray(found if np.isfinite(found).all() else point.slope)
