"""A warning for features with unlike scales, of which a few decide the distances."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import scipy.sparse as sp

METRICS = ("euclidean", "sqeuclidean", "l2", "minkowski")  # metrics with squares that are sums over features
FEW, SHARE = 5.0, 0.01  # see `unscaled`


class UnscaledWarning(UserWarning):
    """Warning that a few features with large numbers decide the distances."""


def unscaled(points: Any, names: Any = None, metric: str = "euclidean") -> str:
    """A sentence if a few features decide the distances; an empty text if none do, or for sparse points.

    The effective number of features is (sum s)^2 / sum s^2, s their variances. The scales are unlike if this
    number is below 5 and the smaller half of the features makes less than a hundredth of the distances.
    """
    if sp.issparse(points) or metric not in METRICS:
        return ""
    with np.errstate(over="ignore", invalid="ignore"):  # the graph refuses points out of range with an error
        variance = np.atleast_1d(np.var(np.asarray(points, dtype=float), axis=0))
        whole = float(variance.sum())
    if not 0 < whole < np.inf:
        return ""
    share = variance / whole
    varying = np.sort(share[share > 0])
    least = float(varying[: varying.size // 2].sum())
    if varying.size < 2 or least >= SHARE or 1.0 / float(np.sum(share**2)) >= FEW:
        return ""
    first = int(np.argmax(share))
    which = f"feature {first}" if names is None else repr(str(names[first]))
    return (
        f"the features of X have unlike scales: {which} makes {share[first]:.1%} of the squared distances, "
        f"and {varying.size // 2} of {varying.size} features make {least:.2g} of them; scale the features "
        "(scaling standard; in Python, sklearn's StandardScaler), unless this is intended"
    )


def warn_of_scales(points: Any, metric: str, stacklevel: int = 3) -> None:
    """Warn, by default at the line of the caller's caller, if a few features decide the distances."""
    try:
        words = unscaled(points, getattr(points, "columns", None), metric)
    except (TypeError, ValueError, OverflowError):  # no points, as whoever checks them will say
        return
    if words:
        warnings.warn(words, UnscaledWarning, stacklevel=stacklevel)
