"""Clusters from a learnt kernel, as a scikit-learn estimator."""

from __future__ import annotations

from dataclasses import dataclass, field
from numbers import Integral, Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClusterMixin
from sklearn.metrics import pairwise_distances_argmin
from sklearn.utils import ClassifierTags
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from npkl_models.applications.clustering import centres_of, kernel_kmeans, unit_rows
from npkl_models.applications.constrained import Assignment, log_costs, settled
from npkl_models.applications.estimators.base import KernelEstimator
from npkl_models.applications.estimators.noisy import RATE, wanted, warn_of_wrong
from npkl_models.applications.estimators.solved import COUNT
from npkl_models.applications.held_out import share_met, softened, some_pairs
from npkl_models.applications.pair_noise import pair_noise
from npkl_models.formulations.propagation import cannot_target
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.model.colouring import broken_by, in_words
from npkl_models.model.pairs import Pairs


def _has_beliefs(model: Any) -> bool:
    """Whether there is a model of wrong pairs, or may be one after `fit`."""
    return model._model() is not None and getattr(model, "beliefs_", True) is not None


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
        Loss of the pairs in "npkl" and "simple_npkl"; "squared_hinge" by default. The others refuse it.
    gamma : float
        Weight of the pairs (C in "simple_npkl"); "hard_pcp" ignores it.
    n_neighbors, sigma, metric
        Graph of the points, as in `knn_affinity`. With the metric "precomputed", X holds distances.
    affinity : {"nearest_neighbors", "precomputed"}
        Whether the graph is made from X, or X is the graph: affinities of points, not negative. Then
        ``n_neighbors``, ``sigma`` and ``metric`` are unused.
    shift : float
        Number added to the diagonal of the Laplacian; with a shift of 0 the problem may be ill-posed.
    backend, tol, options
        Solver, target of the certified relative gap and further options, as in `Problem.solve`. A
        ``time_limit`` holds for each of the two solves.
    n_init : int
        Number of restarts of k-means on the learnt kernel; the model of wrong pairs begins with five.
    noise : "auto", float or None
        Rate of wrong pairs, from 0 to below 0.5; "auto" estimates the rate. None uses no model of wrong
        pairs: the clusters are then those of k-means on the kernel. With 0 the labels keep all pairs, as
        with ``hard``. Otherwise a warning names the pairs that they break.
    cannot : "auto" or float
        Target of the cannot-links in "pcp". "auto" is -1 / (n_clusters - 1), which makes the clusters the
        vertices of a simplex.
    hard : bool
        Whether the labels keep all pairs, and not only those of infinite weight. An error names the conflict
        if no labels do: a chain of must-links, or cannot-links that need more clusters.
    size_min, size_max : int
        Least and largest number of training points in each cluster; None for no largest number.
    n_jobs, verbose : int or None, and bool or int
        Number of processors that search neighbours of new points, and whether the backend reports on its
        run.
    random_state : int, RandomState or None
        Seed of k-means, of the landmarks, and of a backend that was named and takes a seed.

    Attributes
    ----------
    labels_ : ndarray of int, shape (n,)
        Cluster of each training point.
    beliefs_ : ndarray of shape (n, n_clusters) or None
        Probability of each cluster at each training point; None without a model of wrong pairs.
    audit_ : Audit or None
        The pairs with the probability that each is wrong, the most suspicious first, by the first kernel
        (`npkl_models.applications.audit.audit_pairs`), and ``ids`` with the names of their rows, as errors
        have them; None without a model of wrong pairs. With few pairs these probabilities rank the pairs and
        are uncertain themselves.
    pair_weights_ : ndarray of shape (m,)
        The factor of each pair's confidence in the kernel, in the order of ``pairs_``: 1 for a right pair, 0
        for one that is wrong by the mean of the model's results before the kernel was learnt.
    annotators_, annotator_rates_ : ndarray of shape (a,) and (a, 2), or None
        The annotators, if `fit` was given any, and the estimated probability of a wrong answer of each,
        about two points of one cluster and about points of two.
    cluster_centers_ : ndarray of shape (n_clusters, r)
        Centres of the clusters, in the coordinates of ``factor_``; of "pcp" with a negative ``cannot``, in
        the coordinates of `npkl_models.applications.clustering.directions`.
    factor_, kernel_ : ndarray of shape (n, r) and (n, n)
        Factor of the kernel in its principal axes, without axes below 1e-7 of the largest eigenvalue; and
        the kernel, with an error for more than 10,000 points.
    pairs_, supervised_ : Pairs and bool
        The pairs that were given, or those between landmarks; and whether any were given.
    width_ : float
        Width of the affinities of the training graph, which new points share; inf for a binary graph.
    solution_, certificate_
        The solution, and its proved bounds. `fit` issues a `ConvergenceWarning` unless the status is
        OPTIMAL.
    n_iter_, n_features_in_, feature_names_in_
        Iterations of the backend, and number and names of the features, as in scikit-learn.

    Notes
    -----
    Without side information, cannot-links between ``n_clusters`` landmarks (the points nearest to the centres
    of k-means) take its place. They also join must-links alone, in the problem but not in ``pairs_``.

    With a model of wrong pairs (`npkl_models.applications.pair_noise`), `fit` solves twice: the first kernel
    has small weights of the pairs, and the model finds ``pair_weights_``, with which ``solution_`` is learnt.
    The model reads no confidences and no weights of points. There is none without a cannot-link, and none in
    "hard_pcp". Only a pair of infinite confidence is right in the model, and in the kernel it counts as the
    most confident of the other pairs, at least 1.

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
    """

    n_clusters: int = field(default=2, kw_only=False)
    n_init: int = 20
    noise: float | str | None = "auto"
    cannot: float | str = "auto"
    hard: bool = False
    size_min: int = 0
    size_max: int | None = None

    _parameter_constraints = KernelEstimator._parameter_constraints | {
        "n_clusters": [COUNT], "n_init": [COUNT], "noise": [RATE, StrOptions({"auto"}), None],
        "cannot": [Real, StrOptions({"auto"})], "hard": ["boolean"],
        "size_min": [Interval(Integral, 0, None, closed="left")], "size_max": [COUNT, None],
    }  # fmt: skip

    def _landmark_count(self) -> int:
        self._model()
        cannot_target(self._target())
        return self.n_clusters

    def _model(self) -> tuple[int, float | str] | None:
        noise = wanted(self.noise, self.formulation, self.hard)
        return None if noise is None or self.n_clusters < 2 else (self.n_clusters, noise)

    def _target(self) -> float:
        return -1.0 / max(self.n_clusters - 1, 1) if self.cannot == "auto" else float(self.cannot)

    def _said(self, **more: Any) -> dict[str, Any]:
        if self.formulation == "pcp" or self.cannot != "auto":
            more["cannot"] = self._target()
        return super()._said(**more)

    def _trusted(self, L: Matrix, pairs: Pairs, seed: int) -> Pairs | None:
        self.beliefs_: Array | None = None
        simplex = self.formulation == "pcp" and self._target() < 0
        apart = self.supervised_ and len(pairs.cannot_link) > 0
        self._axes = self.n_clusters if simplex and apart else None
        all_right = self.hard or self.noise == 0.0
        hard = np.isinf(pairs.confidence) | all_right
        kept = some_pairs(pairs, hard, pairs.confidence) if self.supervised_ and hard.any() else None
        if kept is not None and self._answered is not None:
            self._answered.agree(self._names)
        sizes = self.size_min, self.size_max, self._names
        self._keep = Assignment(pairs.n, self.n_clusters, kept, *sizes) if kept or any(sizes[:2]) else None
        learnt = super()._trusted(L, pairs, seed)
        return learnt and softened(learnt)

    def _finish(self, seed: int, weight: Array | None) -> None:
        Z, k = self._space(self.factor_), self.n_clusters
        self.labels_ = kernel_kmeans(Z, k, self.n_init, seed, weight)
        model, found = self._model(), None
        if self.audit_ is not None and self.audit_.noise is not None and model is not None:
            L, parts = self.solution_.problem.cost, self.audit_.noise.parts  # of the first kernel
            found = pair_noise(L, self.pairs_, [self.labels_], *model, self._answered, parts)
            self.audit_ = self.audit_.judged(found)
            self.annotator_rates_ = found.annotator_rates
            self.beliefs_, self.labels_ = found.beliefs, found.labels
        self._votes = self.beliefs_
        if self._keep is not None:
            self._keep_all(Z, self._keep)
        broken = broken_by(self.labels_, self.pairs_) if self.supervised_ else []
        warn_of_wrong(found, 5, in_words(broken, names=self._names))  # at the call of `fit`
        self.cluster_centers_ = centres_of(Z, self.labels_, k, weight)

    def _keep_all(self, Z: Array, keep: Assignment) -> None:
        """Labels that keep pairs and sizes; the belief in a new label is that in the old one."""
        if self.beliefs_ is None:
            first = centres_of(Z, self.labels_, self.n_clusters)
            self.labels_ = settled(Z, first, keep)
            self._votes = np.eye(self.n_clusters)[self.labels_]
            return
        self.labels_ = keep(log_costs(self.beliefs_))
        points, old = np.arange(len(Z)), np.argmax(self.beliefs_, axis=1)
        beliefs = np.array(self.beliefs_)
        beliefs[points, old] = self.beliefs_[points, self.labels_]
        beliefs[points, self.labels_] = self.beliefs_[points, old]
        self._votes = self.beliefs_ = beliefs

    def _space(self, rows: Array) -> Array:
        """The coordinates in which k-means runs, for rows of the factor."""
        return rows if self._axes is None else unit_rows(rows[:, : self._axes])

    def _told(self, X: Any, held: Pairs) -> float:
        return share_met(self.predict(X), held)

    def fit_predict(self, X: Any, y: ArrayLike | None = None, **side: Any) -> Index:
        """Call `fit` and return ``labels_``; ``side`` holds the keyword arguments of `fit`."""
        return self.fit(X, y, **side).labels_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags = ClassifierTags(multi_class=False)  # check_estimator reads it for predict_proba
        return tags

    def predict(self, X: Any) -> Index:
        """Cluster of each point: the most probable one; without a model, the one with the nearest centre."""
        check_is_fitted(self, "factor_")
        if self._votes is not None:
            parts = [np.argmax(rows, axis=1) for rows in self._extended(X, self._votes)]
        else:
            parts = [
                pairwise_distances_argmin(self._space(rows), self.cluster_centers_)
                for rows in self._extended(X)
            ]
        return np.concatenate(parts).astype(np.intp)

    @available_if(_has_beliefs)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Probability of each cluster at each point (m x n_clusters), by the model of wrong pairs."""
        check_is_fitted(self, "factor_")
        return np.concatenate(list(self._extended(X, self.beliefs_)))
