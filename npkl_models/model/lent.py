"""What rooms above do with a problem: methods of it that they lend."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack, overload

from npkl_models.hooks import lent

if TYPE_CHECKING:  # what the methods return that rooms above lend to a problem: types only
    from npkl_models.answer.solution import Solution
    from npkl_models.model.diagnosis import Finding
    from npkl_models.show.dual import Dual
    from npkl_models.show.explain import Explanation
    from npkl_models.solve.backend import Backend
    from npkl_models.solve.keywords import AnyKeywords
    from npkl_models.solve.program import Program


class Lent:
    """Methods of a problem that are defined where what they need is known."""

    def compatible_backends(self) -> dict[str, str | None]:
        """None for each backend that takes this problem, else the reason why not."""
        reasons: dict[str, str | None] = lent("Problem.compatible_backends")(self)
        return reasons

    @overload
    def compile(self, backend: str = "auto", **options: Unpack[AnyKeywords]) -> Program: ...
    @overload
    def compile(self, backend: Backend, **options: Any) -> Program: ...
    def compile(self, backend: str | Backend = "auto", **options: Any) -> Program:
        """A program that solves this problem by that backend; see `npkl_models.compile`."""
        program: Program = lent("Problem.compile")(self, backend, **options)
        return program

    @overload
    def solve(self, backend: str = "auto", **options: Unpack[AnyKeywords]) -> Solution: ...
    @overload
    def solve(self, backend: Backend, **options: Any) -> Solution: ...
    def solve(self, backend: str | Backend = "auto", **options: Any) -> Solution:
        """Solve by that backend; see `npkl_models.solve`."""
        solution: Solution = lent("Problem.solve")(self, backend, **options)
        return solution

    def to_cvxpy(self) -> Any:
        """The exact SDP as a `cvxpy.Problem`; gamma, B, G and b_squared are its parameters."""
        return lent("Problem.to_cvxpy")(self)

    def explain(self) -> Explanation:
        """The problem in words and in LaTeX; its ``dual``, and its ``forms`` by each backend."""
        explanation: Explanation = lent("Problem.explain")(self)
        return explanation

    def dual(self) -> Dual:
        """The dual problem with these numbers, and the conditions of optimality."""
        dual: Dual = lent("Problem.dual")(self)
        return dual

    def handout(self, path: str | Path, solution: Solution | None = None, labels: Any = None) -> Path:
        """Write all of it on one HTML page: primal, dual, conditions, compiled forms, an answer, pictures."""
        written: Path = lent("Problem.handout")(self, path, solution, labels)
        return written

    def _repr_latex_(self) -> str:
        return f"$${self.explain().latex}$$"

    def _repr_html_(self) -> str:
        page: str = lent("Problem.html")(self)
        return page

    def diagnose(self) -> tuple[Finding, ...]:
        """Contradictions, disconnection, unboundedness and bad scaling, in words."""
        findings: tuple[Finding, ...] = lent("Problem.diagnose")(self)
        return findings

    def to_sdpa(self, path: str | Path) -> Path:
        """Write the problem in SDPA's sparse format, for other solvers; see `npkl_models.data.sdpa`."""
        written: Path = lent("Problem.to_sdpa")(self, path)
        return written
