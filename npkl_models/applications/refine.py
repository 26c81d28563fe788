"""Local refinement of an ordinal embedding: objectives that are not convex in the kernel.

All start at the leading coordinates of a certified optimum and end at a local minimum; nothing is proved of
them. t_ste and ckl bound what one wrong answer can cost by the logarithm of a distance. ste and gnmds are
the logistic loss and the hinge without a penalty of the trace: few dimensions limit them.
"""

from __future__ import annotations

import numpy as np

from npkl_models.applications.descent import Compared, Rule, Slopes
from npkl_models.errors import chosen
from npkl_models.linalg import Array, Index

STEPS = 200  # of L-BFGS
ACCURACY = 1e-4  # least relative fall of the objective in a step; smaller ones predict no better
FLOOR = 0.05  # mu of crowd kernel learning, relative to the mean squared distance of the start


def t_ste(near: Array, far: Array, dimensions: int) -> Slopes:
    """The negative logarithm of the probability by Student's t, with ``dimensions`` - 1 degrees of freedom.

    Van der Maaten & Weinberger, "Stochastic Triplet Embedding", MLSP 2012, eq. (6).
    """
    freedom = max(dimensions - 1, 1)
    power = 0.5 * (freedom + 1)
    of_near, of_far = freedom + near, freedom + far
    total, share = softplus(power * np.log(of_near / of_far))  # the share: of the other answer
    share *= power
    return total, share / of_near, -share / of_far


def ckl(near: Array, far: Array, floor: float) -> Slopes:
    """The negative logarithm of (mu + far) / (2 mu + near + far), with mu = ``floor``.

    Tamuz, Liu, Belongie, Shamir & Kalai, "Adaptively Learning the Crowd Kernel", ICML 2011.
    """
    other = floor + far
    both = floor + near + other
    inverse = 1 / both
    return float(np.sum(np.log(both / other))), inverse, inverse - 1 / other


def ste(near: Array, far: Array) -> Slopes:
    """The logistic loss of the difference (van der Maaten & Weinberger, MLSP 2012, eq. (3))."""
    total, slope = softplus(near - far)
    return total, slope, -slope


def gnmds(near: Array, far: Array) -> Slopes:
    """The hinge of the difference with the margin one (Agarwal et al., AISTATS 2007)."""
    short = np.maximum(0.0, 1 + near - far)
    slope = (short > 0).astype(float)
    return float(short.sum()), slope, -slope


def softplus(z: Array) -> tuple[float, Array]:
    """The sum of ln(1 + exp(z_e)), and its slopes, from one exponential that cannot overflow."""
    small = np.exp(-np.abs(z))
    both = 1 + small
    return float(np.sum(np.maximum(z, 0.0) + np.log1p(small))), np.where(z >= 0, 1.0, small) / both


REFINEMENTS = ("t_ste", "ckl", "ste", "gnmds")
SCALED = ("t_ste", "ckl")  # objectives with a size of their own, whatever that of the start


def refined(V: Array, compared: Compared | Index, kind: str, accuracy: float = ACCURACY) -> Array:
    """A local minimum (n x r) of the objective ``kind`` of the comparisons, from the start V (n x r).

    The descent ends if a step lowers the objective by less than ``accuracy``, a share of it.
    """
    chosen("refine", kind, dict.fromkeys(REFINEMENTS))
    n, r = V.shape
    if not isinstance(compared, Compared):
        compared = Compared(compared, n)
    size = float(np.mean(compared.distances(V)[1]))
    if not size > 0:
        return V
    start = (
        V / np.sqrt(size / r) if kind in SCALED else V
    )  # distances of the size of the number of dimensions
    rules: dict[str, Rule] = {
        "t_ste": lambda near, far: t_ste(near, far, r), "ckl": lambda near, far: ckl(near, far, FLOOR * r),
        "ste": ste, "gnmds": gnmds,
    }  # fmt: skip
    return compared.descend(start, rules[kind], 0.0, accuracy, STEPS)
