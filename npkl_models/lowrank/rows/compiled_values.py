"""The objective of a row, and the models of its pairs: their pieces at the row.

After a change of this file, change `compiled`, too: numba's cache reads that file.
"""

from __future__ import annotations

from npkl_models.linalg import Array, Index, Mask
from npkl_models.linalg.compile import called, part
from npkl_models.lowrank.rows.compiled_parts import LOSSES, PULL, Losses, dot, piece
from npkl_models.lowrank.tolerances import SAME

MATRIX, ROW = "f8[:, ::1]", "UniTuple(f8, 3)"
PAIRS = f"Tuple((intp[::1], Array(i4, 1, 'C', True), boolean[::1], {LOSSES}))"
Pairs = tuple[Index, Array, Mask, Losses]  # start (n + 1,), neighbour (32 bits), whether a distance; losses
Row = tuple[float, float, float]  # mu0, a and b of one row
Place = tuple[int, int, int]  # a row, the position of its first pair, and the number of its pairs


@part()
def value_of(
    place: Place, V: Array, pairs: Pairs, model: Array, T: Array, own: Row
) -> tuple[float, bool]:  # pragma: no cover
    """The objective of a row at v. The models of its pairs become their pieces at v: whether one changed.

    All values are entries, and all losses have slopes that are linear between two ends.
    """
    i, first, k = place
    _, neighbor, _, (kappa, shift, low, high, _) = pairs
    size, changed = dot(V, i, V, i), False
    total = 0.5 * own[0] * size + own[1] * size * size - dot(T, PULL, V, i)
    for j in range(k):
        m = first + j
        z = dot(V, i, V, neighbor[m])
        at = kappa[m] * z + shift[m]
        slope = min(max(at, low[m]), high[m])
        inside = slope == at
        bend = kappa[m] if inside else 0.0
        start = shift[m] if inside else slope
        changed = changed or bend != model[0, j] or start != model[1, j]
        model[0, j], model[1, j] = bend, start
        total += slope * (at - 0.5 * slope) / kappa[m] if kappa[m] > 0.0 else slope * z
    return total, changed


@called(f"Tuple((f8, boolean))(UniTuple(intp, 3), {MATRIX}, {PAIRS}, {MATRIX}, {MATRIX}, {ROW}, boolean)")
def any_value(
    place: Place, V: Array, pairs: Pairs, model: Array, T: Array, own: Row, above: bool
) -> tuple[float, bool]:  # pragma: no cover
    """The same for squared distances and logistic losses, too.

    With ``above``, the models become the quadratics of the largest curvature, which touch the losses at v.
    """
    i, first, k = place
    _, neighbor, far, losses = pairs
    size, changed = dot(V, i, V, i), False
    total = 0.5 * own[0] * size + own[1] * size * size - dot(T, PULL, V, i)
    for j in range(k):
        m, z = first + j, 0.0
        if far[m]:
            for a in range(V.shape[1]):
                off = V[i, a] - V[neighbor[m], a]
                z += off * off
        else:
            z = dot(V, i, V, neighbor[m])
        value, slope, bend = piece(z, losses, m)
        total += value
        if above:
            bend = 0.25 * losses[3][m] if losses[4][m] != 0.0 else losses[0][m]
        along = model[0, j] * z
        changed = changed or abs(slope - along - model[1, j]) > SAME * (abs(slope) + abs(along))
        model[0, j], model[1, j] = bend, slope - bend * z
    return total, changed
