"""Held-out agreement: predict on points that were left out, beside solving again with all of them.

``python held_out.py [SET ...] [--draws 5] [--held 0.3] [--pairs 0.3]`` leaves a share of the points out and
draws must-links and cannot-links (each a share of n) among the others. It prints a line of JSON for each
set: how far predict and the clusters of the solve with all points agree on the held-out points (Rand index,
and adjusted), and the adjusted Rand index of each with the classes.
"""

import argparse

import numpy as np
from common import report
from sklearn.metrics import adjusted_rand_score, rand_score
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.estimators import NPKLClustering

SETS, TOL = ("iris", "digits", "a1a"), 1e-4


def one(X: np.ndarray, y: np.ndarray, held: float, share: float, seed: int) -> tuple[float, ...]:
    """Rand and adjusted Rand index of the two, then that of each with the classes, and both gaps."""
    order = np.random.default_rng(seed).permutation(y.size)
    old, new = np.sort(order[round(held * y.size) :]), np.sort(order[: round(held * y.size)])
    count = round(share * y.size)
    pairs = nm.Pairs.from_labels(y[old], count, count, random_state=seed)
    k = len(np.unique(y))
    model = NPKLClustering(k, tol=TOL)
    part = model.fit(X[old], must_link=pairs.must_link, cannot_link=pairs.cannot_link)
    extended, gap = part.predict(X[new]), part.certificate_.relative_gap
    model.fit(X, must_link=old[pairs.must_link], cannot_link=old[pairs.cannot_link])
    solved = model.labels_[new]
    scores = rand_score(extended, solved), adjusted_rand_score(extended, solved)
    own = adjusted_rand_score(y[new], extended), adjusted_rand_score(y[new], solved)
    return (*scores, *own, gap, model.certificate_.relative_gap)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--held", type=float, default=0.3)
    parser.add_argument("--pairs", type=float, default=0.3)
    given = parser.parse_args()
    for name in given.sets:
        data = nm.datasets.load(name)
        X = data.X if name == "a1a" else StandardScaler().fit_transform(data.X)
        found = np.array([one(X, data.y, given.held, given.pairs, seed) for seed in range(given.draws)])
        mean, spread = found.mean(axis=0).round(3).tolist(), found.std(axis=0).round(3).tolist()
        report(
            benchmark="held_out", data=name, draws=given.draws, held=given.held, rand=mean[0],
            adjusted=mean[1], predicted=mean[2], predicted_spread=spread[2], solved=mean[3],
            solved_spread=spread[3],
            largest_gap=float(f"{found[:, 4:].max():.1e}"),
        )  # fmt: skip


if __name__ == "__main__":
    main()
