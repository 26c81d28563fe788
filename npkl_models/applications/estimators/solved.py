"""The base class of estimators with a solved problem: solution, certificate, and rows of new points."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from numbers import Integral, Real
from typing import Any

from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches
from sklearn.utils._param_validation import Interval, InvalidParameterError
from sklearn.utils.validation import check_is_fitted

from npkl_models.answer.solution import Solution, Status
from npkl_models.applications.estimators.given import GIVEN, equal, recognised
from npkl_models.certificates.certificate import Certificate
from npkl_models.errors import ProblemError, SolverError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import whole_number
from npkl_models.model.neighbors import nearest_given

CHUNK = 5_000  # new points that are processed at a time
COUNT = Interval(Integral, 1, None, closed="left")
POSITIVE, LEAST = Interval(Real, 0, None, closed="neither"), Interval(Real, 0, None, closed="left")
WEIGHT = Interval(Real, 0, None, closed="right")  # infinite for constraints
"""Constraints of parameters, as scikit-learn checks them."""


class ParameterError(ProblemError, InvalidParameterError):  # type: ignore[misc]
    """A parameter of an estimator is of a wrong type or out of its range."""


class CheckedEstimator(BaseEstimator):  # type: ignore[misc]
    """Base class of all estimators, whose parameters are checked."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if tags.transformer_tags is not None:
            tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags

    def _validate_params(self) -> None:
        """Check the parameters as scikit-learn does, with an error of ours that is one of theirs, too."""
        try:
            super()._validate_params()
        except InvalidParameterError as error:
            raise ParameterError(*error.args) from None


class CertifiedEstimator(CheckedEstimator):
    """Base class of the estimators that solve a problem."""

    solution_: Solution

    @property
    def n_iter_(self) -> int:
        """The number of iterations of the backend that found the solution."""
        check_is_fitted(self, "solution_")
        return int(self.solution_.iterations)

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
    n_jobs: int | None
    n_neighbors_: int

    def _neighbors(self, n: int) -> int:
        """``n_neighbors``, or the number of all other points if that is smaller."""
        return min(whole_number(self.n_neighbors, "n_neighbors", 1), n - 1)

    def _learnt(self, solution: Solution, points: Any) -> Array:
        """Keep points and solution, warn if the solution is not OPTIMAL, and return the factor."""
        self.solution_, self._points = solution, points.copy()  # the caller may change the array
        return certified_factor(solution, stacklevel=5)

    def _placed(
        self, new: Any, rows: Array, combined: Callable[[Any, Array, Index], Array]
    ) -> Iterator[Array]:
        """Rows for points: ``combined`` makes those of new points; a training point keeps its own row.

        The points are processed in chunks, so that no matrix of all new by all old points is formed.
        """
        search = NearestNeighbors(n_neighbors=self.n_neighbors_, metric=self.metric, n_jobs=self.n_jobs)
        index = None if self.metric == GIVEN else search.fit(self._points)
        for batch in gen_batches(new.shape[0], CHUNK):
            some = new[batch]
            if index is None:  # rows are distances from the training points
                distance, near = nearest_given(some, self.n_neighbors_)
                same, place = recognised(some, self._points, batch.start)
            else:
                distance, near = index.kneighbors(some)
                same = equal(some, self._points[near[:, 0]])
                place = near[same, 0]
            part = combined(some, distance, near)
            part[same] = rows[place]
            yield part
