"""What large weights cost the low-rank solvers: gamma = 100 beside gamma = 1, in units of L @ V.

``python weights.py [SET ...]`` (a4a, a7a; 50 neighbours, shift 0.1; any set), each form by bcd to a certified
1e-6. CPU seconds.
"""

import sys
import time

from common import NEIGHBORS, report, unit

import npkl_models as nm

FORMS = ("pcp", "squared_hinge", "hinge")


def main() -> None:
    """Run the table."""
    for name in sys.argv[1:] or ["a4a"]:
        data = nm.datasets.load(name)
        count = round(0.6 * data.n)
        L = nm.laplacian(data.X, NEIGHBORS.get(name, 5), shift=0.1)
        pairs = nm.Pairs.from_labels(data.y, count, count, 0)
        nm.npkl(L, pairs, loss="hinge").solve("bcd", max_iter=2)  # what is compiled is compiled now
        for form in FORMS:
            first = None
            for gamma in (1.0, 100.0):
                P = (
                    nm.pcp(L, pairs, gamma=gamma)
                    if form == "pcp"
                    else nm.npkl(L, pairs, loss=form, gamma=gamma)
                )
                one = unit(P, 8)
                started = time.process_time()
                found = P.solve("bcd", random_state=0, time_limit=300)
                units = (time.process_time() - started) / one
                first = first or units
                report(
                    benchmark="weights", data=name, n=P.n, form=form, gamma=gamma, units=round(units),
                    ratio=round(units / first, 1), status=found.status.name, iterations=found.iterations,
                    relative_gap=float(f"{found.certificate.relative_gap:.1e}"), rank=found.rank,
                    rigour=found.certificate.rigour,
                )  # fmt: skip


if __name__ == "__main__":
    main()
