"""Proposals for a proof file: multipliers that are moved inwards, rays, points and directions.

What is proposed here proves nothing; `npkl_models.checker` decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import scipy.sparse as sp

from npkl_models import checker, kernel
from npkl_models.certificates.rays import _whole, _without_losses, nearest_factors
from npkl_models.certificates.recession import _directions, _searched
from npkl_models.certificates.repairs import SINGULAR, best_repair
from npkl_models.feasibility.constraint_map import ConstraintMap
from npkl_models.feasibility.faces import face_of, vanishing
from npkl_models.feasibility.groups import entry_links
from npkl_models.feasibility.restoration import restored
from npkl_models.linalg import UNIT, Array, Matrix, dense, norm_bound
from npkl_models.model.conjugates import projected
from npkl_models.model.functionals import single_entries, squares
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.proof.bounds import min_eigenvalue

ATTEMPTS = 8  # of moving multipliers inwards, each eight times as far as the one before
FAINT = 2.0**-80  # relative to the largest number of a factor: smaller ones are zero in a file


def moved_inwards(problem: Statement, y: Multipliers) -> Iterator[Multipliers]:
    """Multipliers whose slack is further and further inside the cone, from y itself on."""
    face = face_of(problem)
    inner, y = face.problem, projected(problem, y)
    folded = projected(inner, face.fold(y))
    S = inner.restrict(inner.slack(folded))
    size, low = norm_bound(S), lowest(S)
    unit = 4 * inner.order * UNIT * size
    if low >= -unit:
        yield _unfolded(problem, y if face.whole else face.unfold(folded), unit)
    for k in range(ATTEMPTS):
        eps = unit * 8.0**k
        other = _moved(inner, folded, max(-low, 0.0) + eps)
        if other is None:
            break
        yield _unfolded(problem, face.unfold(other), eps)


def lowest(S: Matrix) -> float:
    """The smallest eigenvalue, in floating point."""
    if S.shape[0] <= checker.WIDEST:
        return float(np.linalg.eigvalsh(dense(S))[0])
    return min_eigenvalue(sp.csr_array(S)).estimate


def _moved(problem: Statement, y: Multipliers, eps: float) -> Multipliers | None:
    """The one door to repairs: multipliers in their boxes whose slack is higher by eps, if possible."""
    floor = kernel.floor_of(y, kernel.slack(problem, y))
    lower = -eps * float(np.max(floor.T, initial=0.0)) ** 2
    found = best_repair(problem, replace(floor, lower=lower))[1]
    return projected(problem, found.y) if found.proved else None


def _unfolded(problem: Statement, y: Multipliers, eps: float) -> Multipliers:
    """Multipliers of squares v'Kv = 0 that a face has left out: large enough for the whole cone.

    With S = S(y), u = v / |v| and S >= eps on the complement of v, S + t uu' is positive if t + u'Su exceeds
    |Su|^2 / eps.
    """
    parts = [part.copy() for part in y.constraints]
    for v, of_square in _squares(problem):
        S = problem.slack(problem.split_multipliers((*y.losses, *parts)))
        u = v / np.linalg.norm(v)
        Su = np.asarray(S @ u).ravel()
        along = float(u @ Su)
        across = float(np.linalg.norm(Su - along * u)) if eps else 0.0
        t = norm_bound(S) + max(-along, 0.0) + 2 * across**2 / max(eps, 1e-300)
        for k, e, share in of_square:
            parts[k][e] += t / float(v @ v) * share
    return Multipliers(y.losses, tuple(parts))


def _squares(problem: Statement) -> Iterator[tuple[Array, list[tuple[int, int, float]]]]:
    """Squares v'Kv that must be zero, beyond those of the checker, and multipliers that sum up to vv'."""
    held: dict[tuple[int, int], tuple[int, int, float]] = {}
    for k, part in enumerate(problem.constraints):
        which, vectors = vanishing(part)
        for e, v in zip(np.flatnonzero(which), vectors, strict=True):
            yield v, [(k, int(e), float(v @ v) ** 2 / float(part.functional.value_of_factor(v[:, None])[e]))]
        for e, i, j, c in zip(*(x.tolist() for x in single_entries(part.functional)), strict=True):
            if part.equal:
                held[min(i, j), max(i, j)] = (k, e, 1 / c)
    for i, j, f in zip(*(x.tolist() for x in entry_links(problem)[1]), strict=True):
        if f != 1.0:
            v, ends = np.zeros(problem.n), ((i, i, 1.0), (min(i, j), max(i, j), -2 * f), (j, j, f * f))
            v[[i, j]] = 1.0, -f
            yield v, [(k, e, c * x) for a, b, x in ends for k, e, c in (held[a, b],)]


def rays(problem: Statement, y: Multipliers | None) -> Iterator[Multipliers]:
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
                eps = max(-lowest(S), 0.0) + 4 * search.order * UNIT * norm_bound(S)
                for other in (ray, _moved(search, ray, eps)):
                    if other is not None:
                        whole = face.unfold(Multipliers(face.fold(zero).losses, other.constraints))
                        yield _unfolded(problem, Multipliers(zero.losses, whole.constraints), 0.0)


def points(problem: Statement) -> Iterator[Array]:
    """Factors that may meet the constraints."""
    yield np.zeros((problem.n, 1))
    if problem.constraints:
        for X in nearest_factors(problem, None):
            yield restored(problem, X)


def directions(problem: Statement, p: checker.Proof, V: Array | None) -> Iterator[list[float]]:
    """The one door to directions: factors of U, as they were found and with rows that are equal exactly."""
    start = np.zeros((problem.n, 1)) if V is None or not np.isfinite(V).all() else V
    for searched in (False, True):
        for D in [_searched(problem)] if searched else _directions(problem, start):
            rows = factor_rows(problem, p, D / max(float(np.linalg.norm(D)), 1e-300))
            W = np.array(rows).reshape(p.order, -1)
            yield W.ravel().tolist()
            for least in (SINGULAR, 1e-6, 1e-3):
                near = np.where(np.abs(W) <= least, 0.0, W)
                grid = 2.0 ** np.floor(np.log2(least))
                for one in (near, np.round(W / grid) * grid):
                    yield one.ravel().tolist()


def factor_rows(problem: Statement, p: checker.Proof, V: Array) -> list[float]:
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
