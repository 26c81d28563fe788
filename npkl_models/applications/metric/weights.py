r"""The kernel of landmarks, and weights: of columns, of landmarks for each point, and of the kernel's axes.

The new eigenvalues, for fixed eigenvectors, keep similar pairs near and the sum of the axes' lengths fixed.
Of the kernels :math:`K_\beta = \sum_r \beta_r^2 v_r v_r'`, the kernel with

.. math::

    \min_\beta \sum_r \beta_r^2 D_r \quad\text{s.t.}\quad \sum_r e_r \beta_r = c, \qquad
    D_r = \frac1{|S|} \sum_{(i,j) \in S} (v_{ir} - v_{jr})^2

has :math:`\beta_r = c\, (e_r / D_r) / \sum_s e_s^2 / D_s`. In the paper, e = 1 and
:math:`c = \sum_r \sqrt{\lambda_r}` (its eq. (6)). Two extensions keep the solution closed and positive:

- A prior. The formula uses the old eigenvalues only through their sum, so axes of nearly no length count as
  much as the first, and axes along which no pair differs most of all. The prior replaces D by
  :math:`D_r + \tau \bar D \sqrt{\lambda_1 / \lambda_r}`. With e = 1, the original kernel is the limit for
  :math:`\tau \to \infty`, and also the result if there are no pairs.
- Dissimilar pairs. They determine e: the root mean square of :math:`v_{ir} - v_{jr}` over these pairs,
  scaled to the mean one. Then :math:`e_r \beta_r` is their distance along axis r, and the sum is kept.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.metrics import pairwise_distances, pairwise_kernels
from sklearn.utils import gen_batches

from npkl_models.answer.coordinates import ROUNDING
from npkl_models.applications.estimators.solved import CHUNK
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index, Matrix, doubly_centred
from npkl_models.linalg.owned import finite, real_array

KERNELS = ("rbf", "linear", "precomputed")
VALUES = "values of the kernel"
NEGLIGIBLE = 1e-10  # axes with a smaller eigenvalue, relative to the largest, are left out
SAME = 1e-12  # kernel values that differ by less, relative to the largest entry, count as equal

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
    value, vector = np.linalg.eigh(doubly_centred(own))
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


def local_weights(
    kernel: ArrayLike, landmark_kernel: ArrayLike, n_neighbors: int = 20, regularization: float = 0.1
) -> Matrix:
    r"""Weights w, with sum one, that bring a mean of the nearest landmarks as near as possible to a point.

    .. math::

        \min_w \bigl\| \phi(x) - \sum_j w_j \phi(x_j) \bigr\|^2 + \epsilon \|w\|^2
        \quad\text{s.t.}\quad \mathbf 1'w = 1

    over the landmarks :math:`x_j` nearest to x in the space of the kernel: Yeung, Chang & Dai 2008, eqs.
    (13)-(19). :math:`\epsilon` is ``regularization`` times the mean squared distance of these landmarks to
    the nearest of them.

    Parameters
    ----------
    kernel : array_like of shape (n, m)
        Values k(x, x_j), points by landmarks.
    landmark_kernel : array_like of shape (m, m)
        Kernel of the landmarks.
    n_neighbors : int
        Number of landmarks used for each point; all landmarks if there are fewer.
    regularization : float
        Strength of the regularisation, not negative. 0.001 is usual in locally linear embedding.

    Returns
    -------
    csr_array of shape (n, m)
        The weights. A point whose kernel values equal those of its nearest landmark has weight one there.
    """
    between, own = (finite(real_array(A, "a kernel"), "a kernel") for A in (kernel, landmark_kernel))
    if own.ndim != 2 or own.shape[0] != own.shape[1] or between.ndim != 2 or between.shape[1] != len(own):
        raise ProblemError(f"kernels must have shapes (n, m) and (m, m), got {between.shape} and {own.shape}")
    if n_neighbors < 1:
        raise ProblemError(f"n_neighbors must be an integer >= 1, got {n_neighbors!r}")
    if not (np.isfinite(regularization) and regularization >= 0):
        raise ProblemError(f"regularization must be >= 0 and finite, got {regularization!r}")
    n, m = between.shape
    count = min(int(n_neighbors), m)
    distance = np.diag(own) - 2 * between  # less k(x, x)
    near = np.argpartition(distance, count - 1, axis=1)[:, :count]
    first = near[np.arange(n), np.take_along_axis(distance, near, axis=1).argmin(axis=1)]
    w = _solved(between, own, near, first, regularization)
    same = np.abs(between - own[first]).max(axis=1) <= SAME * np.abs(own).max()
    w[same] = near[same] == first[same, None]
    row = np.repeat(np.arange(n), count)
    out = sp.csr_array((w.ravel(), (row, near.ravel())), shape=(n, m))
    out.eliminate_zeros()
    return out


def _solved(between: Array, own: Array, near: Index, first: Index, regularization: float) -> Array:
    """The weights, with the nearest landmark as origin: (G + eps I) w = g + lambda 1, 1'w = 1."""
    n, count = near.shape
    origin = own[first, first]
    to_origin = own[first[:, None], near]
    G = own[near[:, :, None], near[:, None, :]] - to_origin[:, :, None] - to_origin[:, None, :]
    G += origin[:, None, None]
    g = np.take_along_axis(between, near, axis=1) - between[np.arange(n), first][:, None]
    g += origin[:, None] - to_origin
    level = np.einsum("bkk->b", G) / count
    floor = SAME * np.abs(own).max() or 1.0  # landmarks that coincide share the weight
    epsilon = np.maximum(regularization * level, floor)
    G[:, np.arange(count), np.arange(count)] += epsilon[:, None]
    both = np.linalg.solve(G, np.stack([g, np.ones_like(g)], axis=-1))
    multiplier = (1 - both[..., 0].sum(axis=1)) / both[..., 1].sum(axis=1)
    return both[..., 0] + multiplier[:, None] * both[..., 1]


