"""Measure the constants of npkl_models/prediction.py on this machine, beside those in use."""

import numpy as np
from common import problem, report, seconds, unit

from npkl_models import prediction
from npkl_models.lowrank.rows import compiled
from npkl_models.lowrank.rows.bcd import BCDOptions, BCDProgram

P = problem("two_gaussians", 20_000)
r = 8
product = unit(P, r) / (P.cost.nnz * r)
V = np.random.default_rng(0).normal(size=(P.n, r)) / np.sqrt(r)
rows = {}
for kernel in ("numpy", "numba"):
    if kernel == "numba" and not compiled.available():
        continue
    engine = BCDProgram.compile(P, BCDOptions(start=V, rank=r, kernel=kernel)).engine
    rows[kernel] = (seconds(lambda e=engine: e.sweeper.run(e.V), 5) - product * P.cost.nnz * r) / P.n
small = problem("iris")
scs = seconds(lambda: small.solve("sdp", solver="SCS"), 1)
runs = {}
for backend in ("bcd", "burer_monteiro", "hybrid", "admm"):
    small.solve(backend)
    runs[backend] = {
        "iterations": small.solve(backend).iterations,
        "seconds": round(seconds(lambda b=backend: small.solve(b), 3), 3),
        "predicted": round(prediction.predict(backend, small).seconds, 3),
    }
report(
    benchmark="calibrate", PRODUCT=[product, prediction.PRODUCT],
    ROW_NUMPY=[rows["numpy"], prediction.ROW_NUMPY],
    ROW_COMPILED=[rows.get("numba"), prediction.ROW_COMPILED],
    SCS_SECONDS=[scs / small.n**3, prediction.SCS_SECONDS], iris=runs,
)  # fmt: skip
