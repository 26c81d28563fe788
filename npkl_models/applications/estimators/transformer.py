"""Coordinates in the space of a learnt kernel, as a scikit-learn transformer."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from npkl_models.applications.estimators.base import KernelEstimator
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Matrix
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem


class NPKLKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Rows of the factor of a learnt kernel, as features for whatever comes next.

    Parameters
    ----------
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

    def __init__(
        self, *, n_landmarks: int = 2,
        formulation: str | Callable[[Matrix, Pairs, float], Problem] = "pcp", loss: str = "squared_hinge",
        gamma: float = 100.0, n_neighbors: int = 10, shift: float = 0.1, sigma: float | str = "auto",
        metric: str = "euclidean", backend: str = "auto", tol: float = 1e-6,
        options: dict[str, Any] | None = None, random_state: Any = 0,
    ) -> None:  # fmt: skip
        self.n_landmarks = n_landmarks
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
        self.random_state = random_state

    def fit(
        self, X: Any, y: ArrayLike | None = None, *, must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None, pairs: ArrayLike | None = None,
        y_pairs: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn the kernel; the parameters are those of `NPKLClustering.fit`."""
        if not self.n_landmarks >= 2:
            raise ProblemError(f"n_landmarks must be an integer >= 2, got {self.n_landmarks!r}")
        self._fit_kernel(X, y, must_link, cannot_link, pairs, y_pairs, self.n_landmarks)
        return self

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

    def fit_transform(
        self, X: Any, y: ArrayLike | None = None, *, must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None, pairs: ArrayLike | None = None,
        y_pairs: ArrayLike | None = None,
    ) -> Array:  # fmt: skip
        """`fit`, and the rows of the training points."""
        self.fit(X, y, must_link=must_link, cannot_link=cannot_link, pairs=pairs, y_pairs=y_pairs)
        return self.factor_

    @property
    def _n_features_out(self) -> int:
        return int(self.factor_.shape[1])
