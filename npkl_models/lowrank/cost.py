"""The predicted cost of the low-rank backends, from n, the entries of C, values, rank and basis."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from npkl_models.linalg import norm_bound
from npkl_models.lowrank.comparisons import compares
from npkl_models.lowrank.factor.centred_system import BLOCKS, FLOPS, restorable
from npkl_models.lowrank.factor.rank import auto_rank
from npkl_models.lowrank.factor.restored import FILLED
from npkl_models.lowrank.rows.extrapolation import MEMORY
from npkl_models.model.diagnosis import diagonal_weight
from npkl_models.model.facts import constrained, fact
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.matrices import SparseMatrices
from npkl_models.model.statement import Statement
from npkl_models.solve.cost import CALL, DENSE_SHARE, PRODUCT, Cost, product_entries, proof_bytes

ROW = 4e-7  # seconds per row of a sweep, without the product
SWEEPS, PRODUCTS = 60, 3.0  # until a certificate; products in a sweep and in the evaluation after it
VAST = 40_000_000  # numbers of a factor from which on a certificate needs the memory of the last iterates
FACTORS, MATRICES = 9, 4  # arrays of the size of a vast factor, and of the cost, that are held at once
VECTORS = 6e9  # bytes of the vectors of a certificate: the Lanczos basis, and Ritz vectors three times
USUAL_CONDITION = 10.0  # the `condition` if it is not estimated
SENSITIVITY, LONGER = 0.1, 2.4  # power of the condition, and factor (regret.py, 60 cells of a seed)
STIFFNESS, SPREAD_STIFF = 0.6, (0.1, 1000.0)  # power and factors for stiff distances (Swiss rolls to 2,000)
RESTORED, USUAL_ITERATIONS = 4.5e-3, 300  # seconds per point if lengths are restored (Swiss rolls to 5,000)
RESTORED_KINKS = 10.0  # factor for kinks in losses of distances (bounded_multipliers.py, 60 to 300 points)
KINKS_FROM, KINKS_POWER = 150.0, 1.7  # points above which this factor grows without anchors, and how fast
APART_SWEEP, APART_ROW = 1.3e-3, 4e-6  # seconds of a compiled sweep of distances, and of each of its rows
APART_SWEEPS = 12.0  # these sweeps per root of n (examples/benchmarks/distances.py, 60 to 1,000 points)
APART_STIFF = 30.0  # above this stiffness, Newton steps follow the sweeps of distances
COMPARED_PLACE = 1e-9  # seconds of a sweep for each number of a comparison in a row
COMPARED_PIECES, COMPARED_KINKS = 5.0, 3.0  # factors for kinks, with sweeps and with descents
DENSE_STEPS = 10.0  # number of factorisations of blocks of distances with a dense cost
SMOOTHING = 20  # products to estimate the smallest eigenvalue of C
WIDER = 3.0  # factor for tr K^p with p > 1, whose optimal kernels have many small eigenvalues
PROGRAMS = 30.0  # factor for constraints with any matrices: 1 on maxG11, over 70 on truss2 of SDPLIB


def factor_cost(problem: Statement, iterations: int, products: float = 3.0, row: float = 0.0) -> Cost:
    """The cost of iterations with so many products of C and V, and ``row`` seconds for each row of V.

    It grows if the weights are large or an eigenvalue of C is near zero, and for a kink in a loss or a
    constraint.
    """
    rank, entries = auto_rank(problem), product_entries(problem)
    seconds = iterations * iteration_seconds(problem, rank, products, row)
    seconds *= _growth(problem)
    power = problem.regularizer.spectral
    if power is not None and power.p > 1:
        seconds *= WIDER
    stiff = stiffness(problem)
    if stiff is not None:
        seconds *= float(np.clip(stiff**STIFFNESS, *SPREAD_STIFF))
        if restorable(problem) and problem.order * float(rank) ** 2 <= BLOCKS:
            restored = RESTORED * _kinks(problem) * problem.n * iterations / USUAL_ITERATIONS
            seconds = min(seconds, restored)
            if problem.cost.nnz * rank**2 <= FILLED:
                seconds += DENSE_STEPS * dense_step(problem)
    elif not restorable(problem):
        seconds *= LONGER * condition(problem) ** SENSITIVITY
    held_bytes = 8.0 * (40 * problem.n * rank + 8 * entries) + proof_bytes(problem.n)
    return Cost(seconds, held_bytes, anytime=True)


def _growth(problem: Statement) -> float:
    """The factor for kinks and constraints, and for the values that make them slow."""
    smooth = all(term.loss.smooth for term in problem.losses)
    if smooth and problem.regularizer.vacuous and not constrained(problem):
        return 1.0
    general = any(isinstance(term.functional, SparseMatrices) for term in problem.constraints)
    return _kinks(problem) * 2.0 * (COMPARED_KINKS if compares(problem) else PROGRAMS if general else 1.0)


def _kinks(problem: Statement) -> float:
    """The factor for kinks in losses of distances: without anchors, columns are added one by one."""
    if all(term.loss.smooth for term in problem.losses) or not restorable(problem):
        return 1.0
    free = 1.0 if problem.constraints else max(problem.n / KINKS_FROM, 1.0)
    return float(RESTORED_KINKS * free**KINKS_POWER)


def dense_cost(problem: Statement) -> bool:
    """Whether C has so many stored entries that its factors are full."""
    return bool(problem.cost.nnz > DENSE_SHARE * float(problem.n) ** 2)


def dense_step(problem: Statement) -> float:
    """Seconds of a factorisation of blocks of distances with a dense C; 0 if C is sparse."""
    if not dense_cost(problem):
        return 0.0
    return (problem.order * float(auto_rank(problem))) ** 3 / (3 * FLOPS)


def sweeping_cost(problem: Statement) -> Cost:
    """The cost of block coordinate descent; stiff distances add the cost of Newton steps."""
    if compares(problem):
        return compared_cost(problem)
    if any(isinstance(term.functional, SquaredDistances) for term in problem.losses):
        return _apart_cost(problem)
    found = factor_cost(problem, SWEEPS, row=ROW)
    numbers = float(problem.n) * auto_rank(problem)
    if numbers <= VAST:
        return found
    iterates = 8.0 * (MEMORY + 1) * numbers  # these and the vectors of a certificate are not held together
    held = 8.0 * (FACTORS * numbers + MATRICES * product_entries(problem)) + max(iterates, VECTORS)
    return replace(found, bytes=held)


def _apart_cost(problem: Statement) -> Cost:
    newton, sweeps = factor_cost(problem, USUAL_ITERATIONS), APART_SWEEPS * problem.n**0.5
    seconds = sweeps * sweep_seconds(problem, 1, True)
    if (stiffness(problem) or 0.0) > APART_STIFF:
        seconds += newton.seconds
    return Cost(seconds, newton.bytes, anytime=True)


def compared_cost(problem: Statement) -> Cost:
    """The cost of compiled sweeps over rows of comparisons of distances, with the looks."""
    base = factor_cost(problem, SWEEPS)
    places = 3.0 * sum(problem.sizes) * auto_rank(problem)
    kinked = 1.0 if all(term.loss.smooth for term in problem.losses) else COMPARED_PIECES
    return Cost(SWEEPS * kinked * COMPARED_PLACE * places, base.bytes, anytime=True)


def sweep_seconds(problem: Statement, rank: int, apart: bool) -> float:
    """Seconds of a sweep of entries, or of distances (``apart``)."""
    return APART_SWEEP + APART_ROW * problem.n if apart else iteration_seconds(problem, rank, PRODUCTS, ROW)


def iteration_seconds(problem: Statement, rank: int, products: float, row: float = 0.0) -> float:
    """Seconds of an iteration with a number of products, on a factor with ``rank`` columns."""
    return products * PRODUCT * product_entries(problem) * rank + problem.n * row + CALL


@fact
def stiffness(problem: Statement) -> float | None:
    """The stiffness of soft distances over (nearly) all centred kernels, in units of C; None without them."""
    parts = problem.terms
    if problem.basis is None or 2 * problem.order < problem.n or problem.constraints:
        return None
    if not all(isinstance(part.functional, SquaredDistances) for part in parts):
        return None
    stiff = [float(np.mean(4 * t.loss.curvature * t.weight * np.abs(t.target))) for t in problem.losses]
    return max(stiff) / (norm_bound(problem.cost) or 1.0)


@fact
def condition(problem: Statement) -> float:
    """An estimate of the largest weight over a floor of the spectrum of C, as first-order solvers meet it.

    The floor is a Rayleigh quotient after steps of Jacobi's iteration; shift and diagonal weights add to it.
    """
    C, x = problem.cost, np.ones(problem.n)
    own = C.diagonal()
    if problem.basis is not None or not problem.losses or not (own > 0).all():
        return USUAL_CONDITION
    for _ in range(SMOOTHING):
        step = np.abs(x - (C @ x) / own)
        largest = float(np.max(step))
        if not largest > 0:  # a diagonal cost, at the first step
            break
        x = step / largest
    floor = max(float(x @ (C @ x)) / float(x @ x), 0.0) + problem.regularizer.shift
    floor += float(np.min(diagonal_weight(problem)))
    weight = max(float(np.max(term.weight)) for term in problem.losses)
    return weight / max(floor, 1e-12 * weight)
