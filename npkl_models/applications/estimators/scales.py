"""A warning for features with unlike scales, of which a few decide the distances."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

METRICS = ("euclidean", "sqeuclidean", "l2", "minkowski")  # metrics with squares that are sums over features
FEW, SHARE = 5.0, 0.2  # warn if the effective number of features is below FEW and below this share of all


class UnscaledWarning(UserWarning):
    """Warning that a few features with large numbers decide the distances."""


def warn_of_scales(points: Any, names: Any, metric: str, stacklevel: int) -> None:
    """Warn if a few features decide the distances.

    The effective number of features is (sum s)^2 / sum s^2, s their variances. It is d if all variances are
    equal, and 1 if one feature has all the variance. The raw data have 1.0 of 13 (wine), 1.7 of 13 (heart)
    and 2.0 of 4 (iris). Sparse points are not checked.
    """
    if sp.issparse(points) or metric not in METRICS:
        return
    with np.errstate(over="ignore", invalid="ignore"):  # the graph refuses points out of range with an error
        variance = np.var(points, axis=0)
        whole = float(variance.sum())
    if not 0 < whole < np.inf:
        return
    share = variance / whole
    count = 1.0 / float(np.sum(share**2))
    if count < min(FEW, SHARE * share.size):
        first = int(np.argmax(share))
        which = f"feature {first}" if names is None else repr(str(names[first]))
        warnings.warn(
            f"the features of X have unlike scales: {which} makes {share[first]:.1%} of the squared "
            "distances; scale the features (sklearn.preprocessing.StandardScaler), unless this is intended",
            UnscaledWarning,
            stacklevel=stacklevel,
        )
