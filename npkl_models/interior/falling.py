"""A direction along which the objective of a program falls, by the same method."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from npkl_models.interior.part import Vector
from npkl_models.interior.path import Iterate
from npkl_models.interior.program import Program
from npkl_models.linalg import Array
from npkl_models.model.box import Box

RAYS = 50  # iterations of the search for a direction
MET = 1e-9  # a direction may miss its equations by this share of its cost


def falling(program: Program) -> list[Array] | None:
    """Factors of D in the cones with <C, D> = -1, <M_e, D> = 0, >= 0 or <= 0 as its y_e may move; or None.

    D comes from the path to the least trace. It is taken as soon as it meets these constraints, far from the
    boundary of the cone.
    """
    parts = []
    for part in program.parts:
        assert isinstance(part, Vector)
        A = sp.vstack([part.A, sp.csr_array(part.C.reshape(1, -1))], format="csr")
        parts.append(replace(part, C=part.unit(1.0), A=A))
    free = np.array([np.inf])
    box = Box(
        np.append(0.0 * program.box.b, -1.0), np.append(0.0 * program.box.q, 0.0),
        np.append(program.box.lower, -free), np.append(program.box.upper, free),
        np.append(program.box.entropy, 0.0),
    )  # fmt: skip
    point = Iterate(Program(tuple(parts), box))
    for _ in range(RAYS):
        try:
            point.advance()
        except np.linalg.LinAlgError:
            return None
        if float(np.max(np.abs(point.missed))) <= MET:
            return point.L_X
    return None
