"""The labelling loop: a warm round against a cold solve, and what suggested pairs are worth.

``python labelling.py [SET ...] [--begin 300] [--batch 10] [--rounds 5] [--draws 1]`` begins with random
pairs and asks for a batch in each round, suggested or at random, answered by the classes. It prints a line
of JSON for each set, draw and kind of query: the pairs after each round, the adjusted Rand index of kernel
k-means, the seconds of the warm rounds, those of a cold solve of the last round's pairs in the same run, and
their ratio (of the median round). pcp, gamma = 100, ten neighbours, shift 0.1, tol 1e-6; digits standardised.
"""

import argparse
import time

import numpy as np
from common import report
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.clustering import kernel_kmeans
from npkl_models.applications.labelling import Labelling

SETS = ("digits", "a1a")


def drawn(y: np.ndarray, size: int, rng: np.random.Generator) -> np.ndarray:
    """Pairs of two different points each, at random."""
    first = rng.integers(0, y.size, size)
    return np.stack([first, (first + rng.integers(1, y.size, size)) % y.size], axis=1)


def pairs_of(y: np.ndarray, ends: np.ndarray) -> nm.Pairs:
    """As the classes say."""
    same = y[ends[:, 0]] == y[ends[:, 1]]
    return nm.Pairs(y.size, ends[same], ends[~same])


def index(y: np.ndarray, solution: nm.Solution) -> float:
    """The adjusted Rand index of the clusters with the classes."""
    return round(float(adjusted_rand_score(y, kernel_kmeans(solution, len(np.unique(y)), 5))), 3)


def run(L, y: np.ndarray, first: nm.Solution, known: nm.Pairs, asked: bool, seed: int, given) -> dict:
    """The rounds of one kind of query, each begun at the kernel before; then a cold solve of the last."""
    rng = np.random.default_rng(seed + 1)
    loop = Labelling(L, known)
    loop.solution = first
    count, found, seconds = [len(known)], [index(y, first)], []
    for _ in range(given.rounds):
        ends = loop.suggest(given.batch) if asked else drawn(y, given.batch, rng)
        for i, j in ends.tolist():
            loop.answer(i, j, 1 if y[i] == y[j] else -1)
        began = time.perf_counter()
        solution = loop.solve()
        seconds.append(time.perf_counter() - began)
        count.append(len(loop.pairs))
        found.append(index(y, solution))
    began = time.perf_counter()
    cold = nm.pcp(L, loop.pairs, gamma=100.0).solve()
    slow = time.perf_counter() - began
    return {
        "pairs": count, "index": found, "warm_seconds": [round(one, 2) for one in seconds],
        "cold_seconds": round(slow, 2), "ratio": round(float(np.median(seconds)) / slow, 3),
        "warm_gaps": [float(f"{one.relative_gap:.1e}") for one in loop.rounds],
        "warm_status": sorted({one.status.name for one in loop.rounds}), "cold_status": cold.status.name,
        "difference": float(f"{abs(solution.objective / cold.objective - 1):.1e}"),
    }  # fmt: skip


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--begin", type=int, default=300)
    parser.add_argument("--batch", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--draws", type=int, default=1)
    given = parser.parse_args()
    for name in given.sets:
        data = nm.datasets.load(name)
        X = StandardScaler().fit_transform(data.X) if name == "digits" else data.X
        L = nm.laplacian(X, 10, shift=0.1)
        for seed in range(given.draws):
            known = pairs_of(data.y, drawn(data.y, given.begin, np.random.default_rng(seed)))
            problem = nm.pcp(L, known, gamma=100.0)
            problem.solve("bcd", max_iter=1)  # compiles
            first = problem.solve()
            for kind in ("suggested", "random"):
                found = run(L, data.y, first, known, kind == "suggested", seed, given)
                report(benchmark="labelling", data=name, seed=seed, queries=kind, **found)


if __name__ == "__main__":
    main()