def eigenvalue_weights(
    similar: ArrayLike, eigenvalues: ArrayLike, dissimilar: ArrayLike | None = None, prior: float = 0.0,
    epsilon: float = 1e-8,
) -> Array:  # fmt: skip
    """Weights beta (q,) of the axes, whose squares are the eigenvalues of the learnt kernel.

    Yeung, Chang & Dai 2008, eqs. (4) and (6).

    Parameters
    ----------
    similar : array_like of shape (m, q)
        For each similar pair, the difference of the two points' coordinates along eigenvectors of norm one.
    eigenvalues : array_like of shape (q,)
        Eigenvalues of the original kernel, positive.
    dissimilar : array_like of shape (m', q), optional
        Differences for the dissimilar pairs, in the same form; None, or m' = 0, is the paper's problem.
    prior : float
        Strength tau of the prior, not negative; 0 is the paper's problem.
    epsilon : float
        Positive; times the mean of D it is added to each D, so that no axis takes all the weight.
    """
    old = real_array(eigenvalues, "eigenvalues")
    if old.ndim != 1 or not old.size or not (np.isfinite(old).all() and (old > 0).all()):
        raise ProblemError("eigenvalues must be positive and finite, in one dimension")
    for name, value, least in (("prior", prior, 0.0), ("epsilon", epsilon, np.nextafter(0, 1))):
        if not (np.isfinite(value) and value >= least):
            raise ProblemError(f"{name} must be {'positive' if least else '>= 0'} and finite, got {value!r}")
    spread = _mean_square(similar, "similar", old.size)
    level = float(spread.mean())
    D = spread / level if level > 0 else np.zeros_like(spread)
    D = D + epsilon + prior * np.sqrt(old.max() / old)
    e = np.ones_like(D)
    far = None if dissimilar is None else _mean_square(dissimilar, "dissimilar", old.size)
    if far is not None and far.any():
        e = np.sqrt(far) / np.sqrt(far).mean()
    weight: Array = e / D
    return float(np.sqrt(old).sum()) * weight / float(e @ weight)


def _mean_square(differences: ArrayLike, name: str, count: int) -> Array:
    given = finite(real_array(differences, name), name)
    if given.ndim != 2 or given.shape[1] != count:
        raise ProblemError(f"{name} must have a column for each of the {count} axes, got shape {given.shape}")
    return (given**2).sum(axis=0) / max(len(given), 1)


def whitening(differences: ArrayLike) -> Array:
    """The symmetric matrix (d x d) that makes similar pairs differ by about as much in each direction.

    It is the inverse square root of the mean square of the differences, drawn towards a multiple of the
    identity as Ledoit & Wolf do, and by one part of m at least, and scaled to the mean variance one: relevant
    component analysis (Bar-Hillel, Hertz, Shental & Weinshall, ICML 2003) that few pairs change little.

    Parameters
    ----------
    differences : array_like of shape (m, d)
        The differences of the two points of each similar pair. Without any, the matrix is the identity.
    """
    from sklearn.covariance import ledoit_wolf_shrinkage, shrunk_covariance

    D = finite(real_array(differences, "differences"), "differences")
    m, d = D.shape
    level = float((D**2).sum()) / max(m * d, 1)
    if not level > 0:
        return np.eye(d)
    D = D / np.sqrt(level)
    least = max(float(ledoit_wolf_shrinkage(D, assume_centered=True)), 1 / m) if m > 1 else 1.0
    value, vector = np.linalg.eigh(shrunk_covariance(D.T @ D / m, least))
    return np.asarray(vector / np.sqrt(value) @ vector.T)
