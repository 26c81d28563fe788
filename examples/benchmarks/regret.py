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

With ``--of formulations`` a cell is any other formulation on 12 to 400 points, with random parameters. The
rivals are all backends that take the problem, each with as much time as the default took, or a second.
"""

import argparse
import pickle
from collections import defaultdict

import numpy as np
from common import report
from matrix import FORMS, measured

import npkl_models as nm
from npkl_models.formulations.comparisons import ordinal_answers
from npkl_models.formulations.ordinal import largest_penalty
from npkl_models.solve.registry import candidates

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


LOSSES = ("hinge", "squared_hinge", "square", "absolute", "logistic")


def with_trace_power(L, pairs: nm.Pairs, rng: np.random.Generator) -> nm.Problem:
    """A problem with tr K^p, bounded (loosely or not) or penalised."""
    p, n = float(rng.choice([1.0, 1.5, 2.0, 3.0])), pairs.n
    how = {"trace_bound": 10 ** rng.uniform(-2.5, 0.5) * n**p}
    how = how if rng.random() < 0.6 else {"penalty": 10 ** rng.uniform(-2, 2)}
    return nm.simple_npkl(L, pairs, loss=str(rng.choice(LOSSES)), p=p, **how)


def known(X: np.ndarray, rng: np.random.Generator, each: int, apart: bool) -> nm.Problem:
    """Some inner products or squared distances of the points."""
    i, j = np.triu_indices(len(X), int(apart))
    at = rng.choice(i.size, min(i.size, each * len(X)), replace=False)
    i, j, penalty = i[at], j[at], float(rng.choice([0.0, 0.01, 0.3])) or None
    if not apart:
        return nm.kernel_completion((i, j, np.sum(X[i] * X[j], axis=1)), n_points=len(X), penalty=penalty)
    loss, seen = str(rng.choice(["square", "absolute"])), np.sum((X[i] - X[j]) ** 2, axis=1)
    return nm.distances((i, j, seen), n_points=len(X), loss=loss, penalty=penalty)


def formulated(rng: np.random.Generator, largest: int) -> tuple[str, nm.Problem, float]:
    """A problem of any other formulation, what it is, and its tolerance."""
    name, seed = str(rng.choice(SETS)), int(rng.integers(1_000))
    data = nm.datasets.load(name)
    n = int(np.exp(rng.uniform(np.log(12), np.log(min(400, largest, data.n)))))
    X = np.unique(nm.datasets.load(name).subset(n, seed).scaled("standard").X, axis=0)
    n, k, loss, gamma = len(X), min(5, len(X) - 1), str(rng.choice(LOSSES)), float(10 ** rng.uniform(-2, 2))
    y = np.digitize(X[:, 0], np.quantile(X[:, 0], [0.33, 0.66]))
    count = max(2, int(n * rng.choice([0.2, 0.6])))
    pairs = nm.Pairs.from_labels(y, count, count, seed)
    L, rest = nm.laplacian(X, k, shift=float(rng.choice([0.0, 0.001, 0.1]))), {"components": "connect"}
    size = min(n - 2, int(rng.choice([5, 10, 20, 40])))
    forms = {
        "simple_npkl": lambda: with_trace_power(L, pairs, rng),
        "reg_pcp": lambda: nm.reg_pcp(nm.eigenbasis(L, size), pairs),
        "reg_mvu": lambda: nm.reg_mvu(X, k, size, **rest),
        "mvu": lambda: nm.mvu(X, k, weight=float(rng.choice([np.inf, gamma])), **rest),
        "colored_mvu": lambda: nm.colored_mvu(X, y, n_neighbors=k, C=gamma, **rest),
        "mve": lambda: nm.mve(X, 2, n_neighbors=k, **rest),
        "conformal_eigenmaps": lambda: nm.conformal_eigenmaps(X, k, min(size, 10), **rest),
        "locally_rigid": lambda: nm.locally_rigid(X, k, min(size, 10), **rest),
        "kernel_completion": lambda: known(X, rng, 4, False),
        "distances": lambda: known(X, rng, 5, True),
        "row norms": lambda: nm.npkl(L, pairs, loss=str(rng.choice([*LOSSES, "linear"])), row_norm=1.0),
        "basis": lambda: nm.npkl(L, pairs, loss=loss, gamma=gamma).with_basis(nm.eigenbasis(L, size)),
        "hard_pcp": lambda: nm.hard_pcp(L, pairs),
    }
    form = str(rng.choice(list(forms)))
    return f"{name}[{n}] {form} {loss} gamma={gamma:.3g} draw={seed}", forms[form](), 1e-6


def main() -> None:
    """Solve, compare, and say quantiles."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cells", type=int, default=90)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--of", default="pairs", choices=["pairs", "comparisons", "formulations"])
    parser.add_argument("--largest", type=int, default=LARGEST, help="most points")
    parser.add_argument("--cap", type=float, default=CAP, help="seconds of a solve")
    given = parser.parse_args()
    rng = np.random.default_rng(given.seed)
    draw, rivals = {
        "pairs": (cell, RIVALS), "comparisons": (compared, RIVALS[:2]), "formulations": (formulated, None),
    }[given.of]  # fmt: skip
    for name in rivals or RIVALS:
        warm = draw if rivals else cell
        warm(np.random.default_rng(1), 150)[1].solve(name, time_limit=5.0)  # what is compiled is compiled now
    regrets, uncertified, lost, ratios = [], 0, 0, defaultdict(list)
    while len(regrets) + uncertified < given.cells:
        try:
            name, P, tol = draw(rng, given.largest)
        except nm.ProblemError:  # parameters that do not fit together
            continue
        stored = pickle.dumps(P)  # without its facts: each solve finds its own
        own = measured(pickle.loads(stored), "auto", given.cap, tol)
        able = [one for one in candidates(P, {})[0] if not nm.backends()[one].by_name]
        limit = given.cap if rivals else max(own["seconds"], 1.0)
        found = {one: measured(pickle.loads(stored), one, limit, tol) for one in rivals or able}
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
