"""Features from a learnt kernel, as a scikit-learn transformer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils._param_validation import StrOptions

from npkl_models.applications.estimators.base import KernelEstimator
from npkl_models.applications.estimators.given import like
from npkl_models.applications.estimators.noisy import RATE, wanted, warn_of_wrong
from npkl_models.applications.estimators.solved import COUNT
from npkl_models.applications.held_out import ranked_rightly
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array
from npkl_models.model.pairs import Pairs


@dataclass(eq=False, repr=False, kw_only=True)
class NPKLKernel(ClassNamePrefixFeaturesOutMixin, TransformerMixin, KernelEstimator):  # type: ignore[misc]
    """Transformer that learns a kernel and gives out the rows of its factor as features.

    Parameters
    ----------
    n_components : int, optional
        Number of features: the leading axes of the kernel, followed by zeros if the kernel has fewer axes.
        None gives as many features as the kernel has rank, a number that differs from fit to fit.
    n_clusters, noise
        As in `NPKLClustering`, for the model of wrong pairs; without ``n_clusters`` there is no such model,
        and ``noise`` must not be a number.
    formulation, loss, gamma, n_neighbors, shift, sigma, metric, affinity, backend, tol, options,
    random_state, n_jobs, verbose
        As in `NPKLClustering`.

    Attributes
    ----------
    factor_, kernel_, audit_, pair_weights_, annotators_, annotator_rates_, pairs_, supervised_, width_
        As in `NPKLClustering`. Without a model of wrong pairs, the rates of annotators follow from repeated
        answers alone (`npkl_models.applications.annotators`).
    solution_, certificate_, n_iter_, n_features_in_, feature_names_in_
        As in `NPKLClustering`.

    Notes
    -----
    With ``n_clusters``, `fit` solves twice, as in `NPKLClustering`; a `WrongPairsWarning` says
    how many pairs look wrong. The pairs act directly on the rows of training points, but on those of new
    points only through their neighbours, so features of training points separate the classes better. Judge a
    classifier that uses these features on points that were held out.

    Examples
    --------
    >>> import numpy as np
    >>> from npkl_models.applications.estimators import NPKLKernel
    >>> X = np.array([[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]])
    >>> model = NPKLKernel(n_neighbors=2).fit(X, [0, -1, 0, 1, -1, -1])
    >>> model.transform([[1.5], [10.5]]).shape == (2, model.factor_.shape[1])
    True
    """

    n_components: int | None = None
    n_clusters: int | None = None
    noise: float | str | None = "auto"

    _parameter_constraints = KernelEstimator._parameter_constraints | {
        "n_components": [COUNT, None], "n_clusters": [COUNT, None],
        "noise": [RATE, StrOptions({"auto"}), None],
    }  # fmt: skip

    def _landmark_count(self) -> int:
        if self._model() is None and self.n_clusters is None and self.noise not in ("auto", None):
            raise ProblemError(f"noise must come with n_clusters, got {self.noise} without it")
        return self.n_clusters or 2

    def _model(self) -> tuple[int, float | str] | None:
        noise = wanted(self.noise, self.formulation)
        k = self.n_clusters or 1
        return None if noise is None or k < 2 else (k, noise)

    def _finish(self, seed: int, weight: Array | None) -> None:
        if self.audit_ is not None and self.audit_.noise is not None:
            warn_of_wrong(self.audit_.noise, stacklevel=5)  # at the call of `fit`

    def _shaped(self, factor: Array) -> Array:
        if self.n_components is None:
            return factor
        missing = max(self.n_components - factor.shape[1], 0)
        return np.pad(factor[:, : self.n_components], ((0, 0), (0, missing)))

    def _told(self, X: Any, held: Pairs) -> float:
        return ranked_rightly(self.transform(X), held)

    def transform(self, X: Any) -> Array:
        """Features (m x r) of points (m x d): a training point's own row, or the mean of the neighbours'."""
        return like(X, np.concatenate(list(self._extended(X))))

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **side: Any) -> Array:
        """Call `fit` and return ``factor_``; ``side`` holds the keyword arguments of `fit`."""
        return like(X, self.fit(X, y, **side).factor_)

    @property
    def _n_features_out(self) -> int:
        return int(self.factor_.shape[1])
