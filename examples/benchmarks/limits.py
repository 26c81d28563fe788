"""How far each backend outlasts its time limit: ``python limits.py [SET ...] [--backends bcd,interior]``.

A line of JSON for each set, backend and limit: wall seconds from the call to the answer, how far that is
beyond the limit (percent of it, and seconds), how the run ended, and how long the program was set up.
The gap asked for, 1e-13, is met by nobody. What is compiled is compiled before. ``--limits 0.1,0.5,2,10``.
"""

import argparse
import time

from common import problem, report

import npkl_models as nm

BACKENDS = "bcd,burer_monteiro,hybrid,admm,interior,sdp,sdp_dual"
TOL = 1e-13


def measured(P: nm.Problem, backend: str, limit: float) -> dict:
    """One run under a limit."""
    started = time.perf_counter()
    found = P.solve(backend, tol=TOL, time_limit=limit)
    seconds = time.perf_counter() - started
    return {
        "seconds": round(seconds, 3), "beyond": round(max(0.0, seconds - limit), 3),
        "percent": round(100 * max(0.0, seconds / limit - 1), 1), "build": round(found.build_time, 3),
        "status": found.status.name, "iterations": found.iterations,
        "rigour": found.certificate.rigour if found.V is not None else "none",
    }  # fmt: skip


def main() -> None:
    """Every set with every backend and limit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["iris", "digits", "a1a"])
    parser.add_argument("--backends", default=BACKENDS)
    parser.add_argument("--limits", default="0.1,0.5,2,10")
    given = parser.parse_args()
    warm = problem("iris", delta=0.1)
    for backend in given.backends.split(","):
        warm.solve(backend, time_limit=5.0)
    for name in given.sets:
        P = problem(name, delta=0.1)
        for backend in given.backends.split(","):
            reason = nm.backends()[backend].reason(P) if hasattr(nm, "backends") else None
            if reason is not None:
                report(benchmark="limits", data=name, backend=backend, skipped=reason)
                continue
            for limit in map(float, given.limits.split(",")):
                row = {"benchmark": "limits", "data": name, "n": P.n, "backend": backend, "limit": limit}
                report(**row, **measured(P, backend, limit))


if __name__ == "__main__":
    main()
