"""The class `Problem`: a statement that can be solved, explained, drawn and written to files."""

from __future__ import annotations

import html
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self, Unpack, overload

from numpy.typing import ArrayLike

from npkl_models.answer.solution import Solution as Solution
from npkl_models.conic.quadratic import from_quadratic
from npkl_models.conic.sdp import build as cvxpy_model
from npkl_models.conic.sdp import read_cvxpy
from npkl_models.data.sdpa import from_sdpa, to_sdpa
from npkl_models.linalg import Array
from npkl_models.model.basis import Basis
from npkl_models.model.constraint import Constraint
from npkl_models.model.diagnosis import diagnose
from npkl_models.model.mistakes import Finding
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.routes import compatible  # this import registers all backends
from npkl_models.show.explain import Dual, Explanation, explain, explain_dual
from npkl_models.show.report import write_handout
from npkl_models.solve.backend import Backend, Program
from npkl_models.solve.choice import compile as compiled
from npkl_models.solve.choice import solve
from npkl_models.solve.keywords import AnyKeywords
from npkl_models.solve.portfolio import Portfolio


class Problem(Statement):
    r"""Learn a PSD kernel matrix K (n x n) from a cost matrix and losses on its values.

    .. math::

        \min_{K \succeq 0} \; \langle C, K\rangle + \sum_e w_e\, \mathrm{loss}(z_e; t_e) + R(K)
        \quad\text{s.t.}\quad z_e = \langle M_e, K\rangle,\; l_k \le z_k \le u_k,\; K = Q U Q'

    Parameters
    ----------
    cost : sparse or dense matrix of shape (n, n)
        Cost matrix C, symmetric and finite; a graph Laplacian in most problems.
    terms : sequence of LossTerm and Constraint
        Loss terms and constraints, at least one. The problem holds the losses first, and then the
        constraints, each of one kind.
    regularizer : Regularizer or RowNormBound
        Regulariser R, or a bound on all K_ii, which becomes a constraint.
    basis : Basis, optional
        Basis that restricts K to QUQ', with U (s x s) PSD.
    name : str
        Name of the problem in texts.

    Raises
    ------
    ProblemError
        If the parts do not fit together; the message names them.

    Examples
    --------
    >>> import npkl_models as nm
    >>> L, pairs = nm.laplacian([[0.0], [1.0], [9.0]], 1, shift=0.1), nm.Pairs(3, [(0, 1)], [(1, 2)])
    >>> nm.Problem(L, nm.LossTerm(nm.Entries(3, (pairs.i, pairs.j)), "hinge", pairs.sign))
    Problem(unnamed: n=3, 2 pairs hinge, regularizer=none)
    """

    def compatible_backends(self) -> dict[str, str | None]:
        """For each backend, None if it supports this problem, else the reason why it does not."""
        return compatible(self)

    @overload
    def compile(self, backend: str = "auto", **options: Unpack[AnyKeywords]) -> Program: ...
    @overload
    def compile(self, backend: Backend, **options: Any) -> Program: ...
    def compile(self, backend: str | Backend = "auto", **options: Any) -> Program:
        """Compile this problem to a program of the given backend; see `npkl_models.compile`."""
        return compiled(self, backend, **options)

    @overload
    def solve(self, backend: str = "auto", **options: Unpack[AnyKeywords]) -> Solution: ...
    @overload
    def solve(self, backend: Portfolio, **options: Unpack[AnyKeywords]) -> Solution: ...
    @overload
    def solve(self, backend: Backend, **options: Any) -> Solution: ...
    def solve(self, backend: str | Backend | Portfolio = "auto", **options: Any) -> Solution:
        """Solve this problem with the given backend; see `npkl_models.solve`."""
        return solve(self, backend, **options)

    def to_cvxpy(self) -> Any:
        """The exact SDP as a `cvxpy.Problem`; gamma, B, G and b_squared are its parameters.

        In its ``var_dict``, K (or U, over a basis) is the unknown, and "z of ..." are the values of a loss
        term. The label of a constraint is the name of the term whose multipliers are its dual values; see
        `read_cvxpy`.
        """
        return cvxpy_model(self).problem

    def read_cvxpy(self, program: Any) -> tuple[Array, Multipliers]:
        """The kernel and the multipliers that any solver has left in the problem of `to_cvxpy`.

        Parameters
        ----------
        program : cvxpy.Problem
            What `to_cvxpy` returned, solved.

        Returns
        -------
        K : ndarray of shape (n, n)
            The kernel, as the solver left it.
        multipliers : Multipliers
            The dual values of the constraints, with the signs of S = C + sum_e y_e M_e.

        Raises
        ------
        ProblemError
            If it is another problem, or has no values.
        """
        return read_cvxpy(self, program)

    def explain(self) -> Explanation:
        """Explain the problem in words and LaTeX, with its ``dual`` and its ``forms`` in each backend."""
        return explain(self)

    def dual(self) -> Dual:
        """The dual problem with the numbers of this problem, and the conditions of optimality."""
        return explain_dual(self)

    def handout(self, path: str | Path, solution: Solution | None = None, labels: Any = None) -> Path:
        """Write an HTML page with primal, dual, conditions of optimality, compiled forms, solution, plots."""
        return write_handout(self, path, solution, labels)

    def diagnose(self) -> tuple[Finding, ...]:
        """Report contradictions, disconnected graphs, unboundedness and bad scaling, in words."""
        return diagnose(self)

    def to_sdpa(self, path: str | Path) -> Path:
        """Write the problem in SDPA's sparse format, for other solvers; see `npkl_models.data.sdpa`."""
        return to_sdpa(self, path)

    @classmethod
    def from_cvxpy(cls, problem: Any) -> Self:
        """The problem whose kernel is the dual variable of a problem of CVXPY.

        Its optimum is a constant minus the optimum there, and its multipliers are minus the variables there.
        `into_cvxpy` writes a solution back.

        Parameters
        ----------
        problem : cvxpy.Problem
            Convex, with linear, second-order and semidefinite constraints.

        Raises
        ------
        UnsupportedError
            If the problem has other cones or integers.
        ProblemError
            If it is no problem of CVXPY, or its equations contradict each other.
        """
        from npkl_models.cvx.solver import problem_of  # CVXPY is heavy

        return problem_of(problem, cls)

    @classmethod
    def from_sdpa(cls, path: str | Path) -> Self:
        """The problem of any file in SDPA's sparse format, plain or .gz; see `npkl_models.data.sdpa`.

        The file's F_0 is minus the cost, so the optimum is minus the maximum that the file states.
        """
        return from_sdpa(path, cls)

    @classmethod
    def from_quadratic(
        cls, A: Any, b: ArrayLike | None = None, constraints: Constraint | Sequence[Constraint] = (), *,
        order: int, basis: Basis | None = None,
    ) -> Self:  # fmt: skip
        r"""A convex quadratic of a positive semidefinite matrix U.

        .. math::

            \min_{U \succeq 0} \; y' A y + b' y \quad\text{s.t. constraints on } K = QUQ'

        A = B'B is factored, and y'Ay is a loss term: the sum of squares of the values By.

        Parameters
        ----------
        A : matrix of shape (s(s+1)/2, s(s+1)/2) or (s^2, s^2)
            Symmetric and positive semidefinite. The first shape is for y = svec(U): the upper triangle by
            rows, with off-diagonal entries times the root of 2. The second is for y = vec(U), all entries.
        b : array_like of shape (s(s+1)/2,) or (s^2,), optional
            Linear part, as long as A; zero by default.
        constraints : Constraint or sequence of Constraint
            Constraints on K.
        order : int
            Order s of U.
        basis : Basis, optional
            Basis Q (n x s). By default K = U. With ``Basis(np.eye(s))`` K is U, too, and the backends that
            need a basis (sqlp, qsdp, scsdp) take the problem.

        Raises
        ------
        ProblemError
            If A is not symmetric and positive semidefinite, or if a shape does not fit the order.

        Notes
        -----
        Wu, thesis 2011, eqs. (3.13)-(3.14), with any A and b.
        """
        return from_quadratic(A, b, constraints, order, basis, cls)

    def _repr_latex_(self) -> str:
        return f"$${self.explain().latex}$$"

    def _repr_html_(self) -> str:
        explained = self.explain()
        return f"<div>$${html.escape(explained.latex)}$$<pre>{html.escape(explained.text)}</pre></div>"


Solution.read_as = Problem
