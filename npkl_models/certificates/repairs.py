"""One repair of multipliers whose slack is not quite PSD: a move along a ray, or towards a centre.

Let S(y) >= -eps T^-2. Along a ray d with sum d_e M_e >= mu T^-2 the multipliers y + (eps / mu) d have a PSD
slack. So do (1 - t) y + t ybar with t = eps / (mu + eps), for a centre ybar with S(ybar) >= mu T^-2. A move
is computed and priced in plain floating point; the best one is then proved by the kernel, once. If rounding
makes it fall short, it is taken a little further.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import lsqr

from npkl_models import kernel
from npkl_models.certificates.slater import NEARLY, ascended, strictly_feasible
from npkl_models.kernel import Anchor, Floor
from npkl_models.linalg import Array, Index, Mask, norm_bound
from npkl_models.model.conjugates import projected
from npkl_models.model.functional import Functional
from npkl_models.model.functionals import SquaredDistances, Trace, single_entries
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.terms import Term
from npkl_models.proof.bounds import DENSE_EIGH
from npkl_models.proof.factorisation import DENSE_CHOLESKY, can_factorise

NO_NEED = "none needed"
SHIFT, RAY, SCALE, MIXED = "shift", "ray", "scale", "Slater point"
NO_REPAIR = "no repair applies"
NO_SPECTRUM = "the slack's spectrum has no bound"
FURTHER = 6  # times that a move is taken further for the sake of rounding
LITTLE, SINGULAR = 1e-6, 1e-9  # shares of the norm of the cost: an eps that costs little, a singular cost


class Move(NamedTuple):
    """A move by eps: the multipliers, and the kernel's floor of their slack."""

    name: str
    to: Callable[[float], Multipliers]
    proof: Callable[[float, Multipliers], Floor]


def best_repair(
    problem: Statement,
    floor: Floor,
    inside: Anchor | None = None,
    wanted: float = np.inf,
    quick: bool = False,
) -> tuple[str, Floor]:
    """The name of the best repair, and the floor of its multipliers; if none applies, the given floor.

    ``inside`` is a centre that a solver has found. Centres that must be searched for are tried where no other
    move reaches ``wanted``, if they may; a ``quick`` repair searches for no bound that may not suffice.
    """
    if floor.proved:
        return NO_NEED, floor
    if not np.isfinite(floor.lower):
        return NO_SPECTRUM, floor
    moves = [*_on_diagonal(problem, floor), *_along(problem, floor, _anchors(problem, floor, inside))]
    name, found = _cheapest(problem, floor, moves)
    reached = -problem.conjugate_sum(found.y) if found.proved else -np.inf
    any_bound = reached == -np.inf and not quick
    if floor.found.raised is None and (any_bound or reached < wanted <= _worth(problem, floor)):
        centres = [(MIXED, one) for one in (_centre(problem, floor.y),) if one is not None]
        other = _cheapest(problem, floor, list(_along(problem, floor, centres)))
        if other[1].proved and -problem.conjugate_sum(other[1].y) > reached:
            return other
    return name, found


def _cheapest(problem: Statement, floor: Floor, moves: Sequence[Move]) -> tuple[str, Floor]:
    """The move with the largest bound among those that the kernel proves; they are proved in this order."""
    eps = max(-floor.lower, 0.0)
    offers = [(move, move.to(eps)) for move in moves]
    priced = [(problem.conjugate_sum(y), k) for k, (_, y) in enumerate(offers)]
    for price, which in sorted(priced):
        if not np.isfinite(price):
            break
        (move, y), more = offers[which], eps
        for k in range(FURTHER):
            found = move.proof(more, y)
            if found.proved and np.isfinite(kernel.paid(problem, y)):
                return move.name, found
            if not np.isfinite(found.lower):
                break
            more += 8.0 ** (k + 1) * abs(found.lower)
            y = move.to(more)
    return NO_REPAIR, floor


def _on_diagonal(problem: Statement, floor: Floor) -> Iterator[Move]:
    """Raise a multiplier of each K_ii, of losses or of constraints; low vectors on few points raise few."""
    if problem.basis is not None:
        return
    weight = floor.T**-2.0
    local = 0.0 if floor.found.raised is None else floor.found.raised

    def to(eps: float) -> Multipliers:
        return raised_diagonal(problem, floor.y, (eps + local) * weight) or floor.y

    if raised_diagonal(problem, floor.y, weight) is not None:
        yield Move(SHIFT, to, lambda eps, y: kernel.raised(problem, floor, y))


