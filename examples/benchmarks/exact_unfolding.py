"""Unfolding with distances kept exactly, on seven sets, beside CSDP: status, gap, violation, CPU seconds.

``python exact_unfolding.py [--sizes 100,200,400] [--draws 3] [--neighbors 5] [--csdp 200] [--cap 120]``.
Ours is the default; CSDP (Debian's coinor-csdp, with whatever BLAS the system has) gets the printed problem,
with 1'K1 = 0 in place of a basis, up to so many points. Its answer is judged as it is, at the same violation.
Both run on one thread, and each row is timed in the same process one after the other.
"""

import argparse
import shutil
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from common import report
from peers import cpu_of

import npkl_models as nm
from npkl_models.crosscheck.outside import judge_file
from npkl_models.data.synthetic import swiss_roll


def bundled(name: str) -> Callable[[int, int], np.ndarray]:
    """Different points of a data set, each feature over its standard deviation."""

    def draw(n: int, seed: int) -> np.ndarray:
        X = nm.datasets.load(name).X
        X = np.unique(X[np.random.default_rng(seed).permutation(len(X))[:n]], axis=0)
        return X / np.maximum(X.std(axis=0), 1e-9)

    return draw


def arc(n: int, seed: int) -> np.ndarray:
    """Points on a circle's arc, evenly spaced."""
    angle = np.linspace(0.0, 4.0 + 0.1 * seed, n)
    return np.column_stack([np.cos(angle), np.sin(angle)])


SETS: dict[str, Callable[[int, int], np.ndarray]] = {
    "arc": arc,
    "plane": lambda n, seed: np.random.default_rng(seed).random((n, 2)),
    "swiss roll": lambda n, seed: swiss_roll(n, random_state=seed, even=True)[0],
    "gaussians": lambda n, seed: np.random.default_rng(seed).normal(size=(n, 6)),
    "iris": bundled("iris"),
    "wine": bundled("wine"),
    "digits": bundled("digits"),
}


def csdp(X: np.ndarray, neighbors: int, cap: float) -> dict:
    """The answer of CSDP to the printed problem, judged as it is."""
    printed = nm.mvu(X, neighbors, components="connect", reduce=False)
    with tempfile.TemporaryDirectory() as at:
        folder = Path(at)
        printed.to_sdpa(folder / "p.dat-s")
        command = ["csdp", str(folder / "p.dat-s"), str(folder / "p.out")]
        try:
            seconds, _ = cpu_of(command, cap, folder)
            found = judge_file(folder / "p.dat-s", folder / "p.out")
        except Exception as error:  # the time limit, or no answer
            return {"csdp": type(error).__name__}
    known = found.certificate
    return {
        "csdp": str(found.status), "csdp_seconds": round(seconds, 3),
        "csdp_violation": float(f"{known.violation:.1e}"), "csdp_objective": round(found.objective, 6),
    }  # fmt: skip


def main() -> None:
    """A line for each set, size and draw."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", default="100,200,400")
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--neighbors", type=int, default=5)
    parser.add_argument("--csdp", type=int, default=200)
    parser.add_argument("--cap", type=float, default=120.0)
    given = parser.parse_args()
    nm.mvu(arc(20, 0), 2).solve()  # what is imported late is imported now
    for name, draw in SETS.items():
        for n in map(int, given.sizes.split(",")):
            for seed in range(given.draws):
                X = draw(n, seed)
                if len(X) < n // 2:
                    continue
                started = time.process_time()
                problem = nm.mvu(X, given.neighbors, components="connect")
                solution = problem.solve(time_limit=given.cap)
                seconds, known = time.process_time() - started, solution.certificate
                row = {
                    "benchmark": "exact unfolding", "set": name, "n": len(X), "draw": seed,
                    "order": problem.order, "distances": problem.constraints[0].functional.size,
                    "status": str(solution.status), "gap": float(f"{known.relative_gap:.1e}"),
                    "violation": float(f"{known.violation:.1e}"), "objective": round(solution.objective, 6),
                    "seconds": round(seconds, 3),
                }  # fmt: skip
                if shutil.which("csdp") and len(X) <= given.csdp:
                    row |= csdp(X, given.neighbors, given.cap)
                report(**row)


if __name__ == "__main__":
    main()
