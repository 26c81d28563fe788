"""The adversary's own command: ``python tests/adversary/run.py --minutes 30`` tries until the time is up.

Prints what it tried and every false claim, foreign exception and hang; its exit status is 1 if there was any.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from hypothesis import HealthCheck, Phase, given, seed, settings

import npkl_models as nm
from adversary.strategies import problems
from adversary.told import comparisons, sensors
from adversary.trial import Tally, Trial

DRAWN = (problems, problems, comparisons, problems, sensors)  # what batch after batch draws
BATCH = 10  # problems from one seed: hypothesis likes to vary what it has


def drawn(number: int):
    """What a batch draws; of those that solve, which are every fifth, each kind has its turn."""
    return DRAWN[(number + number // len(DRAWN)) % len(DRAWN)]


def attack(number: int, size: int, rounds: int, solving: bool, deadline: float = float("inf")) -> Tally:
    """Try ``size`` problems; with ``solving`` every backend on each."""
    tally = Tally()

    @seed(number)
    @settings(
        max_examples=size, database=None, deadline=None, derandomize=False, phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    @given(drawn(number)(largest=6 if number % 4 else 12))
    def once(problem) -> None:
        if time.time() > deadline:
            return
        tally.counts["problems"] += 1
        trial = Trial(problem, tally)
        trial.certificates(np.random.default_rng(number), rounds)
        if solving:
            trial.solves()

    once()
    return tally


def _batch(arguments: tuple[int, int, bool, float]) -> Tally:
    number, rounds, solving, deadline = arguments
    return attack(number, BATCH, rounds, solving, deadline)


def compiled() -> None:
    """Compile the row kernels: that is nobody's solving, and no hang."""
    nm.Problem(np.eye(2), nm.LossTerm(nm.Entries(2, ([0], [1])), "hinge", 1.0)).solve("bcd")


def main() -> int:
    """Run until the time is up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--every", type=int, default=5, help="batches of certificates for one that solves as well"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    started, total, number = time.time(), Tally(), options.seed
    deadline = started + 60 * options.minutes
    with ProcessPoolExecutor(options.processes, initializer=compiled) as pool:
        while time.time() < deadline:
            jobs = [
                (number + k, 2, (number + k) % options.every == 0, deadline)
                for k in range(options.processes * 16)
            ]
            for tally in pool.map(_batch, jobs):
                total.add(tally)
            number += len(jobs)
            print(f"{(time.time() - started) / 60:.1f} min: {dict(total.counts)}", flush=True)
    print(total)
    for name in ("false", "foreign", "hangs"):
        for text in getattr(total, name)[:20]:
            print(f"{name}: {text}\n")
    if options.json is not None:
        found = asdict(total) | {"counts": {str(name): count for name, count in total.counts.items()}}
        options.json.write_text(json.dumps(found, indent=1))
    return int(bool(total.false or total.foreign or total.hangs))


if __name__ == "__main__":
    raise SystemExit(main())
