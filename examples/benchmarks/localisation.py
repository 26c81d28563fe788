"""Sensor localisation beside the SDP: ``python localisation.py [--draws 3] [--methods ours csdp]``.

Sensors and anchors (one anchor for ten sensors) are uniform in the unit square. Two points measure their
distance, with a relative error of 5 %, if it is below the radio range, which gives 16 neighbours on average
(Biswas & Ye 2004; Wang, Zheng, Boyd & Ye 2008). A network with sensors that are joined to no anchor is drawn
again. Methods:

- ours: Localisation with its defaults. The relaxation, with a spread of 0.01, is certified to 1e-4, then
  refined in the plane.
- dual, scs, clarabel, interior: the same relaxation by ``sdp_dual`` with its default solver, by ``sdp`` with
  SCS (eps = 1e-5) or Clarabel, and by ``interior``.
- csdp: the same relaxation by CSDP (Debian's coinor-csdp), written in the way of Biswas & Ye: the unknown of
  order n + 2, and for each distance a block [[s, r], [r, 1]] with r the residual and s >= r^2. Lengths are in
  units of the mean distance. Its answer is certified like every other.
- plain: the relaxation without spread, by the default backend.
- superlu: ours, whose sparse matrices are factorised by SuperLU even where CHOLMOD is installed.

A line for each size and method has the means over the draws: the root mean square error of the relaxation and
of the refinement, over the side of the square; CPU seconds with one thread of the relaxation, of the
refinement and of the uncertainty; and the largest certified gap. A
method that is not certified within the limit, in seconds of the clock (of CSDP: of the processor), counts as
"unsolved"; a refusal or an error is in "failed". With ``--folder``, results are kept, and a second run does
what is missing.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
import warnings
from functools import partial
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
from common import report
from peers import cpu_of, factor, kernel_and_x

import npkl_models as nm
from npkl_models.applications.located import Measured, refined, uncertainty
from npkl_models.formulations.distances import positions
from npkl_models.formulations.known_distances import radio_network
from npkl_models.linalg import cholesky
from npkl_models.task_cache import sweep

SIZES, LONG = (100, 200, 500, 1_000), (2_000, 5_000)
LARGEST = {"csdp": 500, "dual": 200, "scs": 200, "clarabel": 200, "interior": 200, "plain": 200}
NOISE, NEIGHBOURS = 0.05, 16
WORTH = cholesky.WORTH


def network(n: int, draw: int, neighbours: float = NEIGHBOURS):
    """A network whose sensors are all joined to an anchor, by the first seed from 1000 draw on."""
    m = n // 10
    radius = float(np.sqrt(neighbours / (np.pi * (n + m))))
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


def blocks(problem: nm.Problem) -> str:
    """The problem in SDPA's sparse format, with a block of order two for each squared residual."""
    N, term = problem.order, problem.terms[0]
    Q = sp.csr_array(problem.basis.Q)
    values = sp.coo_array(term.functional.operator(Q))
    m, fixed = term.functional.size, sum(e.functional.size for e in problem.constraints)
    lines, right = [], np.concatenate([term.target, np.ones(m), *(e.value for e in problem.constraints)])
    lines += [f"{right.size}", f"{m + 1}", f"{N} " + "2 " * m, " ".join(f"{b:.17g}" for b in right)]

    def entries(A: sp.coo_array, first: int, sign: float) -> list[str]:
        i, j = np.divmod(A.col, N)
        half = sign * np.where(i == j, A.data, 0.5 * A.data)
        upper = sp.coo_array((half, (A.row, np.minimum(i, j) * N + np.maximum(i, j))), shape=A.shape)
        own = upper.tocsr().tocoo()  # adds what is at the same place
        return [
            f"{e + first} 1 {at // N + 1} {at % N + 1} {x:.17g}"
            for e, at, x in zip(own.row, own.col, own.data, strict=True)
        ]

    cost = sp.coo_array(problem.restrict(problem.cost))
    lines += entries(
        sp.coo_array((cost.data, (0 * cost.row, cost.row * N + cost.col)), shape=(1, N * N)), 0, -1.0
    )
    lines += [f"0 {e + 2} 1 1 {-w:.17g}" for e, w in enumerate(np.broadcast_to(term.weight, m))]
    lines += entries(values, 1, 1.0)
    lines += [f"{e + 1} {e + 2} 1 2 -0.5" for e in range(m)]
    lines += [f"{m + e + 1} {e + 2} 2 2 1" for e in range(m)]
    at = 2 * m + 1
    for equality in problem.constraints:
        lines += entries(sp.coo_array(equality.functional.operator(Q)), at, 1.0)
        at += equality.functional.size
    assert at == 2 * m + fixed + 1
    return "\n".join(lines) + "\n"


