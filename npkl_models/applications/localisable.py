"""Which points the distances alone locate: an assessment from two relaxations and their dual slacks."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from npkl_models.answer.solution import Solution, factor_of
from npkl_models.applications.located import aligned
from npkl_models.formulations.distances import positions
from npkl_models.formulations.known_distances import Anchors
from npkl_models.linalg import Array, Mask
from npkl_models.model.terms import LossTerm

LEFT = 0.1  # share of the mean squared distance of a point that may be left, or lie between the two
NULL = 1e-6  # eigenvalues of the slack, and changes of values, below this share of the largest count as zero
OUTSIDE = 1e-3  # share of a null vector of the slack at a sensor, beyond the kernel, that counts
DENSE = 2_000  # largest order of a slack whose null vectors are computed
NUMBERS = 20_000_000  # most numbers of the table of values on the null space
OTHERS = 100  # points from which distances are measured without anchors
INSIDE = 1e-6  # how far inside its domain a multiplier lies, relative to its size, that fixes its value


def localisable(both: list[Solution], mean: Array, d: int, known: Anchors | None) -> Mask:
    """Whether both relaxations locate a point, at one position (n,).

    ``mean`` are the mean squared distances of the points (n,), with which what is left is compared.
    """
    found = [positions(factor_of(solution, "kernel"), d, known) for solution in both]
    one, other = (X for X, _ in found)
    other = other if known is not None else aligned(other, one)
    out: Mask = np.sum((one - other) ** 2, axis=1) <= LEFT * mean
    for (_, left), solution in zip(found, both, strict=True):
        out &= (left <= LEFT * mean) & ~loose_points(solution, known)
    if known is not None:
        out[known.points] = True
    return out


def loose_points(solution: Solution, known: Anchors | None = None) -> Mask:
    """Points that other optimal kernels may move (n,).

    Every optimal kernel has its range in the null space N of an optimal slack. If that space is the range of
    the kernel (strict complementarity), no point is loose. Otherwise a point is loose if a null vector
    beyond that range moves it, and if a kernel N U N' with the same values also does. Above order 2,000 none
    is tested.
    """
    problem, y = solution.problem, solution.certificate.multipliers
    out = np.zeros(problem.n, dtype=bool)
    if problem.order > DENSE or solution.V is None:
        return out
    S = problem.restrict(problem.slack(y))
    values, vectors = np.linalg.eigh(S if isinstance(S, np.ndarray) else S.toarray())
    null = vectors[:, values <= NULL * max(float(np.max(np.abs(values))), problem.cost_unit)]
    W = problem.drop(solution.V)
    Q = np.linalg.svd(W, full_matrices=False)
    own = Q[0][:, Q[1] > NULL * Q[1][0]]
    beyond = problem.lift(null - own @ (own.T @ null))
    out = np.asarray(np.linalg.norm(beyond, axis=1) > OUTSIDE)
    return out & moved(solution, problem.lift(null), known) if out.any() else out


def moved(solution: Solution, N: Array, known: Anchors | None) -> Mask:
    """Points that some N U N' moves that changes no value that all optimal kernels share (n,).

    A multiplier strictly inside the domain of its loss fixes the value (the conjugate is smooth there), and
    equalities are fixed. A point moves if its distance from an anchor changes; without anchors, if most of
    its distances do. All points, if the table of the values is too large.
    """
    problem, y = solution.problem, solution.certificate.multipliers
    a, b = np.triu_indices(N.shape[1])
    rows, every = [], [*zip(problem.losses, y.losses, strict=True)]
    for part in problem.terms:
        own = next((fixed(term, at) for term, at in every if term is part), None)
        if part.functional.incidence.row.size * a.size > NUMBERS:
            return np.ones(problem.n, dtype=bool)
        t, size = part.functional.incidence, part.functional.size
        table = t.coefficient[:, None] * (N[t.row][:, a] * N[t.column][:, b])
        table += t.coefficient[:, None] * (N[t.row][:, b] * N[t.column][:, a])
        summed = (
            sp.csr_array((np.ones(t.row.size), (t.owner, np.arange(t.row.size))), (size, t.row.size)) @ table
        )
        rows.append(summed if own is None else summed[own])
    A = np.concatenate(rows) / np.where(a == b, 2.0, np.sqrt(2.0))
    s, Vt = np.linalg.svd(A)[1:] if len(A) else (np.zeros(0), np.eye(a.size))
    free = Vt[np.sum(s > NULL * np.max(s, initial=0.0)) :]
    far = np.unique(np.linspace(0, problem.n - 1, OTHERS).astype(np.intp)) if known is None else known.points
    change = np.zeros((problem.n, far.size))
    U = np.zeros((N.shape[1], N.shape[1]))
    for direction in free:
        U[a, b] = direction / np.where(a == b, 1.0, np.sqrt(2.0))
        U[b, a] = U[a, b]
        own = np.einsum("iq,iq->i", N @ U, N)
        change += (own[:, None] + own[far] - 2 * (N @ U) @ N[far].T) ** 2
    found = np.median(change, axis=1) if known is None else np.max(change, axis=1)
    return np.asarray(np.sqrt(found) > OUTSIDE)


def fixed(term: LossTerm, y: Array) -> Mask:
    """The values of a term that are the same at every optimal kernel (m,)."""
    low, high = term.loss.domain(term.target, term.weight)
    near = INSIDE * float(np.max(np.abs(y), initial=0.0))
    return np.asarray((y - low > near) & (high - y > near))
