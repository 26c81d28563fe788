"""The Swiss roll, unrolled by each backend: seconds, gap, and the true coordinates found again.

``python unfolding.py [N] [--draws D] [--even] [--angles] [--neighbors K] [--weight W] [--backends B,B]
[--limit S]``. ``--even`` draws the points evenly on the sheet, ``--angles`` keeps the distances between the
neighbours of a point, too. "along" and "across" are the correlations of the sheet's own coordinates with the
two of the image; "held" is what these hold of the trace; memory is the peak of the process so far.
"""

import argparse
import resource
import time

import numpy as np

import npkl_models as nm
from npkl_models.applications import embedding
from npkl_models.data.synthetic import swiss_roll, unrolled


def correlations(Z: np.ndarray, sheet: np.ndarray) -> np.ndarray:
    """The largest of each of the sheet's coordinates with any of the image's."""
    both = np.corrcoef(sheet.T, Z.T)[:2, 2:]
    return np.abs(both).max(axis=1)


def main() -> None:
    """A line for each draw and backend."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("n", type=int, nargs="?", default=400)
    add("--draws", type=int, default=3)
    add("--even", action="store_true")
    add("--angles", action="store_true")
    add("--neighbors", type=int, default=6)
    add("--weight", type=float, default=1000.0)
    add("--backends", default="interior,burer_monteiro")
    add("--limit", type=float, default=60.0)
    options = parser.parse_args()
    print(
        f"{'draw':>4} {'backend':<15} {'seconds':>7} {'objective':>15} {'gap':>8} {'rigour':<8} {'rank':>4} "
        f"{'held':>7} {'along':>7} {'across':>7} {'GB':>5}"
    )
    for draw in range(options.draws):
        X = swiss_roll(options.n, random_state=draw, even=options.even)[0]
        problem = nm.mvu(
            X, options.neighbors, components="connect", weight=options.weight, angles=options.angles
        )
        for backend in options.backends.split(","):
            began = time.perf_counter()
            solution = problem.solve(backend, time_limit=options.limit)
            seconds = time.perf_counter() - began
            found = solution.certificate
            along, across = correlations(embedding.coordinates(solution, 2), unrolled(X))
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
            cells = (
                f"{draw:4} {backend:<15} {seconds:7.1f} {solution.objective:15.3f} {found.relative_gap:8.1e}",
                f"{found.rigour:<8} {solution.rank:4} {embedding.held(solution, 2):7.4f}",
                f"{along:7.4f} {across:7.4f} {peak:5.2f}",
            )
            print(*cells, flush=True)


if __name__ == "__main__":
    main()
