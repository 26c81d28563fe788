"""How time and memory grow: ``python scaling.py [--sizes 2000,20000,100000] [--losses pcp,hinge] ...``.

Two Gaussians in 10 dimensions (means -1 and +1 in each column, classes alternating), 10 neighbours, 0.6 n +
0.6 n pairs, `solve()` with nothing said but a time limit; each cell in a process of its own. CPU seconds with
one BLAS thread, of the graph, the solve and the certificates within it; ``units`` are products of C with 8
columns; ``peak_gb`` is the process's memory; ``exponent`` is that of the solve's seconds from the size
before. ``status`` and ``gap`` say what is not certified. With ``--graphs FOLDER`` graphs are kept there;
``graph`` is then the search's time where it was done, and that of reading where it was not.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from common import report, unit

import npkl_models as nm
from npkl_models.solve import watch


def cell(n: int, loss: str, gamma: float, shift: float, draw: int, limit: float, graphs: str | None) -> dict:
    """Seconds, gap and shares of one solve."""
    X = np.random.default_rng(draw).normal(size=(n, 10)) + np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    began = time.process_time()
    kept = None if graphs is None else Path(graphs) / f"graph-{n}-{draw}.npz"
    A = sp.load_npz(kept) if kept is not None and kept.exists() else nm.knn_affinity(X, 10)
    if kept is not None:
        kept.parent.mkdir(parents=True, exist_ok=True)
        sp.save_npz(kept, A)
    L = nm.laplacian(A, shift=shift)
    graph = time.process_time() - began
    pairs = nm.Pairs.from_labels(np.arange(n) % 2, int(0.6 * n), int(0.6 * n), 7)
    P = nm.pcp(L, pairs, gamma=gamma) if loss == "pcp" else nm.npkl(L, pairs, loss=loss, gamma=gamma)
    proved, prove = 0.0, watch.prove

    def timed(*given: object) -> object:
        nonlocal proved
        before = time.process_time()
        try:
            return prove(*given)
        finally:
            proved += time.process_time() - before

    watch.prove = timed
    began = time.process_time()
    found = P.solve(time_limit=limit)
    seconds = time.process_time() - began
    return {
        "seconds": round(seconds, 2), "units": round(seconds / unit(P, 8)), "graph": round(graph, 2),
        "certificates": round(proved, 2), "backend": found.backend, "status": found.status.name,
        "gap": float(f"{found.certificate.relative_gap:.1e}"), "rigour": found.certificate.rigour,
    }  # fmt: skip


def main() -> None:
    """Run the table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sizes", default="2000,20000,100000")
    parser.add_argument("--losses", default="pcp,squared_hinge,hinge")
    parser.add_argument("--gammas", default="1,100")
    parser.add_argument("--shift", type=float, default=0.1)
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--limit", type=float, default=200.0)
    parser.add_argument("--graphs", help="folder that keeps neighbours")
    parser.add_argument("--cell", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.cell:
        n, loss, gamma, draw = json.loads(given.cell)
        report(**cell(n, loss, gamma, given.shift, draw, given.limit, given.graphs))
        return
    one = os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    for loss in given.losses.split(","):
        for gamma in map(float, given.gammas.split(",")):
            for draw in range(3, 3 + given.draws):
                before: tuple[int, float] | None = None
                for n in map(int, given.sizes.split(",")):
                    asked = ["--cell", json.dumps([n, loss, gamma, draw]), "--shift", str(given.shift)]
                    command = [sys.executable, __file__, *asked, "--limit", str(given.limit)]
                    command += ["--graphs", given.graphs] if given.graphs else []
                    done = subprocess.run(command, env=one, capture_output=True, text=True, check=False)
                    row = {"benchmark": "scaling", "n": n, "loss": loss, "gamma": gamma, "draw": draw}
                    if done.returncode:
                        print(
                            json.dumps(row | {"failed": done.stderr.strip().splitlines()[-1][:100]}),
                            flush=True,
                        )
                        break
                    found = json.loads(done.stdout.splitlines()[-1])
                    if before is not None:
                        times, larger = found["seconds"] / before[1], n / before[0]
                        found["exponent"] = round(math.log(times) / math.log(larger), 2)
                    print(json.dumps(row | found), flush=True)
                    before = n, max(found["seconds"], 1e-3)


if __name__ == "__main__":
    main()
