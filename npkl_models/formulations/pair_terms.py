"""Parts that several formulations share: terms of pairs, soft or hard terms, and a check of sizes."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from npkl_models.errors import ProblemError, instance
from npkl_models.linalg import Array, Matrix
from npkl_models.linalg.owned import real_array
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import Entries, Functional
from npkl_models.model.losses import Loss, get_loss
from npkl_models.model.pairs import Pairs
from npkl_models.model.terms import LossTerm


def pair_terms(
    pairs: Pairs, loss: str | Loss, target: Array, weight: float
) -> tuple[LossTerm | Constraint, ...]:
    """The loss of all pairs, each weighted by its confidence; pairs of infinite confidence are constraints.

    Their losses are 0. A ProblemError says so if the loss does not tell which values have the loss 0.
    """
    entries, hard = Entries(pairs.n, (pairs.i, pairs.j)), np.isinf(pairs.confidence)
    if not hard.any():
        return (LossTerm(entries, loss, target, weight * pairs.confidence),)
    kind, t, soft = get_loss(loss), target[hard], ~hard
    box = kind.box(t, np.ones(t.size))
    if not (kind.nonnegative and kind.separable and (kind.value(box.b, t) == 0).all()):
        raise ProblemError(
            f"pairs must have finite weights with the {kind.name} loss, which has no known zero, got "
            f"{t.size} infinite ones; square, hinge and squared_hinge hold them, and hard_pcp holds all pairs"
        )
    low, high = np.where(box.lower < 0, box.b, -np.inf), np.where(box.upper > 0, box.b, np.inf)
    required = Constraint(entries.kept(hard), lower=low, upper=high, name="required pairs").by_kind()
    if not soft.any():
        return required
    return LossTerm(entries.kept(soft), kind, target[soft], weight * pairs.confidence[soft]), *required


def matching(L: Matrix, pairs: Pairs) -> int:
    """The number of points; Laplacian and pairs must have the same number."""
    instance(pairs, Pairs, "pairs")
    shape = L.shape if sp.issparse(L) else real_array(L, "Laplacian").shape
    if len(shape) == 2 and shape[0] == shape[1] and shape[0] != pairs.n:
        raise ProblemError(f"Laplacian and pairs must be over the same points, got {shape[0]} and {pairs.n}")
    return pairs.n


def soft_or_hard(
    functional: Functional, loss: str | Loss, target: ArrayLike, weight: Array, name: str, side: str
) -> list[LossTerm | Constraint]:  # fmt: skip
    """The loss of the values of finite weight, and a constraint on those of infinite weight, if any.

    ``side`` is the argument of `Constraint` that the target becomes.
    """
    hard = np.isinf(weight)
    target = np.broadcast_to(np.asarray(target, dtype=float), weight.shape)
    terms: list[LossTerm | Constraint] = []
    if not hard.all():
        terms.append(LossTerm(functional.kept(~hard), loss, target[~hard], weight[~hard], name))
    if hard.any():
        required: dict[str, Any] = {side: target[hard]}
        terms.append(Constraint(functional.kept(hard), **required, name=f"required {name}"))
    return terms
