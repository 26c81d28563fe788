"""The augmented Lagrangian of KL-ADMM, and checks of Lemma 1 and Proposition 1 along a run.

Source: Hu & Kwok, IJCAI 2013, eqs. (6) and (16)-(24). If rho is fixed within an iteration, the proof has

    L_k - L_k+1 >= c (||V_k - V_k+1||^2 + ||U_k - U_k+1||^2) - ||Lambda_k - Lambda_k+1||^2 / rho

with c = rho. But the Lagrangian is strongly convex in a row with the modulus rho, which gives c = rho / 2. So
the printed constant of eqs. (17), (19) and (20) is twice too large, and iterates may violate the printed
inequality. The conclusion still holds: the steps go to zero if the multipliers have a finite path (16).
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import UNIT, Array, frobenius
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.structure import Structure
from npkl_models.model.statement import Statement

ROUNDING = 64 * UNIT  # relative to the terms of the Lagrangian: smaller differences count as zero
Triple = tuple[Array, Array, Array]  # V, U, Lambda


class Lagrangian:
    """F(V, U) + <Lambda, V - U> + rho/2 ||V - U||^2, with half of each pair's loss on each order."""

    def __init__(self, problem: Statement, pairs: Structure, model: EdgeModel) -> None:
        self.problem, self.pairs, self.model = problem, pairs, model

    def value(self, point: Triple, rho: float) -> tuple[float, float]:
        """The Lagrangian, and the sum of the sizes of its terms."""
        V, U, Lambda = point
        difference, s = V - U, np.einsum("ir,ir->i", V, U)
        halves = 0.5 * sum(
            self.model.value(self._values(first, second)) for first, second in ((V, U), (U, V))
        )
        parts = np.array([
            float(np.sum(V * (self.problem.cost @ U))), halves, float(self.pairs.linear @ s),
            float(self.pairs.quadratic @ s**2), float(np.sum(Lambda * difference)),
            0.5 * rho * frobenius(difference) ** 2,
        ])  # fmt: skip
        return float(parts.sum()), float(np.abs(parts).sum())

    def slopes(self, V: Array, U: Array) -> tuple[Array, Array]:
        """The derivatives of F in V and in U."""
        pairs, n = self.pairs, self.pairs.n
        one, other = (0.5 * self.model.derivative(self._values(*order)) for order in ((V, U), (U, V)))
        ends = np.concatenate([pairs.i, pairs.j]), np.concatenate([pairs.j, pairs.i])
        pull = sp.coo_array((np.concatenate([one, other]), ends), shape=(n, n)).tocsr()
        own = pairs.linear + 2 * pairs.quadratic * np.einsum("ir,ir->i", V, U)
        M = self.problem.cost + pull + sp.diags_array(own)
        return M @ U, M.T @ V

    def _values(self, V: Array, U: Array) -> Array:
        return self.pairs.pair_values(V, U)


class Checks:
    """Checks of Lemma 1 and Proposition 1 at every iterate.

    ``kept`` counts the iterates that meet the inequality above with c = rho / 2, and ``printed`` those that
    meet it with the printed c = rho. ``path`` is the sum of ||Lambda_k+1 - Lambda_k||, eq. (16).
    """

    def __init__(self, problem: Statement, pairs: Structure, model: EdgeModel) -> None:
        self.lagrangian = Lagrangian(problem, pairs, model)
        self.iterates = self.kept = self.printed = 0
        self.path = self.largest = self.kkt = 0.0

    def step(self, before: Triple, after: Triple, rho: float) -> dict[str, float]:
        """Check one iteration with this rho; return the columns of the history."""
        was, size = self.lagrangian.value(before, rho)
        now, more = self.lagrangian.value(after, rho)
        dV, dU, dL = (frobenius(new - old) for new, old in zip(after, before, strict=True))
        moved, paid = dV**2 + dU**2, dL**2 / rho
        spare = was - now + paid
        rounding = ROUNDING * (size + more + rho * moved + paid) * (after[0].shape[1] + 10)
        self.iterates += 1
        self.kept += spare >= 0.5 * rho * moved - rounding
        self.printed += spare >= rho * moved - rounding
        self.path += dL
        self.largest = max(self.largest, frobenius(after[2]))
        F_V, F_U = self.lagrangian.slopes(*after[:2])
        self.kkt = max(frobenius(F_V + after[2]), frobenius(F_U - after[2]), frobenius(after[0] - after[1]))
        return {
            "lemma": spare - 0.5 * rho * moved, "lemma_printed": spare - rho * moved,
            "steps": float(np.sqrt(moved)), "multiplier_path": self.path, "kkt": self.kkt,
        }  # fmt: skip

    def __str__(self) -> str:
        return (
            f"Lemma 1: its inequality held at {self.kept} of {self.iterates} iterates with rho / 2, at "
            f"{self.printed} with the printed rho; the multipliers' path is {self.path:.3g}, the largest "
            f"{self.largest:.3g}; Proposition 1: the KKT residual is {self.kkt:.1e}"
        )
