"""Write what is proved of a problem into a file that `npkl_models.checker` checks alone.

The checker decides. Here multipliers, rays and directions are proposed, and moved until it accepts them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import breadth_first_order, connected_components, reverse_cuthill_mckee

from npkl_models import checker
from npkl_models.certify.rays import _whole, _without_losses, nearest_factors
from npkl_models.certify.recession import _directions, _searched
from npkl_models.certify.repairs import REPAIRS
from npkl_models.certify.slater import slater
from npkl_models.errors import ProblemError, UnsupportedError
from npkl_models.feasibility.constraint_map import ConstraintMap
from npkl_models.feasibility.faces import face_of, vanishing
from npkl_models.feasibility.restoration import restored
from npkl_models.files.atomic import write_text
from npkl_models.linalg import UNIT, Array, Matrix, dense, norm_bound
from npkl_models.model.box_loss import BoxLoss
from npkl_models.model.conjugates import projected
from npkl_models.model.constraint import Constraint
from npkl_models.model.functionals import Trace, squares
from npkl_models.model.incidence import Incidence
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.regularizers import NoRegularizer
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm
from npkl_models.proof.bounds import min_eigenvalue

FAINT = 2.0**-80  # relative to the largest number of a factor: smaller ones are zero in a file
ATTEMPTS = 8  # of moving multipliers inwards, each eight times as far as the one before
NARROW = 8  # levels this many times narrower than the matrix make a sparse proof quicker
SINGULAR = 1e-9  # relative sizes below which a number of a ray or a direction counts as zero


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
    others = [term.loss.name for term in problem.losses if not isinstance(term.loss, BoxLoss)]
    R = problem.regularizer
    if others:
        raise UnsupportedError(f"a proof file needs losses that are boxes, got {others[0]}")
    if R.vacuous:
        return problem, y
    power = R.spectral
    if power is None or power.p != 1:
        raise UnsupportedError(f"a proof file has no place for the regulariser {R.words}")
    if power.bound is not None:
        trace: LossTerm | Constraint = Constraint(
            Trace(problem.n), upper=power.bound, name="bound on the trace"
        )
        least = 0.0
        if y is not None:
            S = dense(problem.restrict(problem.slack(y)))
            least = max(0.0, -float(np.linalg.eigvalsh(S)[0]))
        if y is not None:
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
    C = sp.coo_array(sp.triu(problem.cost))
    terms = []
    for part in problem.terms:
        box, hard = part.box, isinstance(part, Constraint)
        q = 0.0 if hard else part.loss.q  # type: ignore[union-attr]
        weight = np.ones(box.b.size) if hard or q == 0 else part.weight  # type: ignore[union-attr]
        for b, w, low, high in zip(box.b, weight, box.lower, box.upper, strict=True):
            ends = (float(end) if np.isfinite(end) else None for end in (low, high))
            terms.append([float(b), float(q), float(w), *ends])
    entries = [list(one) for one in zip(*(part.tolist() for part in (t.owner, t.row, t.column)),
                                        np.asarray(t.coefficient, dtype=float).tolist(), strict=True)]  # fmt: skip
    doubled = np.where(C.row == C.col, C.data, 2 * C.data)
    entries += [[len(terms), int(i), int(j), float(x)] for i, j, x in zip(C.row, C.col, doubled, strict=True)]
    basis = [] if problem.basis is None else problem.basis.dense.ravel().tolist()
    head = {"format": "npkl proof", "version": 1, "claim": "", "method": "dense", "n": problem.n}
    return head | {"terms": terms, "entries": entries, "basis": basis}


def _optimal(problem: Statement, V: Array, y: Multipliers, tol: float, feasibility: float) -> ProofFile | str:
    data = _data(problem) | {"claim": "OPTIMAL", "tol": tol, "feasibility": feasibility}
    data |= dict.fromkeys(("bound", "value", "violation", "relative_gap"), 0.0)
    words = "no multipliers were tried"
    for other in _inner(problem, y):
        try:
            return _filled(data, problem, other, V)
        except ArithmeticError as error:
            words = str(error)
    return words


def _filled(data: dict[str, Any], problem: Statement, y: Multipliers, V: Array | None = None) -> ProofFile:
    """The proof with these multipliers; a `RefusedError` if the checker does not accept it."""
    data = data | {"multipliers": np.concatenate(y.terms).tolist()}
    cost = data["claim"] == "OPTIMAL"
    if cost:
        data["point"] = []
    p = checker.Proof(data)
    data["bound"] = bound = p.proved_bound(cost)
    if cost and V is not None:
        data["point"] = _factor(problem, p, V)
        p = checker.Proof(data)
        data["violation"], data["value"], _ = p.judged()
        p = checker.Proof(data)
        data["relative_gap"] = gap = p.judged()[2]
        checker.need(gap <= data["tol"], f"the relative gap is {gap:.2g}, with the bound {bound:.10g}")
    (data["method"], levels), words = _levels(p, cost), ""
    data |= {} if levels is None else {"levels": levels}
    for method in [data["method"], *["exact"] * (p.order <= checker.EXACT)]:
        try:
            checker.check(data | {"method": method})
            return ProofFile(data | {"method": method})
        except ArithmeticError as error:
            words = words or str(error)
    raise ArithmeticError(words)


def _factor(problem: Statement, p: checker.Proof, V: Array) -> list[float]:
    """A factor of U for the kernel VV', row by row, without faint numbers."""
    if problem.basis is not None:
        W = problem.drop(V)
    else:
        first = np.full(p.order + 1, problem.n, dtype=np.intp)
        np.minimum.at(first, p.label, np.arange(problem.n))  # the last place is that of -1
        W = V[first[:-1]]
    small = np.abs(W) <= FAINT * np.max(np.abs(W), initial=0.0)
    out: list[float] = np.where(small, 0.0, W).ravel().tolist()
    return out


