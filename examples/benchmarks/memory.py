"""Predicted memory of a solve against what a fresh process takes: ``python memory.py [n ...]``.

``python memory.py --machines 8 100000`` counts what a sweep would send if eight machines had the rows of V.
"""

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


def pieces(X: np.ndarray, count: int) -> np.ndarray:
    """The machine of each point: halves along the longest principal axis, and halves of these."""
    owner = np.zeros(len(X), dtype=np.intp)
    for _ in range(int(np.log2(count))):
        for k in np.unique(owner):
            own = np.flatnonzero(owner == k)
            Y = X[own] - X[own].mean(axis=0)
            along = Y @ np.linalg.svd(Y, full_matrices=False)[2][0]
            owner[own] = 2 * k + (along > np.median(along))
    return owner


def sent(owner: np.ndarray, i: np.ndarray, j: np.ndarray) -> int:
    """Rows that machines receive: each machine once each row of another one that its own rows need."""
    here, there = np.concatenate([i, j]), np.concatenate([j, i])
    needed = np.stack([owner[here], there])[:, owner[here] != owner[there]]
    return np.unique(needed, axis=1).shape[1]


def exchanged(n: int, dimensions: int, machines: int, rank: int = 8) -> dict[str, float]:
    """Bytes of a sweep for a point: of the matrix and V, and what is sent for the graph and for the pairs."""
    rng = np.random.default_rng(3)
    y = np.arange(n) % 2
    X = rng.normal(size=(n, dimensions)) + 4 * y[:, None] / np.sqrt(dimensions)
    L = nm.laplacian(X, 10, shift=0.1).tocoo()
    pairs = nm.Pairs.from_labels(y, round(0.6 * n), round(0.6 * n), 3)
    owner, row = pieces(X, machines), 8 * rank
    return {
        "nonzeros": round(L.nnz / n, 1),
        "held": round(12 * L.nnz / n + row),
        "graph": round(row * sent(owner, L.row, L.col) / n, 1),
        "pairs": round(row * sent(owner, pairs.i, pairs.j) / n, 1),
        "flops": round(2 * rank * (L.nnz + 2 * len(pairs)) / n),
    }


if sys.argv[1:2] == ["--machines"]:
    machines, sizes = int(sys.argv[2]), [int(word) for word in sys.argv[3:]]
    found = {f"{n}, {d} dimensions": exchanged(n, d, machines) for n in sizes for d in (2, 3, 10)}
    report(benchmark="machines", machines=machines, bytes_for_a_point=found)
elif sys.argv[1:2] == ["--one"]:
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
