"""What the estimators share: a problem of points, its answer, what is proved of it, rows of new points."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from npkl_models.answer.extension import extend
from npkl_models.answer.solution import Solution, Status
from npkl_models.applications.estimators.side import collected, landmark_pairs
from npkl_models.certify.certificate import Certificate
from npkl_models.errors import ProblemError, SolverError, chosen
from npkl_models.formulations import hard_pcp, npkl, pcp, simple_npkl
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.model.graph import graph_width, knn_affinity, laplacian
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem
from npkl_models.routes import get_backend

CHUNK = 5_000  # new points at a time
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


class SolvedEstimator(BaseEstimator):  # type: ignore[misc]
    """Base of the estimators that solve a problem over points and their graph."""

    n_neighbors: int
    metric: str

    solution_: Solution
    n_neighbors_: int

    @property
    def certificate_(self) -> Certificate:
        """What is proved of the kernel."""
        check_is_fitted(self, "solution_")
        return self.solution_.certificate

    def _neighbors(self, n: int) -> int:
        """``n_neighbors``, or all other points where there are fewer."""
        if self.metric == "precomputed":
            raise ProblemError("metric must be one of points, got 'precomputed'")
        if not self.n_neighbors >= 1:
            raise ProblemError(f"n_neighbors must be an integer >= 1, got {self.n_neighbors!r}")
        return min(int(self.n_neighbors), n - 1)

    def _keep(self, solution: Solution, points: Any, stacklevel: int = 3) -> Array:
        """Keep points and solution, with a warning where it is not certified; returns the factor."""
        self.solution_, self._points = solution, points
        status = f"{solution.status} - {solution.status.value}"
        if solution.V is None:
            raise SolverError(f"no kernel: {status}")
        if solution.status is not Status.OPTIMAL:
            words = f"the kernel is not certified optimal: {status}"
            warnings.warn(words, ConvergenceWarning, stacklevel=stacklevel)  # where `fit` is called
        return solution.V

    def _placed(
        self, new: Any, rows: Array, combined: Callable[[Any, Array, Index], Array]
    ) -> Iterator[Array]:
        """Rows for new points, as ``combined`` makes them of distances and neighbours; of old ones their own.

        Some thousand at a time: there is no matrix of all new by all old points.
        """
        index = NearestNeighbors(n_neighbors=self.n_neighbors_, metric=self.metric).fit(self._points)
        for at in range(0, new.shape[0], CHUNK):
            some = new[at : at + CHUNK]
            distance, near = index.kneighbors(some)
            part = combined(some, distance, near)
            same = _equal(some, self._points[near[:, 0]])
            part[same] = rows[near[same, 0]]
            yield part


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

    @abstractmethod
    def _apart(self) -> int:
        """How many landmarks are kept apart without side information."""

    def _finish(self, seed: int) -> None:
        """What is done with the kernel once it is found."""

    def fit(
        self, X: Any, y: ArrayLike | None = None, *, must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None, pairs: ArrayLike | None = None,
        y_pairs: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn the kernel, and form the clusters of an estimator that has some.

        Parameters
        ----------
        X : array_like, sparse or DataFrame of shape (n, d)
        y : array_like of shape (n,), optional
            Known classes, -1 (or None or NaN) where unknown; `spanning_pairs` says which pairs they make.
        must_link, cannot_link : array_like of shape (m, 2), optional
            Integers are positions of rows, whatever the index of X is. Anything else (strings, dates) is
            looked up in the index of a DataFrame, which must be unique.
        pairs, y_pairs : array_like of shape (m, 2) and (m,), optional
            Pairs and their signs, +1 for must-links and -1 for cannot-links, as in metric-learn.

        Returns
        -------
        KernelEstimator
            Itself.
        """
        apart = self._apart()
        index = X.index if hasattr(X, "iloc") else None
        points = validate_data(self, X, accept_sparse="csr", dtype=np.float64, ensure_min_samples=2)
        n = points.shape[0]
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        given = collected(n, index, y, must_link, cannot_link, pairs, y_pairs)
        self.supervised_ = given is not None
        self.pairs_ = landmark_pairs(points, apart, seed) if given is None else given
        self.n_neighbors_ = self._neighbors(n)
        self.width_ = graph_width(points, self.n_neighbors_, self.sigma, self.metric)
        width = self.width_ if np.isfinite(self.width_) else "binary"
        S = knn_affinity(points, self.n_neighbors_, width, self.metric)
        L = laplacian(S, shift=self.shift)
        solution = self._problem(L, self.pairs_).solve(self.backend, **self._solving(seed))
        self.factor_ = _principal(self._keep(solution, points))
        self._finish(seed)
        return self

    def _problem(self, L: Matrix, pairs: Pairs) -> Problem:
        if callable(self.formulation):
            return self.formulation(L, pairs, self.gamma)
        name = chosen("formulation", self.formulation, FORMULATIONS)
        return FORMULATIONS[name](L, pairs, self.gamma, self.loss)

    def _solving(self, seed: int) -> dict[str, Any]:
        """Options of the solve; a seed only for a backend, asked for by name, that takes one."""
        out = {"tol": self.tol} | dict(self.options or {})
        if self.backend != "auto" and "random_state" in get_backend(self.backend).option_names:
            out.setdefault("random_state", seed)
        return out

    def _extended(self, X: Any) -> Iterator[Array]:
        """Rows of the factor for points, those of training points as they are, some thousand at a time."""
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


def _equal(A: Any, B: Any) -> Index:
    """Which rows are the same numbers."""
    different = abs(A - B).sum(axis=1) if sp.issparse(A) else (A != B).any(axis=1)
    return np.flatnonzero(np.asarray(different).ravel() == 0)
