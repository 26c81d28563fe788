"""The three-term recurrence of Lanczos, and as much of its basis as memory allows."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import UNIT, Array
from npkl_models.proof.deflation import Deflation

REORTHOGONALISED = 2_000_000  # numbers that a Lanczos basis may take to be kept exact
KEPT = 300_000_000  # and to be kept in single precision, for the vectors that are wanted of it
BLOCK = 16  # of them in one array
NOISE = 8.0  # units of roundoff, and one for each number in a row: what a step may be off by


class Recurrence:
    """Lanczos vectors on the complement of a deflation.

    A small basis is kept and reorthogonalised; a larger one is kept in single precision, which is enough
    to combine it; beyond that it is recomputed.

    Parameters
    ----------
    upper : float
        Bounds the norm of S.

    Attributes
    ----------
    lost : list of float
        By how much each step may miss ``S q_j = beta_j-1 q_j-1 + alpha_j q_j + beta_j q_j+1``, seen along a
        unit eigenvector of the complement.
    """

    def __init__(
        self, deflation: Deflation, start: Array, limit: int, upper: float, keep: bool = True
    ) -> None:
        self.S, self.deflation, self.limit, self.upper = deflation.S, deflation, limit, upper
        self.units = (NOISE + deflation.products + deflation.size) * UNIT * upper
        self.drift = deflation.coupling * start.size * UNIT * upper  # what is left of q in the deflated space
        self.lost: list[float] = []
        self.start = start / np.linalg.norm(start)
        self.alpha: list[float] = []
        self.beta: list[float] = []
        exact = start.size * limit <= REORTHOGONALISED
        self.basis = np.empty((limit, start.size)) if exact else None
        self.blocks: list[Array] | None = None if exact or not keep else []
        self.current, self.previous = self.start, np.zeros_like(start)
        self.scratch = np.empty_like(start)

    def step(self) -> float:
        """One step; returns the norm of what is left."""
        j, q = len(self.alpha), self.current
        w, lost = self._product(q)
        a = float(q @ w)
        w -= np.multiply(q, a, out=self.scratch)
        if j:
            w -= np.multiply(self.previous, self.beta[-1], out=self.scratch)
        if self.basis is not None:
            self.basis[j] = q
            B = self.basis[: j + 1]
            for _ in range(2):  # once is not enough where little is left
                again = B @ w
                w -= B.T @ again
                lost += 2 * float(np.linalg.norm(again))
        elif self.blocks is not None:
            self.blocks = self._kept(self.blocks, j, q)
        w = self.deflation.remove(w)
        b = float(np.linalg.norm(w))
        self.lost.append(lost + self.drift / max(self.beta[-1] if j else self.upper, 1e-300))
        self.alpha.append(a)
        self.beta.append(b)
        w *= 1 / max(b, 1e-300)
        self.previous, self.current = q, w
        return b

    def _product(self, q: Array) -> tuple[Array, float]:
        """S q, and what rounding in it and in the rest of the step may cost."""
        measured = getattr(self.S, "measured", None)  # of an operator that knows better than its size
        if measured is None:
            return np.ascontiguousarray(self.S @ q), self.units
        w, inside, lost = measured(q)
        return w, self.units * (1 + inside) + lost

    def _kept(self, blocks: list[Array], j: int, q: Array) -> list[Array] | None:
        """The blocks with one vector more; None where that is too much to keep."""
        if (j + 1) * q.size > KEPT:
            return None
        if j % BLOCK == 0:
            blocks.append(np.empty((BLOCK, q.size), dtype=np.float32))
        blocks[-1][j % BLOCK] = q
        return blocks

    def combine(self, coefficients: Array) -> Array:
        """Vectors (n x m) with these coefficients (j x m) in the Lanczos basis, of norm one."""
        j, m = coefficients.shape
        if self.basis is not None:
            out = coefficients.T @ self.basis[:j]
        else:
            out = np.zeros((m, self.start.size))
            for at in range(0, j, BLOCK):
                part = coefficients[at : at + BLOCK].T
                if self.blocks is not None:
                    out += part.astype(np.float32) @ self.blocks[at // BLOCK][: part.shape[1]]
                    continue
                if at == 0:
                    again = Recurrence(self.deflation, self.start, self.limit, self.upper, keep=False)
                for c in part.T:
                    out += c[:, None] * again.current
                    again.step()
        normed: Array = (out / np.linalg.norm(out, axis=1)[:, None]).T
        return normed
