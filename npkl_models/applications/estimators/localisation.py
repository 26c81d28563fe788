"""Locate sensors from measured distances, with anchors or up to a rigid motion."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import _fit_context
from sklearn.utils._param_validation import StrOptions

from npkl_models.answer.solution import Solution, factor_of
from npkl_models.applications.estimators.solved import COUNT, POSITIVE, CertifiedEstimator, certified_factor
from npkl_models.applications.located import Measured, aligned, refined, uncertainty
from npkl_models.errors import ProblemError, keywords
from npkl_models.formulations.distances import between, distances, positions
from npkl_models.formulations.known_distances import Anchors, read_anchors, read_distances
from npkl_models.linalg import Array, Index, Mask

CHECK = 1e-4  # the spread, and minus that, of the two relaxations that must agree on a point that is unique
LEFT = 0.1  # share of the mean squared distance of a point that may be left, or lie between the two


@dataclass(eq=False, repr=False, kw_only=True)
class Localisation(CertifiedEstimator):
    """Positions of sensors from some of their distances: a certified relaxation, refined by least squares.

    Biswas & Ye, IPSN 2004, for the relaxation and ``left_``; So & Ye, Math. Program. 109 (2007), for unique
    localisability; Biswas, Liang, Wang & Ye, ACM Trans. Sens. Netw. 2 (2006), for ``spread`` and the
    refinement.

    Parameters
    ----------
    n_components : int
        Dimension of the space; that of the anchors, if there are any.
    loss : {"square", "absolute", "huber"}
        Loss of the error of each squared distance, as in `distances`. The huber loss turns linear at an
        error of one squared unit of length, so it depends on the unit; the others do not.
    spread : float
        How strongly the relaxation spreads the sensors out: the penalty of `distances` is minus ``spread``
        times the sum of w d^2 (absolute loss: of w; huber: of w min(d^2, 1)) over the number of points. 0 is
        the plain relaxation, which crowds sensors together if the distances are noisy.
    unique : bool
        Whether ``unique_`` is found, which takes two further relaxations.
    refine : bool
        Whether positions are refined by least squares from those of the relaxation, a local method.
        Refinement and uncertainty take the distances alone, all alike: weights and bounds shape the
        relaxation.
    error : {"relative", "absolute"}
        Whether the error of a measured distance grows with the distance; for the refinement and uncertainty.
    backend, tol, options
        Solver, relative gap and further options of the relaxation, as in `Problem.solve`.

    Attributes
    ----------
    positions_, relaxed_ : ndarray of shape (n, d)
        Positions of all points, and those before the refinement. Anchors keep theirs. Without anchors they
        are centred, up to a rotation and a reflection; see `npkl_models.applications.located.aligned`.
    left_ : ndarray of shape (n,)
        ``Y_ii - |x_i|^2``, what the positions leave of each point's trace, a squared length; Biswas and Ye
        read it as a variance.
    unique_ : ndarray of bool, shape (n,), or None
        Whether the distances alone locate the point, as far as two relaxations tell, which spread sensors
        out (1e-4) and draw them together (-1e-4). Both must leave less than a tenth of its mean squared
        distance and put it at positions that differ by no more. This is an assessment, no proof; noise leaves
        something at any point.
    uncertainty_ : ndarray of shape (n,)
        Standard deviation of each position, from the information matrix at ``positions_``; zero for anchors.
        NaN means that the distances do not fix the position, or leave no degree of freedom.
    solution_, certificate_
        The solution of the relaxation, and its proved bounds. `fit` issues a `ConvergenceWarning` unless the
        status is OPTIMAL.

    Examples
    --------
    >>> import numpy as np
    >>> import npkl_models as nm
    >>> from npkl_models.formulations.known_distances import radio_network
    >>> known, X = radio_network(30, 4, 0.5, noise=0.02, random_state=0)
    >>> model = nm.Localisation().fit(known, anchors=(range(30, 34), X[30:]))
    >>> bool(np.abs(model.positions_ - X).max() < 0.05)
    True
    """

    n_components: int = field(default=2, kw_only=False)
    loss: str = "square"
    spread: float = 0.01
    unique: bool = False
    refine: bool = True
    error: str = "relative"
    backend: str = "auto"
    tol: float = 1e-4
    options: Mapping[str, object] | None = None

    _parameter_constraints = {
        "n_components": [COUNT], "loss": [StrOptions({"square", "absolute", "huber"})], "spread": [Real],
        "unique": ["boolean"], "refine": ["boolean"], "error": [StrOptions({"relative", "absolute"})],
        "backend": [str], "tol": [POSITIVE], "options": [Mapping, None],
    }  # fmt: skip

    @_fit_context(prefer_skip_nested_validation=False)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: ArrayLike | None = None, *, anchors: Any = None, bounds: Any = None,
        weights: ArrayLike | None = None, n_points: int | None = None,
    ) -> Self:  # fmt: skip
        """Locate the points; returns this estimator.

        Parameters
        ----------
        X : array_like or sparse of shape (n, n), or tuple (i, j, d)
            The known distances, as in `distances`.
        y : None
            Ignored, as scikit-learn has it.
        anchors, bounds, weights, n_points
            As in `distances`.
        """
        d = self.n_components
        i, j, length, weight, n = read_distances(X, n_points, weights)
        known = None if anchors is None else read_anchors(anchors, n)
        if known is not None and known.positions.shape[1] != d:
            raise ProblemError(
                f"anchors must have n_components = {d} coordinates, got {known.positions.shape[1]}"
            )
        given = (i, j, length), weight
        free = ~between(known, n, i, j)
        i, j, length, weight = i[free], j[free], length[free], weight[free]
        steep = {"square": length**2, "huber": np.minimum(length**2, 1.0)}
        unit = float(np.sum(weight * steep.get(self.loss, 1.0))) / n  # losses per squared length

        solving: dict[str, Any] = {"tol": self.tol} | keywords(self.options)

        def relaxation(spread: float) -> Solution:
            problem = distances(
                given[0], n, loss=self.loss, weights=given[1], bounds=bounds, anchors=known,
                penalty=-spread * unit,
            )  # fmt: skip
            return problem.solve(self.backend, **solving)

        own = float(self.spread)
        self.solution_ = relaxation(own)
        V = certified_factor(self.solution_, "relaxation")
        self.relaxed_, self.left_ = positions(V, d, known)
        self.unique_ = None
        if self.unique:
            both = [self.solution_ if s == own else relaxation(s) for s in (CHECK, -CHECK)]
            for solution in both:
                certified_factor(solution, "relaxation")
            self.unique_ = _located_alike(both, _mean_squares(i, j, length, n), d, known)
        moving = np.arange(n) if known is None else known.others(n)
        measured = Measured.of(i, j, length, self.error)
        self.positions_ = refined(self.relaxed_, measured, moving) if self.refine else self.relaxed_
        if known is None:
            self.positions_ = self.positions_ - self.positions_.mean(axis=0)
        self.uncertainty_ = uncertainty(self.positions_, measured, moving)
        return self

    def fit_transform(self, X: Any, y: ArrayLike | None = None, **known: Any) -> Array:
        """Call `fit` and return ``positions_``."""
        return self.fit(X, y, **known).positions_


def _located_alike(both: list[Solution], mean: Array, d: int, known: Anchors | None) -> Mask:
    """Whether both relaxations locate a point, at one position (n,); ``mean`` is that of `_mean_squares`."""
    (one, first), (other, second) = (positions(factor_of(each, "kernel"), d, known) for each in both)
    other = other if known is not None else aligned(other, one)
    apart = np.sum((one - other) ** 2, axis=1)
    return np.asarray(np.maximum(apart, np.maximum(first, second)) <= LEFT * mean)


def _mean_squares(i: Index, j: Index, d: Array, n: int) -> Array:
    """The mean of each point's squared distances; zero without a distance."""
    ends = np.concatenate([i, j])
    count = np.maximum(np.bincount(ends, minlength=n), 1)
    return np.asarray(np.bincount(ends, np.tile(d**2, 2), n) / count)
