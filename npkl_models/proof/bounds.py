"""Bounds on the smallest eigenvalue of a symmetric matrix, which decides every certificate.

An eigendecomposition or a Cholesky factorisation proves a bound. Randomised Lanczos gives a probable bound.
A Ritz value is only an estimate. The routes in `ROUTES` run from top to bottom, and each route that accepts a
case may replace the bound so far.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import ArpackError

from npkl_models.linalg import UNIT, Array, Matrix, dense, norm_bound, orthonormal_range
from npkl_models.linalg.threads import quiet_blas
from npkl_models.proof.eigenbound import PLAIN, EigenBound, Query
from npkl_models.proof.factorisation import DENSE_CHOLESKY, by_cholesky, by_eigh, can_factorise
from npkl_models.proof.lanczos import by_lanczos
from npkl_models.proof.localised import by_elimination

DENSE_EIGH = 400  # largest order at which a full eigendecomposition is the quickest proof
CHEAP_CHOLESKY = 1_000  # largest order at which dense factorisations cost no more than a few iterations
LANCZOS_STEPS = 1_000
CHEAP_STEPS = 400  # if Cholesky can take over
ORDINARY = 200  # largest binary exponent of a norm that needs no scaling
RUNS = 3  # most randomised runs if low vectors on few points are searched for
UNKNOWN = EigenBound(-np.inf, np.inf, "none", np.zeros(0), 1.0)


def min_eigenvalue(S: Matrix, V: Array | None = None, query: Query = PLAIN) -> EigenBound:
    """Bound the smallest eigenvalue of a symmetric S (n x n) from below, by the method of the query."""
    exponent = max(int(np.frexp(norm_bound(S))[1]), -1_000)
    if abs(exponent) > ORDINARY:  # squares would be out of range; scaling by a power of two is exact
        unit = float(np.ldexp(1.0, exponent))
        return min_eigenvalue(S * (1 / unit), V, query.times(1 / unit)).times(unit)
    case = Case(S, V, query)
    for route in ROUTES:
        if route.accepts(case):
            case.found = route.apply(case)
    if not query.quick and case.found.raised is None and case.automatic:
        least = -norm_bound(S) * (1 + 4 * (S.shape[0] + 4) * UNIT)  # always a bound
        if not case.found.lower >= least:
            case.found = replace(case.found, lower=least, rigour="proved")
    if case.found.rigour == "probable":
        return replace(case.found, failure_probability=query.failure_probability)
    return case.found


class Case:
    """A matrix, the query for its smallest eigenvalue, and the results so far.

    ``local`` says whether low vectors on few points are searched for. ``hint`` is such a vector (n,), which
    made a Lanczos run stop early. ``run`` is the query for the first randomised run, and ``later`` for each
    other one, with their shares of the failure probability. ``found`` is the best bound so far.
    """

    def __init__(self, S: Matrix, V: Array | None, query: Query) -> None:
        self.S, self.V, self.query, self.order = S, V, query, int(S.shape[0])
        self.automatic, beyond = query.method == "auto", self.order > DENSE_CHOLESKY
        self.local = self.automatic and beyond and V is not None and sp.issparse(S)
        self.steps = CHEAP_STEPS if self.automatic and not beyond else LANCZOS_STEPS
        half, rng = 0.5 * query.failure_probability, np.random.default_rng(query.random_state)
        first = half if self.local else query.failure_probability
        self.run = replace(query, failure_probability=first, random_state=rng)
        self.later = replace(self.run, failure_probability=half / (RUNS - 1))
        self.found = UNKNOWN
        self.hint: Array | None = None

    @cached_property
    def basis(self) -> Array:
        """An orthonormal basis of range(V), empty beyond half of the space: a factorisation is quicker."""
        if self.V is None or 2 * self.V.shape[1] > self.order:
            return np.zeros((self.order, 0))
        return orthonormal_range(self.V)


@dataclass(frozen=True)
class Route:
    """One way to a bound: whether the route accepts a case, and the best bound after the route has run."""

    name: str
    accepts: Callable[[Case], bool]
    apply: Callable[[Case], EigenBound]


def _decomposes(case: Case) -> bool:
    return case.query.method == "eigh" or (case.automatic and case.order <= DENSE_EIGH)


def _lanczos(case: Case, run: Query, local: bool) -> EigenBound:
    with quiet_blas(case.order):
        found, case.hint = by_lanczos(case.S, case.basis, run, case.steps, local)
    return found


def _eliminate(case: Case) -> EigenBound:
    """The bound by elimination; if it fails or is no better, the bound so far, and the hint stays."""
    hint = np.zeros(case.order) if case.hint is None else case.hint
    try:
        with quiet_blas(case.order):
            better = by_elimination(case.S, case.basis, hint, case.later, case.steps)
    except (ArpackError, RuntimeError, np.linalg.LinAlgError):
        return case.found
    if not (case.query.quick or better.lower > case.found.lower):
        return case.found
    case.hint = None
    return better


def _ritz(case: Case) -> EigenBound:
    estimate = case.found.estimate
    return EigenBound(estimate, estimate, "estimated", case.found.vector, 1.0)


def _factorises(case: Case) -> bool:
    """Whether Cholesky runs: the query asks for it, or Lanczos has not reached the accuracy."""
    query, found = case.query, case.found
    if query.quick and (found.estimate < -query.accuracy or not np.isfinite(found.lower)):
        return False
    if not case.automatic or _decomposes(case):
        return query.method == "cholesky"
    if query.quick and found.coupling > query.accuracy and case.order > CHEAP_CHOLESKY:
        return False  # V is not stationary enough yet; a solver should go on first
    return found.lower < -query.accuracy and can_factorise(case.S)


ROUTES = (
    Route("eigendecomposition", _decomposes, lambda case: by_eigh(dense(case.S))),
    Route("Lanczos", lambda case: not _decomposes(case), lambda case: _lanczos(case, case.run, case.local)),
    Route("elimination of local vectors", lambda case: case.hint is not None, _eliminate),
    Route(
        "Lanczos as if none were local", lambda case: case.hint is not None and not case.query.quick,
        lambda case: _lanczos(case, case.later, False),
    ),
    Route("Ritz value", lambda case: case.query.method == "ritz", _ritz),
    Route("Cholesky", _factorises, lambda case: by_cholesky(case.S, case.found, case.query.accuracy)),
)  # fmt: skip
"""The routes in their order; the result of one route decides whether later routes run."""
