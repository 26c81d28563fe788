"""Does what is unique hang on the random start? ``python localisable.py [--draws 5] [--starts 3]``.

Networks of 30 sensors and 4 anchors in the unit square (radius 0.5), with exact or noisy distances.
`Localisation(unique=True)` assesses each from several random starts: with the rule of the library, and with
null vectors of the slack alone (a sensor is loose if one beyond the range of the kernel moves it). A line for
each noise and rule has the number of networks on which all starts agree, the largest difference of the counts
of unique sensors, and the mean count.
"""

import argparse
import os
import warnings
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from common import report

import npkl_models as nm
from npkl_models.applications import localisable
from npkl_models.formulations.known_distances import radio_network

NOISES = (0.0, 0.02, 0.1)


def counts(noise: float, draw: int, starts: int) -> list[np.ndarray]:
    """What each start says of the sensors of a network."""
    known, X = radio_network(30, 4, 0.5, noise=noise, random_state=draw)
    anchors = (np.arange(30, 34), X[30:])
    models = [nm.Localisation(unique=True, options={"random_state": seed}) for seed in range(starts)]
    return [model.fit(known, n_points=34, anchors=anchors).unique_[:30] for model in models]


def all_points(solution: nm.Solution, *_: object) -> np.ndarray:
    """Null vectors alone decide."""
    return np.ones(solution.problem.n, dtype=bool)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--draws", type=int, default=5)
    parser.add_argument("--starts", type=int, default=3)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for noise in NOISES:
        for rule, decide in (("library", localisable.moved), ("null vectors", all_points)):
            with mock.patch.object(localisable, "moved", decide):
                every = [counts(noise, draw, options.starts) for draw in range(options.draws)]
            agree = sum(all(np.array_equal(one, found[0]) for one in found) for found in every)
            sizes = np.array([[one.sum() for one in found] for found in every])
            report(
                noise=noise, rule=rule, draws=options.draws, starts=options.starts, agree=agree,
                largest=int(np.ptp(sizes, axis=1).max()), mean=round(float(sizes.mean()), 2),
            )  # fmt: skip
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
