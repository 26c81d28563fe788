"""Values as functions of the unknown U: a basis whose points share rows is contracted, any other is kept."""

from __future__ import annotations

from npkl_models.linalg import Array
from npkl_models.model.incidence import Incidence
from npkl_models.model.statement import Statement


def of_unknown(problem: Statement, incidence: Incidence) -> tuple[Incidence, Array | None]:
    """(incidence', Q): values of K = Q U Q', or of U alone if Q is None."""
    basis = problem.basis
    if basis is None:
        return incidence, None
    if basis.shared is not None:
        return incidence.contract(*basis.shared, basis.size), None
    return incidence, problem.Q
