"""The parts of the cone of a general semidefinite program.

The blocks are the connected parts of the aggregate pattern of the cost and of all M_e: no number meets an
entry between them. All blocks of order one are one vector.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.interior.blocks import WIDE, Block, Stack
from npkl_models.interior.part import Vector
from npkl_models.linalg import Matrix
from npkl_models.model.pairs import components

MANY, SMALL = 4, 8  # so many blocks of one order are computed together, up to this order


def parts_of(C: Matrix, A: Matrix) -> list[Vector]:
    """The parts of a cone from the cost (n x n) and the coefficients of vec(X), A (m x n^2), both halves."""
    n = C.shape[0]
    C, A = sp.csr_array(C), sp.coo_array(A)
    row, column = A.coords[1] // n, A.coords[1] % n
    places = sp.coo_array(C).coords
    ends = np.stack([np.concatenate([places[0], row]), np.concatenate([places[1], column])], axis=1)
    label = components(n, ends)[1]
    sizes = np.bincount(label)
    order = np.argsort(label, kind="stable")
    start = np.cumsum(sizes) - sizes
    at = np.empty(n, dtype=np.intp)  # the place of each row within its part
    at[order] = np.arange(n) - np.repeat(start, sizes)
    parts: list[Vector] = []
    for size in np.unique(sizes):
        own = np.flatnonzero(sizes == size)
        number = np.full(sizes.size, -1)
        number[own] = np.arange(own.size)
        here = number[label[row]] >= 0
        flat = (number[label[row[here]]] * size + at[row[here]]) * size + at[column[here]]
        shape = (A.shape[0], own.size * int(size) ** 2)
        every = sp.csr_array((A.data[here], (A.coords[0][here], flat)), shape=shape)
        rows = order[start[own][:, None] + np.arange(size)]
        if size == 1:
            parts.append(Vector(rows[:, 0], C.diagonal()[rows[:, 0]], every))
        elif own.size >= MANY and size <= SMALL and own.size * float(size) ** 4 <= WIDE:
            parts.append(Stack(rows, np.stack([C[one][:, one].toarray() for one in rows]), every))
        else:
            blocks = (every[:, k * size**2 : (k + 1) * size**2] for k in range(own.size))
            parts += [
                Block(one, C[one][:, one].toarray(), sp.csr_array(block))
                for one, block in zip(rows, blocks, strict=True)
            ]
    return parts
