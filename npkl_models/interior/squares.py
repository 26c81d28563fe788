r"""Squares of values over a small basis, as squares of no more values than a kernel has coordinates.

With a QR factorisation of the rows ``a_e / sqrt(q_e)``,

.. math:: \sum_e \frac{(a_e' u - b_e)^2}{2 q_e} = \tfrac12 \|R u - c\|^2 + \tfrac12 \|d\|^2,

where c = Q'(b / sqrt(q)) and d is the rest of b / sqrt(q), orthogonal to the range of Q. The multipliers of
the squares are (Q y - d) / sqrt(q) for the multipliers y of the new values, at every u.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.linalg import Array, Mask
from npkl_models.model.box import Box


@dataclass(frozen=True, eq=False)
class Squares:
    """The squares of a problem, and the fewer ones that stand for them."""

    among: Mask  # which of all multipliers of the problem are those of squares
    root: Array  # sqrt(q) of each
    Q: Array
    R: Array  # the coordinates of the new values
    c: Array  # their targets
    d: Array

    @classmethod
    def of(cls, among: Mask, A: Array, box: Box) -> Squares:
        """The squares of values with the coordinates A (m x t) and conjugates b y + q y^2 / 2."""
        root = np.sqrt(box.q)
        Q, R = np.linalg.qr(A / root[:, None])
        b = box.b / root
        c = Q.T @ b
        d = b - Q @ c
        return cls(among, root, Q, R, c, d - Q @ (Q.T @ d))

    @property
    def box(self) -> Box:
        """The conjugates of the new values."""
        one, inf = np.ones_like(self.c), np.full_like(self.c, np.inf)
        return Box(self.c, one, -inf, inf, 0 * one)

    @property
    def rest(self) -> float:
        """What the new squares leave out."""
        return 0.5 * float(self.d @ self.d)

    def value(self, z: Array) -> float:
        """The new squares of their values z."""
        return 0.5 * float(np.sum((z - self.c) ** 2))

    def multipliers(self, y: Array) -> Array:
        """The multipliers of the squares, from those of the new ones."""
        return np.asarray((self.Q @ y - self.d) / self.root)


def squares_in(box: Box) -> Mask:
    """Which conjugates are those of squares: without an end, and curved."""
    return np.asarray(~(box.below | box.above) & (box.q > 0))
