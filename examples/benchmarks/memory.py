"""Predicted memory of a solve against what a fresh process takes: ``python memory.py [n ...]``."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
from common import report

import npkl_models as nm

FORMS = {"simple_npkl": "simple_npkl", "sqlp": "basis", "mfpc": "basis"}
BACKENDS = ("interior", "sdp", "sdp_dual", "bcd", "burer_monteiro", "admm", "simple_npkl", "sqlp", "mfpc")
LIMITS = {
    "sdp": 100,
    "sdp_dual": 100,
}  # iterations: the peak is reached in the first ones, or at the certificate
SECONDS = 30
WARM = 16  # points of a solve before, which brings what is imported and compiled late
GEMM = 800  # order of a product before, which brings the buffers that BLAS keeps for each thread
SIZES = (150, 300, 600, 1000)
LARGEST = {"sdp": 600, "sdp_dual": 600}


def made(backend: str, n: int) -> nm.Problem:
    """Points of two classes on a noisy ring, so that no size has special structure."""
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, 5)) + 3 * y[:, None]
    L = nm.laplacian(X, n_neighbors=5, shift=0.1)
    pairs = nm.Pairs.from_labels(y, round(0.6 * n), round(0.6 * n), random_state=0)
    form = FORMS.get(backend, "pcp")
    if form == "simple_npkl":
        return nm.simple_npkl(L, pairs, trace_bound=float(n))
    problem = nm.pcp(L, pairs)
    return problem.with_basis(nm.eigenbasis(L, min(20, n - 2))) if form == "basis" else problem


def in_status(name: str) -> float:
    """Bytes of this process in memory now (VmRSS) or at most (VmHWM), as Linux counts them."""
    line = next(x for x in Path("/proc/self/status").read_text().splitlines() if x.startswith(name))
    return 1024.0 * float(line.split()[1])


def measured(backend: str, n: int) -> dict[str, float]:
    """In this process, which must be a fresh one."""
    limit = {"max_iter": LIMITS[backend]} if backend in LIMITS else {"time_limit": SECONDS}
    made(backend, WARM).solve(backend, **limit)
    np.ones((GEMM, GEMM)) @ np.ones((GEMM, GEMM))
    problem = made(backend, n)
    Path("/proc/self/clear_refs").write_text("5")  # the peak so far, of making the problem, is forgotten
    before = in_status("VmRSS")
    problem.solve(backend, **limit)
    measured = in_status("VmHWM") - before
    return {"predicted": nm.backends()[backend].cost(problem).bytes, "measured": measured}


def fresh(backend: str, n: int) -> dict[str, float]:
    """The same in a process of its own."""
    command = [sys.executable, __file__, "--one", backend, str(n)]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    found: dict[str, float] = json.loads(out.splitlines()[-1])
    return found


if sys.argv[1:2] == ["--one"]:
    print(json.dumps(measured(sys.argv[2], int(sys.argv[3]))))
else:
    rows = {}
    for backend in BACKENDS:
        for n in [int(word) for word in sys.argv[1:]] or SIZES:
            if n <= LARGEST.get(backend, n):
                one = fresh(backend, n)
                megabytes = {key: round(value / 1e6, 1) for key, value in one.items()}
                rows[f"{backend} {n}"] = megabytes | {"ratio": round(one["predicted"] / one["measured"], 2)}
    report(benchmark="memory", rows=rows)
