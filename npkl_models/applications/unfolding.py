"""scikit-learn transformers: unfolded coordinates of points, and of new points by their neighbours."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils.validation import check_is_fitted, validate_data

from npkl_models.answer.solution import Solution
from npkl_models.applications.embedding import coordinates, scree
from npkl_models.applications.estimators.given import GIVEN, like
from npkl_models.applications.estimators.solved import COUNT, POSITIVE, WEIGHT, SolvedEstimator
from npkl_models.applications.structure import structure_preserving
from npkl_models.applications.volume import minimum_volume
from npkl_models.errors import ProblemError, keywords
from npkl_models.formulations import colored_mvu, mvu
from npkl_models.formulations.neighborhood import neighborhood
from npkl_models.formulations.rigid import barycentric
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import unrounded


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
    n_jobs = None

    _parameter_constraints = {
        "n_components": [COUNT], "n_neighbors": [COUNT], "metric": [str, callable], "backend": [str],
        "options": [Mapping, None],
    }  # fmt: skip

    @abstractmethod
    def _solved(self, X: Array, y: Any) -> Solution:
        """Solve the problem of the points."""

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the kernel and its leading coordinates, of points (n x d) and, for some, labels (n,).

        A ProblemError names a parameter that is out of range; a SolverError says that no kernel was found.
        """
        if self.metric == GIVEN:
            raise ProblemError("metric must be a metric between points, got 'precomputed'")
        target = {} if y is None and not self.__sklearn_tags__().target_tags.required else {"y": y}
        points = validate_data(self, unrounded(X, "X"), **target, dtype=np.float64, ensure_min_samples=2)
        points, y = points if target else (points, None)
        self.n_neighbors_ = self._neighbors(len(points))
        self._learnt(self._solved(points, y), points)
        self.embedding_ = coordinates(self.solution_, self.n_components)
        self.eigenvalues_ = scree(self.solution_)
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Call `fit` and return ``embedding_``, the coordinates of the training points."""
        return like(X, self.fit(X, y).embedding_)

    def transform(self, X: Any) -> Array:
        """Coordinates (m x n_components) of points (m x d); a training point keeps its own coordinates."""
        check_is_fitted(self, "embedding_")
        new = validate_data(self, unrounded(X, "X"), dtype=np.float64, reset=False)
        return like(X, np.concatenate(list(self._placed(new, self.embedding_, self._combined))))

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def _combined(self, new: Array, _: Array, near: Index) -> Array:
        weights = barycentric(self._points[near] - new[:, None])
        return np.einsum("mk,mkc->mc", weights, self.embedding_[near])


@dataclass(eq=False, repr=False, kw_only=True)
class MVU(Unfolder):
    """Maximum variance unfolding: keep the distances of neighbours and maximise the variance.

    Weinberger, Sha & Saul, ICML 2004; for new points, Saul & Roweis, JMLR 4, 2003, section 6.

    Parameters
    ----------
    n_components : int
        Number of coordinates; coordinates beyond the rank of the kernel are zero.
    n_neighbors : int
        Number of neighbours of each point in the graph; all other points if there are fewer.
    nu : float
        Weight of the distances; each squared distance is off by its multiplier over 2 nu. ``numpy.inf``
        keeps them exactly; that problem is ill-conditioned beyond a few hundred points.
    components, angles
        As in `mvu`: "connect" a disconnected graph or "refuse" it, and whether to keep distances between
        neighbours of one point, too. ``solution_.problem.name`` tells whether edges were added.
    metric : str
        Metric of the graph, as in `mvu`; not "precomputed".
    backend, options
        Solver and further options, as in `Problem.solve`.

    Attributes
    ----------
    embedding_ : ndarray of shape (n, n_components)
        Coordinates of the training points.
    eigenvalues_ : ndarray
        Eigenvalues of the centred kernel, the largest first.
    solution_, certificate_
        The solution, and its proved bounds. `fit` issues a `ConvergenceWarning` unless the status is
        OPTIMAL.
    n_neighbors_, n_features_in_, feature_names_in_
        Number of neighbours that was used, and the features, as in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.unfolding import MVU
    >>> angle = np.linspace(0.0, 4.0, 40)
    >>> X = np.column_stack([np.cos(angle), np.sin(angle)])
    >>> Z = MVU(1, n_neighbors=2, nu=1e4).fit(X[::2]).transform(X)[:, 0]
    >>> bool(abs(np.corrcoef(Z, angle)[0, 1]) > 0.999)
    True
    """

    nu: float = 100.0
    components: str = "connect"
    angles: bool = False

    _parameter_constraints = Unfolder._parameter_constraints | {
        "nu": [WEIGHT], "components": [str], "angles": ["boolean"]
    }  # fmt: skip

    def _solved(self, X: Array, y: Any) -> Solution:
        problem = mvu(
            X, self.n_neighbors_, self.metric, components=self.components, weight=self.nu, angles=self.angles
        )
        return problem.solve(self.backend, **keywords(self.options))


@dataclass(eq=False, repr=False, kw_only=True)
class ColoredMVU(Unfolder):
    """Coloured maximum variance unfolding: coordinates that depend on the labels, while neighbours stay near.

    Song, Smola, Borgwardt & Gretton, NIPS 20, 2008. The labels of training points influence their
    coordinates; new points are placed without labels. Judge a classifier of these coordinates on points that
    were held out.

    Parameters
    ----------
    n_components, n_neighbors, metric, backend, options
        As in `MVU`. Components of a disconnected graph are always joined by added edges.
    C : float
        Weight of the distances, as in `colored_mvu`.
    trace_bound : float, optional
        Number B of the constraint tr K^2 <= B. If None, only the graph limits the kernel.
    label_kernel : callable, optional
        ``label_kernel(y)`` returns the kernel of the labels (n x n). By default, y contains classes, and -1
        marks a point of unknown class.

    Attributes
    ----------
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        As in `MVU`.
    """

    C: float = 1.0
    trace_bound: float | None = None
    label_kernel: Callable[[ArrayLike], ArrayLike] | None = None

    _parameter_constraints = Unfolder._parameter_constraints | {
        "C": [WEIGHT], "trace_bound": [POSITIVE, None], "label_kernel": [callable, None]
    }  # fmt: skip

    def _solved(self, X: Array, y: Any) -> Solution:
        labels = y if self.label_kernel is None else self.label_kernel(y)
        problem = colored_mvu(
            X, labels, n_neighbors=self.n_neighbors_, C=self.C, trace_bound=self.trace_bound,
            metric=self.metric, components="connect",
        )  # fmt: skip
        return problem.solve(self.backend, **keywords(self.options))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


@dataclass(eq=False, repr=False, kw_only=True)
class MVE(Unfolder):
    """Minimum volume embedding: increase the first eigenvalues of the kernel, and decrease the others.

    Shaw & Jebara, AISTATS 2007.

    Parameters
    ----------
    n_components : int
        Number d of coordinates, which is also the number of eigenvalues that grow; less than n.
    n_neighbors, metric, backend, options
        As in `MVU`. Components of a disconnected graph are always joined by added edges.
    C, max_steps
        Weight of the distances, as in `mve`, and largest number of steps, as in
        `npkl_models.applications.volume.minimum_volume`.

    Attributes
    ----------
    run_ : VolumeRun
        The record of all steps. Solution and certificate belong to the best one, whose directions were
        fixed.
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        As in `MVU`.
    """

    C: float = 100.0
    max_steps: int = 30

    _parameter_constraints = Unfolder._parameter_constraints | {"C": [WEIGHT], "max_steps": [COUNT]}

    def _solved(self, X: Array, y: Any) -> Solution:
        self.run_ = minimum_volume(
            X, self.n_components, max_steps=self.max_steps, backend=self.backend, C=self.C,
            options=keywords(self.options), n_neighbors=self.n_neighbors_, metric=self.metric,
            components="connect",
        )  # fmt: skip
        return self.run_.solution


@dataclass(eq=False, repr=False, kw_only=True)
class SPE(Unfolder):
    """Structure preserving embedding: each point's neighbours in the graph stay nearer than all other points.

    Shaw & Jebara, ICML 2009. Only the graph of the points is used, not their distances.

    Parameters
    ----------
    n_components, metric, backend, options
        As in `MVU`; the backend must support `spe`.
    n_neighbors : int
        Number of neighbours of each point in the graph, so few that some points are two edges apart.
        Components of a disconnected graph are joined by added edges.
    C, trace_bound
        Weight of the slack, and number B of the constraint tr K^2 <= B (n by default), as in `spe`.
    tol : float
        Relative gap of the problem with all triplets at which the rounds end.

    Attributes
    ----------
    run_ : StructureRun
        The result of the rounds; its gap refers to the problem with all triplets. Solution and certificate
        belong to the best round and cover only its triplets.
    embedding_, eigenvalues_, solution_, certificate_, n_neighbors_, n_features_in_, feature_names_in_
        As in `MVU`.
    """

    n_neighbors: int = 4
    C: float = 1.0
    trace_bound: float | None = None
    tol: float = 1e-4
    backend: str = "simple_npkl"

    _parameter_constraints = Unfolder._parameter_constraints | {
        "C": [WEIGHT], "trace_bound": [POSITIVE, None], "tol": [POSITIVE]
    }  # fmt: skip

    def _solved(self, X: Array, y: Any) -> Solution:
        W = neighborhood(X, self.n_neighbors_, self.metric, "connect").graph
        self.run_ = structure_preserving(
            W, C=self.C, trace_bound=self.trace_bound, tol=self.tol, backend=self.backend,
            options=keywords(self.options),
        )  # fmt: skip
        return self.run_.solution
