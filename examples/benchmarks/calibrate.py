"""Measure the constants of the costs (solve, lowrank, conic) on this machine, beside those in use."""

import numpy as np
from common import problem, report, seconds, unit

import npkl_models as nm
from npkl_models.conic.cost import SCS_SECONDS
from npkl_models.lowrank.cost import ROW
from npkl_models.lowrank.options import BCDOptions
from npkl_models.lowrank.rows.bcd import BCDPlan
from npkl_models.solve.cost import PRODUCT

P = problem("two_gaussians", 20_000)
r = 8
product = unit(P, r) / (P.cost.nnz * r)
V = np.random.default_rng(0).normal(size=(P.n, r)) / np.sqrt(r)
engine = BCDPlan(P, BCDOptions(start=V, rank=r)).engine()
row = (seconds(lambda: engine.sweeper.run(engine.V), 5) - product * P.cost.nnz * r) / P.n
small = problem("iris")
scs = seconds(lambda: small.solve("sdp", solver="SCS"), 1)
runs = {}
for backend in ("bcd", "burer_monteiro", "hybrid", "admm"):
    small.solve(backend)
    runs[backend] = {
        "iterations": small.solve(backend).iterations,
        "seconds": round(seconds(lambda b=backend: small.solve(b), 3), 3),
        "predicted": round(nm.backends()[backend].cost(small).seconds, 3),
    }
report(
    benchmark="calibrate", PRODUCT=[product, PRODUCT],
    ROW=[row, ROW],
    SCS_SECONDS=[scs / small.n**3, SCS_SECONDS], iris=runs,
)  # fmt: skip
