"""Bounds on the optimum between the weights of a path of certified kernels, by concavity alone.

The objective of one kernel K is affine in the weight g of the losses, J(K; g) = a(K) + g l(K). The optimum is
the least of such functions over all K, so it is concave in g. Hence each stored kernel gives an upper bound
for every g. The chord between two certified lower bounds gives a lower bound between their weights (Giesen,
Jaggi & Laue, AISTATS 2012).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.certify.certificate import relative_gap
from npkl_models.linalg import Array, Index
from npkl_models.path import Path, with_parameter
from npkl_models.problem import Problem
from npkl_models.proof.eigenbound import CERTIFIED

BETWEEN = 12  # number of weights that are shown between two weights of the path


@dataclass(frozen=True, eq=False)
class Envelope:
    """Bounds on the optimum for all weights from the first to the last of a path.

    Attributes
    ----------
    weights : ndarray of shape (k,)
        Weights of the path, ascending.
    fixed, slopes : ndarray of shape (k,)
        The numbers a and l of each stored kernel: its objective is ``fixed + g * slopes``. They are infinite
        for a kernel that is not proved feasible.
    bounds : ndarray of shape (k,)
        Certified lower bounds at the weights; minus infinity if there is no bound.
    """

    weights: Array
    fixed: Array
    slopes: Array
    bounds: Array

    @classmethod
    def of(cls, problem: Problem, path: Path) -> Envelope:
        """The envelope of a path along "weight"; the problem's own weight is 1."""
        lines = [_line(problem, one, g) for one, g in zip(path.solutions, path.values, strict=True)]
        fixed, slopes, bounds = np.array(lines).T
        return cls(path.values, fixed, slopes, bounds)

    def upper(self, weights: Array) -> tuple[Array, Index]:
        """The objective of the best stored kernel at each weight, and the number of this kernel."""
        values = self.fixed + np.multiply.outer(np.asarray(weights, dtype=float), self.slopes)
        best = np.argmin(values, axis=-1)
        return np.take_along_axis(values, best[..., None], -1)[..., 0], best

    def lower(self, weights: Array) -> Array:
        """The chord of the certified bounds at each weight; minus infinity outside the path."""
        at = np.asarray(weights, dtype=float)
        inside = (at >= self.weights[0]) & (at <= self.weights[-1])
        right = np.clip(np.searchsorted(self.weights, at), 1, max(self.weights.size - 1, 1))
        if self.weights.size == 1:
            return np.where(at == self.weights[0], self.bounds[0], -np.inf)
        low, high = self.weights[right - 1], self.weights[right]
        share = (at - low) / (high - low)
        with np.errstate(invalid="ignore"):
            chord = (1 - share) * self.bounds[right - 1] + share * self.bounds[right]
        chord = np.where(at == low, self.bounds[right - 1], np.where(at == high, self.bounds[right], chord))
        return np.where(inside & ~np.isnan(chord), chord, -np.inf)

    @property
    def worst(self) -> Array:
        """The largest gap in each interval: at an end, or where the kernels of both ends are equally good."""
        a, s, g = self.fixed, self.slopes, self.weights
        with np.errstate(invalid="ignore", divide="ignore"):
            cross = np.clip(np.nan_to_num((a[1:] - a[:-1]) / (s[:-1] - s[1:]), nan=0.0), g[:-1], g[1:])
        ends = np.stack([g[:-1], cross, g[1:]])
        both = np.minimum(a[:-1] + ends * s[:-1], a[1:] + ends * s[1:])
        with np.errstate(invalid="ignore"):
            return np.max(both - self.lower(ends), axis=0)


def grid(weights: Array, between: int = BETWEEN) -> Array:
    """The weights of a path, and ``between`` weights within each interval, evenly spaced in logarithms."""
    steps = np.linspace(0, weights.size - 1, (weights.size - 1) * (between + 1) + 1)
    fine = np.exp(np.interp(steps, np.arange(weights.size), np.log(weights)))
    fine[:: between + 1] = weights
    return fine


def proved_gaps(problem: Problem, weights: Array, upper: Array, lower: Array) -> Array:
    """The relative gap at each weight, defined as in certificates."""
    return np.array([
        relative_gap(with_parameter(problem, "weight", float(g)), high, low)
        for g, high, low in zip(weights, upper, lower, strict=True)
    ])  # fmt: skip


def _line(problem: Problem, found: Solution, weight: float) -> tuple[float, float, float]:
    """For a stored kernel: the objective without losses, the losses at weight 1, and the certified bound."""
    proof = found.certificate
    bound = proof.bound if proof.rigour in CERTIFIED else -np.inf
    if not proof.feasible or not np.isfinite(proof.upper):
        return np.inf, 0.0, bound
    losses = sum(t.value(z) for t, z in zip(problem.terms, problem.values(proof.point), strict=True))
    fixed = problem.objective_of_factor(proof.point) - losses
    hidden = max(0.0, proof.upper - (fixed + weight * losses))  # rounding, and the move to a feasible kernel
    return fixed + hidden, losses, bound
