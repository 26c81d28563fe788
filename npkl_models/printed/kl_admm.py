"""KL-ADMM as it is printed: alternating directions on K = V U'.

Source: Hu & Kwok, Efficient Kernel Learning from Side Information Using ADMM, IJCAI 2013. This is their
algorithm 1 on

    minimise over V, U:  tr(V'C U) + gamma/2 sum_ij (v_i'u_j - T_ij)^2    subject to  V = U,      eq. (5)

with the rows v_i, u_i of V and U in place of their columns. The row systems (11)-(13) are those of
`npkl_models.lowrank.admm`. With ``misprint``, the vector d_i of eq. (13) is used as printed: with T_ij v_i,
where the derivative of eq. (6) has T_ij v_j.
"""

from __future__ import annotations

from dataclasses import dataclass

from npkl_models.linalg import Array
from npkl_models.lowrank.admm import ADMMEngine
from npkl_models.lowrank.factor.rank import random_factor, starting_factor
from npkl_models.lowrank.options import ADMMOptions, positive
from npkl_models.lowrank.structure import Structure, structure
from npkl_models.model.statement import Statement
from npkl_models.printed import PrintedFactorOptions
from npkl_models.printed.lagrangian import Checks
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
