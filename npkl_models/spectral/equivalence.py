"""The bound B on tr K^p and the penalty G on tr K^p that give the same solution."""

from __future__ import annotations

import numpy as np

from npkl_models.answer.solution import Solution
from npkl_models.errors import ProblemError
from npkl_models.linalg import gram_eigenvalues
from npkl_models.proof.positive import positive_part
from npkl_models.spectral.concave import trace_power


def equivalent_bound(solution: Solution) -> float:
    """The bound B = tr K^p with which the bounded problem has the solution of a penalised problem.

    Examples
    --------
    >>> import npkl_models as nm
    >>> L, pairs = [[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None)
    >>> penalised = nm.simple_npkl(L, pairs, penalty=0.5).solve()
    >>> B = nm.equivalent_bound(penalised)
    >>> bounded = nm.simple_npkl(L, pairs, trace_bound=B).solve()
    >>> float(abs(bounded.K - penalised.K).max()) < 1e-3
    True
    """
    R = trace_power(solution.problem)
    if R.penalty is None:
        raise ProblemError("equivalent_bound needs a solution of a problem with penalty=, got trace_bound=")
    if solution.V is None:
        raise ProblemError(f"equivalent_bound needs a solution with a kernel, got status {solution.status}")
    return float(np.sum(gram_eigenvalues(solution.V) ** R.p))


def equivalent_penalty(solution: Solution) -> float:
    """The penalty G with which the penalised problem has the solution of a bounded problem.

    G = (tr A_+^(p/(p-1)) / B)^((p-1)/p) with A = -S at the solution's multipliers (Zhuang, Tsang & Hoi, JMLR
    12, 2011, after Prop. 2). If the bound is not active, G is 0.
    """
    R = trace_power(solution.problem)
    if R.bound is None or R.p == 1:
        raise ProblemError("equivalent_penalty needs a solution of a problem with trace_bound= and p > 1")
    problem, y = solution.problem, solution.certificate.multipliers
    values = positive_part(-problem.restrict(problem.slack(y))).values
    q = R.conjugate_exponent
    return float((np.sum(values**q) / R.bound) ** (1 / q))
