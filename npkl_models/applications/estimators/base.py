"""What the estimators share: a problem from points and side information, its answer, rows of new points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from npkl_models.answer.extension import extend
from npkl_models.applications.estimators.side import collected, landmark_pairs
from npkl_models.applications.estimators.solved import SolvedEstimator
from npkl_models.errors import ProblemError, unknown
from npkl_models.formulations import hard_pcp, npkl, pcp, simple_npkl
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.model.graph import graph_width, knn_affinity, laplacian
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem
from npkl_models.routes import get_backend

DENSE_LIMIT = 10_000  # points of the kernel that an estimator gives out as a matrix
NEGLIGIBLE = 1e-7  # eigenvalue of the kernel, relative to the largest, that the factor leaves out
LOOSE = 0.1  # of n^2: tr K^2 of ten clusters of one size, in which K_ij = 1; with n no K_ij could be near 1

Build = Callable[[Matrix, Pairs, float, str], Problem]

FORMULATIONS: dict[str, Build] = {
    "pcp": lambda L, pairs, gamma, loss: pcp(L, pairs, gamma=gamma),
    "npkl": lambda L, pairs, gamma, loss: npkl(L, pairs, loss=loss, gamma=gamma),
    "simple_npkl": lambda L, pairs, gamma, loss: simple_npkl(
        L, pairs, loss=loss, C=gamma, p=2, bound=LOOSE * pairs.n**2
    ),
    "hard_pcp": lambda L, pairs, gamma, loss: hard_pcp(L, pairs),
}
"""What an estimator can be asked to solve, by name."""


@dataclass(eq=False, repr=False, kw_only=True)
class KernelEstimator(SolvedEstimator):
    """Base of the estimators: the parameters that they share; its subclasses say what comes of the factor."""

    formulation: str | Callable[[Matrix, Pairs, float], Problem] = "pcp"
    loss: str = "squared_hinge"
    gamma: float = 100.0
    n_neighbors: int = 10
    shift: float = 0.1
    sigma: float | str = "auto"
    metric: str = "euclidean"
    backend: str = "auto"
    tol: float = 1e-6
    options: dict[str, Any] | None = None
    random_state: Any = 0

    def _fit_kernel(
        self, X: Any, y: ArrayLike | None, must_link: ArrayLike | None, cannot_link: ArrayLike | None,
        pairs: ArrayLike | None, y_pairs: ArrayLike | None, landmarks: int,
    ) -> int:  # fmt: skip
        """Solve, and keep what was found; returns a seed for what is done with the kernel.

        Without side information so many ``landmarks`` are kept apart.
        """
        index = X.index if hasattr(X, "iloc") else None
        points = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        n = points.shape[0]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        given = collected(n, index, y, must_link, cannot_link, pairs, y_pairs)
        self.supervised_ = given is not None
        self.pairs_ = landmark_pairs(points, landmarks, seed) if given is None else given
        self.n_neighbors_ = self._neighbors(n)
        self.width_ = graph_width(points, self.n_neighbors_, self.sigma, self.metric)
        width = self.width_ if np.isfinite(self.width_) else "binary"
        S = knn_affinity(points, self.n_neighbors_, width, self.metric)
        L = laplacian(S, shift=self.shift)
        solution = self._problem(L, self.pairs_).solve(self.backend, **self._solving(seed))
        self.factor_ = _principal(self._keep(solution, points))
        return seed

    def _problem(self, L: Matrix, pairs: Pairs) -> Problem:
        if callable(self.formulation):
            return self.formulation(L, pairs, self.gamma)
        if self.formulation not in FORMULATIONS:
            raise unknown("formulation", self.formulation, FORMULATIONS)
        return FORMULATIONS[self.formulation](L, pairs, self.gamma, self.loss)

    def _solving(self, seed: int) -> dict[str, Any]:
        """Options of the solve; a seed only for a backend, asked for by name, that takes one."""
        out = {"tol": self.tol} | dict(self.options or {})
        if self.backend != "auto" and "random_state" in get_backend(self.backend).option_names:
            out.setdefault("random_state", seed)
        return out

    def _extended(self, X: Any) -> Array:
        """Rows of the factor for points, those of training points as they are."""
        check_is_fitted(self, "factor_")
        new = validate_data(self, X, accept_sparse="csr", dtype=np.float64, reset=False)
        if sp.issparse(new) != sp.issparse(self._points):
            new = sp.csr_array(new) if sp.issparse(self._points) else new.toarray()
        return self._placed(new, self.factor_, self._combined)

    def _combined(self, new: Any, distance: Array, near: Index) -> Array:
        """`extend` with the affinities of `knn_affinity`; each row of them scaled, which changes nothing."""
        nearest = distance[:, :1]
        weight = np.exp(-(distance - nearest) * (distance + nearest) / 2 / self.width_**2)
        row = np.repeat(np.arange(len(weight)), weight.shape[1])
        shape = (len(weight), len(self.factor_))
        return extend(self.factor_, sp.csr_array((weight.ravel(), (row, near.ravel())), shape=shape))

    @property
    def kernel_(self) -> Array:
        """The kernel of the training points as a matrix, of at most 10,000 points."""
        check_is_fitted(self, "solution_")
        n = self.solution_.problem.n
        if n > DENSE_LIMIT:
            raise ProblemError(
                f"kernel_ must be of at most {DENSE_LIMIT:,} points, got {n:,}: work with factor_, "
                "or ask solution_.dense(force=True)"
            )
        return self.solution_.K

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _principal(V: Array) -> Array:
    """The factor of the same kernel in its principal axes, the largest first, with fixed signs."""
    U, s, _ = np.linalg.svd(V, full_matrices=False)
    kept = max(int(np.sum(s**2 > NEGLIGIBLE * s[0] ** 2)), 1)
    out: Array = U[:, :kept] * s[:kept]
    largest = out[np.argmax(np.abs(out), axis=0), np.arange(kept)]
    return out * np.where(largest < 0, -1.0, 1.0)
