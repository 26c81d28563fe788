"""``problem.solve()`` with nothing said: ``python default.py [n ...]``, two Gaussians in 10 dimensions.

pcp (no shift), npkl with the squared hinge and with the hinge (shift 0.1), gamma = 1, 0.6 n + 0.6 n
pairs, 10 neighbours: the backend that was chosen, its status and the certified gap, seconds, and the same
in units of one product ``L @ V`` with eight columns.
"""

import sys
import time

from common import NEIGHBORS, report, unit

import npkl_models as nm

for n in [int(a) for a in sys.argv[1:]] or [2_000, 20_000, 100_000]:
    data = nm.datasets.load("two_gaussians", n=n)
    pairs = nm.Pairs.from_labels(data.y, int(0.6 * n), int(0.6 * n), 0)
    bare, shifted = (nm.laplacian(data.X, NEIGHBORS["two_gaussians"], shift=s) for s in (0.0, 0.1))
    problems = {
        "pcp": nm.pcp(bare, pairs),
        "npkl squared hinge": nm.npkl(shifted, pairs, loss="squared_hinge"),
        "npkl hinge": nm.npkl(shifted, pairs, loss="hinge"),
    }
    for name, problem in problems.items():
        started = time.perf_counter()
        found = problem.solve()
        seconds = time.perf_counter() - started
        report(
            benchmark="default", n=n, problem=name, backend=found.backend, status=found.status.name,
            relative_gap=found.certificate.relative_gap, rigour=found.certificate.rigour,
            seconds=round(seconds, 2), units=round(seconds / unit(problem, 8)),
        )  # fmt: skip
