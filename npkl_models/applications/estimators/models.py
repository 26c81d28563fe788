"""Clusters by a learnt kernel, and coordinates in its space, as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics import pairwise_distances_argmin

from npkl_models.applications.clustering import kernel_kmeans, membership
from npkl_models.applications.estimators.base import KernelEstimator
from npkl_models.applications.held_out import ranked_rightly, share_met
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import whole_number
from npkl_models.model.pairs import Pairs


@dataclass(eq=False, repr=False, kw_only=True)
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

    Pairs say positions in X, so rows cannot be split with them: under `GridSearchCV` say the classes that are
    known by y, and -1 for the others; `npkl_models.applications.held_out.cross_val_pairs` splits the pairs.

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

    n_clusters: int = field(default=2, kw_only=False)
    n_init: int = 20

    def _apart(self) -> int:
        if not self.n_clusters >= 1:
            raise ProblemError(f"n_clusters must be an integer >= 1, got {self.n_clusters!r}")
        return self.n_clusters

    def _finish(self, seed: int, weight: Array | None) -> None:
        self.labels_ = kernel_kmeans(self.factor_, self.n_clusters, self.n_init, seed, weight)
        member = membership(self.labels_, self.n_clusters)
        if weight is not None:
            member = member * weight
        size = np.asarray(member.sum(axis=1)).ravel()
        self.cluster_centers_ = (member @ self.factor_) / np.where(size > 0, size, 1.0)[:, None]

    def _told(self, X: Any, held: Pairs) -> float:
        return share_met(self.predict(X), held)

    def fit_predict(self, X: Any, y: ArrayLike | None = None, **side: Any) -> Index:
        """The labels that `fit` forms; ``side`` is what it takes by keyword."""
        return self.fit(X, y, **side).labels_

    def predict(self, X: Any) -> Index:
        """The nearest cluster of each point, in the space of the kernel."""
        parts = [pairwise_distances_argmin(rows, self.cluster_centers_) for rows in self._extended(X)]
        return np.concatenate(parts).astype(np.intp)


@dataclass(eq=False, repr=False, kw_only=True)
class NPKLKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Rows of the factor of a learnt kernel, as features for whatever comes next.

    Parameters
    ----------
    n_components : int, optional
        Number of features, the same at every fit: the leading axes of the kernel, and zeros where there are
        fewer. By default there are as many as the kernel has rank, which differs from fit to fit.
    n_landmarks : int
        Where there is no side information: so many points, the nearest to the centres of k-means, are not
        to be linked.
    formulation, loss, gamma, n_neighbors, shift, sigma, metric, backend, tol, options, random_state
        As in `NPKLClustering`.

    Attributes
    ----------
    factor_ : ndarray of shape (n, r)
        Of the kernel, in its principal axes, without those whose eigenvalue is below 1e-7 of the largest.
    kernel_, pairs_, supervised_, width_, solution_, certificate_, n_features_in_, feature_names_in_
        As in `NPKLClustering`.

    Notes
    -----
    The rows of training points know their pairs, those of new points only by their neighbours. A classifier
    that is trained on the former and asked of the latter, with the same y for both, sees classes parted
    better in training than afterwards: judge it on points that were held out.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.estimators import NPKLKernel
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> model = NPKLKernel(n_neighbors=2).fit(X, [0, -1, 0, 1, -1, -1])
    >>> model.transform([[1.5], [10.5]]).shape == (2, model.factor_.shape[1])
    True
    >>> bool(np.allclose(model.factor_ @ model.factor_.T, model.kernel_, atol=1e-6))
    True
    """

    n_components: int | None = None
    n_landmarks: int = 2

    def _apart(self) -> int:
        if not self.n_landmarks >= 2:
            raise ProblemError(f"n_landmarks must be an integer >= 2, got {self.n_landmarks!r}")
        return self.n_landmarks

    def _shaped(self, factor: Array) -> Array:
        if self.n_components is None:
            return factor
        wanted = whole_number(self.n_components, "n_components", 1)
        missing = max(wanted - factor.shape[1], 0)
        return np.pad(factor[:, :wanted], ((0, 0), (0, missing)))

    def _told(self, X: Any, held: Pairs) -> float:
        return ranked_rightly(self.transform(X), held)

    def transform(self, X: Any) -> Array:
        """Rows of the factor for points: of a training point its own, of others those of their neighbours.

        Parameters
        ----------
        X : array_like, sparse or DataFrame of shape (m, d)

        Returns
        -------
        ndarray of shape (m, r)
        """
        return np.concatenate(list(self._extended(X)))

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **side: Any) -> Array:
        """`fit`, and the rows of the training points; ``side`` is what it takes by keyword."""
        return self.fit(X, y, **side).factor_

    @property
    def _n_features_out(self) -> int:
        return int(self.factor_.shape[1])
