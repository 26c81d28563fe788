"""Clusters and features from a learnt kernel, as scikit-learn estimators."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, ClusterMixin, TransformerMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils.validation import check_is_fitted

from npkl_models.applications.audit import Audit
from npkl_models.applications.clustering import kernel_kmeans, membership, unit_rows
from npkl_models.applications.estimators.base import KernelEstimator
from npkl_models.applications.estimators.noisy import after, before, wanted
from npkl_models.applications.estimators.side import trusted
from npkl_models.applications.held_out import ranked_rightly, share_met
from npkl_models.errors import ProblemError
from npkl_models.formulations.propagation import cannot_target
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.linalg.owned import real_number, whole_number
from npkl_models.model.pairs import Pairs


@dataclass(eq=False, repr=False, kw_only=True)
class NPKLClustering(ClusterMixin, KernelEstimator):  # type: ignore[misc]
    """Semi-supervised clustering: clusters and a kernel from pairs or some classes, some of them wrong.

    Parameters
    ----------
    n_clusters : int
        Number of clusters.
    formulation : {"pcp", "npkl", "simple_npkl", "hard_pcp"} or callable
        The problem whose solution is the kernel. "simple_npkl" is solved with tr K^2 <= n^2 / 10. A callable
        ``build(L, pairs, gamma)`` returns a `Problem` of your own.
    loss : {"square", "hinge", "squared_hinge", "logistic", "absolute", "huber", "linear"}
        Loss of the pairs in "npkl" and "simple_npkl". "pcp" always has the square loss; "hard_pcp" has no
        loss.
    gamma : float
        Weight of the pairs (C in "simple_npkl"); "hard_pcp" ignores it.
    n_neighbors : int
        Number of neighbours of each point in the graph; all other points if there are fewer.
    shift : float
        Number added to the diagonal of the Laplacian; with a shift of 0 the problem may be ill-posed.
    sigma : float, "auto", "last" or "binary"
        Width of the affinities, as in `knn_affinity`.
    metric : str
        Metric of the graph, as in `knn_affinity`; not "precomputed".
    backend : str
        Solver, as in `Problem.solve`.
    tol : float
        Target of the certified relative gap.
    options : dict, optional
        Further options of `Problem.solve`, for example ``{"time_limit": 60}``.
    n_init : int
        Number of restarts of k-means.
    noise : "auto", float or None
        Rate of wrong pairs, from 0 to below 0.5; "auto" estimates the rate. None uses no model of wrong
        pairs: the clusters are then those of k-means on the kernel.
    cannot : "auto" or float
        Target of the cannot-links in "pcp". "auto" is -1 / (n_clusters - 1), which makes the clusters the
        vertices of a simplex.
    random_state : int, RandomState or None
        Seed of k-means, of the landmarks, and of a backend that was named and takes a seed.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Cluster of each training point.
    beliefs_ : ndarray of shape (n, n_clusters) or None
        Probability of each cluster at each training point; None without a model of wrong pairs.
    audit_ : Audit or None
        The pairs with the probability that each is wrong, the most suspicious pair first
        (`npkl_models.applications.audit.audit_pairs`); None without a model of wrong pairs. Its values,
        losses and scores are those of the first kernel.
    pair_weights_ : ndarray of shape (m,)
        The factor of each pair's confidence in the kernel, in the order of ``pairs_``: 1 for a pair that is
        right, 0 for a pair that was more likely wrong than right before the kernel was learnt.
    annotators_ : ndarray of shape (a,) or None
        The annotators, if `fit` was given any.
    annotator_rates_ : ndarray of shape (a, 2) or None
        Estimated probability of a wrong answer of each annotator, about two points of one cluster and about
        points of two clusters.
    cluster_centers_ : ndarray of shape (n_clusters, r)
        Centres of the clusters, in the coordinates of ``factor_``; of "pcp" with a negative ``cannot``, in
        the coordinates of `npkl_models.applications.clustering.directions`.
    factor_ : ndarray of shape (n, r)
        Factor of the kernel in its principal axes. Axes whose eigenvalue is below 1e-7 of the largest are
        left out.
    kernel_ : ndarray of shape (n, n)
        The kernel; an error is raised for more than 10,000 points.
    pairs_ : Pairs
        The pairs that were given, or those between landmarks.
    supervised_ : bool
        Whether `fit` was given side information.
    width_ : float
        Width of the affinities of the training graph, inf for a binary graph. The affinities of new points
        have the same width.
    solution_ : Solution
        The solution of the problem.
    certificate_ : Certificate
        The proved bounds on the optimum. `fit` issues a `ConvergenceWarning` unless the status is OPTIMAL.
    n_features_in_ : int
        Number of features of X.
    feature_names_in_ : ndarray of str
        Names of the columns, if X is a DataFrame whose columns have names.

    Notes
    -----
    The side information is the union of all that `fit` is given. Contradictory pairs are allowed unless the
    same pair is both a must-link and a cannot-link. Without side information, cannot-links between
    ``n_clusters`` landmarks (the points nearest to the centres of k-means) take its place; if
    ``n_clusters=1``, there are two landmarks.

    With a model of wrong pairs (`npkl_models.applications.pair_noise`), `fit` solves twice. The first kernel
    has small weights of the pairs. From its clusters, and from those of signed and of propagated spectral
    clustering, the model finds the weights ``pair_weights_``. The second kernel, ``solution_``, is learnt
    with them. The labels are the most probable clusters of the model, which begins again with the clusters
    of the second kernel. If an estimated rate is well above 0, a `WrongPairsWarning` says how many pairs look
    wrong. The model reads no confidences and no weights of points. A ``time_limit`` holds for each of the two
    solves. There is no model without a cannot-link, and none in "hard_pcp", which takes all pairs as right.

    `predict` gives each new point the average of the beliefs of its nearest training points, weighted by
    affinities of the training width (`npkl_models.answer.extension.extend`). Without a model it averages the
    rows of the factor, and the point joins the cluster with the nearest centre. New points do not influence
    each other. A training point keeps its own row.

    Pairs are positions in X, so a split of the rows would invalidate them. For `GridSearchCV`, pass the known
    classes as y, with -1 for all other points. `npkl_models.applications.held_out.cross_val_pairs` splits the
    pairs instead of the rows.

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
    noise: float | str | None = "auto"
    cannot: float | str = "auto"

    def _apart(self) -> int:
        if not self.n_clusters >= 1:
            raise ProblemError(f"n_clusters must be an integer >= 1, got {self.n_clusters!r}")
        self._noise = wanted(self.noise, self.formulation)
        cannot_target(self._target())
        return self.n_clusters

    def _target(self) -> float:
        if self.cannot != "auto":
            return real_number(self.cannot, "cannot")
        return -1.0 / max(self.n_clusters - 1, 1)

    def _trusted(self, L: Matrix, pairs: Pairs, seed: int) -> Pairs:
        self.audit_: Audit | None = None
        self.beliefs_: Array | None = None
        self.pair_weights_: Array = np.ones(len(pairs))
        apart = self.supervised_ and len(pairs.cannot_link) > 0
        simplex = self.formulation == "pcp" and self._target() < 0 and apart
        self._axes = self.n_clusters if simplex else None
        if self._noise is None or self.n_clusters < 2 or not apart:
            if self._answered is not None:
                self.pair_weights_ = self._answered.weights
        else:
            limit: Any = dict(self.options or {}).get("time_limit")
            fitting = seed, self.n_init, limit
            self.audit_, found = before(L, pairs, self.n_clusters, self._noise, fitting, self._answered)
            self.pair_weights_ = found.weights
        return trusted(pairs, self.pair_weights_)

    def _finish(self, seed: int, weight: Array | None) -> None:
        Z = self._space(self.factor_)
        self.labels_ = kernel_kmeans(Z, self.n_clusters, self.n_init, seed, weight)
        if self.audit_ is not None and self._noise is not None:
            L = self.solution_.problem.cost
            found = after(self.audit_, L, self.pairs_, self.labels_, self._noise, self._answered)
            self.audit_ = self.audit_.judged(found)
            self.annotator_rates_ = found.annotator_rates
            self.beliefs_, self.labels_ = found.beliefs, found.labels
        member = membership(self.labels_, self.n_clusters)
        if weight is not None:
            member = member * weight
        size = np.asarray(member.sum(axis=1)).ravel()
        self.cluster_centers_ = (member @ Z) / np.where(size > 0, size, 1.0)[:, None]

    def _space(self, rows: Array) -> Array:
        """The coordinates in which k-means runs, for rows of the factor."""
        return rows if self._axes is None else unit_rows(rows[:, : self._axes])

    def _told(self, X: Any, held: Pairs) -> float:
        return share_met(self.predict(X), held)

    def fit_predict(self, X: Any, y: ArrayLike | None = None, **side: Any) -> Index:
        """Call `fit` and return ``labels_``; ``side`` holds the keyword arguments of `fit`."""
        return self.fit(X, y, **side).labels_

    def predict(self, X: Any) -> Index:
        """Cluster of each point: the most probable one; without a model, the one with the nearest centre."""
        check_is_fitted(self, "factor_")
        if self.beliefs_ is not None:
            parts = [np.argmax(rows, axis=1) for rows in self._extended(X, self.beliefs_)]
        else:
            parts = [
                pairwise_distances_argmin(self._space(rows), self.cluster_centers_)
                for rows in self._extended(X)
            ]
        return np.concatenate(parts).astype(np.intp)


