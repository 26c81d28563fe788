"""The exact minimisation over one row of V after another, compiled by numba; without numba the loops run.

The row problem of point i with neighbours p_j, with all other rows fixed, is

    minimise over v:  mu/2 ||v||^2 + a ||v||^4 + g'v + sum_j f_j(z_j)    [||v|| <= b],

where z_j is p_j'v or ||v - p_j||^2. Let f_j(z) = h_j/2 z^2 + l_j z: the square loss, or a piece of another
loss. Let v = m + u and e_j = p_j - m, where m = sum h_j p_j / (2a + sum h_j), summed over distances, is the
weighted mean of their points and of zero. A distance is ||u||^2 - 2 e_j'u + ||e_j||^2, and the terms of third
order of all z_j^2 and of ||v||^4 cancel. What remains is a row problem of entries. Each distance adds
2 h_j (e_j'u)^2 - 2 k_j e_j'u + k_j ||u||^2 with k_j = h_j ||e_j||^2 + l_j, and h_j / 2 to a. Its minimiser
solves (mu I + W'W) u = c with mu = mu + 4 a ||u||^2 [mu larger and ||v|| = b at the bound]: one secular
equation in mu, as in a trust region. Its steps (`compiled_secular`) are inlined. A loss on K_ii is a part of
mu and a.

For a loss of several pieces, the piece at v replaces the loss, until the new row lies on the same pieces. If
the objective rises, the step is halved. On distances the row problem is not convex: there, or if the pieces
have no minimum, quadratics of the largest curvature replace the losses for one step, and lie nowhere below
them. So no step raises the objective.
"""

from __future__ import annotations

import math

from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import borrowing, called, inlined, part
from npkl_models.lowrank.rows.compiled_hard import set_hard_row
from npkl_models.lowrank.rows.compiled_parts import (
    COST,
    GRADIENT,
    KEPT,
    MEAN,
    PULL,
    C,
    Cost,
    Losses,
    U,
    add,
    ask,
    dot,
    pull_cost,
    put,
)  # fmt: skip
from npkl_models.lowrank.rows.compiled_secular import shift_of, solve_row
from npkl_models.lowrank.rows.compiled_values import MATRIX, PAIRS, Pairs, Place, Row, any_value, value_of
from npkl_models.lowrank.tolerances import HALVED, ROUNDING, STEPS

SIGNATURES = {
    "sweep": f"void(intp[::1], {MATRIX}, {COST}, {PAIRS}, "
    f"Tuple((f8[::1], f8[::1], f8, {MATRIX})), UniTuple(boolean, 3), UniTuple({MATRIX}, 5), f8[::1])"
}
AHEAD = 2  # the neighbours of a row are fetched from memory this many rows earlier
COERCIVE = 1e-6  # below this multiple of mu, a row problem without a quartic term has no minimum

# mu0, a, b: mu0/2 ||v||^2 + a ||v||^4, ||v|| <= b (0 for no bound); more gradient (n x r, or no rows)
Rows = tuple[Array, Array, float, Array]
# T; W with rows w_1 .. w_k of the pairs; G; L; the losses h/2 z^2 + l z of a row's pairs, h above l
Work = tuple[Array, Array, Array, Array, Array]


@inlined
def _straight(place: Place, losses: Losses, model: Array) -> None:  # pragma: no cover
    """Set the models of a row's pairs whose slopes have no ends."""
    _, first, k = place
    for j in range(k):
        model[0, j], model[1, j] = losses[0][first + j], losses[1][first + j]


@inlined
def _entries(
    place: Place, V: Array, neighbor: Index, model: Array, T: Array, W: Array
) -> None:  # pragma: no cover
    """Set u = v, c and w_1 .. w_k of a row whose values are entries."""
    i, first, k = place
    for a in range(V.shape[1]):
        T[U, a], T[C, a] = V[i, a], T[PULL, a]
    for j in range(k):
        scale, slope, other = math.sqrt(model[0, j]), model[1, j], neighbor[first + j]
        for a in range(V.shape[1]):
            W[j, a] = scale * V[other, a]
            T[C, a] -= slope * V[other, a]


