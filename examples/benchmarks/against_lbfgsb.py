"""The same factorised objective by scipy's L-BFGS-B, to 1e-6 of the optimum, r given.

``python against_lbfgsb.py NAME r``; seconds to reach the objective, without any certificate.
"""

import sys
import time

import numpy as np
from common import problem, report
from scipy.optimize import minimize

from npkl_models.lowrank import compiled
from npkl_models.lowrank.objective import FactorObjective

name = sys.argv[1] if len(sys.argv) > 1 else "digits"
r = int(sys.argv[2]) if len(sys.argv) > 2 else 10
P = problem(name)
best = P.solve("burer_monteiro", tol=1e-8).objective
goal = best + 1e-6 * abs(best)
V0 = np.random.default_rng(0).normal(size=(P.n, r)) / np.sqrt(r)


class Reached(Exception):
    """The goal is reached."""


def scipy_seconds() -> float:
    """Seconds of scipy's L-BFGS-B to the goal."""
    f = FactorObjective(P)
    started = time.perf_counter()

    def value_and_gradient(x):
        point = f.at(x.reshape(V0.shape))
        if point.value <= goal:
            raise Reached
        return point.value, point.gradient.ravel()

    try:
        options = {"maxiter": 20_000, "maxfun": 40_000, "ftol": 0, "gtol": 0}
        minimize(value_and_gradient, V0.ravel(), jac=True, method="L-BFGS-B", options=options)
    except Reached:
        return time.perf_counter() - started
    return float("nan")


def own_seconds(backend: str, **options) -> float:
    """Seconds of a backend to the goal, from the same start."""
    reached = []
    started = time.perf_counter()

    def there(state):
        if state.objective <= goal:
            reached.append(time.perf_counter() - started)
            return True
        return False

    P.solve(backend, start=V0, rank=r, tol=1e-12, callback=there, **options)
    return reached[0] if reached else float("nan")


found = {"lbfgsb": scipy_seconds(), "burer_monteiro": own_seconds("burer_monteiro")}
found["bcd_numpy"] = own_seconds("bcd", kernel="numpy")
if compiled.available():
    own_seconds("bcd", max_iter=1, kernel="numba")
    found["bcd_compiled"] = own_seconds("bcd", kernel="numba")
times = {f"{k}_vs_lbfgsb": round(v / found["lbfgsb"], 2) for k, v in found.items()}
report(benchmark="against_lbfgsb", data=name, r=r, lbfgsb_seconds=round(found["lbfgsb"], 3), **times)
