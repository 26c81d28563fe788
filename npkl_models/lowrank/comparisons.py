"""The values D_ij - D_ik of a problem on comparisons of distances, as a low-rank solver needs them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from npkl_models.linalg import Index
from npkl_models.lowrank.structure import Block, Structure, without_ramps
from npkl_models.model.functionals import DistanceDifferences
from npkl_models.model.incidence import Incidence
from npkl_models.model.statement import Statement


@dataclass(frozen=True, eq=False)
class Comparisons(Structure):
    """The structure of comparisons: the value of a comparison is D_ij - D_ik, with k in ``far``."""

    far: Index = field(default_factory=lambda: np.zeros(0, dtype=np.intp))

    @cached_property
    def incidence(self) -> Incidence:
        parts = DistanceDifferences(self.n, (self.i, self.j, self.far)).triplets()
        return Incidence(parts.owner, parts.row, parts.column, parts.coefficient, self.n, self.size)


def compares(problem: Statement) -> bool:
    """Whether a loss of the problem has the values D_ij - D_ik."""
    return any(isinstance(term.functional, DistanceDifferences) for term in problem.losses)


def comparisons(problem: Statement) -> Comparisons:
    """The comparisons of a problem whose values are all of the form D_ij - D_ik."""
    blocks, at = [], 0
    for k, term in enumerate(problem.losses):
        size = term.functional.size
        blocks.append(Block(term.loss, k, at, at + size, np.arange(size)))
        at += size
    parts = [(*term.functional.indices, term.target, term.weight) for term in problem.losses]
    i, j, far, target, weight = (np.concatenate(column) for column in zip(*parts, strict=True))
    none = np.zeros(problem.n)
    return Comparisons(problem.n, i, j, target, weight, tuple(blocks), none, none.copy(), None, far)


def refused(problem: Statement) -> str | None:
    """The reason why sweeps cannot take a problem with comparisons; None if they can."""
    if not all(isinstance(term.functional, DistanceDifferences) for term in problem.losses):
        return "takes differences of distances only without other values"
    if problem.basis is not None or problem.constraints:
        return "takes differences of distances only without a basis and without row norms"
    if (reason := without_ramps(problem)) is not None:
        return f"{reason}, on differences of distances"
    for term in problem.losses:
        i, j, k = term.functional.indices
        if bool(np.any((i == j) | (i == k) | (j == k))):
            return "needs comparisons of three different points"
    if not bool(np.all(problem.cost.diagonal() > 0)):
        return "needs a positive cost of every point if values are differences of distances"
    return None
