"""Features from pairs of which some are wrong: NPKLKernel with the model of wrong pairs and without it.

``python noisy_features.py [SET ...] [--draws 2] [--first 10]`` draws 0.6 n pairs of each kind, turns 0, 10 or
20 % round, and prints a line of JSON for each set and noise: the share of couples of 500 + 500 other pairs
that the kernel ranks rightly, without the model, with ``noise="auto"`` and with the rate given.
"""

import argparse
import os
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from common import report
from wrong_pairs import drawn, points

import npkl_models as nm
from npkl_models.applications.held_out import ranked_rightly

SETS = ("iris", "wine", "glass", "heart", "sonar", "protein")


def one(name: str, share: float, seed: int) -> list[float]:
    """Of a draw."""
    X, y = points(name)
    pairs, _ = drawn(y, "0.6 n", "both", share, seed)
    held = nm.Pairs.from_labels(y, 500, 500, random_state=500 + seed)
    k = len(np.unique(y))
    models = [nm.NPKLKernel(n_clusters=k, noise=noise) for noise in (None, "auto", share)]
    return [ranked_rightly(model.fit_transform(X, pairs=pairs), held) for model in models]


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=2)
    parser.add_argument("--first", type=int, default=10)
    given = parser.parse_args()
    seeds = range(given.first, given.first + given.draws)
    for share in (0.0, 0.1, 0.2):
        rows = np.array([np.mean([one(name, share, seed) for seed in seeds], axis=0) for name in given.sets])
        for name, row in zip((*given.sets, "mean"), (*rows, rows.mean(axis=0)), strict=True):
            words = ("without", "auto", "given")
            report(
                benchmark="noisy_features", data=name, noise=share, draws=given.draws,
                **{word: round(float(value), 3) for word, value in zip(words, row, strict=True)},
            )  # fmt: skip


if __name__ == "__main__":
    main()
