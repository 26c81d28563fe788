"""A step of each row of V whose values are comparisons D_ij - D_ik, compiled by numba.

With all other rows fixed, row v of a point p has the problem

    minimise over v:  mu0/2 ||v||^2 + g'v + sum_e f_e(z_e),

where z_e is linear in v if p is the point i of the comparison, z_e = ||v - v_i||^2 - ... if p is j, and
z_e = ... - ||v - v_i||^2 if p is k. Let s_e be 0, 1 or -1. Let d_e be half the gradient of z_e: v_k - v_j,
v - v_i or v_i - v. Along a step u the value is exactly z_e + 2 d_e'u + s_e ||u||^2. Newton's step solves

    (mu I + sum_e 4 f_e'' d_e d_e') u = -(mu0 v + g + sum_e 2 f_e' d_e),    mu = mu0 + 2 sum_e s_e f_e'.

At a stationary point of all rows, mu is 2 S_pp, so it is not negative near an optimum. If mu is below a share
of mu0, its negative terms are left out: a tangent replaces what is concave, which lies nowhere below. A few
steps of conjugate gradients solve the system to a hundredth, which lowers the objective as fast per sweep as
exact solutions. The step is halved until the objective of the row falls. Halving needs no further products
of rows, as the values along u are known. So no step raises the objective.
"""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import called, compiled
from npkl_models.lowrank.rows.compiled_parts import COST, LOSSES, Cost, Losses, piece, pull_cost
from npkl_models.lowrank.tolerances import ENOUGH, HALVED, ROUNDING

SIGNATURES = {
    "sweep_compared": f"void(intp[::1], f8[:, ::1], {COST}, "
    "Tuple((intp[::1], intp[::1], intp[::1], intp[::1], f8[::1])), "
    f"{LOSSES}, f8[::1], f8[::1])"
}
TURNS = 8  # the largest number of steps of conjugate gradients for a row
SOLVED = 1e-4  # they end below this share of the first squared residual
MOSTLY_CONVEX = 1e-2  # below this share of mu0, mu is taken without its negative terms

Places = tuple[Index, Index, Index, Index, Array]  # start, plus, minus, which, bent: see `CompareSweeper`
# D; slope, curvature, z and change of z: one for a comparison
Room = tuple[Array, Array, Array, Array, Array]
Rows = tuple[
    Array, Array, Array, Array, Array, Array
]  # the cost's pull, gradient, u, residual, direction, product


@called()
def _values(V: Array, places: Places, z: Array) -> None:  # pragma: no cover
    """Set z to the values of all comparisons."""
    _, plus, minus, which, bent = places
    for e in range(z.shape[0]):
        z[e] = 0.0
    for m in range(which.shape[0]):
        if bent[m] != 0.0:
            total, one, other = 0.0, plus[m], minus[m]
            for a in range(V.shape[1]):
                off = V[one, a] - V[other, a]
                total += off * off
            z[which[m]] += bent[m] * total


@called()
def _solve(k: int, mu: float, steep: float, D: Array, bend: Array, rows: Rows) -> None:  # pragma: no cover
    """Set u to the solution of (mu I + sum_e 4 bend_e d_e d_e') u = -gradient, by conjugate gradients."""
    _, gradient, u, left, toward, product = rows
    r, size = u.shape[0], steep
    for a in range(r):
        u[a], left[a], toward[a] = 0.0, -gradient[a], -gradient[a]
    for _ in range(TURNS):
        if not size > SOLVED * steep:
            return
        for a in range(r):
            product[a] = mu * toward[a]
        for j in range(k):
            along = 0.0
            for a in range(r):
                along += D[j, a] * toward[a]
            along *= 4 * bend[j]
            for a in range(r):
                product[a] += along * D[j, a]
        bends, new = 0.0, 0.0
        for a in range(r):
            bends += toward[a] * product[a]
        share = size / bends
        for a in range(r):
            u[a] += share * toward[a]
            left[a] -= share * product[a]
            new += left[a] * left[a]
        for a in range(r):
            toward[a] = left[a] + new / size * toward[a]
        size = new


