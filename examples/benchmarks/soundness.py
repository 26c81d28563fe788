"""What a sound certificate costs: seconds of ``certify``, of this version and of another one, in one run.

``python soundness.py --before REVISION [NAME ...]`` checks that revision out into a temporary folder and
has both versions certify the same points in turn; a line of JSON for each set (medians of five). a1a and
a4a need NPKL_DATA_HOME.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

HERE = Path(__file__).resolve().parents[2]
SETS = ("iris", "a1a", "a4a", "two_gaussians")
TURNS = 5


def worker(name: str, where: str) -> None:
    """Certify the stored point; prints the seconds."""
    import numpy as np
    from common import problem

    import npkl_models as nm

    P = problem(name, 100_000 if name == "two_gaussians" else None)
    data = np.load(where)
    y = nm.Multipliers(tuple(data[f"y{k}"] for k in range(len(P.terms))))
    for line in sys.stdin:
        del line
        started = time.perf_counter()
        found = nm.certify(P, data["V"], y, kind="factor")
        print(json.dumps([time.perf_counter() - started, found.relative_gap, found.rigour]), flush=True)


def prepare(name: str, where: str) -> None:
    """Solve once and store the point."""
    import numpy as np
    from common import problem

    P = problem(name, 100_000 if name == "two_gaussians" else None)
    found = P.solve("burer_monteiro")
    y = P.derivatives(found.V)
    np.savez(where, V=found.V, **{f"y{k}": part for k, part in enumerate(y.terms)})


def main() -> None:
    """All sets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", default=SETS)
    parser.add_argument("--before", required=True)
    options = parser.parse_args()
    with checkout(options.before) as old:
        for name in options.names:
            compare(name, old, old.parent / f"{name}.npz")


@contextmanager
def checkout(revision: str) -> Iterator[Path]:
    """That version, in a folder that is there for so long."""
    with tempfile.TemporaryDirectory() as place:
        old = Path(place) / "before"
        tree = ["git", "-C", HERE, "worktree"]
        subprocess.run([*tree, "add", "-q", "--detach", old, revision], check=True)
        try:
            yield old
        finally:
            subprocess.run([*tree, "remove", "--force", old], check=True)


def compare(name: str, old: Path, where: Path) -> None:
    """Both versions in turn on one set."""
    prepare(name, str(where))
    running = {label: start(root, name, where) for label, root in (("before", old), ("after", HERE))}
    seconds: dict[str, list[float]] = {label: [] for label in running}
    last = {}
    for turn in range(TURNS + 1):
        for label, process in running.items():
            process.stdin.write("go\n")
            process.stdin.flush()
            took, gap, rigour = json.loads(process.stdout.readline())
            last[label] = (gap, rigour)
            if turn:  # the first one warms up
                seconds[label].append(took)
    for process in running.values():
        process.stdin.close()
        process.wait()
    before, after = (statistics.median(seconds[label]) for label in ("before", "after"))
    print(
        json.dumps(
            {
                "benchmark": "soundness", "data": name, "before_seconds": round(before, 4),
                "after_seconds": round(after, 4), "ratio": round(after / before, 2),
                "before": last["before"], "after": last["after"],
            }
        ),
        flush=True,
    )  # fmt: skip


def start(root: Path, name: str, where: Path) -> subprocess.Popen:
    """A process of that version."""
    command = [sys.executable, str(Path(__file__).resolve()), "--worker", name, str(where)]
    environment = {**os.environ, "PYTHONPATH": f"{root}{os.pathsep}{Path(__file__).resolve().parent}"}
    return subprocess.Popen(
        command, cwd="/", env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        worker(*sys.argv[2:])
    else:
        main()
