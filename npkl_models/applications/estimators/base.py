"""The base class of the estimators: the problem, its solution, its certificate, and rows of new points."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state, gen_batches
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from npkl_models.answer.extension import extend
from npkl_models.applications.annotators import AnnotatedPairs
from npkl_models.applications.audit import Audit
from npkl_models.applications.clustering import principal
from npkl_models.applications.estimators.given import GIVEN, by_affinities, check, names_of, read
from npkl_models.applications.estimators.noisy import answered, before
from npkl_models.applications.estimators.side import (
    PairScored,
    collected,
    landmark_pairs,
    trusted,
    weighed,
    with_cannot_links,
)
from npkl_models.applications.estimators.solved import CHUNK, COUNT, LEAST, POSITIVE, SolvedEstimator
from npkl_models.applications.propagated import affinities, spectral_rows
from npkl_models.errors import ProblemError, chosen, keywords
from npkl_models.formulations import hard_pcp, npkl, pcp, simple_npkl
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.linalg.owned import unrounded
from npkl_models.model.colouring import of_pairs
from npkl_models.model.graph import affinity, graph_width, laplacian, warn_of_scales, weights_of_graph
from npkl_models.model.losses import Loss
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem
from npkl_models.routes import get_backend

LOOSE = 0.1  # the bound on tr K^2 over n^2: ten equal clusters with K_ij = 1; the bound n would be too tight

FORMULATIONS: dict[str, Callable[..., Problem]] = {
    "pcp": lambda L, pairs, gamma, **said: pcp(L, pairs, gamma=gamma, **said),
    "npkl": lambda L, pairs, gamma, **said: npkl(L, pairs, gamma=gamma, **said),
    "simple_npkl": lambda L, pairs, gamma, **said: simple_npkl(
        L, pairs, C=gamma, p=2, trace_bound=LOOSE * pairs.n**2, **said
    ),
    "hard_pcp": lambda L, pairs, gamma: hard_pcp(L, pairs),
}
"""The formulations that an estimator can solve, by name."""
CHOICES = {"pcp": ("cannot",), "npkl": ("loss",), "simple_npkl": ("loss",), "hard_pcp": ()}
"""What else can be said of each of them."""


@dataclass(eq=False, repr=False, kw_only=True)
class KernelEstimator(PairScored, SolvedEstimator):
    """Base class of the estimators, with their shared parameters."""

    formulation: str | Callable[[Matrix, Pairs, float], Problem] = "pcp"
    loss: str | None = None
    gamma: float = 100.0
    n_neighbors: int = 10
    shift: float = 0.1
    sigma: float | str = "auto"
    metric: str = "euclidean"
    affinity: str = "nearest_neighbors"
    backend: str = "auto"
    tol: float = 1e-6
    options: Mapping[str, object] | None = None
    random_state: int | np.random.RandomState | None = 0
    n_jobs: int | None = None
    verbose: bool | int = False

    _parameter_constraints = {
        "formulation": [str, callable], "loss": [str, Loss, None], "n_neighbors": [COUNT], "shift": [LEAST],
        "gamma": [POSITIVE], "sigma": [POSITIVE, StrOptions({"auto", "last", "binary"})],
        "metric": [str, callable], "affinity": [StrOptions({"nearest_neighbors", GIVEN})],
        "backend": [str], "tol": [POSITIVE], "options": [Mapping, None], "random_state": ["random_state"],
        "n_jobs": [Integral, None], "verbose": ["verbose"],
    }  # fmt: skip

    @abstractmethod
    def _landmark_count(self) -> int:
        """Number of landmarks that are kept apart if there is no side information."""

    @abstractmethod
    def _model(self) -> tuple[int, float | str] | None:
        """The model of wrong pairs: number of clusters and rate; None for no model."""

    def _trusted(self, L: Matrix, pairs: Pairs, seed: int) -> Pairs | None:
        """The pairs with the confidences that the kernel is learnt with; None if no pair is left."""
        self.audit_: Audit | None = None
        self.annotator_rates_: Array | None = None if self._answered is None else self._answered.rates
        self.pair_weights_: Array = np.ones(len(pairs)) if self._answered is None else self._answered.weights
        model = self._model()
        if model is not None and self.supervised_ and len(pairs.cannot_link):
            limit: Any = keywords(self.options).get("time_limit")
            audit, found = before(L, pairs, *model, (seed, limit), self._answered)
            self.audit_ = replace(audit, names=self._names)
            self.pair_weights_ = found.weights
            if found.annotator_rates is not None:
                self.annotator_rates_ = found.annotator_rates
        return trusted(pairs, self.pair_weights_)

    def _said(self, **more: Any) -> dict[str, Any]:
        """What is said of a formulation beside the weight; an error if it has no such choice."""
        said = more | ({} if self.loss is None else {"loss": self.loss})
        own = callable(self.formulation)
        takes = () if own else CHOICES[chosen("formulation", self.formulation, FORMULATIONS)]
        for name, value in said.items():
            if name not in takes:
                others = [one for one, known in CHOICES.items() if name in known]
                raise ProblemError(
                    f"{name} must be left out with formulation={self.formulation!r}, which does not "
                    f"use it, got {value!r}; you can choose {name} for {', '.join(others)}"
                )
        return said

    def _finish(self, seed: int, weight: Array | None) -> None:
        """Use the kernel that was learnt; by default nothing is done."""

    __metadata_request__fit = dict.fromkeys(
        ("must_link", "cannot_link", "pairs", "y_pairs", "annotator"), True
    )

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: ArrayLike | None = None, *, must_link: ArrayLike | None = None,
        cannot_link: ArrayLike | None = None, pairs: ArrayLike | Pairs | None = None,
        y_pairs: ArrayLike | None = None, annotator: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:  # fmt: skip
        """Learn the kernel; a clustering estimator then forms its clusters. Returns this estimator.

        Parameters
        ----------
        X : array_like, sparse or DataFrame of shape (n, d)
            The points. With ``metric="precomputed"``, the distances (n x n) between points, or a sparse
            matrix of some of them; with ``affinity="precomputed"``, their affinities (n x n), dense, sparse
            or a graph of networkx.
        y : array_like of shape (n,), optional
            Known classes; -1, None or NaN marks a point of unknown class. `spanning_pairs` makes pairs of
            them.
        must_link, cannot_link : array_like of shape (m, 2), optional
            Pairs of rows. Integers are positions of rows, whatever the index of X is. All other labels
            (strings, dates) are looked up in the index of a DataFrame, which must be unique. Pairs of a graph
            of networkx are pairs of its nodes.
        pairs, y_pairs : array_like of shape (m, 2) and (m,), optional
            Pairs and their signs, as in metric-learn: +1 for must-links and -1 for cannot-links, or True and
            False, 1 and 0, or words such as must and cannot. The signs may also be the third column of
            ``pairs``; or ``pairs`` is a `Pairs` object, and ``y_pairs`` is None.
        annotator : array_like of shape (m,), optional
            Who gave each of the answers ``y_pairs``; pairs may then be repeated
            (`npkl_models.applications.annotators`). The other kinds of side information must be None.
        sample_weight : array_like of shape (n,), optional
            Weights of the points, not negative, for k-means. The confidence of each pair is multiplied by
            the geometric mean of the weights of its two points. The graph ignores the weights.
        """
        count, _, names = self._landmark_count(), self._said(), names_of(X)
        points = read(self, X, ensure_min_samples=2)
        n = points.shape[0]
        check(points, self.affinity, self.metric)
        if self.affinity != GIVEN:
            warn_of_scales(X, self.metric, stacklevel=4)
        weight = None
        if sample_weight is not None:
            weight = unrounded(sample_weight, "sample_weight")
            weight = _check_sample_weight(weight, points, ensure_non_negative=True)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self._answered: AnnotatedPairs | None = None
        self._names = names and names.shown
        if annotator is None:
            given = collected(n, names, y, must_link, cannot_link, pairs, y_pairs)
        else:
            self._answered = answered(
                n, names, (pairs, y_pairs, annotator), (y, must_link, cannot_link), weight
            )
            given = self._answered.pairs
        self.annotators_ = None if self._answered is None else self._answered.names
        self.supervised_ = given is not None
        self.n_neighbors_ = self._neighbors(n)
        S = self._graph(points)
        L = laplacian(S, shift=self.shift)

        def landmarks() -> Pairs:
            plain = GIVEN not in (self.affinity, self.metric)
            rows = points if plain else spectral_rows(affinities(S), min(max(count, 2), n))
            return weighed(landmark_pairs(rows, count, seed, weight), weight)

        self.pairs_ = landmarks() if given is None else weighed(given, weight)
        learnt = self._trusted(L, self.pairs_, seed)
        if learnt is None or not len(learnt.cannot_link):
            learnt = with_cannot_links(learnt, landmarks())
        solution = self._problem(L, learnt).solve(self.backend, **self._solving(seed))
        self.factor_ = self._shaped(principal(self._learnt(solution, points)))
        self._finish(seed, weight)
        return self

    def _shaped(self, factor: Array) -> Array:
        """The factor with the number of columns that the estimator asks for."""
        return factor

    def _problem(self, L: Matrix, pairs: Pairs) -> Problem:
        if callable(self.formulation):
            return self.formulation(L, pairs, self.gamma)
        if self.formulation == "hard_pcp":
            for found in of_pairs(pairs, names=self._names):
                raise ProblemError(f"pairs must not contradict each other, got: {found.message}")
        return FORMULATIONS[self.formulation](L, pairs, self.gamma, **self._said())

    def _solving(self, seed: int) -> dict[str, Any]:
        """Options of the solve; the seed is passed only to a backend that was named and takes a seed."""
        out = {"tol": self.tol} | ({"verbose": True} if self.verbose else {}) | keywords(self.options)
        if self.backend != "auto" and "random_state" in get_backend(self.backend).option_names:
            out.setdefault("random_state", seed)
        return out

    def _extended(self, X: Any, rows: Array | None = None) -> Iterator[Array]:
        """Rows of the factor, or of ``rows``, for points in chunks; a training point keeps its own row."""
        check_is_fitted(self, "factor_")
        new, known = read(self, X, reset=False), self.factor_ if rows is None else rows
        if self.affinity == GIVEN:
            parts = gen_batches(new.shape[0], CHUNK)
            return (by_affinities(known, new[part], self._points, part.start) for part in parts)
        if self.metric != GIVEN and sp.issparse(new) != sp.issparse(self._points):
            new = sp.csr_array(new) if sp.issparse(self._points) else new.toarray()
        return self._placed(new, known, partial(self._combined, known))

    def _graph(self, points: Any) -> Matrix:
        """The affinities of the training points, and their width as an attribute."""
        if self.affinity == GIVEN:
            self.width_ = np.inf
            return weights_of_graph(points, "X")
        self.width_ = graph_width(points, self.n_neighbors_, self.sigma, self.metric)
        width = self.width_ if np.isfinite(self.width_) else "binary"
        return affinity(points, self.n_neighbors_, width, self.metric)

    def _combined(self, rows: Array, new: Any, distance: Array, near: Index) -> Array:
        """`extend` with the affinities of `knn_affinity`, each row scaled; the scale does not matter."""
        nearest = distance[:, :1]
        weight = np.exp(-(distance - nearest) * (distance + nearest) / 2 / self.width_**2)
        row = np.repeat(np.arange(len(weight)), weight.shape[1])
        shape = (len(weight), len(rows))
        return extend(rows, sp.csr_array((weight.ravel(), (row, near.ravel())), shape=shape))

    @property
    def kernel_(self) -> Array:
        """The kernel of the training points as a dense matrix; available for at most 10,000 points."""
        check_is_fitted(self, "solution_")
        return self.solution_.K

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = GIVEN in (self.affinity, self.metric)
        tags.input_tags.positive_only = tags.input_tags.pairwise
        return tags
