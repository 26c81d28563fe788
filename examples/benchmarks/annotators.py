"""Annotators of whom some guess: the clusters if it is known who gave each answer, and if it is not.

``python annotators.py [SET ...] [--draws 3] [--each 0.6]`` gives 0.6 n pairs of each kind one answer each, by
one of six annotators: four are wrong with probability 0.02, and two with 0.45. It prints a line of JSON for
each set: the adjusted Rand index of NPKLClustering with and without ``annotator``, and the estimated rates of
the good and of the bad ones.
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

SETS = ("iris", "wine", "glass", "heart", "sonar", "protein")
RATES = np.array([0.02, 0.02, 0.02, 0.02, 0.45, 0.45])


def one(X: np.ndarray, y: np.ndarray, each: float, seed: int) -> list[float]:
    """Of a draw."""
    rng, count, k = np.random.default_rng(seed), round(each * y.size), len(np.unique(y))
    pairs = nm.Pairs.from_labels(y, count, count, random_state=seed)
    who = rng.integers(0, RATES.size, len(pairs))
    said = np.where(rng.random(len(pairs)) < RATES[who], -pairs.sign, pairs.sign)
    given = {"pairs": np.stack([pairs.i, pairs.j], axis=1), "y_pairs": said}
    told = nm.NPKLClustering(k, random_state=seed).fit(X, **given, annotator=who)
    untold = nm.NPKLClustering(k, random_state=seed).fit(X, **given)
    index = [adjusted_rand_score(y, model.labels_) for model in (told, untold)]
    rates = told.annotator_rates_.mean(axis=1)
    return [*index, rates[:4].mean(), rates[4:].mean()]


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--each", type=float, default=0.6)
    given = parser.parse_args()
    rows = []
    for name in given.sets:
        data = nm.datasets.load(name)
        X, y = StandardScaler().fit_transform(data.X), np.unique(data.y, return_inverse=True)[1]
        rows.append(np.mean([one(X, y, given.each, seed) for seed in range(given.draws)], axis=0))
        names = ("told", "untold", "good", "bad")
        report(
            benchmark="annotators", data=name, draws=given.draws, each=given.each,
            **{key: round(float(value), 3) for key, value in zip(names, rows[-1], strict=True)},
        )  # fmt: skip
    print("mean:", " ".join(f"{value:.3f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