def _along(problem: Statement, floor: Floor, anchors: Sequence[tuple[str, Anchor]]) -> Iterator[Move]:
    """The moves along rays and towards centres."""
    for name, end in anchors if floor.found.raised is None else ():
        mu = end.mu * float(np.min((floor.T / end.T) ** 2, initial=np.inf))

        def share(eps: float, end: Anchor = end, mu: float = mu) -> float:
            return eps / mu if end.ray else min(eps / (mu + eps), 1.0)

        def to(eps: float, end: Anchor = end, share: Callable[[float], float] = share) -> Multipliers:
            t = share(eps)
            if not end.ray:
                return projected(problem, floor.y.towards(end.y, t))
            pairs = zip(floor.y.terms, end.y.terms, strict=True)
            return projected(problem, problem.split_multipliers(y + t * d for y, d in pairs))

        def proof(
            eps: float, y: Multipliers, end: Anchor = end, share: Callable[[float], float] = share
        ) -> Floor:
            return kernel.moved(problem, floor, end, share(eps), y)

        yield Move(name, to, proof)


def _anchors(problem: Statement, floor: Floor, inside: Anchor | None) -> list[tuple[str, Anchor]]:
    """Rays and centres that no search has to find."""
    known = [
        (SCALE, centre_at_zero(problem, floor.T)),
        (MIXED, inside),
        (RAY, _ray_of_rows(problem, floor.T)),
    ]
    known += [(RAY, one) for one in _rays(problem, floor.T)]
    if _rewarding(problem):
        known.append((RAY, kernel.anchor(problem, floor.y, ray=True, T=floor.T)))
    return [(name, one) for name, one in known if one is not None and one.T.size == floor.T.size]


def _centre(problem: Statement, y: Multipliers) -> Anchor | None:
    found = strictly_feasible(problem)
    if found is None and problem.order <= DENSE_EIGH:
        found = ascended(problem, [projected(problem, y)])
    return found


def _worth(problem: Statement, floor: Floor) -> float:
    """An estimate of the repaired bound: the bound of y itself if eps is tiny, else -inf."""
    norm = max(norm_bound(problem.cost), problem.cost_unit)
    eps = max(-floor.lower, 0.0) * float(np.min(floor.T, initial=1.0)) ** -2.0
    return -problem.conjugate_sum(floor.y) if eps <= LITTLE * norm and not definite(problem) else -np.inf


def definite(problem: Statement) -> bool:
    """Whether the cost is definite by more than rounding, so that zero multipliers are a centre."""
    return kernel.cost_floor(problem) + problem.regularizer.shift > SINGULAR * norm_bound(problem.cost)


def _rewarding(problem: Statement) -> bool:
    """Whether the cost rewards large kernels, as in unfolding: then a PSD slack has a ray."""
    small = problem.order <= DENSE_CHOLESKY and bool((problem.cost.diagonal() <= 0).all())
    return small and bool((problem.cost.diagonal() < 0).any())


def centre_at_zero(problem: Statement, T: Array) -> Anchor | None:
    """Zero multipliers, in units T of rows, if they lie in their boxes and the cost is proved definite."""
    nothing = not (problem.cost.data.any() or problem.regularizer.shift)
    if nothing or not np.isfinite(problem.conjugate_sum(zero := problem.no_multipliers)):
        return None
    if np.ptp(T) > 0 and can_factorise(problem.restrict(problem.cost)):
        known = problem.facts.get(centre_at_zero)
        if known is None or known[0] != T.tobytes():
            known = problem.facts[centre_at_zero] = (T.tobytes(), kernel.anchor(problem, zero, T=T))
        return known[1]
    floor = kernel.cost_floor(problem) + problem.regularizer.shift
    return Anchor(zero, np.ones(problem.order), floor) if 0 < floor < np.inf else None


def raised_diagonal(problem: Statement, y: Multipliers, by: Array) -> Multipliers | None:
    """Multipliers with one of each K_ii raised by the given numbers (n,); None if a point has none."""
    for losses in (True, False):
        covered, parts = np.zeros(problem.n, dtype=bool), list(y.terms)
        for k, term in enumerate(problem.terms):
            if (k < len(problem.losses)) != losses:
                continue
            where, points, share = _uncovered(term, covered)
            if where.size:
                new = parts[k].copy()
                new[where] += by[points] / share
                allowed = term.allows(new)
                parts[k] = np.where(allowed, new, parts[k])
                covered[points[allowed[where]]] = True
        if covered.all():
            return problem.split_multipliers(parts)
    return None


def diagonal_price(problem: Statement, y: Multipliers) -> Array | None:
    """The price of raising the slack's diagonal by one, for each point; None if no multipliers raise it."""
    higher = None if problem.basis is not None else raised_diagonal(problem, y, np.ones(problem.n))
    if higher is None:
        return None
    price = np.zeros(problem.n)
    for part, old, new in zip(problem.terms, y.terms, higher.terms, strict=True):
        where = np.flatnonzero(new != old)
        if where.size:
            t = part.functional.incidence
            point = np.zeros(part.functional.size, dtype=np.intp)
            point[t.owner] = t.row
            change = (new - old) * part.slope_of_conjugate(old)
            np.add.at(price, point[where], change[where])
    return np.maximum(price, 1e-12)


