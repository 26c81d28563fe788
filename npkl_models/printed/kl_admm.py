"""KL-ADMM as it is printed: alternating directions on K = V U'.

Source: Hu & Kwok, Efficient Kernel Learning from Side Information Using ADMM, IJCAI 2013. This is their
algorithm 1 on

    minimise over V, U:  tr(V'C U) + gamma/2 sum_ij (v_i'u_j - T_ij)^2    subject to  V = U,      eq. (5)

with the rows v_i, u_i of V and U in place of their columns. The row systems (11)-(13) are those of
`npkl_models.lowrank.admm`. With ``misprint``, the vector d_i of eq. (13) is used as printed: with T_ij v_i,
where the derivative of eq. (6) has T_ij v_j.

With ``checks``, Lemma 1 and Proposition 1 are checked along the run, eqs. (6) and (16)-(24). If rho is fixed
within an iteration, the proof has, for the augmented Lagrangian L,

    L_k - L_k+1 >= c (||V_k - V_k+1||^2 + ||U_k - U_k+1||^2) - ||Lambda_k - Lambda_k+1||^2 / rho

with c = rho. But the Lagrangian is strongly convex in a row with the modulus rho, which gives c = rho / 2. So
the printed constant of eqs. (17), (19) and (20) is twice too large, and iterates may violate the printed
inequality. The conclusion still holds: the steps go to zero if the multipliers have a finite path (16).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from npkl_models.linalg import UNIT, Array, frobenius
from npkl_models.lowrank.admm import ADMMEngine
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.factor.rank import random_factor, starting_factor
from npkl_models.lowrank.options import ADMMOptions, positive
from npkl_models.lowrank.structure import Structure, structure
from npkl_models.model.statement import Statement
from npkl_models.printed import PrintedFactorOptions
from npkl_models.solve.backend import PRINTED, Backend
from npkl_models.solve.engine_plan import EnginePlan
from npkl_models.solve.takes import Takes


@dataclass(frozen=True, kw_only=True)
class KLADMMOptions(PrintedFactorOptions):
    """Options of printed_kl_admm.

    Parameters
    ----------
    max_iter : int, optional
        Limit on the number of iterations (IterMax), 500 by default; the source has 100 for its adult sets.
    rho : float
        Initial penalty on V = U.
    rho_floor : float
        Smallest value of rho that eq. (15) may choose. If the objective grows a thousandfold, the floor is
        doubled and the run begins again; this is not in the source.
    epsilon : float
        Tolerance: the run ends once both residuals of eq. (14) are below it.
    misprint : bool
        Whether to use d_i of eq. (13) as printed, with T_ij v_i; the limit is then no stationary point.
    checks : bool
        Whether to check Lemma 1 and Proposition 1 at every iterate. The history then has further columns, and
        the message has the outcome.
    """

    rho: float = 100.0
    rho_floor: float = 10.0
    epsilon: float = 1e-3
    misprint: bool = False
    checks: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("rho", "rho_floor", "epsilon"):
            positive(name, getattr(self, name))


class KLADMMEngine(ADMMEngine):
    """V, U and Lambda of algorithm 1; the first U is drawn independently of V."""

    patience = np.inf  # the printed criterion alone ends it

    def __init__(self, problem: Statement, pairs: Structure, options: KLADMMOptions, V: Array) -> None:
        plain = ADMMOptions(rank=options.rank, rho=options.rho, rho_floor=options.rho_floor, relaxation=1.0)
        super().__init__(problem, pairs, plain, V)
        self.epsilon, self.misprint = options.epsilon, options.misprint
        self.checks = Checks(problem, pairs, self.model) if options.checks else None
        self.begin(V, random_factor(problem, V.shape[1], options.random_state))

    def step(self) -> None:
        """Lines 5 to 12 of algorithm 1."""
        self.count_work()
        before = self.V, self.U, self.Lambda
        self.V = self.solve_rows(self.U, self.rho * self.U - self.Lambda, transposed=False)
        self.U = self.solve_rows(self.V, self.rho * self.V + self.Lambda, transposed=True)
        self.Lambda = self.Lambda + self.rho * (self.V - self.U)
        primal, dual = self.residuals(before[0])
        if self.checks is not None:
            columns = self.checks.step(before, (self.V, self.U, self.Lambda), self.rho)
            self.measured = {**self.measured, **columns}
            self.note = str(self.checks)
        self.met = max(primal, dual) < self.epsilon
        self.measure(primal=0.0)
        if self.begun_again():
            self.met = False
        else:
            self.balance(primal, dual)

    def pulled(self, P: Array, pull: Array, own: Array, transposed: bool) -> Array:
        if transposed and self.misprint:
            return pull.sum(axis=1)[:, None] * own
        return super().pulled(P, pull, own, transposed)


@dataclass(frozen=True)
class KLADMMPlan(EnginePlan):
    """The plan of algorithm 1; `engine` sets it up."""

    options: KLADMMOptions
    iterations = 500

    def engine(self) -> KLADMMEngine:
        start = starting_factor(self.problem, self.options)
        return KLADMMEngine(self.problem, structure(self.problem), self.options, start)

    def describe(self) -> str:
        n, r = starting_factor(self.problem, self.options).shape
        return (
            f"V and U are {n} x {r}, {structure(self.problem).size} pairs; two solves of a row an iteration"
        )


TAKES = Takes(losses=("square",), diagonal=("square",), regularizers=("none",), functionals=("entries",))
BACKEND = Backend(
    "printed_kl_admm", PRINTED, "KL-ADMM as Hu & Kwok (2013) print it, their algorithm 1", TAKES, KLADMMPlan,
    KLADMMOptions,
)  # fmt: skip


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
