"""Clusters by a learnt kernel, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import ClusterMixin
from sklearn.metrics import pairwise_distances_argmin

from npkl_models.applications.clustering import kernel_kmeans
from npkl_models.applications.estimators.base import KernelEstimator
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem


class NPKLClustering(ClusterMixin, KernelEstimator):  # type: ignore[misc]
    """Clusters of points with must-links, cannot-links or some classes: a kernel is learnt, then k-means.

    Parameters
    ----------
    n_clusters : int
    formulation : {"pcp", "npkl", "simple_npkl", "hard_pcp"} or callable
        "simple_npkl" has tr K^2 <= n^2 / 10. A callable ``build(L, pairs, gamma)`` makes a problem of
        your own.
    loss : {"square", "hinge", "squared_hinge", "linear"}
        Of "npkl" and "simple_npkl"; "pcp" has squares, "hard_pcp" none.
    gamma : float
        Weight of the pairs (C of "simple_npkl"); "hard_pcp" has none.
    n_neighbors : int
        Of the graph; all other points where there are fewer.
    shift : float
        Added to the diagonal of the Laplacian; without any the problem may be ill-posed.
    sigma : float, "auto", "last" or "binary"
        Width of the affinities, as in `knn_affinity`.
    metric : str
        Of the graph.
    backend : str
        As in `Problem.solve`.
    tol : float
        Target of the certified relative gap.
    options : dict, optional
        More options of `Problem.solve`, for example ``{"time_limit": 60}``.
    n_init : int
        Restarts of k-means.
    random_state : int, RandomState or None

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
    cluster_centers_ : ndarray of shape (n_clusters, r)
        In the coordinates of ``factor_``.
    factor_ : ndarray of shape (n, r)
        Of the kernel, in its principal axes, without those whose eigenvalue is below 1e-7 of the largest.
    kernel_ : ndarray of shape (n, n)
        Up to 10,000 points.
    pairs_ : Pairs
        Those that the kernel was learnt from.
    supervised_ : bool
        Whether there was any side information.
    width_ : float
        Of the training graph's affinities, inf for a binary one; those of new points have the same.
    solution_ : Solution
    certificate_ : Certificate
        What is proved of the kernel; a `ConvergenceWarning` says when that is less than ``tol``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        For a DataFrame with names.

    Notes
    -----
    Side information is the union of what `fit` is given; contradictory pairs are allowed unless the same
    pair is on both lists. Without any, ``n_clusters`` landmarks (the points nearest to the centres of
    k-means) are not to be linked, and the graph says the rest; ``n_clusters=1`` has two of them.

    `predict` gives a new point the average of its nearest training points' rows, weighted by affinities of
    the training width (`npkl_models.answer.extension.extend`), and the cluster whose centre is nearest; each
    point by itself. A point of the training set keeps its own row.

    Pairs say positions in X, so they cannot be split: under `GridSearchCV` say the classes that are known by
    y, and -1 for the others.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.estimators import NPKLClustering
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> model = NPKLClustering(2, n_neighbors=2).fit(X, must_link=[(0, 2)], cannot_link=[(2, 3)])
    >>> bool(model.labels_[0] == model.labels_[1] != model.labels_[4])
    True
    >>> bool(model.predict([[1.5]])[0] == model.labels_[0])
    True
    >>> model.certificate_.relative_gap <= 1e-6
    True
    """

    labels_: Index
    cluster_centers_: Array

    def __init__(
        self, n_clusters: int = 2, *,
        formulation: str | Callable[[Matrix, Pairs, float], Problem] = "pcp", loss: str = "squared_hinge",
        gamma: float = 100.0, n_neighbors: int = 10, shift: float = 0.1, sigma: float | str = "auto",
        metric: str = "euclidean", backend: str = "auto", tol: float = 1e-6,
        options: dict[str, Any] | None = None, n_init: int = 20, random_state: Any = 0,
    ) -> None:  # fmt: skip
        self.n_clusters = n_clusters
        self.formulation = formulation
        self.loss = loss
        self.gamma = gamma
        self.n_neighbors = n_neighbors
        self.shift = shift
        self.sigma = sigma
        self.metric = metric
        self.backend = backend
        self.tol = tol
        self.options = options
        self.n_init = n_init
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike | None = None, *, must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None, pairs: ArrayLike | None = None,
        y_pairs: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn the kernel and form the clusters.

        Parameters
        ----------
        X : array_like, sparse or DataFrame of shape (n, d)
        y : array_like of shape (n,), optional
            Known classes, -1 (or None or NaN) where unknown; `spanning_pairs` says which pairs they make.
        must_link, cannot_link : array_like of shape (m, 2), optional
            Integers are positions of rows, whatever the index of X is. Anything else (strings, dates) is
            looked up in the index of a DataFrame, which must be unique.
        pairs, y_pairs : array_like of shape (m, 2) and (m,), optional
            Pairs and their signs, +1 for must-links and -1 for cannot-links, as in metric-learn.

        Returns
        -------
        NPKLClustering
            Itself.
        """
        if not self.n_clusters >= 1:
            raise ProblemError(f"n_clusters must be an integer >= 1, got {self.n_clusters!r}")
        seed = self._fit_kernel(X, y, must_link, cannot_link, pairs, y_pairs, self.n_clusters)
        self.labels_ = kernel_kmeans(self.factor_, self.n_clusters, self.n_init, seed)
        n = len(self.labels_)
        member = sp.csr_array((np.ones(n), (self.labels_, np.arange(n))), shape=(self.n_clusters, n))
        size = np.maximum(np.asarray(member.sum(axis=1)).ravel(), 1.0)
        self.cluster_centers_ = (member @ self.factor_) / size[:, None]
        return self

    def fit_predict(
        self, X: Any, y: ArrayLike | None = None, *, must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None, pairs: ArrayLike | None = None,
        y_pairs: ArrayLike | None = None,
    ) -> Index:  # fmt: skip
        """The labels that `fit` forms; its parameters."""
        self.fit(X, y, must_link=must_link, cannot_link=cannot_link, pairs=pairs, y_pairs=y_pairs)
        return self.labels_

    def predict(self, X: Any) -> Index:
        """The nearest cluster of each point, in the space of the kernel."""
        parts = [pairwise_distances_argmin(rows, self.cluster_centers_) for rows in self._extended(X)]
        return np.concatenate(parts).astype(np.intp)
