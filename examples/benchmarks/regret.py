"""How far the default is behind the best backend: ``python regret.py [--cells 90] [--seed 0]``.

Each cell is drawn: a set with some of its points, a form, a weight from 0.01 to 100, a shift from 0 to 0.1,
pairs. The default and each of bcd, burer_monteiro and interior solve it, in CPU seconds of this process (the
threads of BLAS included; OMP_NUM_THREADS=1 is for one). The regret is the default's seconds over those of the
quickest that is certified to 1e-6; cells that the default does not certify are counted apart.
"""

import argparse
import pickle

import numpy as np
from common import report
from matrix import FORMS, measured

import npkl_models as nm

SETS = ("iris", "wine", "breast_cancer", "digits", "two_gaussians", "chessboard", "double_spiral", "xor")
RIVALS = ("bcd", "burer_monteiro", "interior")
SMALLEST, LARGEST, CAP = 60, 1_000, 60.0  # points; seconds of a solve
QUICK = 0.02  # seconds that count as no longer than that: what is left is the choice itself


def cell(rng: np.random.Generator) -> tuple[str, nm.Problem]:
    """A problem, and what it is."""
    name, form = str(rng.choice(SETS)), str(rng.choice(FORMS))
    gamma, seed = float(10 ** rng.uniform(-2, 2)), int(rng.integers(1_000))
    shift = float(rng.choice([0.0, 0.001, 0.01, 0.1], p=[0.1, 0.3, 0.3, 0.3]))
    data = nm.datasets.load(name)
    n = min(int(np.exp(rng.uniform(np.log(SMALLEST), np.log(LARGEST)))), data.n)
    chosen = np.sort(np.random.default_rng(seed).choice(data.n, n, replace=False))
    count = round(0.6 * n)
    L = nm.laplacian(data.X[chosen], 5, shift=shift)
    pairs = nm.Pairs.from_labels(data.y[chosen], count, count, seed)
    P = nm.pcp(L, pairs, gamma=gamma) if form == "pcp" else nm.npkl(L, pairs, loss=form, gamma=gamma)
    return f"{name}[{n}] {form} gamma={gamma:.3g} shift={shift} draw={seed}", P


def main() -> None:
    """Solve, compare, and say quantiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=90)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    for name in RIVALS:
        cell(np.random.default_rng(1))[1].solve(name, time_limit=5.0)  # what is compiled is compiled now
    regrets, uncertified, lost = [], 0, 0
    for _ in range(given.cells):
        name, P = cell(rng)
        stored = pickle.dumps(P)  # without its facts: each solve finds its own
        found = {backend: measured(pickle.loads(stored), backend, CAP) for backend in ("auto", *RIVALS)}
        own = found.pop("auto")
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
        )
    middle, most, worst = np.quantile(regrets, [0.5, 0.95, 1.0])
    report(
        benchmark="regret", cells=given.cells, median=round(middle, 2), quantile_95=round(most, 2),
        worst=round(worst, 2), uncertified=uncertified, certified_by_another=lost,
    )  # fmt: skip


if __name__ == "__main__":
    main()
