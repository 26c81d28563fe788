"""What was certified once, and is to stay so: ``python ledger.py [--sizes 20000,100000] [--draws 3]``.

Two Gaussians in 10 dimensions (means -1 and +1 in each column, classes alternating), 10 neighbours,
0.6 n + 0.6 n pairs, bcd. Work is counted, not timed, so that any machine may compare: a column of a sweep is
a unit over eight, and so is a product of the slack (or of what is left of it) with a vector in a certificate.
``ledger.json`` keeps the best count of each case and the commit that had it. A case that is slower by a third
than ever, or not certified, is printed with a mark, and the exit status is 1.

``--update`` writes improvements and cases that are new down; it takes no case away, and none is made worse.
``--graphs FOLDER`` keeps the neighbours of each size and draw there: an exact search takes 80 s at 100,000.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from common import unit

import npkl_models as nm
from npkl_models.linalg import Matrix
from npkl_models.proof.recurrence import Recurrence

LEDGER = Path(__file__).with_name("ledger.json")
COLUMNS = 8  # of a product in a unit
SLOWER = 4 / 3
FIRST_DRAW = 3
CASES = [  # formulation, gamma, shift
    ("pcp", 1.0, 0.0),
    ("pcp", 1.0, 0.1),
    ("pcp", 0.01, 0.0),
    ("pcp", 100.0, 0.0),
    ("npkl", 1.0, 0.1),
    ("npkl", 1.0, 0.0),
]


def affinity(n: int, draw: int, folder: Path | None, approximate: bool) -> Matrix:
    """The graph, from the folder if it is there."""
    kept = None if folder is None else folder / f"A_{n}_{draw}.npz"
    if kept is not None and kept.exists():
        return sp.csr_array(sp.load_npz(kept))
    X = np.random.default_rng(draw).normal(size=(n, 10)) + np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
    A = nm.knn_affinity(X, 10, search="approximate" if approximate else "exact")
    if kept is not None:
        sp.save_npz(kept, sp.csr_array(A))
    return A


def stated(A: Matrix, form: str, gamma: float, shift: float) -> nm.Problem:
    """The problem of a case."""
    n = A.shape[0]
    pairs = nm.Pairs.from_labels(np.arange(n) % 2, int(0.6 * n), int(0.6 * n), 7)
    L = nm.laplacian(A, shift=shift)
    return (
        nm.pcp(L, pairs, gamma=gamma)
        if form == "pcp"
        else nm.npkl(L, pairs, loss="squared_hinge", gamma=gamma)
    )


def counted(P: nm.Problem, limit: float, seed: int) -> tuple[nm.Solution, float, float]:
    """A solution, its units, and its seconds of the processor."""
    products = 0
    step = Recurrence.step

    def noted(self: Recurrence) -> float:
        nonlocal products
        products += 1
        return step(self)

    Recurrence.step = noted
    began = time.process_time()
    try:
        found = P.solve("bcd", tol=1e-6, time_limit=limit, random_state=seed)
    finally:
        Recurrence.step = step
    seconds = time.process_time() - began
    return found, (float(np.sum(found.history["rank"])) + products) / COLUMNS, seconds


def cases(sizes: list[int], draws: int) -> Iterator[tuple[int, int, str, float, float]]:
    """Size, draw, formulation, gamma, shift."""
    for n in sizes:
        for draw in range(FIRST_DRAW, FIRST_DRAW + draws):
            for form, gamma, shift in CASES:
                yield n, draw, form, gamma, shift


def main() -> int:
    """Run the cases, say what is worse than ever, write down what is better."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sizes", default="20000")
    parser.add_argument("--draws", type=int, default=1)
    parser.add_argument("--graphs", type=Path)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds for a case")
    parser.add_argument("--only", default="", help="cases whose name has this")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--approximate", action="store_true", help="neighbours")
    parser.add_argument("--update", action="store_true")
    options = parser.parse_args()
    known = json.loads(LEDGER.read_text()) if LEDGER.exists() else {}
    commit = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True, check=False
    ).stdout.strip()
    worse = 0
    for n, draw, form, gamma, shift in cases([int(size) for size in options.sizes.split(",")], options.draws):
        name = f"{form} gamma={gamma:g} shift={shift:g} n={n} draw={draw}"
        if options.only not in name:
            continue
        P = stated(affinity(n, draw, options.graphs, options.approximate), form, gamma, shift)
        found, units, seconds = counted(P, options.limit, options.seed)
        certified = found.certificate.certifies(1e-6) and found.status is nm.Status.OPTIMAL
        best = known.get(name, {}).get("units")
        mark = "" if certified else "NOT CERTIFIED"
        if best is not None and units > SLOWER * best:
            mark = (mark + f" SLOWER than {best:.0f}").strip()
        worse += bool(mark) and name in known
        print(
            f"{name}: {found.status.name}, {found.iterations} sweeps, {units:.0f} units, {seconds:.1f} s "
            f"(of the processor; L @ V takes {1e3 * unit(P, COLUMNS):.1f} ms), gap "
            f"{found.certificate.relative_gap:.1e}, {found.certificate.repair}  {mark}",
            flush=True,
        )
        if options.update and certified and (best is None or units < best):
            known[name] = {"units": round(units, 1), "commit": commit}
            LEDGER.write_text(json.dumps(dict(sorted(known.items())), indent=1) + "\n")
    return 1 if worse else 0


if __name__ == "__main__":
    raise SystemExit(main())
