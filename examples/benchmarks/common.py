"""What the benchmarks share: problems, and the unit of time - one product ``L @ V``."""

from __future__ import annotations

import json
import resource
import statistics
import time

import numpy as np
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
import npkl_models.linalg.compile as compile_room
import npkl_models.routes

for _loop in getattr(getattr(compile_room, "Loop", None), "every", ()):  # an earlier version has none
    _loop.prepare()  # what is timed is timed with compiled loops, on a new machine too

NEIGHBORS = {"a1a": 50, "a2a": 50, "a4a": 50, "a7a": 50, "two_gaussians": 10}


def problem(name: str, n: int | None = None, delta: float = 0.0) -> nm.Problem:
    """Pcp, gamma = 1, with 0.6 n + 0.6 n pairs, on the graph that the papers use for the set."""
    data = nm.datasets.load(name, **({"n": n} if n else {}))
    X = StandardScaler().fit_transform(data.X) if name == "digits" else data.X
    pairs = nm.Pairs.from_labels(data.y, int(0.6 * data.n), int(0.6 * data.n), 0)
    return nm.pcp(nm.laplacian(X, NEIGHBORS.get(name, 5), shift=delta, search="exact"), pairs)


def unit(P: nm.Problem, r: int, repeats: int = 15) -> float:
    """Median seconds of one product L @ V with r columns."""
    V = np.random.default_rng(0).normal(size=(P.n, r))
    return seconds(lambda: P.cost @ V, repeats)


def seconds(call, repeats: int) -> float:
    """Median seconds of a call, after one that is not counted."""
    call()
    taken = []
    for _ in range(repeats):
        started = time.perf_counter()
        call()
        taken.append(time.perf_counter() - started)
    return statistics.median(taken)


def report(**fields) -> None:
    """One line of JSON, with the peak memory of the process in GB."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    print(json.dumps(fields | {"peak_gb": round(peak, 2)}), flush=True)
