"""One bcd sweep in units of L @ V, numpy and compiled: ``python sweep.py [n] [r ...]``."""

import sys

import numpy as np
from common import problem, report, seconds, unit

from npkl_models.linalg.compile import available
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.bcd import BCDPlan

n = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
P = problem("two_gaussians", n)
for r in [int(a) for a in sys.argv[2:]] or [16, 64]:
    one = unit(P, r)
    V = np.random.default_rng(0).normal(size=(n, r)) / np.sqrt(r)
    found = {"n": n, "r": r, "unit_ms": round(1e3 * one, 3)}
    for kernel in ("numpy", "numba"):
        if kernel == "numba" and not available():
            continue
        engine = BCDPlan(P, BCDOptions(start=V, rank=r, kernel=kernel)).engine()
        found[f"{kernel}_units"] = round(seconds(lambda e=engine: e.sweeper.run(e.V), 5) / one, 2)
    report(benchmark="sweep", **found)
