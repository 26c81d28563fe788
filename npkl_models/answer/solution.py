"""The result of every backend: `Solution` and its `Status`."""

from __future__ import annotations

import html
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from npkl_models.answer.extension import extend, extend_points
from npkl_models.answer.history import Attempt as Attempt
from npkl_models.answer.history import History, attempts, packed_arrays, status_of, unpacked
from npkl_models.answer.history import Status as Status
from npkl_models.certificates.bounds import FEASIBILITY
from npkl_models.certificates.certificate import Certificate, bracket
from npkl_models.certificates.proof_file import ProofFile, proof_of
from npkl_models.certificates.prove import known
from npkl_models.certificates.rays import infeasible
from npkl_models.certificates.recession import unbounded
from npkl_models.errors import ProblemError, SolverError
from npkl_models.files import saved
from npkl_models.files.gate import gate
from npkl_models.linalg import Array, gram_eigenvalues, numerical_rank
from npkl_models.linalg.owned import Owner, owned
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.reading import read_values
from npkl_models.model.statement import Statement
from npkl_models.model.storage import read

DENSE_LIMIT = 20_000
WORDS = 160  # the largest number of characters of a message in a summary


@dataclass(frozen=True, eq=False, repr=False)
class Solution(Owner):
    """The solution of a problem: a kernel, the status of the run, and a certificate.

    Attributes
    ----------
    problem : Problem
        The problem that was solved.
    backend : str
        Name of the backend; the names of all that answered parts of the problem, with commas between them.
    status : Status
        Status of the solution; OPTIMAL only if the certificate confirms it.
    V : ndarray of shape (n, r) or None
        Factor of the kernel, K = VV'; None if the solver returned no kernel.
    objective : float
        Objective, recomputed from V and never taken from the solver.
    reported_objective : float
        Objective that the solver reported.
    multipliers : Multipliers or None
        Dual point of the certificate.
    iterations : int
        Number of iterations.
    build_time, solve_time : float
        Seconds to set up the program, and seconds to solve it, certificate included.
    history : History
        History of the run.
    message : str
        Message of the solver, or the reason for the choice of the backend.
    kernel_min_eigenvalue : float
        Smallest eigenvalue of the solver's kernel before its negative part was cut off; 0 if the solver
        works on a factor.
    attempts : tuple of Attempt
        Record of the backends that were tried, if the library chose the backend.
    known_certificate : Certificate or None
        Certificate from the solve, if there is one. Use ``certificate``, which computes a missing one.

    Examples
    --------
    >>> import npkl_models as nm
    >>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
    >>> solution = problem.solve()
    >>> solution.status.name, solution.K.shape, solution.is_optimal(1e-6)
    ('OPTIMAL', (2, 2), True)
    """

    problem: Statement = field(repr=False)
    backend: str
    status: Status
    V: Array | None = field(repr=False)
    objective: float
    reported_objective: float
    multipliers: Multipliers | None = field(repr=False, default=None)
    iterations: int = 0
    build_time: float = 0.0
    solve_time: float = 0.0
    history: History = field(repr=False, default_factory=History)
    message: str = ""
    kernel_min_eigenvalue: float = 0.0
    attempts: tuple[Attempt, ...] = ()
    known_certificate: Certificate | None = field(repr=False, default=None)
    read_as: ClassVar[type[Statement]] = Statement  # class of problems from files: `npkl_models.Problem`

    def __post_init__(self) -> None:
        if self.V is not None:
            object.__setattr__(self, "V", owned(read_values(self.V, (self.problem.n, None), "V")))
        if self.multipliers is not None:
            object.__setattr__(self, "multipliers", self.multipliers.owned())

    @cached_property
    def certificate(self) -> Certificate:
        """The certificate of this solution; it is computed on first use unless the solve has made it."""
        if self.known_certificate is not None:
            return self.known_certificate
        return known(self.problem, factor_of(self, "point to certify"), self.multipliers)

    @property
    def K(self) -> Array:
        """The kernel VV' (n x n) as a dense array."""
        return self.dense()

    def dense(self, force: bool = False) -> Array:
        """The kernel VV' as an n x n array; more than 20,000 points need ``force=True``."""
        V = factor_of(self)
        if self.problem.n > DENSE_LIMIT and not force:
            raise ProblemError(
                f"a dense kernel of {self.problem.n} points takes {8e-9 * self.problem.n**2:.1f} GB; "
                "use the factor V, or call dense(force=True)"
            )
        return V @ V.T

    @property
    def U(self) -> Array:
        """The matrix U (s x s) of K = QUQ', for a problem with a basis."""
        if self.problem.basis is None or self.V is None:
            raise ProblemError("U exists only for a solved problem with a basis")
        W = self.problem.basis.Q.T @ self.V
        return W @ W.T

    @property
    def rank(self) -> int:
        """The numerical rank of the kernel: the number of eigenvalues above 1e-7 of the largest."""
        return 0 if self.V is None else numerical_rank(self.V)

    @property
    def trace(self) -> float:
        """The trace of the kernel."""
        return 0.0 if self.V is None else float(np.sum(gram_eigenvalues(self.V)))

    def is_optimal(self, tol: float = 1e-6) -> bool:
        """Whether the certificate confirms a relative gap of at most ``tol``."""
        return self.V is not None and self.certificate.certifies(tol)

    def extend(self, affinity_to_new_points: Any, among_new: Any = None, shift: float = 0.0) -> Array:
        """Rows of V for new points from their affinities (m x n); see `npkl_models.answer.extension`."""
        return extend(factor_of(self, "factor to extend"), affinity_to_new_points, among_new, shift)

    def extend_points(
        self, X: Any, X_new: Any, n_neighbors: int = 5, shift: float = 0.0, sigma: float | str = "auto",
        steps: int | None = None,
    ) -> Array:  # fmt: skip
        """Rows of V for new points (m x d) by the method printed in Hu & Kwok (2015).

        See `extend_points` in `npkl_models.answer.extension`.
        """
        V = factor_of(self, "factor to extend")
        return extend_points(V, X, X_new, n_neighbors, shift, sigma, steps=steps)

    def __repr__(self) -> str:
        gap = "" if self.V is None else f", gap {self.certificate.relative_gap:.1e}, rank {self.rank}"
        return f"Solution({self.backend}: {self.status}{gap})"

    def _repr_html_(self) -> str:
        head, *lines = self.summary().splitlines()
        drawn = bracket(self.certificate) if self.V is not None else ""
        rows = "".join(f"<tr><td>{html.escape(line)}</td></tr>" for line in lines)
        return f"<div><strong>{html.escape(head)}</strong><br>{drawn}<table>{rows}</table></div>"

    def summary(self) -> str:
        """A summary of at most eight lines: status, advice, objective, certificate, rank, times and message.

        If there is a kernel, the last line states in plain words what is proved. ``message`` contains the
        messages of solver and choice in full.
        """
        lines = [f"{self.backend}: {self.status} - {self.status.value}"]
        if self.V is not None:
            lines.append(f"objective {self.objective:.10g}, rank {self.rank}, {self.iterations} iterations")
            lines += self.certificate.lines()
        lines.append(f"build {self.build_time:.3f} s, solve {self.solve_time:.3f} s")
        words = "; ".join(line for line in self.message.splitlines() if line)
        if words:
            lines.append(
                words if len(words) <= WORDS else f"{words[:WORDS].rsplit(' ', 1)[0]} ... (message has all)"
            )
        if self.V is not None:
            lines.append(self.certificate.plainly)
        return "\n".join(lines)

    def proof(self, tol: float = 1e-6) -> ProofFile:
        """A proof of the status, which `npkl check` and `npkl_models.checker` check without this package.

        OPTIMAL is proved for a relative gap of at most ``tol``, INFEASIBLE by a ray, and UNBOUNDED by a
        direction. A bound that is only probable is proved by a factorisation first.

        Raises
        ------
        UnsupportedError
            For another status, for the logistic loss, the shared slack and tr K^p with p > 1, or if no proof
            is found that the checker accepts.
        """
        y = self.certificate.multipliers if self.V is not None else self.multipliers
        return proof_of(self.problem, self.status.name, self.V, y, tol, self._feasibility)

    @property
    def _feasibility(self) -> float:
        return FEASIBILITY if self.V is None else self.certificate.feasibility

    def save(self, path: str | Path) -> Path:
        """Write problem and solution to one .npz file (arrays and JSON, no pickle); never a partial file."""
        return saved.write(path, *self.pack())

    def pack(self) -> tuple[dict[str, Any], dict[str, Any]]:
        """A JSON header and arrays from which `unpack` restores the solution."""
        header, arrays = self.problem.pack()
        arrays |= packed_arrays(self.V, self.multipliers, self.history)
        header["attempts"] = [[a.backend, a.seconds, a.status.name, a.gap] for a in self.attempts]
        header |= {"backend": self.backend, "status": self.status.name}
        return header | {name: getattr(self, name) for name in _SCALARS}, arrays

    @staticmethod
    def load(path: str | Path, tol: float = 1e-6, feasibility: float = FEASIBILITY) -> Solution:
        """Read a solution that `save` wrote, and verify its status.

        The objective is recomputed from V. The statuses OPTIMAL, INFEASIBLE and UNBOUNDED are kept only if
        they are proved again from the numbers in the file, which takes as long as a certificate.

        Parameters
        ----------
        path : path
            The file.
        tol : float
            Largest relative gap of a solution that counts as OPTIMAL.
        feasibility : float
            Largest violation of the constraints by such a solution; see `certify`.

        Raises
        ------
        ProblemError
            If the file is not as `save` wrote it. The message names the file and the defect.
        """
        with gate(path, "a saved solution"):
            return Solution.unpack(*read(path, "backend"), tol, feasibility)

    @staticmethod
    def unpack(
        header: dict[str, Any], data: dict[str, Any], tol: float = 1e-6, feasibility: float = FEASIBILITY
    ) -> Solution:
        """Restore a solution from the header and arrays of `pack`, and verify its status."""
        problem = Solution.read_as.unpack(header, data)
        own = unpacked(header, data, problem)
        objective = float("nan") if own["V"] is None else problem.objective_of_factor(own["V"])
        said = Solution(
            problem, status=status_of(header), objective=objective, attempts=attempts(header), **own
        )
        return _judged_again(said, tol, feasibility)


