"""The default over a matrix of problems: is it certified, and how far behind the best backend?

``python matrix.py [SET ...] [--shifts 0.1 0.01 0.001] [--gammas 0.01 1 100] [--backends bcd,interior]``
prints a line of JSON for each problem: what the default chose, its gap and CPU seconds, and those of each
backend named. A set that is not here is left out with the reason.
"""

import argparse
import time

from common import report

import npkl_models as nm

FORMS = ("pcp", "square", "hinge", "squared_hinge")


def problem(name: str, form: str, gamma: float, shift: float, seed: int) -> nm.Problem:
    """Of a set, 5 nearest neighbours, 0.6 n must-links and 0.6 n cannot-links."""
    data = nm.datasets.load(name)
    count = round(0.6 * data.n)
    L, pairs = nm.laplacian(data.X, 5, shift=shift), nm.Pairs.from_labels(data.y, count, count, seed)
    return nm.pcp(L, pairs, gamma=gamma) if form == "pcp" else nm.npkl(L, pairs, loss=form, gamma=gamma)


def measured(P: nm.Problem, backend: str, cap: float, tol: float = 1e-6) -> dict:
    """CPU seconds, gap and status of one solve."""
    started = time.process_time()
    found = P.solve(backend, tol=tol, time_limit=cap)
    seconds = time.process_time() - started
    gap = found.certificate.relative_gap if found.V is not None else float("inf")
    return {
        "backend": found.backend,
        "seconds": round(seconds, 3),
        "gap": float(f"{gap:.1e}"),
        "status": found.status.name,
    }


def main() -> None:
    """Run the matrix."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["iris", "wine", "glass", "heart", "sonar"])
    parser.add_argument("--shifts", nargs="+", type=float, default=[0.1, 0.01, 0.001])
    parser.add_argument("--gammas", nargs="+", type=float, default=[0.01, 1.0, 100.0])
    parser.add_argument("--backends", default="")
    parser.add_argument("--cap", type=float, default=60.0)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    nm.npkl(*_tiny()).solve("bcd")  # what is compiled is compiled now
    nm.npkl(*_tiny()).solve("interior")
    for name in given.sets:
        for form in FORMS:
            for gamma in given.gammas:
                for shift in given.shifts:
                    try:
                        P = problem(name, form, gamma, shift, given.seed)
                    except OSError as error:
                        report(benchmark="matrix", data=name, skipped=str(error)[:80])
                        return
                    row = {"auto": measured(P, "auto", given.cap)}
                    row |= {b: measured(P, b, given.cap) for b in given.backends.split(",") if b}
                    report(benchmark="matrix", data=name, form=form, gamma=gamma, shift=shift, **row)


def _tiny() -> tuple:
    data = nm.datasets.load("iris")
    return nm.laplacian(data.X, 5, shift=0.1), nm.Pairs.from_labels(data.y, 20, 20, 0)


if __name__ == "__main__":
    main()
