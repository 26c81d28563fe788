"""scikit-learn transformers: unfolded coordinates of points, and of new ones by their neighbours.

Examples
--------
>>> from npkl_models.applications.unfolding import MVU
>>> MVU(n_neighbors=4)
MVU(n_neighbors=4)
"""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils.validation import check_is_fitted, validate_data

from npkl_models.answer.solution import Solution, Status
from npkl_models.applications.embedding import coordinates, scree
from npkl_models.applications.volume import VolumeRun, minimum_volume
from npkl_models.certify.certificate import Certificate
from npkl_models.errors import ProblemError, SolverError
from npkl_models.linalg import Array, Index
from npkl_models.model.formulations import colored_mvu, mvu

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
            points = validate_data(self, X, dtype=np.float64, ensure_min_samples=2)
        else:
            points, y = validate_data(self, X, y, dtype=np.float64, ensure_min_samples=2)
        for name in ("n_components", "n_neighbors"):
            if not getattr(self, name) >= 1:
                raise ProblemError(f"{name} must be an integer >= 1, got {getattr(self, name)!r}")
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


class MVU(Unfolder):
    """Maximum variance unfolding: distances of neighbours kept, all else as far apart as they allow.

    Parameters
    ----------
    n_components : int
        Coordinates; those beyond the rank of the kernel are zero.
    n_neighbors : int
        Of the graph; all other points where there are fewer.
    nu : float
        Weight of the distances; ``numpy.inf`` keeps them exactly, which is ill-conditioned beyond a few
        hundred points. The multipliers grow with the square of the number of links from end to end, and a
        distance gives by its multiplier over 2 nu.
    components : {"connect", "refuse"}
        What becomes of a graph in parts, as in `mvu`; ``solution_.problem.name`` says if edges were added.
    metric : str
    backend : str
        As in `Problem.solve`.
    options : dict, optional
        Further options of `Problem.solve`, for example ``{"tol": 1e-4, "time_limit": 60}``.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
    eigenvalues_ : ndarray
        Of the centred kernel, the largest first.
    solution_ : Solution
    certificate_ : Certificate
        A `ConvergenceWarning` says when it proves less than ``tol``.
    n_neighbors_ : int
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    Weinberger, Sha & Saul, ICML 2004; for new points Saul & Roweis, JMLR 4, 2003, section 6.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.unfolding import MVU
    >>> angle = np.linspace(0.0, 4.0, 40)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = MVU(1, n_neighbors=2, nu=1e4).fit(X[::2])
    >>> Z = model.transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(Z, angle)[0, 1]) > 0.999)
    True
    >>> model.certificate_.relative_gap <= 1e-6
    True
    """

    def __init__(
        self, n_components: int = 2, *, n_neighbors: int = 6, nu: float = 100.0, components: str = "connect",
        metric: str = "euclidean", backend: str = "auto", options: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.nu = nu
        self.components = components
        self.metric = metric
        self.backend = backend
        self.options = options

    def _solved(self, X: Array, y: Any) -> Solution:
        problem = mvu(X, self.n_neighbors_, self.metric, components=self.components, nu=self.nu)
        return problem.solve(self.backend, **(self.options or {}))


class ColoredMVU(Unfolder):
    """Coloured maximum variance unfolding: places that say the labels, as far as neighbours let them.

    Parameters
    ----------
    n_components, n_neighbors, metric, backend, options
        As in `MVU`; a graph in parts is connected.
    C : float
        Weight of the distances, as in `colored_mvu`.
    bound : float, optional
        B of tr K^2 <= B; the graph alone bounds the kernel without one.
    label_kernel : callable, optional
        ``label_kernel(y)`` makes the kernel of the labels (n x n); by default y are classes, -1 none.

    Attributes
    ----------
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        As in `MVU`.

    Notes
    -----
    Song, Smola, Borgwardt & Gretton, NIPS 20, 2008. The labels of the training points move them, those of new
    points are not asked for: judge a classifier that follows on points that were held out.

    Examples
    --------
    >>> from npkl_models.applications.unfolding import ColoredMVU
    >>> X = [[0.0], [1.0], [2.0], [3.0], [4.5], [5.0]]
    >>> model = ColoredMVU(1, n_neighbors=2).fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.transform([[0.5], [4.75]]).shape
    (2, 1)
    """

    def __init__(
        self, n_components: int = 2, *, n_neighbors: int = 6, C: float = 1.0, bound: float | None = None,
        label_kernel: Callable[[Any], ArrayLike] | None = None, metric: str = "euclidean",
        backend: str = "auto", options: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.C = C
        self.bound = bound
        self.label_kernel = label_kernel
        self.metric = metric
        self.backend = backend
        self.options = options

    def _solved(self, X: Array, y: Any) -> Solution:
        labels = y if self.label_kernel is None else self.label_kernel(y)
        problem = colored_mvu(
            X, labels, n_neighbors=self.n_neighbors_, C=self.C, bound=self.bound, metric=self.metric,
            components="connect",
        )  # fmt: skip
        return problem.solve(self.backend, **(self.options or {}))

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from points and their labels; see `MVU.fit`."""
        self._learn(X, self._labels(y))
        return self

    def fit_transform(self, X: Any, y: Any) -> Array:
        """`fit`, and the coordinates of the training points."""
        self._learn(X, self._labels(y))
        return self.embedding_

    def _labels(self, y: Any) -> Any:
        if y is None:
            raise ProblemError("ColoredMVU requires y to be passed, but the target y is None")
        return y

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class MVE(Unfolder):
    """Minimum volume embedding: the first eigenvalues grown, the others shrunk.

    Parameters
    ----------
    n_components : int
        d: the coordinates, and the eigenvalues that grow; fewer than there are points.
    n_neighbors, metric, backend, options
        As in `MVU`; a graph in parts is connected.
    C : float
        Weight of the distances, as in `mve`.
    max_steps : int
        Of `npkl_models.applications.volume.minimum_volume`.

    Attributes
    ----------
    run_ : VolumeRun
        All steps.
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        As in `MVU`; the certificate is that of the last step, with its directions held.

    Notes
    -----
    Shaw & Jebara, AISTATS 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.unfolding import MVE
    >>> angle = np.linspace(0.0, 4.0, 12)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> model = MVE(1, n_neighbors=2, C=100.0).fit(X)
    >>> bool(model.eigenvalues_[0] > 0.99 * model.eigenvalues_.sum())
    True
    """

    run_: VolumeRun

    def __init__(
        self, n_components: int = 2, *, n_neighbors: int = 6, C: float = 100.0, max_steps: int = 30,
        metric: str = "euclidean", backend: str = "auto", options: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        self.n_components = n_components
        self.n_neighbors = n_neighbors
        self.C = C
        self.max_steps = max_steps
        self.metric = metric
        self.backend = backend
        self.options = options

    def _solved(self, X: Array, y: Any) -> Solution:
        self.run_ = minimum_volume(
            X, self.n_components, max_steps=self.max_steps, backend=self.backend, options=self.options,
            n_neighbors=self.n_neighbors_, C=self.C, metric=self.metric, components="connect",
        )  # fmt: skip
        return self.run_.solution