@called()
def _distances(
    place: Place, V: Array, pairs: Pairs, model: Array, T: Array, W: Array, own: Row
) -> tuple[Row, int]:  # pragma: no cover
    """Set m, u = v - m, c and w_1 .. w_k. The row problem in u, and the number of w."""
    i, first, k = place
    _, neighbor, far, _ = pairs
    mu, quartic, radius = own
    count = k
    put(T, MEAN, 0.0, V, i)
    for j in range(k):
        if far[first + j]:
            quartic += 0.5 * model[0, j]
            add(T, MEAN, 0.5 * model[0, j], V, neighbor[first + j])
    put(T, MEAN, 1 / max(quartic, 1e-300), T, MEAN)
    mu += 4 * own[1] * dot(T, MEAN, T, MEAN)
    for a in range(V.shape[1]):
        T[U, a], T[C, a] = V[i, a] - T[MEAN, a], T[PULL, a] - mu * T[MEAN, a]
    if own[1] > 0.0:
        put(W, k, math.sqrt(8 * own[1]), T, MEAN)
        count += 1
    for j in range(k):
        scale = math.sqrt(model[0, j])
        put(W, j, 1.0, V, neighbor[first + j])
        if far[first + j]:
            add(W, j, -1.0, T, MEAN)
            weight, scale = 2 * (model[0, j] * dot(W, j, W, j) + model[1, j]), 2 * scale
            mu += weight
        else:
            weight = -model[1, j] - model[0, j] * dot(W, j, T, MEAN)
        add(T, C, weight, W, j)
        put(W, j, scale, W, j)
    return (mu, quartic, radius), count


@part()
def _gram(T: Array, W: Array, k: int, G: Array, direct: bool) -> None:  # pragma: no cover
    """Set G as `compiled_secular` describes it."""
    r = W.shape[1]
    for j in range(r if direct else k):
        for m in range(j + 1):
            if direct:
                total = 0.0
                for e in range(k):
                    total += W[e, j] * W[e, m]
                G[j, m] = total
            else:
                G[j, m] = dot(W, j, W, m)
        G[r if direct else k, j] = T[C, j] if direct else dot(T, C, W, j)


@inlined
def _solved(
    i: int, k: int, V: Array, own: Row, T: Array, W: Array, G: Array, L: Array
) -> bool:  # pragma: no cover
    """Set row i to the solution u of the row problem with k rows of W; whether row k of L has W u."""
    direct = k >= V.shape[1]
    order = V.shape[1] if direct else k
    _gram(T, W, k, G, direct)
    mu = shift_of(own, dot(T, U, T, U), dot(T, C, T, C), G, order, L, direct)
    if not mu > 0.0:
        set_hard_row(own, i, k, V, T, W)
        return False
    solve_row(mu, G, order, L)
    if direct:
        put(V, i, 1.0, L, order)
    else:
        put(V, i, 1 / mu, T, C)
        for j in range(k):
            add(V, i, -L[k, j] / mu, W, j)
    return not direct


@part()
def _measured(
    i: int, k: int, V: Array, own: Row, T: Array, W: Array, L: Array, short: bool
) -> tuple[float, float]:  # pragma: no cover
    """The fall of the row problem from the old u to row i, and the squared gradient at the old u.

    If ``short``, row k of L has W u.
    """
    mu0, quartic, radius = own
    old, new, fall, across, steep = 0.0, 0.0, 0.0, 0.0, 0.0
    for a in range(V.shape[1]):
        u, v, c = T[U, a], V[i, a], T[C, a]
        old, new, fall = old + u * u, new + v * v, fall + c * (v - u)
    for a in range(V.shape[1]):
        T[GRADIENT, a] = (mu0 + 4 * quartic * old) * T[U, a] - T[C, a]
    for j in range(k):
        before, after = dot(W, j, T, U), L[k, j] if short else dot(W, j, V, i)
        fall += 0.5 * (before * before - after * after)
        add(T, GRADIENT, before, W, j)
    for a in range(V.shape[1]):
        across += T[GRADIENT, a] * T[U, a]
        steep += T[GRADIENT, a] * T[GRADIENT, a]
    if radius > 0.0 and old >= radius * radius * (1 - 1e-9) and across < 0:
        steep -= across * across / old
    return fall + 0.5 * mu0 * (old - new) + quartic * (old * old - new * new), max(steep, 0.0)


