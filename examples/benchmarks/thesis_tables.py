"""Wu 2011, Tables 3.1 and 3.2: ``thesis_tables.py {swiss_roll,digits,usps} [s ...] [--cap S] [--width W]``.

A line of JSON for each size s and program; USPS needs NPKL_DATA_HOME, scikit-learn's digits take its place.
The width is the thesis', "last": the mean distance to the 20th neighbour; or "auto", that of the library.
With --ranks only the ranks of A are printed, in svec(U) and, as in the thesis, in vec(U).
Every run has a cap on its seconds; a program that is predicted not to fit is left out, with the prediction.
"""

import argparse
import time

import numpy as np
from common import report

import npkl_models as nm
from npkl_models.printed.sqlp import quadratic_ranks

SIZES = (10, 15, 20, 25, 30, 35, 40, 50, 60, 80, 100)
NU = 100.0


def problems(name: str, width: str):
    """Size -> problem of the table."""
    if name == "swiss_roll":
        X = nm.datasets.load("swiss_roll", n=2000, random_state=2).X
        return lambda s: nm.reg_mvu(X, 4, s, NU)
    data = nm.datasets.load(name)
    first = np.concatenate([np.flatnonzero(data.y == c)[:200] for c in range(10)])
    L, pairs = (
        nm.laplacian(data.X[first], 20, sigma=width),
        nm.Pairs.per_class(data.y[first], 20, 20, random_state=0),
    )
    return lambda s: nm.reg_pcp(nm.eigenbasis(L, s), pairs)


parser = argparse.ArgumentParser()
parser.add_argument("name", nargs="?", default="digits", choices=("swiss_roll", "digits", "usps"))
parser.add_argument("sizes", nargs="*", type=int, default=SIZES)
parser.add_argument("--cap", type=float, default=120.0)
parser.add_argument("--width", default="last", choices=("last", "auto"))
parser.add_argument("--ranks", action="store_true")
given = parser.parse_args()
build = problems(given.name, given.width)
for s in given.sizes:
    problem = build(s)
    if given.ranks:
        report(benchmark="thesis_tables", data=given.name, s=s, **quadratic_ranks(problem)._asdict())
        continue
    for backend in ("scsdp", "sqlp", "qsdp", "mfpc", "burer_monteiro"):
        row = {"benchmark": "thesis_tables", "data": given.name, "s": s, "backend": backend}
        cost = nm.backends()[backend].cost(problem)
        if cost.seconds > 3 * given.cap:
            report(**row, skipped=f"predicted {cost}")
            continue
        started = time.perf_counter()
        try:
            program = problem.compile(backend, time_limit=given.cap)
        except nm.UnsupportedError as error:
            report(**row, skipped=str(error))
            continue
        solution = program.solve()
        seconds = time.perf_counter() - started
        rank = getattr(getattr(program.plan, "quadratic", None), "rank", None)
        report(
            **row, status=solution.status.name, seconds=round(seconds, 2), iterations=solution.iterations,
            rank_of_A=rank, objective=solution.objective, **(
                {"relative_gap": solution.certificate.relative_gap, "rank": solution.rank}
                if solution.V is not None else {}
            ),
        )  # fmt: skip
