"""Solves of this version and of another one, in turn: ``python versions.py --before REVISION [SET ...]``.

Each version runs in a process of its own, one solve at a time, on one thread of BLAS; pcp, hinge and squared
hinge at gamma 1 and 100, shift 0.1, by bcd, burer_monteiro and interior (this one up to 500 points). A line
of JSON for each case, with the least CPU seconds of ``--turns`` solves, and the quantiles of their ratios.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
SETS = ("iris", "wine", "digits")
FORMS = ("pcp", "hinge", "squared_hinge")
BACKENDS = ("bcd", "burer_monteiro", "interior")
LARGEST = 500  # points for interior


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """Another version, in a folder that exists for the block."""
    with tempfile.TemporaryDirectory() as place:
        old, tree = Path(place) / "before", ["git", "-C", HERE, "worktree"]
        subprocess.run([*tree, "add", "-q", "--detach", old, revision], check=True)
        try:
            yield old
        finally:
            subprocess.run([*tree, "remove", "--force", old], check=True)


def worker() -> None:
    """Solve what is asked for on a line; print CPU seconds, iterations and status."""
    from matrix import problem

    for line in sys.stdin:
        name, form, gamma, backend = json.loads(line)
        P = problem(name, form, gamma, 0.1, 0)
        if backend == "interior" and P.n > LARGEST:
            print("null", flush=True)
            continue
        started = time.process_time()
        found = P.solve(backend, time_limit=60.0)
        took = time.process_time() - started
        print(json.dumps([took, found.iterations, found.status.name]), flush=True)


def begun(root: str) -> subprocess.Popen:
    """A worker of the version in that folder, with the problems of this one."""
    one = {"PYTHONPATH": f"{root}{os.pathsep}{HERE / 'examples' / 'benchmarks'}", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, __file__, "--worker"]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, env=os.environ | one, stdin=pipe, stdout=pipe, text=True, cwd=root)


def asked(process: subprocess.Popen, case: tuple) -> list | None:
    """What a worker says of a case."""
    process.stdin.write(json.dumps(case) + "\n")
    process.stdin.flush()
    return json.loads(process.stdout.readline())


def main() -> None:
    """All cases, in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=SETS)
    parser.add_argument("--before")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--worker", action="store_true")
    given = parser.parse_args()
    if given.worker:
        worker()
        return
    if given.before is None:
        parser.error("--before REVISION says which other version")
    cases = [(n, f, g, b) for n in given.names for f in FORMS for g in (1.0, 100.0) for b in BACKENDS]
    ratios = []
    with checkout(given.before) as old:
        both = [begun(str(old)), begun(str(HERE))]
        for case in cases:
            rows = [[asked(process, case) for process in both] for _ in range(given.turns + 1)][1:]
            if rows[0][0] is None or rows[0][1] is None:
                continue
            before, after = (min(row[k][0] for row in rows) for k in (0, 1))
            ratios.append(after / before)
            report = {
                "benchmark": "versions",
                "case": case,
                "before": round(before, 4),
                "after": round(after, 4),
            }
            print(json.dumps(report | {"ratio": round(ratios[-1], 2), "last": rows[-1]}), flush=True)
        for process in both:
            process.stdin.close()
            process.wait()
    ratios.sort()
    at = {
        f"{q}": round(ratios[min(int(q * len(ratios)), len(ratios) - 1)], 2)
        for q in (0.0, 0.25, 0.5, 0.75, 0.9, 1.0)
    }
    print(json.dumps({"benchmark": "versions", "cases": len(ratios), "quantiles": at}))


if __name__ == "__main__":
    main()
