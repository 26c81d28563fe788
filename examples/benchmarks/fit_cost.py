"""What the model of wrong pairs costs: CPU seconds of NPKLClustering with it, over those of a fit without it.

``python fit_cost.py [SET ...]`` draws 0.6 n pairs of each kind, with no wrong pair and with one in ten, and
prints a line of JSON for each, then the mean and the median ratio over the open sets and over the kept sets.
"""

import argparse
import os
import time
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from common import report
from wrong_pairs import LAST, OPEN, drawn, ours, points

REPEATS = 3  # the fastest of them counts


def seconds(case: tuple, **settings) -> float:
    """Of the fastest fit."""
    found = []
    for _ in range(REPEATS):
        began = time.process_time()
        ours(*case, 0, **settings)
        found.append(time.process_time() - began)
    return min(found)


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(OPEN + LAST))
    given = parser.parse_args()
    ratios = {}
    for name in given.sets:
        X, y = points(name)
        for share in (0.0, 0.1):
            case = X, y, len(np.unique(y)), drawn(y, "0.6 n", "both", share, 0)[0]
            ours(*case, 0)  # compiled and read
            full, plain = seconds(case), seconds(case, noise=None)
            ratios.setdefault("kept" if name in LAST else "open", []).append(full / plain)
            report(
                benchmark="fit_cost", data=name, noise=share, seconds=round(full, 3), plain=round(plain, 3),
                ratio=round(full / plain, 2),
            )  # fmt: skip
    for which, values in ratios.items():
        print(which, f"mean {np.mean(values):.2f}, median {np.median(values):.2f}")


if __name__ == "__main__":
    main()
