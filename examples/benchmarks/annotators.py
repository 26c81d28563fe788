"""Annotators of whom some guess: the clusters if it is known who gave each answer, and if it is not.

``python annotators.py [SET ...] [--draws 3] [--first 0] [--each 0.6] [--answers 1] [--misled 0]`` gives
0.6 n pairs of each kind one answer each (or more, of different annotators), by six annotators. Four are wrong
with probability 0.02, and two with 0.45. ``--misled`` is the share of pairs that mislead all annotators: the
truth is turned round for them. It prints a line of JSON for each set: the adjusted Rand index of
NPKLClustering with and without ``annotator``, and the estimated rates of the good and of the bad ones.
Without, a pair has the answer of the majority. If crowd-kit is there, a third index is that of NPKLClustering
without ``annotator`` on the answers of its DawidSkene.
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


def aggregated(ends: np.ndarray, said: np.ndarray, who: np.ndarray) -> np.ndarray:
    """One answer to each pair, by crowd-kit's DawidSkene; zeros if crowd-kit is not there."""
    try:
        from crowdkit.aggregation import DawidSkene
        from pandas import DataFrame
    except ImportError:
        return np.zeros(len(ends))
    told = {
        "task": np.repeat(np.arange(len(ends)), who.shape[1]),
        "worker": who.ravel(),
        "label": said.ravel(),
    }
    return DawidSkene(n_iter=100).fit_predict(DataFrame(told)).loc[np.arange(len(ends))].to_numpy()


def one(X: np.ndarray, y: np.ndarray, given: argparse.Namespace, seed: int) -> list[float]:
    """Of a draw."""
    rng, count, k = np.random.default_rng(seed), round(given.each * y.size), len(np.unique(y))
    pairs = nm.Pairs.from_labels(y, count, count, random_state=seed)
    ends, m = np.stack([pairs.i, pairs.j], axis=1), len(pairs)
    who = rng.permuted(np.tile(np.arange(RATES.size), (m, 1)), axis=1)[:, : given.answers]
    said = np.where(rng.random(who.shape) < RATES[who], -pairs.sign[:, None], pairs.sign[:, None])
    said[rng.permutation(m)[: round(given.misled * m)]] *= -1
    every = {"pairs": np.repeat(ends, given.answers, axis=0), "y_pairs": said.ravel()}
    told = nm.NPKLClustering(k, random_state=seed).fit(X, **every, annotator=who.ravel())
    index = [adjusted_rand_score(y, told.labels_)]
    majority = np.where(said.sum(axis=1) != 0, np.sign(said.sum(axis=1)), said[:, 0])
    for answers in (majority, aggregated(ends, said, who)):
        model = nm.NPKLClustering(k, random_state=seed)
        fits = (answers != 0).all()
        index.append(
            adjusted_rand_score(y, model.fit(X, pairs=ends, y_pairs=answers).labels_) if fits else np.nan
        )
    rates = told.annotator_rates_.mean(axis=1)
    return [*index, rates[:4].mean(), rates[4:].mean()]


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--each", type=float, default=0.6)
    parser.add_argument("--answers", type=int, default=1)
    parser.add_argument("--misled", type=float, default=0.0)
    given = parser.parse_args()
    rows = []
    for name in given.sets:
        data = nm.datasets.load(name)
        X, y = StandardScaler().fit_transform(data.X), np.unique(data.y, return_inverse=True)[1]
        seeds = range(given.first, given.first + given.draws)
        rows.append(np.mean([one(X, y, given, seed) for seed in seeds], axis=0))
        names = ("told", "majority", "dawid_skene", "good", "bad")
        report(
            benchmark="annotators", data=name, draws=given.draws, each=given.each, answers=given.answers,
            **{key: round(float(value), 3) for key, value in zip(names, rows[-1], strict=True)},
        )  # fmt: skip
    print("mean:", " ".join(f"{value:.3f}" for value in np.mean(rows, axis=0)))


if __name__ == "__main__":
    main()