def _levels(p: checker.Proof, cost: bool) -> tuple[str, list[int] | None]:
    """The method, and for a sparse proof a level for each row: entries of S join neighbouring levels.

    Levels of breadth-first search are such, part by part; narrow ones are merged.
    """
    (row, column), whole = p.slack(cost)
    n = p.order
    graph = sp.csr_array((np.ones(whole.size), (row, column)), shape=(n, n))
    count, part = connected_components(graph, directed=False)
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


def _inner(problem: Statement, y: Multipliers) -> Iterator[Multipliers]:
    """Multipliers whose slack is further and further inside the cone, from y itself on."""
    face = face_of(problem)
    inner, y = face.problem, projected(problem, y)
    folded = projected(inner, face.fold(y))
    S = inner.restrict(inner.slack(folded))
    size, low = norm_bound(S), _lowest(S)
    unit = 4 * inner.order * UNIT * size
    if low >= -unit:
        yield _unfolded(problem, y if face.whole else face.unfold(folded), unit)
    for k in range(ATTEMPTS):
        eps = unit * 8.0**k
        other = _moved(inner, folded, max(-low, 0.0) + eps)
        if other is None:
            break
        yield _unfolded(problem, face.unfold(other), eps)


def _lowest(S: Matrix) -> float:
    if S.shape[0] <= checker.WIDEST:
        return float(np.linalg.eigvalsh(dense(S))[0])
    return min_eigenvalue(sp.csr_array(S)).estimate


def _moved(problem: Statement, y: Multipliers, eps: float) -> Multipliers | None:
    """The one door to repairs: multipliers in their boxes whose slack is higher by eps, at the least price."""
    ways = (repair(problem, y, eps, np.inf) for name, repair in REPAIRS.items() if name != "trace bound")
    found = [one for one in ways if one is not None] or [slater(problem, y, eps, np.inf)]
    best = max((one for one in found if one is not None), key=lambda one: one[0], default=None)
    return None if best is None else projected(problem, best[1])


def _unfolded(problem: Statement, y: Multipliers, eps: float) -> Multipliers:
    """Multipliers of squares v'Kv = 0 that a face has left out: large enough for the whole cone.

    With S = S(y), u = v / |v| and S >= eps on the complement of v, S + t uu' is positive if t + u'Su exceeds
    |Su|^2 / eps.
    """
    parts = list(y.constraints)
    for k, part in enumerate(problem.constraints):
        which, vectors = vanishing(part)
        for e, v in zip(np.flatnonzero(which), vectors, strict=True):
            S = problem.slack(problem.split_multipliers((*y.losses, *parts)))
            u = v / np.linalg.norm(v)
            Su = np.asarray(S @ u).ravel()
            along = float(u @ Su)
            across = float(np.linalg.norm(Su - along * u)) if eps else 0.0
            t = norm_bound(S) + max(-along, 0.0) + 2 * across**2 / max(eps, 1e-300)
            value = float(part.functional.value_of_factor(u[:, None])[e])
            parts[k] = parts[k].copy()
            parts[k][e] += t / value
    return Multipliers(y.losses, tuple(parts))


