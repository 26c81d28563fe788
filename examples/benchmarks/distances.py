"""Soft distances by rows and by other solvers: seconds, gap, status, and who has found the last digits.

``python distances.py [N ...] [--sets S,S] [--weights W,W] [--backends B,B] [--draws D] [--limit S]``.
Each run has a problem of its own: what a certificate has found out about one is not found again. Every line
is the median of the draws in seconds, and their worst gap; "newton" counts the draws that Newton steps ended.
"""

import argparse
import statistics

import common  # noqa: F401  (its import compiles the loops, which is not to be timed)
import numpy as np

import npkl_models as nm
from npkl_models.data.synthetic import swiss_roll

WIDTH = 10.5  # half of the sheet


def stated(name: str, n: int, draw: int, weight: float) -> nm.Problem:
    """A Swiss roll; the labels of coloured MVU are which quarter of its sheet."""
    X = swiss_roll(n, random_state=draw)[0]
    more = {"n_neighbors": 6, "components": "connect"}
    if name == "mvu":
        return nm.mvu(X, weight=weight, **more)
    if name == "mve":
        return nm.mve(X, 2, C=weight, **more)
    angle = np.hypot(X[:, 0], X[:, 2])
    return nm.colored_mvu(X, 2 * (angle > np.median(angle)) + (X[:, 1] > WIDTH), C=weight, **more)


def main() -> None:
    """A line for each size, set, weight and backend."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("n", type=int, nargs="*", default=[60, 300])
    add("--sets", default="mvu,colored,mve")
    add("--weights", default="0.01,0.1,1,10,100")
    add("--backends", default="bcd,burer_monteiro")
    add("--draws", type=int, default=3)
    add("--limit", type=float, default=60.0)
    options = parser.parse_args()
    print("| n | set | weight | backend | certified | seconds | worst gap | iterations | newton | rank |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    runs = [
        (n, name, float(weight), backend)
        for n in options.n
        for name in options.sets.split(",")
        for weight in options.weights.split(",")
        for backend in options.backends.split(",")
    ]
    for n, name, weight, backend in runs:
        found = []
        for draw in range(options.draws):
            problem = stated(name, n, draw, weight)
            found.append(problem.solve(backend, time_limit=options.limit))
        certified = sum(one.status is nm.Status.OPTIMAL for one in found)
        seconds = statistics.median(one.solve_time for one in found)
        gap = max(one.certificate.relative_gap for one in found)
        steps = int(statistics.median(one.iterations for one in found))
        newton = sum("Newton" in one.message for one in found)
        print(
            f"| {n} | {name} | {weight:g} | {backend} | {certified} of {len(found)} | {seconds:.2f} | "
            f"{gap:.0e} | {steps} | {newton} | {found[0].rank} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
