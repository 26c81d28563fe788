"""What a user would otherwise write on the same factorised objective, to 1e-6 of the optimum, r given.

``python against_generic.py NAME r``: scipy's L-BFGS-B, and pymanopt's trust regions on PSDFixedRank
(``pip install pymanopt``; left out where it is missing). Same start, same gradient code, no certificate.
"""

import importlib.util
import sys
import time

import numpy as np
from common import problem, report
from scipy.optimize import minimize

from npkl_models.linalg.compile import available
from npkl_models.lowrank.factor.objective import FactorObjective

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


def pymanopt_seconds() -> float:
    """Seconds of pymanopt's trust regions to the goal."""
    import pymanopt

    f = FactorObjective(P)
    manifold = pymanopt.manifolds.PSDFixedRank(P.n, r)
    latest = {}

    def at(V):
        if latest.get("V") is None or not np.array_equal(latest["V"], V):
            latest.update(V=V.copy(), point=f.at(V))
        return latest["point"]

    @pymanopt.function.numpy(manifold)
    def cost(V):
        value = at(V).value
        if value <= goal:
            raise Reached
        return value

    @pymanopt.function.numpy(manifold)
    def gradient(V):
        return at(V).gradient

    @pymanopt.function.numpy(manifold)
    def hessian(V, D):
        return f.hessian(at(V))(D)

    problem = pymanopt.Problem(manifold, cost, euclidean_gradient=gradient, euclidean_hessian=hessian)
    solver = pymanopt.optimizers.TrustRegions(verbosity=0, max_iterations=5000, min_gradient_norm=0.0)
    started = time.perf_counter()
    try:
        solver.run(problem, initial_point=V0.copy())
    except Reached:
        return time.perf_counter() - started
    return float("nan")


found = {"lbfgsb": scipy_seconds(), "burer_monteiro": own_seconds("burer_monteiro")}
found["bcd_numpy"] = own_seconds("bcd", kernel="numpy")
if available():
    own_seconds("bcd", max_iter=1, kernel="numba")
    found["bcd_compiled"] = own_seconds("bcd", kernel="numba")
found["auto"] = own_seconds("auto")
if importlib.util.find_spec("pymanopt"):
    found["pymanopt"] = pymanopt_seconds()
times = {f"{k}_vs_lbfgsb": round(v / found["lbfgsb"], 2) for k, v in found.items()}
report(benchmark="against_generic", data=name, r=r, lbfgsb_seconds=round(found["lbfgsb"], 3), **times)
