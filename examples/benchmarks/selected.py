"""Settings that pairs choose, beside the default ones: the clusters of NPKLClustering with either.

``python selected.py [SET ...] [--draws 2] [--each 0.2]`` gives right pairs, 0.2 n of each kind, to
`select_setting` with three weights and three numbers of neighbours. It prints a line of JSON for each set (at
most 300 points): the adjusted Rand index with the default settings, with the best setting by the kernel and
by clusters, and with the setting of `Selection.cautious`.
"""

import argparse
import os
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from common import report
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.selection import Grid, Setting, select_setting

SETS = ("iris", "wine", "glass", "heart", "sonar", "protein", "a1a")
GRID = Grid(gammas=(1.0, 10.0, 100.0), neighbors=(5, 10, 20), scalings=("standard",))
USUAL = Setting(100.0, 10, 0.1, "standard")
NAMES = ("usual", "best", "cautious", "best_clusters", "cautious_clusters")


def one(X: np.ndarray, y: np.ndarray, each: float, seed: int) -> list[float]:
    """The index with each setting."""
    k, count = len(np.unique(y)), round(each * y.size)
    pairs = nm.Pairs.from_labels(y, count, count, random_state=seed)
    chosen = [USUAL]
    for n_clusters in (None, k):
        found = select_setting(X, pairs, GRID, n_clusters=n_clusters)
        chosen += [found.best, found.cautious(USUAL)]
    known = {
        setting: nm.NPKLClustering(k, gamma=setting.gamma, n_neighbors=setting.n_neighbors, tol=1e-4)
        .fit(X, pairs=pairs)
        .labels_
        for setting in set(chosen)
    }
    return [float(adjusted_rand_score(y, known[setting])) for setting in chosen]


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--each", type=float, default=0.2)
    given = parser.parse_args()
    rows = []
    for name in given.sets:
        data = nm.datasets.load(name)
        data = data.subset(300, 0) if data.n > 300 else data
        X, y = data.X[:, data.X.std(axis=0) > 0], np.unique(data.y, return_inverse=True)[1]
        X = StandardScaler().fit_transform(X)
        rows.append(np.mean([one(X, y, given.each, seed) for seed in range(given.draws)], axis=0))
        found = {key: round(float(value), 3) for key, value in zip(NAMES, rows[-1], strict=True)}
        report(benchmark="selected", data=name, draws=given.draws, each=given.each, **found)
    print("mean:", " ".join(f"{value:.3f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