@inlined
def _step(
    place: Place, V: Array, pairs: Pairs, own: Row, work: Work, measured: Array, how: tuple[bool, bool, bool]
) -> bool:  # pragma: no cover
    """Minimise over a row for the models of its pairs; False if these have no minimum.

    ``how`` tells whether values are distances, whether to measure, and whether to look for a minimum.
    """
    T, W, G, L, model = work
    apart, first, doubts = how
    i = place[0]
    problem, count = own, place[2]
    if apart:
        problem, count = _distances(place, V, pairs, model, T, W, own)
        if doubts and problem[1] == 0.0 and problem[0] <= COERCIVE * abs(own[0]):
            return False
    else:
        _entries(place, V, pairs[1], model, T, W)
    short = _solved(i, count, V, problem, T, W, G, L)
    if first:
        fall, steep = _measured(i, count, V, problem, T, W, L, short)
        measured[0] += fall
        measured[1] += steep
    if apart:
        add(V, i, 1.0, T, MEAN)
    return True


@called()
def _back(i: int, V: Array, T: Array, apart: bool, tries: int) -> bool:  # pragma: no cover
    """Move row i half of the way to the old row, all the way on distances; whether it stays there."""
    failed = tries > (1 if apart else HALVED)
    share = 1.0 if failed or apart else 0.5
    put(V, i, 1 - share, V, i)
    add(V, i, share, T, KEPT)
    return failed


@inlined
def _update(
    i: int, V: Array, pairs: Pairs, own: Row, kinds: tuple[bool, bool, bool], work: Work, measured: Array
) -> None:  # pragma: no cover
    """Update row i, from piece to piece if there are pieces."""
    apart, pieces, plain = kinds
    T, model, fallen = work[0], work[4], measured[0]
    place = i, pairs[0][i], pairs[0][i + 1] - pairs[0][i]
    turn, tries, above, before, now = 0, 0, False, 0.0, 0.0
    while True:
        if pieces:
            if plain:
                new, changed = value_of(place, V, pairs, model, T, own)
            else:
                new, changed = any_value(place, V, pairs, model, T, own, above)
            if turn == 0 and not above:
                before = now = new
            elif not above:
                if new > now + ROUNDING * (abs(new) + abs(now)):
                    tries, above = tries + 1, apart
                    if _back(i, V, T, apart, tries):
                        break
                    continue
                rises, now = new > now, min(new, now)
                if rises or turn >= STEPS or not (changed or tries):
                    break
            put(T, KEPT, 1.0, V, i)
        else:
            _straight(place, pairs[3], model)
        if not _step(place, V, pairs, own, work, measured, (apart, turn == 0, not above)):
            above = True
            continue
        turn, tries, above = turn + 1, int(above), False
        if not pieces:
            return
    measured[0] = fallen + before - now


@borrowing
def sweep(
    order: Index, V: Array, cost: Cost, pairs: Pairs, rows: Rows, kinds: tuple[bool, bool, bool], work: Work,
    measured: Array,
) -> None:  # fmt: skip # pragma: no cover
    """Update the rows in order, one by one.

    ``kinds`` tell whether values are squared distances, whether a slope has ends, and whether all values are
    entries with losses of straight slopes. ``measured`` grows by
    the fall of the objective, and by the squared gradients of the rows just before their updates. A gradient
    counts without the part that a tight norm bound balances.
    """
    indptr, indices, data = cost
    mu0, quartic, radius, fixed = rows
    for position in range(order.shape[0]):
        if position + AHEAD < order.shape[0]:
            later = order[position + AHEAD]
            ask(V, indices, indptr[later], indptr[later + 1])
            ask(V, pairs[1], pairs[0][later], pairs[0][later + 1])
        i = order[position]
        pull_cost(i, work[0], V, indices, data, indptr[i], indptr[i + 1])
        if fixed.shape[0]:
            add(work[0], PULL, -1.0, fixed, i)
        _update(i, V, pairs, (mu0[i], quartic[i], radius), kinds, work, measured)