def _uncovered(term: Term, covered: Mask) -> tuple[Index, Index, Array]:
    """Positions, points and coefficients of the first value c K_ii, c > 0, of each point not yet covered."""
    where, points, share = diagonal_values(term.functional)
    points, first = np.unique(points, return_index=True)
    new = ~covered[points]
    return where[first[new]], points[new], share[first[new]]


def diagonal_values(f: Functional) -> tuple[Index, Index, Array]:
    """Positions, points and coefficients of the values c K_ii with c > 0."""
    where, i, j, c = single_entries(f)
    own = (i == j) & (c > 0)
    return where[own], i[own], c[own]


def _ray_of_rows(problem: Statement, T: Array) -> Anchor | None:
    """One K_ii with an upper bound for each row of the basis that points share; its matrix has share_i^2."""
    shared = None if problem.basis is None else problem.basis.shared
    if shared is None:
        return None
    (label, share), parts = shared, list(problem.no_multipliers.terms)
    covered = np.zeros(problem.order, dtype=bool)
    for k, part in enumerate(problem.terms):
        where, points, size = diagonal_values(part.functional)
        grows = np.isposinf(part.domain[1][where]) & (share[points] != 0)
        where, points, size = where[grows], points[grows], size[grows]
        groups, first = np.unique(label[points], return_index=True)
        new = ~covered[groups]
        chosen, point = where[first[new]], points[first[new]]
        parts[k][chosen] = T[groups[new]] ** -2.0 / (size[first[new]] * share[point] ** 2)
        covered[groups] = True
    ray = problem.split_multipliers(parts)
    return kernel.anchor(problem, ray, ray=True, T=T) if covered.all() else None


def _rays(problem: Statement, T: Array) -> tuple[Anchor, ...]:
    """Rays in units T of the rows, which hardly change from one certificate to the next."""
    known = problem.facts.get(_rays)
    if known is None or known[0] != T.tobytes():
        identity = _ray_of_identity(problem, T)
        found = (*_rays_of_squares(problem, T), *(() if identity is None else (identity,)))
        known = problem.facts[_rays] = (T.tobytes(), found)
    return known[1]


def _rays_of_squares(problem: Statement, T: Array) -> tuple[Anchor, ...]:
    """The trace, and over a basis all K_ii or all distances, or those of them that may grow without limit.

    Over centred kernels the Laplacian of a connected graph of distances is positive definite.
    """
    inside = problem.basis is not None and problem.basis.shared is None
    found: list[Anchor] = []
    for wanted in (_of_trace, _of_distances):
        for growing in (False, True):
            parts = []
            for part in problem.terms:
                own = wanted(part.functional, inside) * np.ones(part.functional.size)
                parts.append(own * np.isposinf(part.domain[1]) if growing else own)
            ray = problem.split_multipliers(parts)
            if any(part.any() for part in parts) and not any(
                all(map(np.array_equal, ray.terms, one.y.terms)) for one in found
            ):
                one = kernel.anchor(problem, ray, ray=True, T=T)
                found += [] if one is None else [one]
    return tuple(found)


def _of_trace(f: Functional, inside: bool) -> Array | float:
    if isinstance(f, Trace):
        return 1.0
    out = np.zeros(f.size)
    where, _, size = diagonal_values(f)
    out[where] = 1 / size if inside else 0.0
    return out


def _of_distances(f: Functional, inside: bool) -> float:
    return float(inside and isinstance(f, SquaredDistances))


def _ray_of_identity(problem: Statement, T: Array) -> Anchor | None:
    """Multipliers of equalities with sum y_e M_e near T^-2 by least squares; None if not near."""
    n = problem.n
    matrices = any(isinstance(part.functional, SparseMatrices) for part in problem.constraints)
    if not matrices or problem.basis is not None or problem.losses or n > DENSE_CHOLESKY:
        return None
    A = sp.vstack([part.functional.incidence.symmetric_operator() for part in problem.constraints])
    units = sp.diags_array(np.outer(T, T).ravel())  # T (sum y_e M_e) T is near the identity
    y = lsqr(units @ A.T, np.eye(n).ravel(), atol=1e-15, btol=1e-15)[0]
    y[np.abs(y) < NEARLY * np.max(np.abs(y))] = 0.0  # where nothing is added, nothing is rounded
    ones = problem.split_multipliers(np.split(y, np.cumsum(problem.sizes)[:-1]))
    if not all(
        part.allows(own).all() for part, own in zip(problem.constraints, ones.constraints, strict=True)
    ):
        return None
    return kernel.anchor(problem, ones, ray=True, T=T)
