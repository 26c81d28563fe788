"""Counted work beside processor seconds: ``python counted.py [--draws 3] [--seed 0]`` (OMP_NUM_THREADS=1).

What the default grants a run is counted in seconds of the machine that the constants were measured on,
certificates included. Each row is a backend on one form and size, ``draws`` sets of two Gaussians each: the
quartiles of processor seconds over counted ones. One is a perfect count on this machine; what matters is that
the ratios of different backends are alike.
"""

import argparse
import time

import numpy as np
from common import report

import npkl_models as nm
from npkl_models.solve.allowance import Allowance

FORMS = ("pcp", "hinge", "squared_hinge")
SIZES = (150, 600, 2_000, 8_000)
BACKENDS = ("bcd", "burer_monteiro", "admm")
LONG = 1e300  # seconds: another backend that would take so long never has its turn


def drawn(form: str, n: int, seed: int) -> nm.Problem:
    """Two Gaussians in ten dimensions, five neighbours, 0.6 n + 0.6 n pairs."""
    y = np.arange(n) % 2
    X = np.random.default_rng(seed).normal(size=(n, 10)) + np.where(y, 1.0, -1.0)[:, None]
    L, pairs = nm.laplacian(X, 5, shift=0.01), nm.Pairs.from_labels(y, int(0.6 * n), int(0.6 * n), seed)
    return nm.pcp(L, pairs) if form == "pcp" else nm.npkl(L, pairs, loss=form)


def ratio(problem: nm.Problem, backend: str, limit: float) -> float:
    """Processor seconds of a solve over what it counted, nan where it did nothing that is counted."""
    allowance = Allowance(other=LONG)
    program = problem.compile(backend, time_limit=limit)
    before = time.process_time()
    program.solve(allowance)
    took = time.process_time() - before
    return took / allowance.rows[-1][0] if allowance.rows and allowance.rows[-1][0] > 0 else float("nan")


def main() -> None:
    """A line of JSON for each backend, form and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--limit", type=float, default=20.0, help="seconds of a solve")
    given = parser.parse_args()
    for backend in BACKENDS:
        drawn("pcp", 100, 0).solve(backend)  # what is compiled is compiled now
        for form in FORMS:
            for n in map(int, given.sizes.split(",")):
                draws = range(given.seed, given.seed + given.draws)
                ratios = [ratio(drawn(form, n, seed), backend, given.limit) for seed in draws]
                low, middle, high = (round(float(q), 2) for q in np.nanquantile(ratios, [0.25, 0.5, 0.75]))
                quartiles = {"quarter": low, "median": middle, "three_quarters": high}
                report(benchmark="counted", backend=backend, form=form, n=n, draws=given.draws, **quartiles)


if __name__ == "__main__":
    main()
