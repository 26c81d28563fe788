"""What preconditions the Newton steps of the low-rank solvers: five ways, from the same point.

``python preconditioners.py [SET] [LOSS] [GAMMA] [SHIFT] [SWEEPS]``: bcd sweeps so often, then Newton steps on
the same smooth objective (multipliers and penalty held) until the residual is 1e-9, with the identity, the
r x r blocks of the rows, a factorisation of S + sigma I, and the blocks with the slack's ten lowest
eigenvectors deflated, and an incomplete factorisation of the losses' part of the Hessian. CPU seconds.
"""

import sys
import time
from collections.abc import Callable

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from common import report
from matrix import problem
from scipy.sparse.linalg import splu

from npkl_models.linalg import frobenius
from npkl_models.lowrank.factor.incomplete import IncompleteHessian
from npkl_models.lowrank.factor.lines import minimum, straight
from npkl_models.lowrank.factor.minimisers import truncated_newton
from npkl_models.lowrank.factor.objective import FactorObjective, Point
from npkl_models.lowrank.factor.preconditioners import HessianBlocks
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.bcd import BCDPlan

Inverse = Callable[[np.ndarray], np.ndarray]
LOW, STEPS, CAP = 10, 60, 40.0


def identity(f: FactorObjective, point: Point) -> Inverse:
    """Half of the gradient."""
    return lambda G: 0.5 * G


def blocks(f: FactorObjective, point: Point) -> Inverse:
    """Those of the rows."""
    return HessianBlocks(f.incidence).at(point.V, f.S(point.slope).diagonal(), point.bend)


def couplings(f: FactorObjective, point: Point) -> Inverse:
    """The incomplete factorisation of the losses' part of the Hessian."""
    rows = HessianBlocks(f.incidence)
    return IncompleteHessian(rows).at(point.V, f.S(point.slope).diagonal(), point.bend)


def slack(f: FactorObjective, point: Point) -> Inverse:
    """(S + sigma I)^-1 on each column, by a sparse factorisation."""
    S = sp.csc_array(f.S(point.slope))
    shift = 1e-3 * float(np.median(S.diagonal()))
    factor = splu(S + shift * sp.eye_array(S.shape[0], format="csc"), permc_spec="MMD_AT_PLUS_A")
    return lambda G: 0.5 * factor.solve(np.ascontiguousarray(G))


def deflated(f: FactorObjective, point: Point) -> Inverse:
    """The blocks, and an exact solution in the span of the slack's low eigenvectors times all columns."""
    inverse, product = blocks(f, point), f.hessian(point)
    U = scipy.linalg.eigh(f.S(point.slope).toarray(), subset_by_index=[0, LOW - 1])[1]
    r = point.W.shape[1]
    basis = [np.outer(u, e) for u in U.T for e in np.eye(r)]
    images = [product(B) for B in basis]
    inner = np.array([[float(np.sum(B * HB)) for HB in images] for B in basis])
    values, vectors = np.linalg.eigh(0.5 * (inner + inner.T))
    keep = values > 1e-8 * values[-1]
    coarse = (vectors[:, keep] / values[keep]) @ vectors[:, keep].T
    stacked = np.array(basis).reshape(len(basis), -1)
    return lambda G: inverse(G) + (stacked.T @ (coarse @ (stacked @ G.ravel()))).reshape(G.shape)


def residual(point: Point) -> float:
    """As the solvers measure it."""
    return 0.5 * frobenius(point.gradient) * frobenius(point.W) / (1 + 2 * abs(point.value))


def main() -> None:
    """Run the comparison."""
    usual = ("iris", "hinge", "100", "0.1", "700")
    name, loss, gamma, shift, sweeps = [*sys.argv[1:], *usual[len(sys.argv) - 1 :]]
    P = problem(name, loss, float(gamma), float(shift), 0)
    engine = BCDPlan(P, BCDOptions(random_state=0, newton=False)).engine()
    for _ in range(int(sweeps)):
        engine.iterate()
    f = FactorObjective(P)
    f.begin_with(engine.multipliers(), engine.model.beta)
    start = f.at(engine.V)
    for way in (identity, blocks, slack, deflated, couplings):
        started, point, products, steps = time.process_time(), start, 0, 0
        while residual(point) > 1e-9 and steps < STEPS and time.process_time() - started < CAP:
            inverse, product = way(f, point), f.hessian(point)
            count = 0

            def counted(D: np.ndarray, product: Inverse = product) -> np.ndarray:
                nonlocal count
                count += 1
                return product(D)

            size = float(np.sqrt(max(np.sum(point.gradient * inverse(point.gradient)), 1e-300)))
            D, _ = truncated_newton(counted, inverse, point.gradient, 0.1 * size, 300, np.inf)
            t = minimum(straight(f, point, D).at)
            products, steps = products + count, steps + 1
            if t == 0.0:
                break
            point = f.at(point.W + t * D)
        report(
            benchmark="preconditioners", data=name, loss=loss, gamma=float(gamma), shift=float(shift),
            columns=start.W.shape[1], first=float(f"{residual(start):.1e}"), way=way.__name__, steps=steps,
            products=products, seconds=round(time.process_time() - started, 2),
            residual=float(f"{residual(point):.1e}"),
        )  # fmt: skip


if __name__ == "__main__":
    main()
