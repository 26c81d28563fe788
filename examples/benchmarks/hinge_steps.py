"""When bcd moves the multipliers of a hinge: ``python hinge_steps.py [--early 1.5] [--first 0.3]``.

Hinges at gamma = 1, 10 and 100, shift 0.1, 0.01 and 0.001, 5 neighbours of standardised points
(``--data``; NPKL_DATA_HOME has them), by bcd with other settings of `EARLY` in
`npkl_models.lowrank.rows.engine`, and of `BETA_FIRST` in `first_model` beside it. A line of JSON for each
gamma has the sweeps and CPU seconds of all problems, and how many are not certified. ``--gaussians 2000``
takes two Gaussians in ten dimensions, 10 neighbours, of so many points and the draws 3 and 4.
"""

import argparse
import time
from collections.abc import Iterator

import numpy as np
from common import report

import npkl_models as nm
from npkl_models.lowrank.rows import engine, first_model

SETS = ("iris", "wine", "glass", "heart", "sonar", "soybean_small")


def laplacians(given: argparse.Namespace) -> Iterator[tuple[object, nm.Pairs]]:
    """Laplacians and pairs of all problems."""
    if given.gaussians:
        n = given.gaussians
        for draw in (3, 4):
            apart = np.where(np.arange(n) % 2, 1.0, -1.0)[:, None]
            X = np.random.default_rng(draw).normal(size=(n, 10)) + apart
            pairs = nm.Pairs.from_labels(np.arange(n) % 2, int(0.6 * n), int(0.6 * n), 7)
            yield nm.laplacian(X, 10, shift=0.1), pairs
        return
    for name in given.data:
        data = nm.datasets.load(name)
        X = (data.X - data.X.mean(axis=0)) / (data.X.std(axis=0) + 1e-12)
        count = round(0.6 * data.n)
        pairs = nm.Pairs.from_labels(data.y, count, count, 0)
        for shift in (0.1, 0.01, 0.001):
            yield nm.laplacian(X, 5, shift=shift), pairs


def main() -> None:
    """All weights."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--early", type=float, default=engine.EARLY)
    parser.add_argument("--first", type=float, default=first_model.BETA_FIRST)
    parser.add_argument("--data", nargs="+", default=SETS)
    parser.add_argument("--gaussians", type=int, default=0)
    given = parser.parse_args()
    engine.EARLY, first_model.BETA_FIRST = given.early, given.first
    problems = list(laplacians(given))
    for gamma in (1.0, 10.0, 100.0):
        sweeps, left, began = 0, 0, time.process_time()
        for L, pairs in problems:
            found = nm.npkl(L, pairs, loss="hinge", gamma=gamma).solve("bcd", time_limit=30)
            sweeps += found.iterations
            left += found.status is not nm.Status.OPTIMAL
        report(
            benchmark="hinge_steps", early=given.early, first=given.first, gamma=gamma,
            problems=len(problems), sweeps=sweeps, not_certified=left,
            seconds=round(time.process_time() - began, 2),
        )  # fmt: skip


if __name__ == "__main__":
    main()
