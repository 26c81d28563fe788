"""Kills of processes that overwrite a saved file: ``python tests/files/kills.py --kills 300`` counts what is lost.

A child saves a problem or a solution over and over to one name; it is killed at a random moment, and the file
must be there, whole, and one that was written.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import npkl_models as nm

POINTS = 400


@dataclass
class Count:
    """What came of the kills."""

    kills: int = 0
    saves: int = 0
    amid: int = 0
    lost: list[str] = field(default_factory=list)

    def __str__(self) -> str:
        return (
            f"{self.kills} kills, {self.amid} of them amid a save, {self.saves} saves: {len(self.lost)} files lost "
            f"{self.lost[:3] or ''}"
        )


def kill(kind: str, kills: int, seed: int = 0) -> Count:
    """Kill children that save a "problem" or a "solution"."""
    count, drawn = Count(), random.Random(seed)
    with tempfile.TemporaryDirectory() as place:
        target = Path(place) / f"{kind}.npz"
        X = [[k / 20, float(k * k % 17)] for k in range(POINTS)]
        problem = nm.pcp(nm.laplacian(X, 5, shift=0.1), nm.Pairs(POINTS, [(0, 1), (3, 4)], [(2, 300)]))
        thing = problem.solve("bcd", max_iter=20) if kind == "solution" else problem
        thing.save(target)
        for _ in range(kills):
            _one(thing, target, count, drawn)
            try:
                found = type(thing).load(target)
                same = found.problem if kind == "solution" else found
                assert abs(same.cost - problem.cost).max() == 0
                assert kind == "problem" or (found.V == thing.V).all()
            except Exception as error:
                count.lost.append(f"{type(error).__name__}: {error}")
                thing.save(target)
    return count


def _one(thing: nm.Problem | nm.Solution, target: Path, count: Count, drawn: random.Random) -> None:
    """A child that saves until it is killed."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            while True:
                thing.save(target)
                os.write(writer, b".")
        finally:
            os._exit(1)
    os.close(writer)
    os.read(reader, 1)
    time.sleep(drawn.random() * 0.03)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while saves := os.read(reader, 4096):
        count.saves += len(saves)
    os.close(reader)
    count.kills, count.saves = count.kills + 1, count.saves + 1  # the first is told before the kill
    for part in target.parent.glob(".*.part"):
        count.amid += 1
        part.unlink()


def main() -> int:
    """Kill, and say what was lost."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    lost = 0
    for kind in ("problem", "solution"):
        count = kill(kind, options.kills // 2, options.seed)
        print(f"{kind}: {count}", flush=True)
        lost += len(count.lost)
    return 1 if lost else 0


if __name__ == "__main__":
    sys.exit(main())