def factor_of(solution: Solution, wanted: str = "kernel") -> Array:
    """The factor V of a solution; a SolverError names what was wanted if there is no factor."""
    if solution.V is None:
        raise SolverError(f"{solution.backend} left no {wanted} (status {solution.status})")
    return solution.V


_SCALARS = (
    "objective", "reported_objective", "iterations", "build_time", "solve_time", "message",
    "kernel_min_eigenvalue",
)  # fmt: skip
CUT_OFF = (Status.STOPPED, Status.TIME_LIMIT, Status.ITERATION_LIMIT, Status.FAILED)
PROOFS = {Status.INFEASIBLE: infeasible, Status.UNBOUNDED: unbounded}


def _judged_again(said: Solution, tol: float, feasibility: float) -> Solution:
    """A loaded solution with the status that its numbers prove; the message explains a changed status."""
    if said.status in CUT_OFF:
        return said
    if said.status in PROOFS:
        proved = said.V is None and PROOFS[said.status](said.problem, None)
        return said if proved else _degraded(said, "no proof was found")
    if said.V is None:
        return _degraded(said, "there is no point in the file")
    if said.status is Status.OPTIMAL:
        y = said.multipliers
        found = known(said.problem, said.V, y, tol, feasibility)
        judged, why = replace(said, known_certificate=found), f"the violation is {found.violation:.1e}"
        if found.feasible:
            why = f"the relative gap is {found.relative_gap:.1e}, and tol is {tol:.1e}"
        return judged if found.certifies(tol) else _degraded(judged, why)
    return said


def _degraded(said: Solution, why: str) -> Solution:
    words = f"the file says {said.status}, but its numbers do not prove this status: {why}"
    status = Status.FAILED if said.V is None else Status.INACCURATE
    return replace(said, status=status, message="; ".join(part for part in (said.message, words) if part))
