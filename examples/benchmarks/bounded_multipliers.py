"""Certificates of absolute and huber losses of distances beside bounds: `python FILE --seeds 3`.

Every row of the table is a kind of network, with a number of draws for each kind of bounds. Seconds are CPU
seconds; the limit is in seconds of the clock.
"""

import argparse
import itertools
import time
from dataclasses import replace

import numpy as np

import npkl_models as nm
from npkl_models.formulations.known_distances import radio_network

RADIUS = {30: 0.5, 60: 0.4, 100: 0.3, 200: 0.22, 300: 0.18, 500: 0.14}
BACKENDS = ("burer_monteiro", "hybrid", "interior")


def network(loss: str, n: int, anchors: int, noise: float, sides: str, weights: str, unit: float, seed: int):
    """A network of n points in a unit of length; "huber:0.01" is the huber loss with this threshold."""
    rng, radius = np.random.default_rng(100 + seed), RADIUS[n]
    (i, j, d), X = radio_network(n - anchors, anchors, radius, noise=noise, random_state=seed)
    weight = np.ones(d.size) if weights == "one" else 10.0 ** rng.uniform(-3, 3, d.size)
    seen = np.zeros((n, n), dtype=bool)
    seen[i, j] = seen[j, i] = True
    a, b = np.nonzero(np.triu(~seen, 1))
    some = rng.permutation(a.size)[: 2 * n]
    a, b = a[some], b[some]
    high = 1.1 * np.linalg.norm(X[a] - X[b], axis=1)
    lower = np.minimum(radius, high) * unit if sides != "upper" else 0.0
    upper = high * unit if sides != "lower" else np.inf
    held = {"anchors": (range(n - anchors, n), unit * X[n - anchors :])} if anchors else {}
    name, _, delta = loss.partition(":")
    bounds = (a, b, lower, upper)
    problem = nm.distances((i, j, unit * d), n, loss=name, weights=weight, bounds=bounds, **held)
    if not delta:
        return problem
    own = replace(problem.terms[0], loss=nm.huber(float(delta) * unit**2))
    return replace(problem, terms=(own, *problem.terms[1:]))


def main() -> None:
    """Print one row for each backend and kind of network."""
    say = argparse.ArgumentParser(description=__doc__)
    for name, default in {
        "losses": "absolute,huber:0.001,huber:0.5", "sizes": "30", "anchors": "0,4", "noises": "0,0.01,0.1",
        "sides": "lower,upper,both", "weights": "one,log", "units": "1", "backends": ",".join(BACKENDS),
    }.items():  # fmt: skip
        say.add_argument(f"--{name}", default=default, type=lambda text: text.split(","))
    say.add_argument("--seeds", type=int, default=3)
    say.add_argument("--limit", type=float, default=30.0)
    say.add_argument("--tol", type=float, default=1e-6)
    asked = say.parse_args()
    kinds = itertools.product(
        asked.sizes, asked.losses, asked.anchors, asked.noises, asked.weights, asked.units, asked.backends
    )
    print(
        "| n | loss | anchors | noise | weights | unit | method | certified | mean CPU s | most CPU s "
        "| largest gap |"
    )
    print("|---|---|---|---|---|---|---|---|---|---|---|")
    for n, loss, anchors, noise, weights, unit, backend in kinds:
        good, seconds, gaps = 0, [], []
        for sides, seed in itertools.product(asked.sides, range(asked.seeds)):
            problem = network(loss, int(n), int(anchors), float(noise), sides, weights, float(unit), seed)
            began = time.process_time()
            found = problem.solve(backend, time_limit=asked.limit, tol=asked.tol)
            seconds.append(time.process_time() - began)
            gaps.append(found.certificate.relative_gap)
            good += found.is_optimal()
        cells = (n, loss, anchors, noise, weights, unit, backend, f"{good} of {len(gaps)}")
        figures = (f"{np.mean(seconds):.2f}", f"{max(seconds):.1f}", f"{max(gaps):.0e}")
        print("| " + " | ".join(map(str, (*cells, *figures))) + " |", flush=True)


if __name__ == "__main__":
    main()
