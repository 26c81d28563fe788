"""The part of a cost that ties all rows of V to each other: low rank, and never formed.

Coloured MVU has the cost -HYH with Y of as many columns as there are classes, minimum volume embedding I - 2P
with P of the wanted dimension; and over all centred kernels any cost C is worth HCH, H = I - 11'/n. So
the cost of a sweep is A + W diag(mu) W' with a sparse A, and rows that share no entry of A and no pair are
tied by the second part alone. In a step over the rows I of V it is replaced by an upper bound: its tangent
at the present rows and delta ||V_I - now||^2, where delta is the largest eigenvalue of W_I diag(mu_+) W_I'.
Equal at the present rows and nowhere less, the bound leaves the rows of I free of each other, and what lowers
it lowers the objective by no less (majorise, then minimise: Hunter & Lange, Am. Stat. 58, 2004).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import Array, Index, LowRankUpdate, Matrix, dense, frobenius
from npkl_models.lowrank.cost import dense_cost
from npkl_models.model.statement import Statement

COLUMNS = 40  # of the random matrix that finds the range, and so twice the largest rank
FOUND = 1e-13  # of the size of C: what low rank may leave out
CENTRED_ALREADY = 1e-12  # of the size of C: a row sum that is zero


class Coupling:
    """W diag(mu) W', and what it is to the steps over rows."""

    def __init__(self, update: LowRankUpdate) -> None:
        self.W, self.mu = update.W, update.mu
        self.up = self.W[:, self.mu > 0] * np.sqrt(self.mu[self.mu > 0])

    def pull(self, points: Index, V: Array) -> Array:
        """Half of the gradient in these rows."""
        out: Array = (self.W[points] * self.mu) @ (self.W.T @ V)
        return out

    def bend(self, points: Index) -> float:
        """delta, the largest eigenvalue of the convex part between these rows."""
        up = self.up[points]
        return float(np.linalg.eigvalsh(up.T @ up)[-1]) if up.shape[1] else 0.0

    def saved(self, points: Index, moved: Array, delta: float) -> float:
        """What the bound has above the objective after rows have moved by so much."""
        along = self.W[points].T @ moved
        return delta * float(np.sum(moved**2)) - float(self.mu @ np.einsum("kr,kr->k", along, along))


def cost_of_rows(problem: Statement) -> Matrix | LowRankUpdate:
    """The cost that sweeps of distances work with: HCH over centred kernels, of low rank where it is."""
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
    """Alpha I + W diag(mu) W', if C is that to rounding: alpha is most of a random compression's spectrum."""
    n, size = len(C), frobenius(C)
    columns = min(COLUMNS, n // 2)
    G = np.linalg.qr(np.random.default_rng(0).standard_normal((n, columns)))[0]
    if not size or not columns:
        return None
    Y = C @ G
    alpha = float(np.median(np.linalg.eigvalsh(G.T @ Y)))
    U, s, _ = np.linalg.svd(Y - alpha * G, full_matrices=False)
    few = int(np.sum(s > FOUND * size))
    if few >= columns // 2:
        return None
    U = U[:, :few]
    alpha = _rounded(alpha, C)
    values, turn = np.linalg.eigh(U.T @ (C @ U) - alpha * np.eye(few))
    W = U @ turn
    left = C - (W * values) @ W.T
    left[np.diag_indices(n)] -= alpha
    if frobenius(left) > FOUND * np.sqrt(n) * size:
        return None
    return LowRankUpdate(sp.csr_array(alpha * sp.eye_array(n)), W, values)


def _rounded(alpha: float, C: Array) -> float:
    """Zero where it is that to rounding."""
    return 0.0 if abs(alpha) <= FOUND * frobenius(C) else alpha


def _centred(C: Matrix, W: Array, mu: Array) -> tuple[Array, Array]:
    """The low-rank part with HCH - C = -1a' - a1' added, a = C1 / n - 1'C1 / (2 n^2)."""
    n = len(W)
    a = np.asarray(C @ np.ones(n)) / n
    a -= 0.5 * float(a.mean())
    if float(np.max(np.abs(a))) * n <= CENTRED_ALREADY * frobenius(C.data):
        return W, mu
    one = np.ones(n)
    flat = float(np.ptp(a)) <= CENTRED_ALREADY * float(np.max(np.abs(a)))
    wide = np.column_stack([W, one]) if flat else np.column_stack([W, one, a])
    core = np.zeros((wide.shape[1], wide.shape[1]))
    core[: mu.size, : mu.size] = np.diag(mu)
    if flat:
        core[-1, -1] = -2 * float(a.mean())
    else:
        core[-1, -2] = core[-2, -1] = -1.0
    Q, R = np.linalg.qr(wide)
    values, turn = np.linalg.eigh(R @ core @ R.T)
    keep = np.abs(values) > FOUND * max(float(np.max(np.abs(values))), 1e-300)
    return Q @ turn[:, keep], values[keep]
