"""Write what is proved of a problem into a file that `npkl_models.checker` checks alone.

The checker decides. Here multipliers, rays and directions are proposed, and moved until it accepts them.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components, reverse_cuthill_mckee

from npkl_models import checker
from npkl_models.certificates.proof_search import directions, factor_rows, lowest, moved_inwards, points, rays
from npkl_models.errors import ProblemError, UnsupportedError
from npkl_models.files.atomic import write_text
from npkl_models.linalg import Array
from npkl_models.model.box_loss import BoxLoss
from npkl_models.model.conjugates import box_rows
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import Trace
from npkl_models.model.incidence import Incidence
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.regularizers import NoRegularizer
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

NARROW = 8  # levels this many times narrower than the matrix make a sparse proof quicker


@dataclass(frozen=True, eq=False, repr=False)
class ProofFile:
    """A proof that anybody can check without this package; `save` writes it.

    Attributes
    ----------
    data : dict
        The fields of the file: the problem, the claim, and what proves it. `npkl_models.checker` says what
        each means.

    Examples
    --------
    >>> import npkl_models as nm
    >>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
    >>> problem.solve(tol=1e-9).proof()
    Proof(OPTIMAL: n=2, dense)
    """

    data: dict[str, Any]

    @property
    def claim(self) -> str:
        """What is proved: OPTIMAL, INFEASIBLE or UNBOUNDED."""
        return str(self.data["claim"])

    def check(self, exact: bool = False) -> list[str]:
        """What the checker proves, in lines; ``exact`` makes it work in whole numbers, up to order 60.

        Raises
        ------
        ProblemError
            If the claim does not hold, which can only be with ``exact``.
        """
        try:
            with np.errstate(all="ignore"):
                return checker.check(self.data, exact)
        except ArithmeticError as error:
            raise ProblemError(f"the claim must hold, got one that is not proved: {error}") from None

    def save(self, path: str | Path) -> Path:
        """Write the file in JSON, completely or not at all."""
        return write_text(path, json.dumps(self.data, allow_nan=False) + "\n")

    def __repr__(self) -> str:
        return f"Proof({self.claim}: n={self.data['n']}, {self.data['method']})"


def proof_of(
    problem: Statement, claim: str, V: Array | None, y: Multipliers | None, tol: float, feasibility: float
) -> ProofFile:
    """A proof of the claim OPTIMAL (of the point V with multipliers y), INFEASIBLE or UNBOUNDED.

    Raises
    ------
    UnsupportedError
        If the problem has a term that a file cannot state, or if no multipliers, ray or direction that was
        tried convinces the checker.
    """
    stated, y = _stated(problem, y)
    with np.errstate(all="ignore"):
        if claim == "OPTIMAL" and V is not None and y is not None:
            found = _optimal(stated, V, y, tol, feasibility)
        elif claim == "INFEASIBLE":
            found = _infeasible(stated, y)
        elif claim == "UNBOUNDED":
            found = _unbounded(stated, V, feasibility)
        else:
            raise UnsupportedError(
                f"a proof must be one of OPTIMAL, INFEASIBLE or UNBOUNDED, got the status {claim}"
            )
    if isinstance(found, ProofFile):
        return found
    raise UnsupportedError(f"no proof of {claim} was found that the checker accepts: {found}")


def _stated(problem: Statement, y: Multipliers | None) -> tuple[Statement, Multipliers | None]:
    """The same problem with boxes alone: a bound or a penalty on tr K is a term of its own."""
    R = problem.regularizer
    if R.vacuous:
        return problem, y
    power = R.spectral
    if power is None or power.p != 1:
        raise UnsupportedError(f"a proof file has no place for the regulariser {R.words}")
    if power.bound is not None:
        trace: LossTerm | Constraint = Constraint(
            Trace(problem.n), upper=power.bound, name="bound on the trace"
        )
        if y is not None:
            least = max(0.0, -lowest(problem.restrict(problem.slack(y))))
            y = Multipliers(y.losses, (*y.constraints, np.array([least])))
    else:
        linear = BoxLoss("trace", low=1.0, high=1.0, about=0.0)
        trace = LossTerm(Trace(problem.n), linear, 0.0, R.shift, name="penalty of the trace")
        if y is not None:
            y = Multipliers((*y.losses, np.array([R.shift])), y.constraints)
    parts = (*problem.losses, *problem.constraints, trace)
    return Statement(problem.cost, parts, NoRegularizer(), problem.basis, problem.name), y


def _data(problem: Statement) -> dict[str, Any]:
    """The fields of the problem."""
    t = Incidence.stack([part.functional.incidence for part in problem.terms])
    C, terms = sp.coo_array(sp.triu(problem.cost)), box_rows(problem)
    where = (part.tolist() for part in (t.owner, t.row, t.column, np.asarray(t.coefficient, dtype=float)))
    entries = [list(one) for one in zip(*where, strict=True)]
    doubled = np.where(C.row == C.col, C.data, 2 * C.data)
    entries += [[len(terms), int(i), int(j), float(x)] for i, j, x in zip(C.row, C.col, doubled, strict=True)]
    basis = [] if problem.basis is None else problem.basis.dense.ravel().tolist()
    head = {"format": "npkl proof", "version": 1, "claim": "", "method": "dense", "n": problem.n}
    return head | {"terms": terms, "entries": entries, "basis": basis}


def _optimal(problem: Statement, V: Array, y: Multipliers, tol: float, feasibility: float) -> ProofFile | str:
    data = _data(problem) | {"claim": "OPTIMAL", "tol": tol, "feasibility": feasibility}
    data |= dict.fromkeys(("bound", "value", "violation", "relative_gap"), 0.0) | {"point": []}
    return _first(data, problem, moved_inwards(problem, y), V)


def _first(
    data: dict[str, Any], problem: Statement, tried: Iterable[Multipliers], V: Array | None
) -> ProofFile | str:
    """The first proof that the checker accepts, without whole numbers if possible; else its words."""
    words, every = "", []
    for y in tried:
        every.append(y)
        try:
            return _filled(data, problem, y, V, exact=False)
        except ArithmeticError as error:
            words = words or str(error)
    for y in every:
        with contextlib.suppress(ArithmeticError):
            return _filled(data, problem, y, V, exact=True)
    return words or "there was nothing to try"


def _filled(
    data: dict[str, Any], problem: Statement, y: Multipliers, V: Array | None, exact: bool
) -> ProofFile:
    """The proof with these multipliers; an ArithmeticError if the checker does not accept it."""
    cost, data = data["claim"] == "OPTIMAL", data | {"multipliers": np.concatenate(y.terms).tolist()}
    p = checker.Proof(data)
    data["bound"] = bound = p.proved_bound(cost)
    if V is not None:
        data["point"] = factor_rows(problem, p, V)
        data["violation"], data["value"], _ = checker.Proof(data).judged()
        data["relative_gap"] = gap = checker.Proof(data).judged()[2]
        checker.need(gap <= data["tol"], f"the relative gap is {gap:.2g}, with the bound {bound:.10g}")
    data["method"], levels = ("exact", None) if exact else _levels(p, cost)
    data |= {} if levels is None else {"levels": levels}
    checker.check(data)
    return ProofFile(data)


def _levels(p: checker.Proof, cost: bool) -> tuple[str, list[int] | None]:
    """The method, and for a sparse proof a level for each row: entries of S join neighbouring levels.

    Levels of breadth-first search are such, part by part; narrow ones are merged.
    """
    (row, column), whole = p.slack(cost)
    n = p.order
    graph = sp.csr_array((np.ones(whole.size), (row, column)), shape=(n, n))
    _, part = connected_components(graph, directed=False)
    start, level = 0, np.zeros(n, dtype=np.int64)
    order = reverse_cuthill_mckee(graph, symmetric_mode=True)
    _, seeds = np.unique(part[order], return_index=True)
    for seed in order[np.sort(seeds)]:
        nodes, before = breadth_first_order(graph, seed, directed=False)
        for node in nodes[1:]:
            level[node] = level[before[node]] + 1
        level[nodes] += start
        start = int(level[nodes].max()) + 1
    sizes, merged, filled = np.bincount(level, minlength=start), np.zeros(start, dtype=np.int64), 0
    for k in range(1, start):
        filled += sizes[k - 1]
        merged[k] = merged[k - 1] + (filled >= 64)
        filled = 0 if filled >= 64 else filled
    level = merged[level]
    narrow = NARROW * np.bincount(level).max() <= n
    return ("sparse", level.tolist()) if n > checker.WIDEST or (narrow and n > 500) else ("dense", None)


def _infeasible(problem: Statement, y: Multipliers | None) -> ProofFile | str:
    data = _data(problem) | {"claim": "INFEASIBLE", "bound": 0.0}
    return _first(data, problem, rays(problem, y), None)


def _unbounded(problem: Statement, V: Array | None, feasibility: float) -> ProofFile | str:
    data = _data(problem) | {"claim": "UNBOUNDED", "feasibility": feasibility, "violation": 0.0, "rate": -1.0}
    data |= {"point": [], "direction": []}
    p, words = checker.Proof(data), "no point meets the constraints"
    for X in points(problem):
        data["point"] = factor_rows(problem, p, X)
        data["violation"] = checker.Proof(data).judged()[0]
        if data["violation"] <= feasibility:
            break
    else:
        return words
    for D in directions(problem, p, V):
        data["direction"] = D
        try:
            data["rate"] = checker.Proof(data).proved_rate()
            checker.check(data)
            return ProofFile(data)
        except ArithmeticError as error:
            words = str(error)
    return words
