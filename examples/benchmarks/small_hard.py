"""Small problems with equalities: CPU seconds of this version, of another checkout, and of CSDP.

``python small_hard.py [--beside CHECKOUT] [--sizes 20,40,60,80,100] [--draws 3]``. hard_pcp and the smallest
trace on random parts of three sets, contracted; the default backend, one thread, the best of three runs in a
warm process for each version; then CSDP (Debian's coinor-csdp) on the same files, the best of three. A line
for each form and size has medians over sets and draws.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from common import report
from peers import cpu_of

import npkl_models as nm

SETS = ("iris", "wine", "digits")


def stated(sizes: list[int], draws: int) -> Iterator[tuple[str, nm.Problem]]:
    """The problems, each with a key that begins with form and size."""
    for n in sizes:
        for name in SETS:
            for draw in range(draws):
                some = nm.datasets.load(name).subset(n, draw)
                pairs = nm.Pairs.from_labels(some.y, round(0.6 * n), round(0.6 * n), draw)
                yield f"hard_pcp {n} {name} {draw}", nm.hard_pcp(nm.laplacian(some.X, 5), pairs)
                yield f"min_trace {n} {name} {draw}", nm.hard_pcp(sp.eye_array(n, format="csr"), pairs)


def timed(sizes: list[int], draws: int) -> dict[str, tuple[float, str]]:
    """CPU seconds and status of each problem."""
    problems = dict(stated(sizes, draws))
    next(iter(problems.values())).solve()
    out = {}
    for key, problem in problems.items():
        best, status = np.inf, ""
        for _ in range(3):
            fresh = problem.with_basis(problem.basis) if problem.basis is not None else problem
            started = time.process_time()
            status = fresh.solve().status.name
            best = min(best, time.process_time() - started)
        out[key] = (best, status)
    return out


def of_version(checkout: str, given: argparse.Namespace) -> dict[str, tuple[float, str]]:
    """The times of the package in a checkout, in a process of its own."""
    command = [sys.executable, __file__, "--own", "--sizes", given.sizes, "--draws", str(given.draws)]
    places = os.pathsep.join([checkout, str(Path(__file__).parent)])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": places}, capture_output=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main() -> None:
    """A line for each form and size."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--beside", default=None)
    parser.add_argument("--sizes", default="20,40,60,80,100")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--own", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    sizes = [int(n) for n in given.sizes.split(",")]
    if given.own:
        print(json.dumps(timed(sizes, given.draws)))
        return
    columns = {"seconds": of_version(str(Path(__file__).parents[2]), given)}
    if given.beside:
        columns["beside"] = of_version(given.beside, given)
    if shutil.which("csdp"):
        with tempfile.TemporaryDirectory() as at:
            folder, columns["csdp"] = Path(at), {}
            for key, problem in stated(sizes, given.draws):
                problem.to_sdpa(folder / "p.dat-s")
                command = ["csdp", str(folder / "p.dat-s"), str(folder / "p.out")]
                columns["csdp"][key] = (min(cpu_of(command, 60.0, folder)[0] for _ in range(3)), "")
    groups = defaultdict(list)
    for key in columns["seconds"]:
        groups[tuple(key.split()[:2])].append(key)
    for (form, n), keys in groups.items():
        found = {
            name: round(float(np.median([column[key][0] for key in keys])), 4)
            for name, column in columns.items()
        }
        optimal = sum(columns["seconds"][key][1] == "OPTIMAL" for key in keys)
        report(benchmark="small hard", form=form, n=int(n), problems=len(keys), optimal=optimal, **found)


if __name__ == "__main__":
    main()
