"""The three-term recurrence of Lanczos, and as much of its basis as memory allows."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Array
from npkl_models.proof.deflation import Deflation

REORTHOGONALISED = 2_000_000  # numbers that a Lanczos basis may take to be kept exact
KEPT = 300_000_000  # and to be kept in single precision, for the vectors that are wanted of it
BLOCK = 16  # of them in one array


class Recurrence:
    """Lanczos vectors on the complement of a deflation.

    A small basis is kept and reorthogonalised; a larger one is kept in single precision, which is enough
    to combine it; beyond that it is recomputed.
    """

    def __init__(self, deflation: Deflation, start: Array, limit: int, keep: bool = True) -> None:
        self.S, self.deflation, self.limit = deflation.S, deflation, limit
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
        w = np.ascontiguousarray(self.S @ q)
        a = float(q @ w)
        w -= np.multiply(q, a, out=self.scratch)
        if j:
            w -= np.multiply(self.previous, self.beta[-1], out=self.scratch)
        if self.basis is not None:
            self.basis[j] = q
            B = self.basis[: j + 1]
            for _ in range(2):  # once is not enough where little is left
                w -= B.T @ (B @ w)
        elif self.blocks is not None:
            self.blocks = self._kept(self.blocks, j, q)
        w = self.deflation.remove(w)
        b = float(np.linalg.norm(w))
        self.alpha.append(a)
        self.beta.append(b)
        w *= 1 / max(b, 1e-300)
        self.previous, self.current = q, w
        return b

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
                    again = Recurrence(self.deflation, self.start, self.limit, keep=False)
                for c in part.T:
                    out += c[:, None] * again.current
                    again.step()
        normed: Array = (out / np.linalg.norm(out, axis=1)[:, None]).T
        return normed