@called()
def _bend(
    i: int, V: Array, mu0: float, z: Array, places: Places, losses: Losses, room: Room, rows: Rows
) -> tuple[float, float, float]:  # pragma: no cover
    """Set the vectors d, slopes, curvatures and the gradient of row i; mu, the squared gradient, the size."""
    start, plus, minus, which, bent = places
    D, slope, curve, value, _ = room
    pull, gradient = rows[0], rows[1]
    mu, convex, size, steep = mu0, mu0, 0.0, 0.0
    for a in range(V.shape[1]):
        gradient[a] = mu0 * V[i, a] - pull[a]
        size += 0.5 * mu0 * V[i, a] * V[i, a]
    for j in range(start[i + 1] - start[i]):
        m = start[i] + j
        one, other = plus[m], minus[m]
        value[j], slope[j], curve[j] = piece(z[which[m]], losses, which[m])
        mu += 2 * bent[m] * slope[j]
        convex += 2 * max(bent[m] * slope[j], 0.0)
        size += abs(value[j])
        weight = 2 * slope[j]
        for a in range(V.shape[1]):
            D[j, a] = V[one, a] - V[other, a]
            gradient[a] += weight * D[j, a]
    for a in range(V.shape[1]):
        steep += gradient[a] * gradient[a]
    return (convex if mu < MOSTLY_CONVEX * mu0 else mu), steep, size


@called()
def _move(
    i: int, V: Array, own: tuple[float, float], z: Array, places: Places, losses: Losses, room: Room,
    rows: Rows,
) -> float:  # fmt: skip # pragma: no cover
    """Move row i along u, halved until the objective falls; returns the fall. ``own``: mu0, size."""
    start, _, _, which, bent = places
    D, _, _, value, linear = room
    mu0, size = own
    pull, gradient, u = rows[0], rows[1], rows[2]
    first, k = start[i], start[i + 1] - start[i]
    length, pulled, total = 0.0, 0.0, 0.0
    for a in range(V.shape[1]):
        length += u[a] * u[a]
        pulled += (mu0 * V[i, a] - pull[a]) * u[a]
        total += gradient[a] * u[a]
    for j in range(k):
        along = 0.0
        for a in range(V.shape[1]):
            along += D[j, a] * u[a]
        linear[j] = 2 * along
    share = 1.0
    for _ in range(HALVED):
        change, square = 0.0, share * share * length
        for j in range(k):
            e = which[first + j]
            change += piece(z[e] + share * linear[j] + square * bent[first + j], losses, e)[0] - value[j]
        change += share * pulled + 0.5 * mu0 * square
        if change <= ENOUGH * share * total + ROUNDING * size:
            for a in range(V.shape[1]):
                V[i, a] += share * u[a]
            for j in range(k):
                z[which[first + j]] += share * linear[j] + square * bent[first + j]
            return -change
        share *= 0.5
    return 0.0


@compiled
def sweep_compared(
    order: Index, V: Array, cost: Cost, places: Places, losses: Losses, mu0: Array, measured: Array
) -> None:  # pragma: no cover
    """Step the rows in order; ``measured`` gains the fall and the sum of the squared gradients."""
    start, r = places[0], V.shape[1]
    width = 0
    for i in range(start.shape[0] - 1):
        width = max(width, start[i + 1] - start[i])
    z = np.empty(losses[0].shape[0])
    _values(V, places, z)
    pull, own = np.empty((1, r)), np.empty((5, r))
    each = np.empty((4, width))
    room = np.empty((width, r)), each[0], each[1], each[2], each[3]
    rows = pull[0], own[0], own[1], own[2], own[3], own[4]
    for position in range(order.shape[0]):
        i = order[position]
        pull_cost(i, pull, V, cost[1], cost[2], cost[0][i], cost[0][i + 1])
        mu, steep, size = _bend(i, V, mu0[i], z, places, losses, room, rows)
        measured[1] += steep
        if steep > 0.0:
            _solve(start[i + 1] - start[i], mu, steep, room[0], room[2], rows)
            measured[0] += _move(i, V, (mu0[i], size), z, places, losses, room, rows)