def by_csdp(problem: nm.Problem, limit: float) -> dict:
    """CSDP's seconds, and the certificate of its answer."""
    if shutil.which("csdp") is None:
        raise RuntimeError("csdp is not installed")
    with tempfile.TemporaryDirectory() as at:
        Path(at, "p.dat-s").write_text(blocks(problem))
        try:
            seconds, _ = cpu_of(["csdp", "p.dat-s", "p.out"], limit, Path(at))
        except subprocess.TimeoutExpired:
            return {"solved": False, "seconds": limit}
        U, x = kernel_and_x(Path(at, "p.out"), problem.order)
    V, m = problem.lift(factor(U)), problem.terms[0].functional.size
    found = nm.certify(problem, V, kind="factor", tol=1e-4)
    return {
        "solved": found.certifies(1e-4), "seconds": seconds, "gap": float(found.relative_gap), "V": V,
        "constraints": x.size, "distances": m,
    }  # fmt: skip


def one(method: str, n: int, draw: int, limit: float, neighbours: float = NEIGHBOURS) -> dict:
    """A method on a network."""
    warnings.simplefilter("ignore")
    cholesky.WORTH = np.inf if method == "superlu" else WORTH
    known, X, anchors = network(n, draw, neighbours)
    i, j, d = known
    spread = 0.0 if method == "plain" else 0.01
    if method == "csdp":
        unit = float(d.mean())
        own = (anchors[0], anchors[1] / unit)
        scaled = nm.distances(
            (i, j, d / unit), len(X), anchors=own, penalty=-spread * float(d @ d) / unit**2 / len(X)
        )
        out = by_csdp(scaled, limit)
        V = out.pop("V", None)
        if V is None:
            return out
        relaxed = positions(V, 2, own)[0] * unit
        final = refined(relaxed, Measured.of(i, j, d, "relative"), np.arange(n))
        return out | {"relaxed": error(relaxed, X, n), "refined": error(final, X, n)}
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
    relaxed, measured = positions(solution.V, 2, anchors)[0], Measured.of(i, j, d, "relative")
    started = time.process_time()
    final = refined(relaxed, measured, np.arange(n))
    between = time.process_time()
    uncertainty(final, measured, np.arange(n))
    return out | {
        "gap": float(solution.certificate.relative_gap), "relaxed": error(relaxed, X, n),
        "refined": error(final, X, n), "refinement": between - started,
        "uncertainty": time.process_time() - between,
        "distances": int(d.size), "iterations": len(solution.history),
    }  # fmt: skip


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a solver")
    parser.add_argument("--long", action="store_true", help="also 2,000 and 5,000 sensors")
    every_method = ["ours", *LARGEST, "superlu"]
    parser.add_argument("--methods", nargs="+", default=every_method[:-1], choices=every_method)
    parser.add_argument("--sizes", type=int, nargs="+", help="numbers of sensors, in place of the usual ones")
    parser.add_argument("--neighbours", type=float, default=NEIGHBOURS, help="neighbours of a point")
    parser.add_argument("--folder", help="where results are kept")
    options = parser.parse_args()
    cases = [
        (n, method)
        for n in options.sizes or SIZES + (LONG if options.long else ())
        for method in options.methods
        if n <= LARGEST.get(method, n)
    ]
    dense = "" if options.neighbours == NEIGHBOURS else f" {options.neighbours:g}"
    for n, method in cases:
        tasks = {
            f"{method} {n} {draw}{dense}": partial(one, method, n, draw, options.limit, options.neighbours)
            for draw in range(options.draws)
        }
        every = list(sweep(tasks, folder=options.folder).values())
        found = [r for r in every if isinstance(r, dict)]
        failed = sorted({r.error for r in every if not isinstance(r, dict)})
        whole = [r for r in found if r["solved"]]
        fields = {}
        for key in ("distances", "relaxed", "refined", "seconds", "refinement", "uncertainty", "iterations"):
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
