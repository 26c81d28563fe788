"""The base class of estimators with a solved problem: solution, certificate, and rows of new points."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted

from npkl_models.answer.solution import Solution, Status
from npkl_models.certify.certificate import Certificate
from npkl_models.errors import ProblemError, SolverError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import whole_number

CHUNK = 5_000  # new points that are processed at a time


class CertifiedEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of the estimators that solve a problem."""

    solution_: Solution

    @property
    def certificate_(self) -> Certificate:
        """The proved bounds on the optimum of the problem that was solved."""
        check_is_fitted(self, "solution_")
        return self.solution_.certificate


def certified_factor(solution: Solution, what: str = "kernel", stacklevel: int = 3) -> Array:
    """The factor of the solution; a warning at the call of `fit` if the solution is not OPTIMAL."""
    status = f"{solution.status} - {solution.status.value}"
    if solution.V is None:
        raise SolverError(f"no kernel: {status}")
    if solution.status is not Status.OPTIMAL:
        words = f"the {what} is not certified optimal: {status}"
        warnings.warn(words, ConvergenceWarning, stacklevel=stacklevel)
    return solution.V


class SolvedEstimator(CertifiedEstimator):
    """Base class of the estimators that solve a problem over points and their graph."""

    n_neighbors: int
    metric: str

    n_neighbors_: int

    def _neighbors(self, n: int) -> int:
        """``n_neighbors``, or the number of all other points if that is smaller."""
        if self.metric == "precomputed":
            raise ProblemError("metric must be a metric between points, got 'precomputed'")
        return min(whole_number(self.n_neighbors, "n_neighbors", 1), n - 1)

    def _keep(self, solution: Solution, points: Any, stacklevel: int = 3) -> Array:
        """Keep points and solution, warn if the solution is not OPTIMAL, and return the factor."""
        self.solution_, self._points = solution, points.copy()  # the caller may change the array
        return certified_factor(solution, stacklevel=stacklevel + 1)

    def _placed(
        self, new: Any, rows: Array, combined: Callable[[Any, Array, Index], Array]
    ) -> Iterator[Array]:
        """Rows for points: ``combined`` makes those of new points; a training point keeps its own row.

        The points are processed in chunks, so that no matrix of all new by all old points is formed.
        """
        index = NearestNeighbors(n_neighbors=self.n_neighbors_, metric=self.metric).fit(self._points)
        for at in range(0, new.shape[0], CHUNK):
            some = new[at : at + CHUNK]
            distance, near = index.kneighbors(some)
            part = combined(some, distance, near)
            same = _equal(some, self._points[near[:, 0]])
            part[same] = rows[near[same, 0]]
            yield part


def _equal(A: Any, B: Any) -> Index:
    """Positions of the rows that are equal in A and B."""
    different = abs(A - B).sum(axis=1) if sp.issparse(A) else (A != B).any(axis=1)
    return np.flatnonzero(np.asarray(different).ravel() == 0)
