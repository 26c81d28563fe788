"""What the unfolding transformers share: a kernel of points, its coordinates, and those of new points."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from npkl_models.answer.solution import Solution, Status
from npkl_models.applications.embedding import coordinates, scree
from npkl_models.certify.certificate import Certificate
from npkl_models.errors import ProblemError, SolverError
from npkl_models.linalg import Array, Index

RIDGE = 1e-3  # of the trace of the Gram matrix of the neighbours, as Roweis & Saul have it
CHUNK = 5_000  # new points at a time


class Unfolder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Base of the transformers: its subclasses have the parameters and say what is solved.

    A new point gets the combination of its neighbours' coordinates whose weights combine the neighbours
    themselves to the point nearest to it (Saul & Roweis, JMLR 4, 2003, section 6); a point of the training
    set keeps its own.
    """

    n_components: int
    n_neighbors: int
    metric: str
    backend: str
    options: dict[str, Any] | None

    solution_: Solution
    embedding_: Array
    eigenvalues_: Array
    n_neighbors_: int
    n_features_in_: int

    @abstractmethod
    def _solved(self, X: Array, y: Any) -> Solution:
        """The kernel of the points."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the kernel and its leading coordinates.

        Parameters
        ----------
        X : array_like or DataFrame of shape (n, d)
        y : array_like of shape (n,), optional
            Labels, where the transformer asks for them.

        Returns
        -------
        Unfolder
            Itself.

        Raises
        ------
        ProblemError
            For parameters out of range.
        SolverError
            If no kernel was found.
        """
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """`fit`, and the coordinates of the training points."""
        self._learn(X, y)
        return self.embedding_

    def transform(self, X: Any) -> Array:
        """Coordinates of points, those of training points as they are.

        Parameters
        ----------
        X : array_like or DataFrame of shape (m, d)

        Returns
        -------
        ndarray of shape (m, n_components)
        """
        check_is_fitted(self, "embedding_")
        new = validate_data(self, X, dtype=np.float64, reset=False)
        index = NearestNeighbors(n_neighbors=self.n_neighbors_, metric=self.metric).fit(self._points)
        parts = [self._placed(index, new[at : at + CHUNK]) for at in range(0, len(new), CHUNK)]
        return np.concatenate(parts)

    @property
    def certificate_(self) -> Certificate:
        """What is proved of the kernel."""
        check_is_fitted(self, "solution_")
        return self.solution_.certificate

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _learn(self, X: Any, y: Any) -> None:
        if y is None:
            if self.__sklearn_tags__().target_tags.required:
                name = type(self).__name__
                raise ProblemError(f"{name} requires y to be passed, but the target y is None")
            points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        else:
            points, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        for name in ("n_components", "n_neighbors"):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < 1:
                raise ProblemError(f"{name} must be an integer >= 1, got {value!r}")
        if self.metric == "precomputed":
            raise ProblemError("metric must be one of points, got 'precomputed'")
        self.n_neighbors_ = min(int(self.n_neighbors), len(points) - 1)
        self.solution_ = self._solved(points, y)
        if self.solution_.V is None:
            raise SolverError(f"no kernel: {self.solution_.status} - {self.solution_.status.value}")
        if self.solution_.status is not Status.OPTIMAL:
            warnings.warn(
                f"the kernel is not certified optimal: {self.solution_.status} - "
                f"{self.solution_.status.value}",
                ConvergenceWarning,
                stacklevel=3,
            )
        self._points = points
        self.embedding_ = coordinates(self.solution_, self.n_components)
        self.eigenvalues_ = scree(self.solution_)

    def _placed(self, index: NearestNeighbors, new: Array) -> Array:
        near = index.kneighbors(new, return_distance=False)
        weights = _barycentric(self._points, new, near)
        out: Array = np.einsum("mk,mkc->mc", weights, self.embedding_[near])
        same = np.flatnonzero((new == self._points[near[:, 0]]).all(axis=1))
        out[same] = self.embedding_[near[same, 0]]
        return out


def _barycentric(points: Array, new: Array, near: Index) -> Array:
    """Weights (m, k), each row's sum one, that combine the neighbours to the point nearest to the new one."""
    apart = points[near] - new[:, None]
    G = np.einsum("mkd,mld->mkl", apart, apart)
    trace = np.einsum("mkk->m", G)
    k = near.shape[1]
    G[:, range(k), range(k)] += np.where(trace > 0, RIDGE * trace, 1.0)[:, None]
    weights = np.linalg.solve(G, np.ones((*near.shape, 1)))[:, :, 0]
    out: Array = weights / weights.sum(axis=1, keepdims=True)
    return out
