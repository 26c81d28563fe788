"""Pairs that a kernel asks for against pairs drawn at random: the clusters after as many answers.

``python suggest.py [SET ...] [--draws 10] [--rounds 5] [--batch 10]`` begins with a batch of random pairs,
adds a batch in each round, answered by the classes, and prints a line of JSON for each set: the adjusted
Rand index of kernel k-means after each round, asked and at random.
"""

import argparse

import numpy as np
from common import report
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.clustering import kernel_kmeans
from npkl_models.applications.suggest import suggest_pairs

SETS = ("iris", "wine", "heart", "sonar")


def drawn(n: int, size: int, rng: np.random.Generator) -> np.ndarray:
    """Pairs of two points each, at random."""
    return np.stack([rng.choice(n, size=2, replace=False) for _ in range(size)])


def curve(L, y, asked: bool, rounds: int, batch: int, seed: int) -> list[float]:
    """The index after each round."""
    rng, found = np.random.default_rng(seed), []
    ends = drawn(y.size, batch, rng)
    for _ in range(rounds):
        same = y[ends[:, 0]] == y[ends[:, 1]]
        solution = nm.pcp(L, nm.Pairs(y.size, ends[same], ends[~same]), gamma=100.0).solve(tol=1e-6)
        clusters = kernel_kmeans(solution, len(np.unique(y)), 5)
        found.append(adjusted_rand_score(y, clusters))
        more = suggest_pairs(solution, batch) if asked else drawn(y.size, batch, rng)
        ends = np.concatenate([ends, more])
    return found


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batch", type=int, default=10)
    given = parser.parse_args()
    for name in given.sets:
        data = nm.datasets.load(name)
        L = nm.laplacian(StandardScaler().fit_transform(data.X), 10, shift=0.1)
        runs = {
            who: np.mean(
                [
                    curve(L, data.y, who == "asked", given.rounds, given.batch, seed)
                    for seed in range(given.draws)
                ],
                axis=0,
            )
            for who in ("asked", "random")
        }
        report(
            benchmark="suggest", data=name, draws=given.draws, batch=given.batch,
            **{who: [round(float(v), 3) for v in values] for who, values in runs.items()},
        )  # fmt: skip


if __name__ == "__main__":
    main()
