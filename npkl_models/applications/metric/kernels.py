"""The values of a kernel between points and a few landmarks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.metrics import pairwise_distances, pairwise_kernels
from sklearn.utils import gen_batches

from npkl_models.applications.estimators.solved import CHUNK
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.linalg.owned import real_array

KERNELS = ("rbf", "linear", "precomputed")
VALUES = "values of the kernel"
ROUNDING = 1e-8  # largest asymmetry and negative eigenvalue of a kernel, relative to its largest value
NEGLIGIBLE = 1e-10  # axes with a smaller eigenvalue, relative to the largest, are left out

Kernel = str | Callable[[Array, Array], float]


@dataclass(frozen=True, eq=False)
class LandmarkKernel:
    """Values k(x, x_j) of a kernel with landmarks x_j.

    ``kernel`` is one of `KERNELS` or a function of two points. ``places`` are the positions of the landmarks
    among the training points. ``landmarks`` (m, d) is None if the kernel is precomputed.
    """

    kernel: Kernel
    places: Index
    landmarks: Any
    gamma: float

    def __call__(self, points: Any) -> Array:
        """Kernel values of points with the landmarks, (n, m); points may be rows of a precomputed kernel."""
        if self.kernel == "precomputed":
            return real_array(points[:, self.places], VALUES)
        more = {} if callable(self.kernel) else {"filter_params": True, "gamma": self.gamma}
        return real_array(pairwise_kernels(points, self.landmarks, metric=self.kernel, **more), VALUES)


def landmark_kernel(points: Any, places: Index, kernel: Kernel, gamma: float | str) -> LandmarkKernel:
    """The kernel with rows ``places`` of the points as landmarks."""
    if kernel == "precomputed" and points.shape[0] != points.shape[1]:
        raise ProblemError(f"a precomputed kernel must be square in fit, got shape {points.shape}")
    landmarks = None if kernel == "precomputed" else points[places]
    return LandmarkKernel(kernel, places, landmarks, _width(gamma, kernel, landmarks))


def axes_of(own: Array) -> tuple[Array, Array]:
    """Positive eigenvalues of the centred kernel, largest first, and their eigenvectors with fixed signs."""
    if not np.isfinite(own).all():
        raise ProblemError("values of a kernel must be finite, got NaN or infinity; scale the points")
    if not np.allclose(own, own.T, rtol=0, atol=ROUNDING * np.abs(own).max()):
        raise ProblemError("a kernel must be symmetric, got values k(x, y) that differ from k(y, x)")
    mean = own.mean(axis=0)
    value, vector = np.linalg.eigh(own - mean - mean[:, None] + mean.mean())
    if value[0] < -ROUNDING * np.abs(own).max() * len(own):
        raise ProblemError(f"a kernel must be positive semidefinite, got the eigenvalue {value[0]:.3g}")
    kept = np.flatnonzero(value > NEGLIGIBLE * max(float(value[-1]), 0.0))[::-1]
    if not kept.size:
        raise ProblemError("points must differ under the kernel, got landmarks that are all the same")
    axes = vector[:, kept]
    largest = axes[np.abs(axes).argmax(axis=0), np.arange(kept.size)]
    return value[kept], axes * np.where(largest < 0, -1.0, 1.0)


def in_chunks(of: Callable[[Any], Matrix], rows: Any) -> Matrix:
    """A sparse matrix computed in chunks of rows."""
    return sp.vstack([of(rows[part]) for part in gen_batches(rows.shape[0], CHUNK)], format="csr")


def _width(gamma: float | str, kernel: Kernel, landmarks: Any) -> float:
    if gamma != "auto":
        return float(gamma)
    if kernel != "rbf":
        return 1.0  # not used
    m = landmarks.shape[0]
    mean = float(pairwise_distances(landmarks).sum()) / (m * (m - 1))
    return 1 / (2 * mean**2) if mean > 0 else 1.0