def _infeasible(problem: Statement, y: Multipliers | None) -> ProofFile | str:
    data = _data(problem) | {"claim": "INFEASIBLE", "bound": 0.0}
    words = "no ray was found"
    for ray in _rays(problem, y):
        try:
            return _filled(data, problem, ray)
        except ArithmeticError as error:
            words = str(error)
    return words


def _rays(problem: Statement, y: Multipliers | None) -> Iterator[Multipliers]:
    """The one door to rays: multipliers of constraints whose bound is likely to be positive."""
    zero = problem.no_multipliers
    for k, part in enumerate(problem.constraints):  # a single value that no kernel has
        f = part.functional
        size = np.bincount(f.incidence.owner, np.abs(f.incidence.coefficient), f.size)
        empty = (size == 0) | (f.change_of_factor(np.zeros((problem.n, 1)), np.ones(problem.n)) == 0)
        for e in np.flatnonzero(
            (squares(f) & (part.upper < 0)) | (empty & ((part.upper < 0) | (part.lower > 0)))
        ):
            parts = list(zero.constraints)
            parts[k] = np.zeros(f.size)
            parts[k][e] = 1.0 if part.upper[e] < 0 else -1.0
            yield Multipliers(zero.losses, tuple(parts))
    face = face_of(problem)
    if not face.problem.constraints:
        return
    search = _without_losses(face.problem)
    every = ConstraintMap.of(search)
    given = [] if y is None else [face.fold(y).constraints]
    residuals = (every.split(every.excess(X) / every.scales**2) for X in nearest_factors(search, None))
    for nu in (*given, *residuals):
        top = max(float(np.max(np.abs(part), initial=0.0)) for part in nu)
        if not 0 < top < np.inf:
            continue
        for least in (1e-12, SINGULAR, np.sqrt(SINGULAR)):
            clean = tuple(np.where(np.abs(part) > least * top, part / top, 0.0) for part in nu)
            for ray in (Multipliers((), clean), _whole(Multipliers((), clean))):
                ray = projected(search, ray)
                S = search.restrict(search.slack(ray))
                eps = max(-_lowest(S), 0.0) + 4 * search.order * UNIT * norm_bound(S)
                for other in (ray, _moved(search, ray, eps)):
                    if other is not None:
                        whole = face.unfold(Multipliers(face.fold(zero).losses, other.constraints))
                        yield _unfolded(problem, Multipliers(zero.losses, whole.constraints), 0.0)


def _unbounded(problem: Statement, V: Array | None, feasibility: float) -> ProofFile | str:
    data = _data(problem) | {"claim": "UNBOUNDED", "feasibility": feasibility, "violation": 0.0, "rate": -1.0}
    data |= {"point": [], "direction": []}
    p, words = checker.Proof(data), "no point meets the constraints"
    for X in _points(problem):
        data["point"] = _factor(problem, p, X)
        data["violation"] = checker.Proof(data).judged()[0]
        if data["violation"] <= feasibility:
            break
    else:
        return words
    for D in _falls(problem, p, V):
        data["direction"] = D
        try:
            data["rate"] = checker.Proof(data).proved_rate()
            checker.check(data)
            return ProofFile(data)
        except ArithmeticError as error:
            words = str(error)
    return words


def _points(problem: Statement) -> Iterator[Array]:
    yield np.zeros((problem.n, 1))
    if problem.constraints:
        for X in nearest_factors(problem, None):
            yield restored(problem, X)


def _falls(problem: Statement, p: checker.Proof, V: Array | None) -> Iterator[list[float]]:
    """The one door to directions: factors of U, each as it was found, and with rows that are equal exactly."""
    start = np.zeros((problem.n, 1)) if V is None or not np.isfinite(V).all() else V
    for make in (lambda: _directions(problem, start), lambda: [_searched(problem)]):
        for D in make():
            W = np.array(_factor(problem, p, D / max(float(np.linalg.norm(D)), 1e-300))).reshape(p.order, -1)
            yield W.ravel().tolist()
            for least in (SINGULAR, 1e-6, 1e-3):
                near = np.where(np.abs(W) <= least, 0.0, W)
                grid = 2.0 ** np.floor(np.log2(least))
                for one in (near, np.round(W / grid) * grid):
                    yield one.ravel().tolist()
