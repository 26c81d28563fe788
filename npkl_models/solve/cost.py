"""The predicted cost of a solve.

The times are orders of magnitude: sizes times constants that ``examples/benchmarks/calibrate.py`` measures on
two cores. They serve to choose between backends, whose costs differ by powers of ten.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import scipy.sparse as sp

from npkl_models.model.statement import Statement
from npkl_models.proof.bounds import DENSE_EIGH
from npkl_models.proof.factorisation import DENSE_CHOLESKY

DENSE_SHARE = 0.2  # a matrix with more than this share of stored entries counts as dense
PRODUCT = 4e-10  # seconds per entry of C and column of V in C @ V
CALL = 2e-4  # seconds of interpreter per iteration, and of a conic program per value
EIGH = 2e-10  # seconds, times order^3
CERTIFICATE, PROVED_BY = 2e-3, 1.5e-2  # seconds of any certificate; further ones without all eigenvalues
SPECTRUM, LANCZOS = 4e-10, 6e-7  # with all eigenvalues, times order^3; else times the entries of the slack
PROOF = 4e-11  # seconds, times order^3, of a certificate by a dense factorisation
ENDING = 6.0  # the certificate at the end of a sparse run takes so many times as long as a usual one


@dataclass(frozen=True)
class Cost:
    """Predicted seconds and bytes of a solve; ``hopeless`` is a reason against the solve, or empty.

    A prediction is ``sure`` if it does not depend on the condition of the problem. A backend is ``anytime``
    if it has a point and a bound whenever it is stopped.
    """

    seconds: float
    bytes: float
    hopeless: str = ""
    sure: bool = False
    anytime: bool = False

    def __str__(self) -> str:
        return f"{readable(self.seconds)} and {self.bytes / 1e6:.3g} MB"

    def within_memory(self, free: float) -> Cost:
        """The same cost, marked hopeless if it exceeds ``free`` bytes."""
        if self.bytes <= free:
            return self
        return replace(self, hopeless=f"would need about {self.bytes / 1e9:.3g} GB of memory")


@dataclass
class Allowance:
    """A limit on the work of a run, counted from sizes alone in seconds of the calibrated machine.

    So the same run ends at the same iteration on any machine, whatever else the machine does.
    """

    most: float = float("inf")  # work that the run may do
    used: bool = False  # whether the allowance has ended the run

    def ends(self, work: float) -> bool:
        """Whether the run should end after so much work."""
        self.used = work > self.most
        return self.used


def proof_seconds(order: int) -> float:
    """Predicted seconds of the certificate at the end of a run; 0 above the order of dense factorisations."""
    return PROOF * float(order) ** 3 if order <= DENSE_CHOLESKY else 0.0


def last_seconds(problem: Statement) -> float:
    """Predicted seconds of the certificate at the end of a run, dense or sparse."""
    return proof_seconds(problem.order) or ENDING * certificate_seconds(problem)


def certificate_seconds(problem: Statement) -> float:
    """Predicted seconds of a certificate, from the order and the entries of the slack."""
    order = float(problem.order)
    if order <= DENSE_EIGH:
        return CERTIFICATE + SPECTRUM * order**3
    entries = order**2 if problem.basis is not None else problem.cost.nnz + 2 * problem.n_pairs
    return CERTIFICATE + PROVED_BY + LANCZOS * entries


def product_entries(problem: Statement) -> float:
    """The number of matrix entries that a product of the slack and one column reads."""
    entries = float(problem.cost.nnz + 2 * problem.n_pairs)
    if problem.basis is not None:
        Q = problem.basis.Q
        full = Q.nnz if sp.issparse(Q) else problem.n * problem.basis.size
        entries += 2 * (problem.n if problem.basis.shared is not None else full)
    return entries


def proof_bytes(order: int) -> float:
    """Predicted bytes of a certificate; 0 for large orders, where the slack stays sparse."""
    return 24.0 * float(order) ** 2 if order <= DENSE_EIGH else 0.0


def readable(seconds: float) -> str:
    """Seconds with a unit."""
    if seconds < 1:
        return f"{1e3 * seconds:.0f} ms"
    if seconds < 600:
        return f"{seconds:.0f} s"
    return f"{seconds / 3600:.1f} hours"
