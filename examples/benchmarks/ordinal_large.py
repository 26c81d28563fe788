"""Comparisons at size: ``python ordinal_large.py [--sizes 1000,4000] [--each 10] [--backends auto]``.

Points are normal in three dimensions. Each size has ``--each`` comparisons for a point, drawn at random. A
share ``--noise`` of them is turned round. The losses have a penalty of the trace of ``--share`` times the
largest one that does not give K = 0. A line has the backend, its CPU seconds with one thread, the certified
gap, its rigour, and the rank.
"""

import argparse
import os
import time
from itertools import product

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from common import report

import npkl_models as nm
from npkl_models.formulations.comparisons import ordinal_answers
from npkl_models.formulations.ordinal import largest_penalty


def main() -> None:
    """Run the lines."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--sizes", default="1000,4000,20000")
    parser.add_argument("--each", type=int, default=10)
    parser.add_argument("--noise", type=float, default=0.1)
    parser.add_argument("--share", type=float, default=0.4)
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--tol", type=float, default=1e-4)
    parser.add_argument("--limit", type=float, default=300.0, help="seconds of a solve")
    parser.add_argument("--backends", default="auto")
    parser.add_argument("--losses", default="logistic")
    options = parser.parse_args()
    for n in map(int, options.sizes.split(",")):
        for draw, loss in product(range(options.draws), options.losses.split(",")):
            problem = _drawn(n, draw, loss, options)
            for backend in options.backends.split(","):
                began = time.process_time()
                found = problem.solve(backend, tol=options.tol, time_limit=options.limit)
                report(
                    n=n, each=options.each, draw=draw, loss=loss, backend=found.backend,
                    status=found.status.name, seconds=round(time.process_time() - began, 2),
                    gap=f"{found.certificate.relative_gap:.1e}", rigour=found.certificate.rigour,
                    rank=found.rank, iterations=found.iterations,
                )  # fmt: skip


def _drawn(n: int, draw: int, loss: str, options: argparse.Namespace) -> nm.Problem:
    X = np.random.default_rng(draw).normal(size=(n, 3))
    rows = ordinal_answers(X, options.each * n, noise=options.noise, random_state=draw)
    top = largest_penalty(nm.ordinal(rows, n, loss=loss))
    return nm.ordinal(rows, n, loss=loss, penalty=options.share * top)


if __name__ == "__main__":
    main()
