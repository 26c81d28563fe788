"""Embeddings from comparisons beside cblearn: ``python ordinal.py --peers PYTHON [--draws 10] [SET ...]``.

PYTHON is the interpreter of an environment with cblearn 0.4, which needs numpy below 2. Each draw takes
2 n ln n, 10 n and 50 n triplets of standardised points at random and turns 0, 10 or 20 % of them round. All
methods get the same triplets. A line for each set, number and noise has the share of 20,000 unseen
comparisons (without noise) that each method answers, the mean over the draws; the paired difference to
OrdinalEmbedding with its standard error; CPU seconds with one thread; and the largest certified gap of
OrdinalEmbedding. The methods of cblearn have three dimensions and their defaults; OrdinalEmbedding chooses
its penalty and its refinement by held-out comparisons.

The last column is about the optimum: the relative distance of GNMDS's points, scaled as well as possible,
from the certified optimum of the hinge with the same penalty.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
from common import report
from scipy.optimize import minimize_scalar

import npkl_models as nm
from npkl_models.data.synthetic import swiss_roll
from npkl_models.formulations.comparisons import answered, ordinal_answers
from npkl_models.formulations.ordinal import largest_penalty

SETS = {"iris": 150, "wine": 178, "digits": 300, "swiss_roll": 300}
NOISE = (0.0, 0.1, 0.2)
PEERS = ("GNMDS", "SOE", "STE", "t-STE", "CKL")
UNSEEN = 20_000


def counts(n: int) -> dict[str, int]:
    """How many triplets."""
    return {"2 n ln n": round(2 * n * np.log(n)), "10 n": 10 * n, "50 n": 50 * n}


def points(name: str, draw: int) -> np.ndarray:
    """Standardised points; a subset if the set is larger."""
    if name == "swiss_roll":
        X = swiss_roll(SETS[name], random_state=draw)[0]
    else:
        data = nm.datasets.load(name)
        X = data.X[np.random.default_rng(draw).permutation(data.n)[: SETS[name]]]
    spread = X.std(axis=0)
    return (X[:, spread > 0] - X[:, spread > 0].mean(axis=0)) / spread[spread > 0]


def of_peers(python: str, n: int, asked: list[np.ndarray]) -> dict[str, np.ndarray]:
    """Embeddings and seconds of all methods for all lists of triplets."""
    with tempfile.TemporaryDirectory() as folder:
        given, out = Path(folder) / "in.npz", Path(folder) / "out.npz"
        named = {f"t{at}": triplets for at, triplets in enumerate(asked)}
        np.savez(given, n=np.full(len(asked), n), **named)
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
        script = Path(__file__).with_name("ordinal_peers.py")
        subprocess.run([python, str(script), str(given), str(out)], check=True, env=environment)
        with np.load(out) as found:
            return dict(found)


def off_optimum(asked: np.ndarray, n: int, Z: np.ndarray) -> float:
    """How far the objective of the hinge at Z, best scaled, is above the certified bound, relative to it."""
    top = largest_penalty(nm.ordinal(asked, n, loss="hinge"))
    problem = nm.ordinal(asked, n, loss="hinge", penalty=0.4 * top)
    bound = problem.solve(tol=1e-3, time_limit=60).certificate.bound
    best = minimize_scalar(
        lambda s: problem.objective_of_factor(np.exp(s) * Z), bounds=(-12, 8), method="bounded"
    )
    return float(best.fun / bound - 1)


def one(name: str, draws: int, python: str) -> None:
    """All lines of a set."""
    every = [points(name, draw) for draw in range(draws)]
    n = len(every[0])
    for label, count in counts(n).items():
        for noise in NOISE:
            asked = [ordinal_answers(X, count, noise=noise, random_state=d) for d, X in enumerate(every)]
            unseen = [ordinal_answers(X, UNSEEN, random_state=1000 + d) for d, X in enumerate(every)]
            share = {method: np.zeros(draws) for method in ("ours", *PEERS)}
            seconds = {method: np.zeros(draws) for method in share}
            gaps, off = [], []
            peers = of_peers(python, n, asked)
            for d in range(draws):
                began = time.process_time()
                model = nm.OrdinalEmbedding(3).fit(asked[d], n_points=n)
                seconds["ours"][d] = time.process_time() - began
                share["ours"][d] = model.score(unseen[d])
                gaps.append(model.certificate_.relative_gap)
                for method in PEERS:
                    Z = peers[f"{d} {method}"]
                    seconds[method][d] = float(peers[f"{d} {method} seconds"])
                    share[method][d] = answered(Z, unseen[d]) if np.isfinite(Z).all() else np.nan
            if label == "10 n":
                Z = peers["0 GNMDS"]
                off = [off_optimum(asked[0], n, Z)] if np.isfinite(Z).all() else []
            behind = {
                method: [
                    round(float(np.nanmean(share[method] - share["ours"])), 4),
                    round(float(np.nanstd(share[method] - share["ours"], ddof=1) / np.sqrt(draws)), 4)
                    if draws > 1
                    else None,
                ]
                for method in PEERS
            }
            report(
                case=f"{name}, n = {n}, {label}, noise {noise:g}", draws=draws,
                answered={method: round(float(np.nanmean(part)), 4) for method, part in share.items()},
                peer_minus_ours=behind,
                seconds={method: round(float(np.mean(part)), 2) for method, part in seconds.items()},
                largest_gap=f"{max(gaps):.1e}", gnmds_above_optimum=off,
            )  # fmt: skip


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("sets", nargs="*", default=list(SETS), metavar="SET")
    parser.add_argument("--peers", required=True, help="the interpreter of an environment with cblearn")
    parser.add_argument("--draws", type=int, default=10)
    options = parser.parse_args()
    for name in options.sets:
        one(name, options.draws, options.peers)
    return 0


if __name__ == "__main__":
    sys.exit(main())