@dataclass(eq=False, repr=False, kw_only=True)
class NPKLKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Transformer that learns a kernel and gives out the rows of its factor as features.

    Parameters
    ----------
    n_components : int, optional
        Number of features: the leading axes of the kernel, followed by zeros if the kernel has fewer axes.
        None gives as many features as the kernel has rank, a number that differs from fit to fit.
    n_landmarks : int
        Number of landmarks (the points nearest to the centres of k-means) that get cannot-links between them
        if there is no side information.
    formulation, loss, gamma, n_neighbors, shift, sigma, metric, backend, tol, options, random_state
        Same as in `NPKLClustering`.

    Attributes
    ----------
    factor_ : ndarray of shape (n, r)
        Factor of the kernel in its principal axes. Axes whose eigenvalue is below 1e-7 of the largest are
        left out.
    kernel_, pairs_, supervised_, width_, solution_, certificate_, n_features_in_, feature_names_in_
        Same as in `NPKLClustering`.
    annotators_, annotator_rates_
        Same as in `NPKLClustering`. The rates follow from repeated answers alone
        (`npkl_models.applications.annotators`).

    Notes
    -----
    The pairs act directly on the rows of training points, but on the rows of new points only through their
    neighbours. The features of training points therefore separate the classes better than those of new points
    do. Judge a classifier that uses these features on points that were held out.

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
        """Features of points: a training point has its own row, a new point the mean row of its neighbours.

        Parameters
        ----------
        X : array_like, sparse or DataFrame of shape (m, d)
            Training points or new points.

        Returns
        -------
        ndarray of shape (m, r)
            One row for each point.
        """
        return np.concatenate(list(self._extended(X)))

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **side: Any) -> Array:
        """Call `fit` and return ``factor_``; ``side`` holds the keyword arguments of `fit`."""
        return self.fit(X, y, **side).factor_

    @property
    def _n_features_out(self) -> int:
        return int(self.factor_.shape[1])
