"""The model of the losses with which sweeps begin."""

from __future__ import annotations

import numpy as np

from npkl_models.lowrank.comparisons import Comparisons
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.structure import Structure
from npkl_models.lowrank.tolerances import STEEP
from npkl_models.model.statement import Statement

BETA_FIRST = 0.3  # the first beta of kinked losses, as a share of the largest weight


def first_model(problem: Statement, pairs: Structure, cold: bool) -> EdgeModel:
    """The model of the losses to begin with.

    From a random start (``cold``), square losses that are steep beside the cost are softened: envelopes with
    a penalty of the size of the cost let rows move together, and multipliers keep what was reached.
    """
    exact = EdgeModel(pairs, beta=BETA_FIRST * float(np.max(pairs.weight, initial=1.0)))
    entries = pairs.size > 0 and pairs.apart is None and not isinstance(pairs, Comparisons)
    if not (cold and entries and exact.quadratic):
        return exact
    scale = float(np.mean(np.abs(problem.cost.diagonal())))
    hard = 2 * STEEP * scale  # the curvature of the square is two
    return EdgeModel(pairs, beta=scale, hard=hard) if 0 < hard < float(exact.ramps()[0].max()) else exact
