"""The low-rank part of a cost, which couples all rows of V; the matrix is never formed.

Coloured MVU has the cost -HYH, where the rank of Y is the number of classes. Minimum volume embedding has
I - 2P, where the rank of P is the wanted dimension. Over all centred kernels, C and HCH, H = I - 11'/n, are
equivalent costs. So the cost of a sweep is A + W diag(mu) W' with a sparse A. Only the second part couples
rows that share no entry of A and no pair.

In a step over the rows I of V, an upper bound replaces the second part: its tangent at the current rows plus
delta ||V_I - now||^2. Here delta is the largest eigenvalue of W_I diag(mu_+) W_I'. The bound is exact at the
current rows, nowhere smaller than the second part, and does not couple the rows of I. A step that lowers the
bound lowers the objective by at least as much (majorise, then minimise: Hunter & Lange, Am. Stat. 58, 2004).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, LowRankUpdate, Matrix, dense, frobenius
from npkl_models.lowrank.cost import dense_cost
from npkl_models.lowrank.tolerances import SAME
from npkl_models.model.statement import Statement

COLUMNS = 40  # columns of the random matrix that finds the range; twice the largest rank


class Coupling:
    """The matrix W diag(mu) W', and its gradient and bound for steps over rows."""

    def __init__(self, update: LowRankUpdate) -> None:
        self.W, self.mu = update.W, update.mu
        self.up = self.W[:, self.mu > 0] * np.sqrt(self.mu[self.mu > 0])

    def pull(self, points: Index, V: Array) -> Array:
        """Half of the gradient in the rows of the given points."""
        out: Array = (self.W[points] * self.mu) @ (self.W.T @ V)
        return out

    def bend(self, points: Index) -> float:
        """The number delta: the largest eigenvalue of the convex part between the rows of the points."""
        up = self.up[points]
        return float(np.linalg.eigvalsh(up.T @ up)[-1]) if up.shape[1] else 0.0

    def saved(self, points: Index, moved: Array, delta: float) -> float:
        """The bound minus the objective after the rows of the points have moved by ``moved``."""
        along = self.W[points].T @ moved
        return delta * float(np.sum(moved**2)) - float(self.mu @ np.einsum("kr,kr->k", along, along))


def cost_of_rows(problem: Statement) -> Matrix | LowRankUpdate:
    """The cost for sweeps of distances: HCH for centred kernels, else C; with its low-rank part, if any."""
    C, n = problem.cost, problem.n
    A: Matrix = C
    W: Array = np.zeros((n, 0))
    mu: Array = np.zeros(0)
    if dense_cost(problem):
        found = _low_rank(dense(C))
        if found is not None:
            A, W, mu = found.S, found.W, found.mu
    if problem.basis is not None:
        W, mu = _centred(C, W, mu)
    return LowRankUpdate(A, W, mu) if mu.size else A


def _low_rank(C: Array) -> LowRankUpdate | None:
    """The form alpha I + W diag(mu) W' of C, or None; alpha is the median eigenvalue of a compression."""
    n, size = len(C), frobenius(C)
    columns = min(COLUMNS, n // 2)
    G = np.linalg.qr(np.random.default_rng(0).standard_normal((n, columns)))[0]
    if not size or not columns:
        return None
    Y = C @ G
    alpha = float(np.median(np.linalg.eigvalsh(G.T @ Y)))
    U, s, _ = np.linalg.svd(Y - alpha * G, full_matrices=False)
    few = int(np.sum(s > SAME * size))
    if few >= columns // 2:
        return None
    U = U[:, :few]
    alpha = 0.0 if abs(alpha) <= SAME * size else alpha  # zero to rounding
    values, turn = np.linalg.eigh(U.T @ (C @ U) - alpha * np.eye(few))
    W = U @ turn
    left = C - (W * values) @ W.T
    left[np.diag_indices(n)] -= alpha
    if frobenius(left) > SAME * np.sqrt(n) * size:
        return None
    return LowRankUpdate(sp.csr_array(alpha * sp.eye_array(n)), W, values)


def _centred(C: Matrix, W: Array, mu: Array) -> tuple[Array, Array]:
    """The low-rank part with HCH - C = -1a' - a1' added, a = C1 / n - 1'C1 / (2 n^2)."""
    n = len(W)
    a = np.asarray(C @ np.ones(n)) / n
    a -= 0.5 * float(a.mean())
    if float(np.max(np.abs(a))) * n <= SAME * frobenius(C.data):
        return W, mu
    one = np.ones(n)
    flat = float(np.ptp(a)) <= SAME * float(np.max(np.abs(a)))
    wide = np.column_stack([W, one]) if flat else np.column_stack([W, one, a])
    core = np.zeros((wide.shape[1], wide.shape[1]))
    core[: mu.size, : mu.size] = np.diag(mu)
    if flat:
        core[-1, -1] = -2 * float(a.mean())
    else:
        core[-1, -2] = core[-2, -1] = -1.0
    Q, R = np.linalg.qr(wide)
    values, turn = np.linalg.eigh(R @ core @ R.T)
    keep = np.abs(values) > SAME * max(float(np.max(np.abs(values))), 1e-300)
    return Q @ turn[:, keep], values[keep]
