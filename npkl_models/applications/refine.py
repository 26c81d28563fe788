"""Local refinement of an ordinal embedding: objectives that are not convex in the kernel.

All start at the leading coordinates of a certified optimum of a convex problem and end at a local minimum;
nothing is proved of them. t_ste and ckl bound what one wrong answer can cost by the logarithm of a distance.
ste and gnmds are the logistic loss and the hinge without a penalty of the trace: few dimensions limit them.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize
from scipy.special import expit

from npkl_models.errors import chosen
from npkl_models.linalg import Array, Index, Matrix

STEPS = 200  # of L-BFGS
FLAT = 1e-7  # gradient at the end, relative to the number of comparisons
FLOOR = 0.05  # mu of crowd kernel learning, relative to the mean squared distance of the start

Slopes = tuple[float, Array, Array]  # value, slopes in the near and in the far distances


def t_ste(near: Array, far: Array, dimensions: int) -> Slopes:
    """The negative logarithm of the probability by Student's t, with ``dimensions`` - 1 degrees of freedom.

    Source: van der Maaten & Weinberger, "Stochastic Triplet Embedding", MLSP 2012, eq. (6).
    """
    freedom = max(dimensions - 1, 1)
    power = 0.5 * (freedom + 1)
    odds = power * (np.log1p(near / freedom) - np.log1p(far / freedom))
    share = 0.5 * (1 + np.tanh(0.5 * odds))  # the probability of the other answer
    rise = share * power
    return float(np.logaddexp(0.0, odds).sum()), rise / (freedom + near), -rise / (freedom + far)


def ckl(near: Array, far: Array, floor: float) -> Slopes:
    """The negative logarithm of (mu + far) / (2 mu + near + far), with mu = ``floor``.

    Source: Tamuz, Liu, Belongie, Shamir & Kalai, "Adaptively Learning the Crowd Kernel", ICML 2011.
    """
    both = 2 * floor + near + far
    value = float(np.sum(np.log(both) - np.log(floor + far)))
    return value, 1 / both, 1 / both - 1 / (floor + far)


def ste(near: Array, far: Array) -> Slopes:
    """The logistic loss of the difference (van der Maaten & Weinberger, MLSP 2012, eq. (3))."""
    slope = expit(near - far)
    return float(np.logaddexp(0.0, near - far).sum()), slope, -slope


def gnmds(near: Array, far: Array) -> Slopes:
    """The hinge of the difference with the margin one (Agarwal et al., AISTATS 2007)."""
    short = np.maximum(0.0, 1 + near - far)
    slope = (short > 0).astype(float)
    return float(short.sum()), slope, -slope


REFINEMENTS = ("t_ste", "ckl", "ste", "gnmds")
SCALED = ("t_ste", "ckl")  # objectives with a size of their own, whatever that of the start


def refined(V: Array, rows: Index, kind: str) -> Array:
    """A local minimum of the objective ``kind`` of the comparisons, from the start V (n x r).

    Parameters
    ----------
    V : ndarray of shape (n, r)
        The start.
    rows : ndarray of int, shape (m, 3) or (m, 4)
        Comparisons, as in `npkl_models.formulations.ordinal.ordinal`.
    kind : {"t_ste", "ckl", "ste", "gnmds"}
        Objective.

    Returns
    -------
    ndarray of shape (n, r)
        The factor at the end.
    """
    chosen("refine", kind, dict.fromkeys(REFINEMENTS))
    n, r = V.shape
    i, j = rows[:, 0], rows[:, 1]
    one, other = (i, rows[:, 2]) if rows.shape[1] == 3 else (rows[:, 2], rows[:, 3])
    apart = _differences(np.concatenate([i, one]), np.concatenate([j, other]), n)
    back, m = apart.T.tocsr(), len(rows)
    size = float(np.mean(np.sum((apart[m:] @ V) ** 2, axis=1)))
    if not size > 0:
        return V
    start = (
        V / np.sqrt(size / r) if kind in SCALED else V
    )  # distances of the size of the number of dimensions
    rules: dict[str, Callable[[Array, Array], Slopes]] = {
        "t_ste": lambda near, far: t_ste(near, far, r), "ckl": lambda near, far: ckl(near, far, FLOOR * r),
        "ste": ste, "gnmds": gnmds,
    }  # fmt: skip
    rule = rules[kind]

    def value(flat: Array) -> tuple[float, Array]:
        W = flat.reshape(n, r)
        between = apart @ W
        squared = np.einsum("er,er->e", between, between)
        total, of_near, of_far = rule(squared[:m], squared[m:])
        between *= np.concatenate([of_near, of_far])[:, None]
        return total, 2 * np.asarray(back @ between).ravel()

    limits = {"maxiter": STEPS, "gtol": FLAT * m}
    found = minimize(value, start.ravel(), jac=True, method="L-BFGS-B", options=limits)
    return np.asarray(found.x).reshape(n, r)


def _differences(i: Index, j: Index, n: int) -> Matrix:
    """The sparse matrix E (m x n) with the rows v_i - v_j of E V."""
    at, one = np.arange(i.size), np.ones(i.size)
    entries = np.concatenate([one, -one]), (np.concatenate([at, at]), np.concatenate([i, j]))
    return sp.coo_array(entries, shape=(i.size, n)).tocsr()
