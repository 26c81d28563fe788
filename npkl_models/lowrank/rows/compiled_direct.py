"""The compiled secular equation of one row with at least as many pairs as columns, from M = W'W (r x r).

With WW' the solution would be lost to rounding: c is then nearly in the range of W', and stiff losses make mu
small compared with M. M is in the first r rows of G, below the diagonal, and c in row r. `L` holds the
factors of mu I + M, v(mu) in row r, and L^-1 v(mu) in row r + 1. After a change of this file, touch
`compiled_apart` too: numba's cache of a function watches only its own file.
"""

from __future__ import annotations

from npkl_models.linalg import Array
from npkl_models.linalg.compile import compiled, inlined
from npkl_models.lowrank.rows.compiled_secular import Row, rational_step, solve_row
from npkl_models.lowrank.rows.secular import LAST, NARROW, SINGULAR, STEPS


@inlined
def curvature(W: Array, k: int, G: Array, r: int) -> None:  # pragma: no cover
    """Set G to M and c, which is row k of W."""
    for a in range(r):
        for b in range(a + 1):
            total = 0.0
            for j in range(k):
                total += W[j, a] * W[j, b]
            G[a, b] = total
        G[r, a] = W[k, a]


@compiled
def _norm2_directly(mu: float, G: Array, r: int, L: Array) -> tuple[float, float]:  # pragma: no cover
    """||v||^2 and its derivative -2 v'(mu I + M)^-1 v."""
    solve_row(mu, G, r, L)
    size, inner = 0.0, 0.0
    for j in range(r):
        size += L[r, j] * L[r, j]
        total = L[r, j]
        for m in range(j):
            total -= L[j, m] * L[r + 1, m]
        L[r + 1, j] = total
        inner += total * total * L[j, j]
    return size, -2 * inner


@inlined
def shift_directly(own: Row, i: int, V: Array, G: Array, L: Array) -> float:  # pragma: no cover
    """The mu of a row, as in `compiled_secular.shift_of`; 0 if no positive mu was found."""
    mu0, quartic, _ = own
    r = V.shape[1]
    if quartic == 0.0:
        return max(mu0, 0.0)
    size, old, trace = 0.0, 0.0, 0.0
    for a in range(r):
        trace += G[a, a]
        size += G[r, a] * G[r, a]
        old += V[i, a] * V[i, a]
    if size == 0.0:
        return 0.0
    line = (0.25 / quartic, mu0, 0.0)
    low, high = 0.0, max(2 * max(mu0, 0.0), (8 * quartic * size) ** (1 / 3)) + 1e-300
    now = min(max(mu0 + 4 * quartic * old, 1e-3 * high), high)
    for _ in range(STEPS):
        norm2, falls = _norm2_directly(now, G, r, L)
        if norm2 - line[0] * (now - mu0) > 0:
            low = now
        else:
            high = now
        step = rational_step(now, norm2, falls, line)
        if abs(step) <= LAST * now or high - low <= NARROW * high:
            now = now + step
            return now if now > SINGULAR * trace else 0.0
        now = now + step
        if not low < now < high:
            now = 0.5 * (low + high)
    return 0.0


@inlined
def replace_directly(
    i: int, V: Array, mu: float, own: Row, G: Array, L: Array
) -> tuple[float, float]:  # pragma: no cover
    """Set row i to v(mu); returns the fall of the objective, and the squared gradient at the old row."""
    mu0, quartic, _ = own
    r = V.shape[1]
    solve_row(mu, G, r, L)
    old, new = 0.0, 0.0
    for a in range(r):
        old += V[i, a] * V[i, a]
        new += L[r, a] * L[r, a]
    level = mu0 + 4 * quartic * old
    gain, steep = 0.0, 0.0
    for a in range(r):
        before, after = 0.0, 0.0
        for b in range(r):
            bend = G[a, b] if b <= a else G[b, a]
            before += bend * V[i, b]
            after += bend * L[r, b]
        gain += (0.5 * before - G[r, a]) * V[i, a] - (0.5 * after - G[r, a]) * L[r, a]
        pulled = level * V[i, a] + before - G[r, a]
        steep += pulled * pulled
    for a in range(r):
        V[i, a] = L[r, a]
    return gain + 0.5 * mu0 * (old - new) + quartic * (old * old - new * new), steep
