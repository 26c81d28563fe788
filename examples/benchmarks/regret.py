"""How far the default is behind the best backend: ``python regret.py [--cells 90] [--seed 0] [--of pairs]``.

Each cell is drawn: a set with some of its points, a form, a weight from 0.01 to 100, a shift from 0 to 0.1,
pairs. The default and each of bcd, burer_monteiro and interior solve it, in CPU seconds of this process (the
threads of BLAS included; OMP_NUM_THREADS=1 is for one). The regret is the default's seconds over those of the
quickest that is certified to the tolerance; cells that the default does not certify are counted apart. The
last line has the share of predicted seconds within three times of the seconds of a backend.

With ``--of comparisons`` a cell is a set (iris, wine, 300 digits, a Swiss roll or normal points, 100 to
``--largest`` points), 2 n ln n, 10 n or 50 n comparisons (at most 200,000), of which 0, 10 or 20 % are
wrong, a loss, 0.05, 0.4 or 0.9 of the largest penalty, and a gap of 1e-4 or 1e-6. The rivals are bcd and
burer_monteiro.
"""

import argparse
import pickle

import numpy as np
from common import report
from matrix import FORMS, measured

import npkl_models as nm
from npkl_models.formulations.comparisons import ordinal_answers
from npkl_models.formulations.ordinal import largest_penalty

SETS = ("iris", "wine", "breast_cancer", "digits", "two_gaussians", "chessboard", "double_spiral", "xor")
RIVALS = ("bcd", "burer_monteiro", "interior")
COMPARED = ("iris", "wine", "digits", "swiss_roll", "normal")
SMALLEST, LARGEST, CAP = 60, 1_000, 60.0  # points; seconds of a solve
MOST, SMOOTH = 200_000, 1.5  # comparisons of a cell; a regret that is counted
QUICK = 0.02  # seconds that count as no longer than that: what is left is the choice itself


def compared(rng: np.random.Generator, largest: int) -> tuple[str, nm.Problem, float]:
    """A problem of comparisons, what it is, and its tolerance."""
    name, seed = str(rng.choice(COMPARED)), int(rng.integers(1_000))
    n = int(np.exp(rng.uniform(np.log(100), np.log(largest))))
    if name == "normal":
        X = np.random.default_rng(seed).normal(size=(n, 3))
    elif name == "swiss_roll":
        X = nm.datasets.load(name, n=n, random_state=seed).X
    else:
        whole = nm.datasets.load(name).X
        n = {"digits": 300}.get(name, len(whole))
        X = whole[np.sort(np.random.default_rng(seed).choice(len(whole), n, replace=False))]
    kind = str(rng.choice(["2 n ln n", "10 n", "50 n"]))
    count = min({"2 n ln n": round(2 * n * np.log(n)), "10 n": 10 * n, "50 n": 50 * n}[kind], MOST)
    noise, loss = float(rng.choice([0.0, 0.1, 0.2])), str(rng.choice(["logistic", "hinge", "squared_hinge"]))
    share, tol = float(rng.choice([0.05, 0.4, 0.9])), float(rng.choice([1e-4, 1e-6]))
    rows = ordinal_answers(X, count, noise=noise, random_state=seed)
    top = largest_penalty(nm.ordinal(rows, n, loss=loss))
    words = f"{name}[{n}] {kind} {loss} noise={noise} penalty={share} tol={tol:.0e} draw={seed}"
    return words, nm.ordinal(rows, n, loss=loss, penalty=share * top), tol


def cell(rng: np.random.Generator, largest: int = LARGEST) -> tuple[str, nm.Problem, float]:
    """A problem, what it is, and its tolerance."""
    name, form = str(rng.choice(SETS)), str(rng.choice(FORMS))
    gamma, seed = float(10 ** rng.uniform(-2, 2)), int(rng.integers(1_000))
    shift = float(rng.choice([0.0, 0.001, 0.01, 0.1], p=[0.1, 0.3, 0.3, 0.3]))
    data = nm.datasets.load(name)
    n = min(int(np.exp(rng.uniform(np.log(SMALLEST), np.log(largest)))), data.n)
    chosen = np.sort(np.random.default_rng(seed).choice(data.n, n, replace=False))
    count = round(0.6 * n)
    L = nm.laplacian(data.X[chosen], 5, shift=shift)
    pairs = nm.Pairs.from_labels(data.y[chosen], count, count, seed)
    P = nm.pcp(L, pairs, gamma=gamma) if form == "pcp" else nm.npkl(L, pairs, loss=form, gamma=gamma)
    return f"{name}[{n}] {form} gamma={gamma:.3g} shift={shift} draw={seed}", P, 1e-6


def main() -> None:
    """Solve, compare, and say quantiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=90)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--of", default="pairs", choices=["pairs", "comparisons"])
    parser.add_argument("--largest", type=int, default=LARGEST, help="most points")
    parser.add_argument("--cap", type=float, default=CAP, help="seconds of a solve")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    draw, rivals = (cell, RIVALS) if given.of == "pairs" else (compared, RIVALS[:2])
    for name in rivals:
        draw(np.random.default_rng(1), 150)[1].solve(name, time_limit=5.0)  # what is compiled is compiled now
    regrets, uncertified, lost, ratios = [], 0, 0, {name: [] for name in rivals}
    for _ in range(given.cells):
        name, P, tol = draw(rng, given.largest)
        stored = pickle.dumps(P)  # without its facts: each solve finds its own
        every = ("auto", *rivals)
        found = {one: measured(pickle.loads(stored), one, given.cap, tol) for one in every}
        own = found.pop("auto")
        for one, done in found.items():
            said = nm.backends()[one].cost(P).seconds
            if done["status"] == "OPTIMAL":
                ratios[one].append(max(done["seconds"], QUICK) / max(said, QUICK))
        best = min((one["seconds"] for one in found.values() if one["status"] == "OPTIMAL"), default=None)
        if own["status"] != "OPTIMAL":
            uncertified += 1
            lost += best is not None
            report(benchmark="regret", cell=name, auto=own, others=found)
            continue
        if best is None:  # the default alone certifies it
            best = own["seconds"]
        regret = max(own["seconds"], QUICK) / max(best, QUICK)
        regrets.append(regret)
        report(
            benchmark="regret",
            cell=name,
            backend=own["backend"],
            seconds=own["seconds"],
            regret=round(regret, 2),
            others={key: [one["seconds"], one["status"]] for key, one in found.items()},
        )
    middle, most, worst = np.quantile(regrets, [0.5, 0.95, 1.0])
    report(
        benchmark="regret", cells=given.cells, median=round(middle, 2), quantile_95=round(most, 2),
        worst=round(worst, 2), above=sum(one > SMOOTH for one in regrets), uncertified=uncertified,
        certified_by_another=lost,
        within_three_times={
            one: round(float(np.mean([1 / 3 <= ratio <= 3 for ratio in found])), 2)
            for one, found in ratios.items()
        },
    )  # fmt: skip


if __name__ == "__main__":
    main()
