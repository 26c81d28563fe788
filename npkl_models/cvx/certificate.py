"""What is proved of an answer to a program of CVXPY."""

from __future__ import annotations

from dataclasses import dataclass, replace

from npkl_models.certificates.bounds import FEASIBILITY


@dataclass(frozen=True, eq=False)
class CvxpyCertificate:
    """What is proved of an answer to a program of CVXPY, in the sense of the problem.

    Attributes
    ----------
    status : str
        "optimal", "infeasible" or "unbounded": what the answer claims, and what is judged here.
    value : float
        The objective at the answer.
    lower, upper : float
        Proved bounds on the optimum of the program as CVXPY hands it to a solver: one comes from dual
        variables, the other from a point that is feasible; infinite where nothing is proved.
    relative_gap : float
        The distance of the value and the bound from dual variables, over their absolute values.
    violation : float
        The most by which the answer misses a constraint, relative to the numbers of that constraint.
    rigour : str
        "proved", or "nearby" if the dual variables bound the optimum of another program only: its costs
        differ by at most ``perturbation``, relative to the numbers that enter them. "none" else.
    nearby : float
        The bound for that program.
    perturbation : float
        How far it is; 0 where the bound is proved.
    source : str
        Whose dual variables serve: "given" or "a solve".
    maximise : bool
        Whether the problem is a maximisation.
    seconds : float
        What the judgement took.

    Examples
    --------
    >>> import cvxpy as cp
    >>> import npkl_models as nm
    >>> x = cp.Variable(2)
    >>> problem = cp.Problem(cp.Maximize(cp.sum(x)), [cp.norm(x) <= 1])
    >>> _ = problem.solve(solver=nm.Certified("CLARABEL"))
    >>> found = nm.certificate_of(problem)
    >>> bool(found.lower <= 2**0.5 <= found.upper), found.rigour
    (True, 'proved')
    """

    status: str
    value: float
    lower: float
    upper: float
    relative_gap: float
    violation: float
    rigour: str
    nearby: float
    perturbation: float
    source: str
    maximise: bool = False
    seconds: float = 0.0

    @property
    def bound(self) -> float:
        """The bound from dual variables: a lower one of a minimisation, an upper one of a maximisation."""
        return self.upper if self.maximise else self.lower

    def certifies(self, tol: float = 1e-6, feasibility: float = FEASIBILITY) -> bool:
        """Whether it is proved that the answer is right.

        An optimum: to the relative gap ``tol``, and no constraint is missed by more than ``feasibility``.
        """
        return self.rigour == "proved" and self.relative_gap <= tol and self.violation <= feasibility

    def flipped(self) -> CvxpyCertificate:
        """The certificate of the maximisation whose negative objective was minimised."""
        return replace(
            self, value=-self.value, lower=-self.upper, upper=-self.lower, nearby=-self.nearby, maximise=True
        )

    def __str__(self) -> str:
        if self.status == "infeasible":
            words = "a ray proves" if self.rigour == "proved" else "it is said without proof"
            return f"infeasible: {words} that no point meets the constraints\n(dual variables: {self.source})"
        if self.status == "unbounded":
            words = "a ray and a point prove" if self.rigour == "proved" else "it is said without proof"
            return f"unbounded: {words} that the objective has no bound\n(ray: {self.source})"
        middle = f"{self.lower:.10g} <= optimum <= {self.upper:.10g}"
        if self.rigour != "proved" and self.perturbation > 0:
            middle += (
                f"; {self.nearby:.10g} bounds it if the costs change by {self.perturbation:.1e}, relative"
            )
        return (
            f"{middle}\nx has the value {self.value:.10g}, misses the constraints by {self.violation:.1e}, "
            f"relative gap {self.relative_gap:.1e} ({self.rigour}; dual variables: {self.source})"
        )
