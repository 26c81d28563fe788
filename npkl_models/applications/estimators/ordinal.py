"""Embed objects that are known from comparisons alone: "i is nearer to j than to k"."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils import check_random_state
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from npkl_models.applications.answers import HeldAnswers, led, placed, read_answers
from npkl_models.applications.estimators.solved import COUNT, POSITIVE, CertifiedEstimator, certified_factor
from npkl_models.applications.refine import REFINEMENTS, refined
from npkl_models.errors import ProblemError, keywords
from npkl_models.formulations.comparisons import answered, differences
from npkl_models.formulations.ordinal import largest_penalty, ordinal
from npkl_models.linalg import Array, Index
from npkl_models.linalg.owned import whole_number
from npkl_models.model.losses import Loss

SHARES = (0.6, 0.4, 0.25, 0.15, 0.1, 0.06)  # penalties that are tried, as shares of the largest
DIMENSIONS = (3, 6)  # of a refinement, beside ``n_components``


@dataclass(eq=False, repr=False, kw_only=True)
class OrdinalEmbedding(CertifiedEstimator):
    """Points from comparisons of distances, by a convex problem with a certificate, then perhaps refined.

    Agarwal et al., AISTATS 2007; van der Maaten & Weinberger, MLSP 2012; Tamuz et al., ICML 2011. The
    problem is convex in the kernel, with all dimensions.

    Parameters
    ----------
    n_components : int
        Number of coordinates in ``embedding_``. Predictions use all columns of ``factor_``.
    loss : str or Loss
        Loss of each comparison, as in `ordinal`.
    penalty : "auto" or float
        Penalty of the trace, as in `ordinal`. "auto" tries shares of the largest penalty, from the largest
        on, as long as each answers more held-out comparisons than the one before.
    refine : "auto", None, "t_ste" or "ckl"
        Objective that is minimised afterwards from the leading coordinates of the certified kernel, in few
        dimensions, to a local minimum without a certificate. "auto" keeps the kernel as it is, or the
        refinement that answers most held-out comparisons.
    cv : int
        Number of parts of the comparisons, at least 2, for "auto": they are held out one after the other
        until 3,000 answers or all have been. Repeated comparisons stay in one part.
    backend, tol, options
        Solver, relative gap and further options of the final solve, as in `Problem.solve`.
    random_state : int, RandomState or None
        Seed of the parts.

    Attributes
    ----------
    embedding_, factor_ : ndarray of shape (n, n_components) and (n, r)
        Leading coordinates, and all coordinates: the factor of the certified kernel, or of its refinement.
    refined_ : str or None
        Objective of the refinement; None if ``factor_`` is that of the certified kernel.
    penalty_ : float
        The penalty that was used.
    penalties_, scores_ : ndarray
        Penalties, and the mean share of held-out comparisons that each answers; NaN for one that was not
        tried. They come from rough kernels without a certificate, in 20 columns at most.
    solution_, certificate_
        The solution of the problem, and its proved bounds. `fit` issues a `ConvergenceWarning` unless the
        status is OPTIMAL.

    Examples
    --------
    >>> import numpy as np
    >>> import npkl_models as nm
    >>> from npkl_models.formulations.comparisons import ordinal_answers
    >>> X = np.random.default_rng(0).normal(size=(20, 2))
    >>> asked, unseen = (ordinal_answers(X, 600, random_state=seed) for seed in (0, 1))
    >>> nm.OrdinalEmbedding(2).fit(asked).score(unseen) > 0.9
    True
    """

    n_components: int = field(default=2, kw_only=False)
    loss: str | Loss = "logistic"
    penalty: float | str = "auto"
    refine: str | None = "auto"
    cv: int = 3
    backend: str = "auto"
    tol: float = 1e-4
    options: Mapping[str, object] | None = None
    random_state: int | np.random.RandomState | None = 0

    _parameter_constraints = {
        "n_components": [COUNT], "loss": [str, Loss], "penalty": [POSITIVE, StrOptions({"auto"})],
        "refine": [StrOptions({"auto", *REFINEMENTS}), None],
        "cv": [Interval(Integral, 2, None, closed="left")], "backend": [str], "tol": [POSITIVE],
        "options": [Mapping, None], "random_state": ["random_state"],
    }  # fmt: skip

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: ArrayLike | None = None, *, n_points: int | None = None) -> Self:
        """Learn the kernel from comparisons; returns this estimator.

        Parameters
        ----------
        X : array_like of int, shape (m, 3) or (m, 4), or sparse tensor of shape (n, n, n)
            Rows (i, j, k): i is nearer to j than to k. Rows (i, j, k, l): i and j are nearer to each other
            than k and l. A sparse tensor has ``coords`` and ``data``, 1 or -1, as in cblearn.
        y : array_like of shape (m,), optional
            Answers: True or 1 if the row is as said, False or -1 if the second distance is the smaller one,
            0 if both are equal (not with booleans). By default, every row is as said.
        n_points : int, optional
            Number of points; by default the largest index plus one.
        """
        given = read_answers(X, y)
        n = given.count if n_points is None else n_points
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        first = ordinal(given.rows, n, loss=self.loss, penalty=1.0, ties=given.ties)
        held = HeldAnswers(given.rows, first.n, self.loss, self.cv, seed)
        factors = list[Array]()
        if isinstance(self.penalty, str):
            penalties = np.array(SHARES) * (largest_penalty(first) or 1.0)
            self.penalties_ = penalties
            best, self.scores_, factors = held.penalty(penalties)
            self.penalty_ = float(penalties[best])
        else:
            self.penalty_ = float(self.penalty)
            self.penalties_, self.scores_ = np.array([self.penalty_]), np.array([np.nan])
        problem = ordinal(given.rows, first.n, loss=self.loss, penalty=self.penalty_, ties=given.ties)
        solving: dict[str, Any] = {"tol": self.tol} | keywords(self.options)
        self.solution_ = problem.solve(self.backend, **solving)
        self.factor_ = certified_factor(self.solution_)
        self._refine(given.rows, held, factors)
        self.embedding_ = led(self.factor_, self.n_components)
        return self

    def predict(self, X: Any) -> Array:
        """Answers to comparisons, shape (m,): 1 if a row is as said, -1 if not, 0 if both are equal."""
        check_is_fitted(self, "factor_")
        rows = read_answers(X, None).rows
        if rows.max() >= len(self.factor_):
            raise ProblemError(f"comparisons must name points 0..{len(self.factor_) - 1}, got {rows.max()}")
        return -np.sign(differences(rows, len(self.factor_)).value_of_factor(self.factor_))

    def score(self, X: Any, y: ArrayLike | None = None) -> float:
        """The share of comparisons that are answered as given; a tie of either side counts one half."""
        check_is_fitted(self, "factor_")
        given = read_answers(X, y)
        ties = 0 if given.ties is None else len(given.ties)
        right = answered(self.factor_, given.rows) * len(given.rows)
        return float((right + 0.5 * ties) / (len(given.rows) + ties))

    def fit_transform(self, X: Any, y: ArrayLike | None = None, *, n_points: int | None = None) -> Array:
        """Call `fit` and return ``embedding_``."""
        return self.fit(X, y, n_points=n_points).embedding_

    def place(self, comparisons: ArrayLike, count: int = 1) -> Array:
        """Rows (count x r) of ``factor_`` for new points, from comparisons with known points, as in `fit`.

        The new points have the numbers n, ..., n + count - 1. If each comparison has a new point in the
        first place and known points in the others, this is the optimum given the known points; otherwise it
        is a local one.
        """
        check_is_fitted(self, "factor_")
        rows = read_answers(comparisons, None).rows
        return placed(self.factor_, rows, whole_number(count, "count", 1), self.loss, self.penalty_)

    def _refine(self, rows: Index, held: HeldAnswers, factors: list[Array]) -> None:
        """Replace the factor by its refinement, if one is asked for or answers more held-out comparisons.

        ``factors`` are those of the kernels of all parts but one, if they are known.
        """
        kinds = (None, *REFINEMENTS) if self.refine == "auto" else (self.refine,)
        sizes = dict.fromkeys((self.n_components, *DIMENSIONS))
        ways = [(kind, size) for kind in kinds for size in (sizes if kind else (0,))]
        best = ways[0]
        if len(ways) > 1:
            best = held.way(ways, factors or held.kernels(self.penalty_))
        self.refined_ = best[0]
        self.factor_ = _refined(self.factor_, rows, *best)


def _refined(V: Array, rows: Index, kind: str | None, size: int) -> Array:
    """The refinement of the leading coordinates; V itself without a kind."""
    if kind is None:
        return V
    W = refined(led(V, size), rows, kind)
    spread = float(np.sum((W - W.mean(axis=0)) ** 2))
    # without noise, t_ste grows on and on
    return W * np.sqrt(float(np.sum(V**2)) / spread) if spread > 0 else W
