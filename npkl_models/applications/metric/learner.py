"""A metric learnt from similar pairs, for many points and for new points, as a scikit-learn estimator."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from npkl_models.applications.estimators.given import like, names_of, read
from npkl_models.applications.estimators.side import PairScored, collected
from npkl_models.applications.estimators.solved import COUNT, LEAST, POSITIVE, CheckedEstimator
from npkl_models.applications.held_out import roc_area
from npkl_models.applications.metric.weights import (
    KERNELS,
    axes_of,
    eigenvalue_weights,
    in_chunks,
    landmark_kernel,
    local_weights,
    whitening,
)
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.model.pairs import Pairs

WIDE = 2_000  # columns: whitening costs the cube of their number, 3 s here


@dataclass(eq=False, repr=False, kw_only=True)
class KernelMetricLearner(PairScored, ClassNamePrefixFeaturesOutMixin, TransformerMixin, CheckedEstimator):  # type: ignore[misc]
    r"""Metric learner that chooses the eigenvalues of a kernel so that similar pairs are near.

    With the centred kernel :math:`\sum_r \mu_r \alpha_r \alpha_r'` of landmarks, and points as weighted
    means W of them, the learnt kernel is :math:`\sum_r \beta_r^2\, W\alpha_r\, (W\alpha_r)'`.

    Parameters
    ----------
    n_landmarks : int or None
        Number of landmarks; None makes every point one: the basic algorithm, cubic in the number of points.
        The points of similar pairs become landmarks first, then others at random.
    blend : bool
        Whether the points are whitened before the kernel (`npkl_models.applications.metric.whitening`), and
        their own columns join the learnt coordinates, both with the same mean squared distance. Never
        blended: sparse points, points of more than 2,000 columns, a precomputed kernel, and a callable.
    kernel : {"rbf", "linear", "precomputed"} or callable
        The kernel that is reweighted. A callable ``kernel(x, y)`` takes two points. For "precomputed", X is
        the kernel: (n, n) in `fit` and (m, n) for new points.
    gamma : "auto" or float
        The number in ``exp(-gamma |x - y|^2)`` of "rbf"; "auto" is 1 / (2 d^2), d the mean distance between
        landmarks (whitened with ``blend``).
    n_neighbors : int
        Number of landmarks whose weighted mean stands for a point.
    n_iter : int
        Number of iterations. Each finds neighbours and weights in the space learnt before.
    prior, dissimilar
        Strength of the original kernel against the pairs, and whether cannot-links are used. Both extend the
        paper, whose method has ``prior=0, dissimilar=False, blend=False``
        (`npkl_models.applications.metric.weights`).
    regularization
        As in `local_weights`.
    random_state : int, RandomState or None
        Seed of the choice of landmarks.

    Attributes
    ----------
    landmarks_ : ndarray of int, shape (m,)
        Positions of the landmarks in X.
    whitening_ : ndarray of shape (d, d) or None
        The symmetric matrix that whitens points; None if they are not blended.
    eigenvalues_, weights_ : ndarray of shape (q,)
        Eigenvalues mu of the landmarks' centred kernel, the largest first, and weights beta of the axes.
    objective_ : float
        Mean squared distance of the similar pairs; NaN if there are no similar pairs.
    embedding_ : ndarray of shape (n, q) or (n, q + d)
        Coordinates of the training points, eqs. (24) and (25), and with ``blend`` their scaled columns; their
        Euclidean distances are the metric.
    pairs_ : Pairs or None
        The pairs that the metric was learnt from. None: the metric is that of the kernel itself.
    n_features_in_, feature_names_in_, n_iter_
        Number and names of the features, as in scikit-learn; ``n_iter_`` is ``n_iter``.

    Notes
    -----
    Yeung, Chang & Dai, Neural Computation 2008: eqs. (2)-(6) for all points, (7)-(19) for landmarks, (20) to
    (27) for new points. Section 3.4 leaves details of the iteration open; W is computed anew here.

    Examples
    --------
    >>> import npkl_models as nm
    >>> from npkl_models.applications.scores import separation
    >>> data = nm.datasets.load("wine")
    >>> pairs = nm.Pairs.from_labels(data.y, 60, 60, random_state=0)
    >>> X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    >>> model = nm.KernelMetricLearner().fit(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
    >>> separation(model.transform(X), data.y) > 1.1 * separation(X, data.y)
    True
    """

    n_landmarks: int | None = field(default=300, kw_only=False)
    blend: bool = True
    kernel: str | Callable[[Array, Array], float] = "rbf"
    gamma: float | str = "auto"
    n_neighbors: int = 20
    n_iter: int = 1
    prior: float = 0.1
    dissimilar: bool = True
    regularization: float = 0.1
    random_state: int | np.random.RandomState | None = 0

    _parameter_constraints = {
        "n_landmarks": [Interval(Integral, 2, None, closed="left"), None],
        "blend": ["boolean"], "kernel": [StrOptions(set(KERNELS)), callable],
        "gamma": [POSITIVE, StrOptions({"auto"})], "n_neighbors": [COUNT],
        "n_iter": [COUNT], "prior": [LEAST], "dissimilar": ["boolean"], "regularization": [LEAST],
        "random_state": ["random_state"],
    }  # fmt: skip

    __metadata_request__fit = dict.fromkeys(("must_link", "cannot_link", "pairs", "y_pairs"), True)

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: ArrayLike | None = None, *, must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None, pairs: ArrayLike | Pairs | None = None,
        y_pairs: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn the metric; all arguments are as in `NPKLClustering.fit`.

        Without side information, the metric is that of the kernel itself.
        """
        points = read(self, X, ensure_min_samples=2)
        self.pairs_ = collected(points.shape[0], names_of(X), y, must_link, cannot_link, pairs, y_pairs)
        hard = 0 if self.pairs_ is None else int(np.isinf(self.pairs_.confidence).sum())
        if hard:
            raise ProblemError(
                f"pairs must have finite weights for a metric, which holds no pair exactly, got {hard} "
                "infinite ones; NPKLClustering keeps them, and the kernel of NPKLKernel meets them"
            )
        none = np.zeros((0, 2), dtype=np.intp)
        similar = none if self.pairs_ is None else self.pairs_.must_link
        dissimilar = none if self.pairs_ is None or not self.dissimilar else self.pairs_.cannot_link
        given, self.whitening_ = points, None
        dense = self.kernel in ("rbf", "linear") and not sp.issparse(points)
        if self.blend and dense and points.shape[1] <= WIDE:
            self.whitening_ = whitening(points[similar[:, 0]] - points[similar[:, 1]])
            points = points @ self.whitening_
        self.landmarks_ = self._landmarks(points, similar)
        self._kernel = landmark_kernel(points, self.landmarks_, self.kernel, self.gamma)
        self.gamma_ = self._kernel.gamma
        self._own = self._kernel(points[self.landmarks_])
        learnt = self._learn(points, similar, dissimilar)
        if self.whitening_ is not None:
            self._share = float(np.sqrt(learnt.var(axis=0).sum() / given.var(axis=0).sum()))
            learnt = np.hstack([learnt, self._share * given])
        self.embedding_ = learnt
        distance = self.pair_distance(similar)
        self.objective_ = float(np.mean(distance**2)) if distance.size else float("nan")
        return self

    def _learn(self, points: Any, similar: Index, dissimilar: Index) -> Array:
        """Compute the eigenvalues of the landmarks' kernel, then ``n_iter`` times W and the axes' weights."""
        self.eigenvalues_, axes = axes_of(self._own)
        self._stages: list[Array] = []
        self.n_iter_ = int(self.n_iter)
        W = self._first_weights(points)
        for step in range(self.n_iter):
            if step:
                W = self._next_weights(W, self._stages[-1])
            near, far = _differences(W, axes, similar), _differences(W, axes, dissimilar)
            self.weights_ = (
                eigenvalue_weights(near, self.eigenvalues_, far, self.prior)
                if len(near) + len(far)
                else np.sqrt(self.eigenvalues_)
            )
            self._stages.append(axes * self.weights_)
        return np.asarray(W @ self._stages[-1])

    def transform(self, X: Any) -> Array:
        """Coordinates of training or new points (m x d) in the space that was learnt, as in ``embedding_``.

        For ``kernel="precomputed"``, X has the values of the kernel between these points and the training
        points.
        """
        check_is_fitted(self, "weights_")
        given = points = read(self, X, reset=False)
        if self.whitening_ is not None:
            given = given.toarray() if sp.issparse(given) else given
            points = given @ self.whitening_
        W = self._first_weights(points)
        for before in self._stages[:-1]:
            W = self._next_weights(W, before)
        learnt = np.asarray(W @ self._stages[-1])
        return like(X, learnt if self.whitening_ is None else np.hstack([learnt, self._share * given]))

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **side: ArrayLike | None) -> Array:
        """Call `fit` and return ``embedding_``; ``side`` holds the keyword arguments of `fit`."""
        return like(X, self.fit(X, y, **side).embedding_)

    def _told(self, X: Any, held: Pairs) -> float:
        Z = self.transform(X)
        return roc_area(-np.linalg.norm(Z[held.i] - Z[held.j], axis=1), held)

    def pair_distance(self, pairs: ArrayLike) -> Array:
        """Distances (m,) of pairs of points in the learnt metric.

        ``pairs`` are points (m x 2 x d), as in metric-learn, or positions of training points (m x 2).
        """
        check_is_fitted(self, "weights_")
        given = np.asarray(pairs)
        if given.ndim == 2 and given.shape[1] == 2 and given.dtype.kind in "iu":
            n = len(self.embedding_)
            if given.size and (given.min() < 0 or given.max() >= n):
                raise ProblemError(
                    f"pairs must name rows from 0 to {n - 1}, got {given.min()} to {given.max()}"
                )
            ends = self.embedding_[given[:, 0]], self.embedding_[given[:, 1]]
        elif given.ndim == 3 and given.shape[1] == 2 and not len(given):
            return np.zeros(0)
        elif given.ndim == 3 and given.shape[1] == 2:
            ends = self.transform(given[:, 0]), self.transform(given[:, 1])
        else:
            raise ProblemError(
                f"pairs must have shape (m, 2, d), or (m, 2) of integers, got {given.shape} of {given.dtype}"
            )
        return np.asarray(np.linalg.norm(ends[0] - ends[1], axis=1))

    def _landmarks(self, points: Any, similar: Index) -> Index:
        """Positions of the landmarks: points of the similar pairs first, then others at random."""
        rng, n = check_random_state(self.random_state), points.shape[0]
        paired = np.unique(similar)
        others = np.setdiff1d(np.arange(n), paired)
        most = n if self.n_landmarks is None else int(self.n_landmarks)
        first = rng.permutation(paired)[:most]
        left = min(most - first.size, others.size)
        return np.sort(np.concatenate([first, rng.permutation(others)[:left]])).astype(np.intp)

    def _first_weights(self, points: Any) -> Matrix:
        return in_chunks(lambda rows: self._weights(self._kernel(rows), self._own), points)

    def _next_weights(self, W: Matrix, coordinates: Array) -> Matrix:
        """Neighbours and weights in the space that was learnt."""
        own = coordinates @ coordinates.T
        return in_chunks(lambda rows: self._weights((rows @ coordinates) @ coordinates.T, own), W)

    def _weights(self, between: Array, own: Array) -> Matrix:
        return local_weights(between, own, self.n_neighbors, self.regularization)

    @property
    def _n_features_out(self) -> int:
        return int(self.embedding_.shape[1])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def _differences(W: Matrix, axes: Array, ends: Index) -> Array:
    """For each pair, the difference of its two points' coordinates along the axes."""
    return np.asarray((W[ends[:, 0]] - W[ends[:, 1]]) @ axes)
