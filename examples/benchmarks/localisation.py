"""Sensor localisation beside the SDP: ``python localisation.py [--draws 3] [--long] [--folder FOLDER]``.

Sensors and anchors (one anchor for ten sensors) are uniform in the unit square. Two points measure their
distance, with a relative error of 5 %, if it is below the radio range, which gives 16 neighbours on average
(Biswas & Ye 2004; Wang, Zheng, Boyd & Ye 2008). A network with sensors that are joined to no anchor is drawn
again. Methods:

- ours: Localisation with its defaults. The relaxation, with a spread of 0.01, is certified to 1e-4, then
  refined in the plane.
- dual, scs, clarabel, interior: the same relaxation by ``sdp_dual`` with its default solver, by ``sdp`` with
  SCS (eps = 1e-5) or Clarabel, and by ``interior``.
- plain: the relaxation without spread, by the default backend.

A line for each size and method has the means over the draws: the root mean square error of the relaxation and
of the refinement, over the side of the square; CPU seconds with one thread; and the largest certified gap. A
method that is not certified within the limit, in seconds of the clock, counts as "unsolved"; a refusal or
an error is in "failed". CSDP is not run; ``problem.to_sdpa``
writes its files. With a folder, results are kept, and a second run does what is missing.
"""

import argparse
import os
import sys
import time
import warnings
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from common import report

import npkl_models as nm
from npkl_models.applications.located import Measured, refined
from npkl_models.formulations.distances import positions
from npkl_models.formulations.known_distances import radio_network
from npkl_models.task_cache import sweep

SIZES, LONG = (100, 200, 500, 1_000), (2_000, 5_000)
LARGEST = {"dual": 200, "scs": 200, "clarabel": 200, "interior": 200, "plain": 200}
NOISE, NEIGHBOURS = 0.05, 16


def network(n: int, draw: int):
    """A network whose sensors are all joined to an anchor, by the first seed from 1000 draw on."""
    m = n // 10
    radius = float(np.sqrt(NEIGHBOURS / (np.pi * (n + m))))
    for seed in range(1_000 * draw, 1_000 * draw + 1_000):
        known, X = radio_network(n, m, radius, noise=NOISE, random_state=seed)
        anchors = (np.arange(n, n + m), X[n:])
        try:
            nm.distances(known, n + m, anchors=anchors)
        except nm.ProblemError:
            continue
        return known, X, anchors
    raise RuntimeError("no joined network")


def error(found: np.ndarray, X: np.ndarray, n: int) -> float:
    """The root mean square error of the sensors."""
    return float(np.sqrt(np.mean(np.sum((found[:n] - X[:n]) ** 2, axis=1))))


def one(method: str, n: int, draw: int, limit: float) -> dict:
    """A method on a network."""
    warnings.simplefilter("ignore")
    known, X, anchors = network(n, draw)
    i, j, d = known
    spread = 0.0 if method == "plain" else 0.01
    penalty = -spread * float(d @ d) / len(X)
    began = time.process_time()
    problem = nm.distances(known, len(X), anchors=anchors, penalty=penalty)
    options = {"scs": {"solver": "SCS", "eps": 1e-5}, "clarabel": {"solver": "CLARABEL"}}.get(method, {})
    backends = {"scs": "sdp", "clarabel": "sdp", "dual": "sdp_dual", "interior": "interior"}
    backend = backends.get(method, "auto")
    solution = problem.solve(backend, tol=1e-4, time_limit=limit, **options)
    solved = time.process_time() - began
    out = {"solved": solution.status is nm.Status.OPTIMAL, "seconds": solved}
    if solution.V is None:
        return out
    relaxed = positions(solution.V, 2, anchors)[0]
    final = refined(relaxed, Measured.of(i, j, d, "relative"), np.arange(n))
    return out | {
        "gap": float(solution.certificate.relative_gap), "relaxed": error(relaxed, X, n),
        "refined": error(final, X, n), "with_refinement": time.process_time() - began,
        "distances": int(d.size),
    }  # fmt: skip


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a solver")
    parser.add_argument("--long", action="store_true", help="also 2,000 and 5,000 sensors")
    parser.add_argument("--folder", help="where results are kept")
    options = parser.parse_args()
    cases = [
        (n, method)
        for n in SIZES + (LONG if options.long else ())
        for method in ("ours", *LARGEST)
        if n <= LARGEST.get(method, n)
    ]
    for n, method in cases:
        tasks = {
            f"{method} {n} {draw}": partial(one, method, n, draw, options.limit)
            for draw in range(options.draws)
        }
        every = list(sweep(tasks, folder=options.folder).values())
        found = [r for r in every if isinstance(r, dict)]
        failed = sorted({r.error for r in every if not isinstance(r, dict)})
        whole = [r for r in found if r["solved"]]
        fields = {}
        for key in ("distances", "relaxed", "refined", "seconds", "with_refinement"):
            numbers = [r[key] for r in whole if key in r]
            fields[key] = round(float(np.mean(numbers)), 5) if numbers else None
        gaps = [r["gap"] for r in whole]
        report(
            n=n, method=method, draws=len(every), unsolved=len(every) - len(whole), failed=failed,
            largest_gap=f"{max(gaps):.1e}" if gaps else None, **fields,
        )  # fmt: skip
    return 0


if __name__ == "__main__":
    sys.exit(main())
