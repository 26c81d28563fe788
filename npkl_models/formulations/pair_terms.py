"""Parts that several formulations share: the loss term of pairs, and a check of their sizes."""

from __future__ import annotations

import scipy.sparse as sp

from npkl_models.errors import ProblemError, instance
from npkl_models.linalg import Array, Matrix
from npkl_models.linalg.owned import real_array
from npkl_models.model.functionals import Entries
from npkl_models.model.losses import Loss
from npkl_models.model.pairs import Pairs
from npkl_models.model.terms import LossTerm


def pair_term(pairs: Pairs, loss: str | Loss, target: Array, weight: float) -> LossTerm:
    """The loss term of all pairs; each loss is weighted by the confidence of its pair."""
    return LossTerm(Entries(pairs.n, (pairs.i, pairs.j)), loss, target, weight * pairs.confidence)


def matching(L: Matrix, pairs: Pairs) -> int:
    """The number of points; Laplacian and pairs must have the same number."""
    instance(pairs, Pairs, "pairs")
    shape = L.shape if sp.issparse(L) else real_array(L, "Laplacian").shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0] != pairs.n:
        raise ProblemError(f"Laplacian and pairs must be over the same points, got {shape[0]} and {pairs.n}")
    return pairs.n
