"""The base class of losses: convex functions of a value z and a target t; f(z) = w loss(z; t), w > 0."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Mask
from npkl_models.model.box import Box

CvxExpression = Any
CvxConstraints = list[Any]
SURE = 1e-8  # relative rounding error of a right loss, which may cancel digits
TOGETHER = 3  # values of a loss that is not separable, in each trial
DECLARED = ("name", "latex", "smooth", "quadratic", "nonnegative", "sign_targets", "curvature")


class Loss(ABC):
    """Base class of losses: a convex function loss(z; t), applied elementwise if the loss is ``separable``.

    Examples
    --------
    >>> import npkl_models as nm
    >>> sorted(nm.LOSSES)  # doctest: +NORMALIZE_WHITESPACE
    ['absolute', 'excess', 'hinge', 'huber', 'linear', 'logistic', 'shared_slack', 'square',
     'squared_excess', 'squared_hinge', 'squared_shortfall']
    >>> nm.LOSSES["hinge"].smooth
    False
    """

    name: str
    latex: str
    smooth: bool  # continuously differentiable in z
    quadratic: bool  # constant second derivative
    nonnegative: bool  # loss >= 0 and 0 in the domain of f*
    sign_targets: bool  # targets must be +1 or -1
    curvature: float  # largest second derivative; inf where there is a kink
    latex_conjugate: str = r"f^*(y)"  # of f = w loss, on its domain
    latex_domain: str = r"y \in \operatorname{dom} f^*"
    separable: bool = True  # a sum over the values; else all weights of a term must be equal
    squared: bool = False  # a squared loss, which SimpleNPKL weighs with C / 2
    entropy: float = 0.0  # f* has this multiple of w (a ln a + (1 - a) ln(1 - a)), a the place in its domain

    @abstractmethod
    def value(self, z: Array, t: Array) -> Array:
        """The loss(z; t) of each value."""

    @abstractmethod
    def derivative(self, z: Array, t: Array) -> Array:
        """A subgradient of the loss in z; the derivative wherever the loss has one."""

    @abstractmethod
    def second_derivative(self, z: Array, t: Array) -> Array:
        """A generalised second derivative of the loss in z."""

    @abstractmethod
    def conjugate(self, y: Array, t: Array, w: Array) -> Array:
        """The conjugate f*(y) of f = w loss, for y in its domain.

        Its rounding error is a few units in the last place of ``abs(f*) + 2 abs(y t)``.
        """

    @abstractmethod
    def conjugate_derivative(self, y: Array, t: Array, w: Array) -> Array:
        """A subgradient of f* at y in the domain: a z at which f has the slope y."""

    @abstractmethod
    def project(self, y: Array, t: Array, w: Array) -> Array:
        """The nearest y in the domain of f*."""

    def domain(self, t: Array, w: Array) -> tuple[Array, Array]:
        """The interval (lower, upper) on which f* is finite; an end without limit is infinite."""
        far = np.full(np.shape(t), 1e300)
        ends = self.project(-far, t, w), self.project(far, t, w)
        lower, upper = (np.where(np.abs(end) >= 1e299, np.copysign(np.inf, end), end) for end in ends)
        return lower, upper

    def recession(self, z: Array, t: Array, w: Array) -> float:
        """The recession function of f at z: the support function of dom f* (Rockafellar 1970, 13.3)."""
        low, high = self.domain(t, w)
        return float(np.sum(np.where(z == 0, 0.0, np.where(z > 0, high, low)) * z))

    def in_domain(self, y: Array, t: Array, w: Array) -> Mask:
        """Where y lies in the domain of f*, without tolerance, since kernels may be arbitrarily large."""
        return y == self.project(y, t, w)

    def subdifferential(self, z: Array, t: Array, w: Array, atol: float | Array) -> tuple[Array, Array]:
        """The interval (lower, upper) of the subgradients of f on [z - atol, z + atol]."""
        return w * self.derivative(z - atol, t), w * self.derivative(z + atol, t)

    def rescaled(self, t: Array, w: Array, unit: float) -> tuple[Array, Array] | None:
        """(t', w') with ``w' loss'(z; t') = w loss(unit z; t)``; None if there is no such pair.

        loss' is the loss that `in_units` gives.
        """
        return None

    def in_units(self, unit: float) -> Loss:
        """The loss of values in another unit; the same loss unless a parameter is a value itself."""
        return self

    def box(self, t: Array, w: Array) -> Box:
        """The box of f*; b and q follow from the slopes at two points of the domain."""
        lower, upper = self.domain(t, w)
        first = self.project(np.zeros_like(t), t, w)
        second = self.project(first + w, t, w)
        second = np.where(second == first, self.project(first - w, t, w), second)
        slopes = [self.conjugate_derivative(y, t, w) for y in (first, second)]
        distance = second - first
        q = np.divide(slopes[1] - slopes[0], distance, out=np.zeros_like(distance), where=distance != 0)
        return Box(slopes[0] - q * first, q, lower, upper, np.zeros_like(q))

    @abstractmethod
    def prox(self, x: Array, t: Array, step: Array) -> Array:
        """argmin_z step loss(z; t) + (z - x)^2 / 2."""

    @abstractmethod
    def prox_slope(self, x: Array, t: Array, step: Array) -> Array:
        """The derivative of `prox` in x, a number in [0, 1]."""

    @abstractmethod
    def cvxpy_value(self, z: CvxExpression, t: Array) -> CvxExpression:
        """The vector loss(z; t) as a convex CVXPY expression."""

    @abstractmethod
    def cvxpy_conjugate(self, y: CvxExpression, t: Array, w: Array) -> tuple[CvxExpression, CvxConstraints]:
        """The sum of f*(y) as a convex CVXPY expression, and the constraints that y is in its domain."""


def refuse_false(loss: Loss) -> None:
    """Raise a ProblemError unless a user's loss is declared, returns arrays, and obeys Fenchel and Young.

    For all z, and all y in the domain of f*, f(z) + f*(y) >= z y; with equality, and y in the domain, at the
    slope y = f'(z). This is tried on numbers of several scales. A bound is right only if it holds.
    """
    if lacking := [name for name in DECLARED if not hasattr(loss, name)]:
        raise ProblemError(
            f"a loss must declare {', '.join(lacking)}, got {type(loss).__name__} without them"
        )
    sizes = np.array([1e-3, 0.4, 1.0, 3.0, 50.0, 1e4])
    every, targets = np.r_[-sizes, 0.0, sizes], (-1.0, 1.0) if loss.sign_targets else (-2.0, 0.0, 0.5, 3.0)
    z, far, t, w = (part.ravel() for part in np.meshgrid(every, every, targets, (0.3, 1.0, 20.0)))
    for few in (slice(0, 1), slice(None, None) if loss.separable else slice(0, TOGETHER)):
        same = w[few] if loss.separable else np.full_like(w[few], w[0])
        _refuse_returns(loss, z[few], far[few] * same, t[few], same)
    if loss.separable:
        _refuse_case(loss, z, far * w, t, w)
        return
    for own in np.random.default_rng(0).permutation(z.size)[: 100 * TOGETHER].reshape(-1, TOGETHER):
        same = np.full(TOGETHER, w[own[0]])
        _refuse_case(loss, z[own], far[own] * same, t[own], same)


def _refuse_returns(loss: Loss, z: Array, far: Array, t: Array, w: Array) -> None:
    """Raise a ProblemError unless each method returns numbers of the shape that it is given, and no NaN.

    A loss may be infinite, and its derivatives there; so may ends of the domain, and slopes of f* there.
    """
    y, f = _asked(loss, "project", far, t, w), _asked(loss, "value", z, t, endless=True)
    _asked(loss, "conjugate", y, t, w)
    for method in ("value", "derivative", "second_derivative"):
        _asked(loss, method, z, t, endless=f == np.inf)
    _asked(loss, "conjugate_derivative", y, t, w, endless=True)
    for method in ("prox", "prox_slope"):
        _asked(loss, method, z, t, w)
    _asked(loss, "domain", t, w, endless=True, several=2)
    _asked(loss, "subdifferential", z, t, w, 0.0, endless=f == np.inf, several=2)


def _asked(
    loss: Loss, method: str, *given: Any, endless: bool | Mask = False, several: int = 0
) -> Array:  # fmt: skip
    """The array that a method of a user's loss returns, or ``several`` in one; an error names the method."""
    shape, who = given[0].shape, f"{method} of the loss {loss.name!r}"
    arrays = f"{f'{several} arrays' if several else 'an array'} of real numbers of shape {shape}"
    try:
        with np.errstate(all="ignore"):
            told = getattr(loss, method)(*given)
    except Exception as error:
        raise ProblemError(
            f"{who} must return {arrays} for such arrays, got {type(error).__name__}: {error}"
        ) from error
    parts = told if several and isinstance(told, tuple) else (told,)
    plain = all(
        isinstance(one, np.ndarray) and one.shape == shape and one.dtype.kind in "fiu" for one in parts
    )
    if not plain or len(parts) != max(several, 1):
        got = ", ".join(
            f"one of {one.dtype} of shape {one.shape}" if isinstance(one, np.ndarray) else type(one).__name__
            for one in parts
        )
        raise ProblemError(f"{who} must return {arrays}, got {got}")
    out = np.stack(parts)
    bad = np.flatnonzero((np.isnan(out) | (np.isinf(out) & ~np.asarray(endless))).any(axis=0))
    if bad.size:
        at = ", ".join(f"{one[bad[0]]:g}" for one in given if np.ndim(one))
        raise ProblemError(f"{who} must return finite numbers, got {out[:, bad[0]].max()} for ({at})")
    return parts[0]


def _refuse_case(loss: Loss, z: Array, far: Array, t: Array, w: Array) -> None:
    """Try the slopes at the values z, and the points of the domain of f* nearest to ``far``."""

    def total(part: Array) -> Array:
        return part if loss.separable else np.sum(part, keepdims=True)

    with np.errstate(all="ignore"):
        f = w * loss.value(z, t)
        for y, equal in ((w * loss.derivative(z, t), True), (loss.project(far, t, w), False)):
            off, conjugate = np.abs(loss.project(y, t, w) - y), loss.conjugate(y, t, w)
            left, right = total(f) + total(conjugate), total(z * y)
            size = SURE * total(np.abs(f) + np.abs(conjugate) + np.abs(z * y) + np.abs(y * t))
            good = total(off) <= SURE * total(np.abs(y) + w)
            good &= left >= right - size
            if equal:
                good &= left <= right + size
            bad = np.flatnonzero(~(good | (total(f) == np.inf)))
            if bad.size:
                k, sign = bad[0], "=" if equal else ">="
                raise ProblemError(
                    f"the loss {loss.name!r} must have value + conjugate {sign} z y, and y in its domain, "
                    f"got {left[k]:.6g} and {right[k]:.6g} at z = {z[k]:g}, y = {y[k]:g}, which is "
                    f"{off[k]:.2g} from the domain (target {t[k]:g}, weight {w[k]:g})"
                )
