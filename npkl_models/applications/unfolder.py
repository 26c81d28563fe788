"""The base class of the unfolding transformers: the kernel, its coordinates, and those of new points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from npkl_models.answer.solution import Solution
from npkl_models.applications.embedding import coordinates, scree
from npkl_models.applications.estimators.solved import SolvedEstimator
from npkl_models.errors import ProblemError, keywords
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import whole_number

RIDGE = 1e-3  # ridge of the weights, times the trace of the neighbours' Gram matrix (Roweis & Saul 2000)


@dataclass(eq=False, repr=False, kw_only=True)
class Unfolder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SolvedEstimator):  # type: ignore[misc]
    """Base class of the unfolding transformers; each subclass adds parameters and solves its own problem.

    Weights with sum one are fitted so that the weighted mean of a new point's neighbours is as near to it as
    possible. The same weights, applied to the neighbours' coordinates, give the coordinates of the new point
    (Saul & Roweis, JMLR 4, 2003, section 6). A training point keeps its own coordinates.
    """

    n_components: int = field(default=2, kw_only=False)
    n_neighbors: int = 6
    metric: str = "euclidean"
    backend: str = "auto"
    options: Mapping[str, object] | None = None

    def _said(self) -> dict[str, Any]:
        """The options of the solve."""
        return keywords(self.options)

    @abstractmethod
    def _solved(self, X: Array, y: Any) -> Solution:
        """Solve the problem of the points."""

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the kernel and its leading coordinates, of points (n x d) and, for some, labels (n,).

        A ProblemError names a parameter that is out of range; a SolverError says that no kernel was found.
        """
        self._learn(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Call `fit` and return ``embedding_``, the coordinates of the training points."""
        self._learn(X, y)
        return self.embedding_

    def transform(self, X: Any) -> Array:
        """Coordinates (m x n_components) of points (m x d); a training point keeps its own coordinates."""
        check_is_fitted(self, "embedding_")
        new = validate_data(self, X, dtype=np.float64, reset=False)
        return np.concatenate(list(self._placed(new, self.embedding_, self._combined)))

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
            whole_number(getattr(self, name), name, 1)
        self.n_neighbors_ = self._neighbors(len(points))
        self._keep(self._solved(points, y), points, stacklevel=4)
        self.embedding_ = coordinates(self.solution_, self.n_components)
        self.eigenvalues_ = scree(self.solution_)

    def _combined(self, new: Array, _: Array, near: Index) -> Array:
        return np.einsum("mk,mkc->mc", _barycentric(self._points, new, near), self.embedding_[near])


def _barycentric(points: Array, new: Array, near: Index) -> Array:
    """Weights (m, k) with row sums one: the weighted mean of the neighbours is nearest to the new point."""
    apart = points[near] - new[:, None]
    G = np.einsum("mkd,mld->mkl", apart, apart)
    trace = np.einsum("mkk->m", G)
    k = near.shape[1]
    G[:, range(k), range(k)] += np.where(trace > 0, RIDGE * trace, 1.0)[:, None]
    weights = np.linalg.solve(G, np.ones((*near.shape, 1)))[:, :, 0]
    return weights / weights.sum(axis=1, keepdims=True)
