"""The choice of a weight and a width by derivatives of a held-out loss, beside the grid of select_setting.

``python selection_gradient.py [SET ...] --draws 10`` prints a line of JSON for each set. It has CPU seconds
of both, and the share of couples of unseen pairs that the kernel of each choice, learnt from all pairs, ranks
rightly. A search ends where a derivative does not exist; ``ended`` counts such draws.
"""

import argparse
import time

import numpy as np
from common import report
from scipy.optimize import minimize
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.held_out import PairFolds, ranked_rightly
from npkl_models.applications.selection import Grid, select_setting
from npkl_models.applications.sensitivity import held_out_sensitivity
from npkl_models.model.graph import graph_width

SHIFT, NEIGHBORS, FIRST, STEPS, TOL, SHARP = 0.1, 5, 10.0, 8, 1e-4, 1e-6


class Search:
    """The mean held-out squared hinge as a function of log gamma and log width, with derivatives."""

    def __init__(self, X, pairs) -> None:
        self.X, self.folds = X, list(PairFolds(3, 0).split(pairs))
        self.starts = [None] * len(self.folds)
        self.solves, self.best = 0, (np.inf, None)

    def __call__(self, x):
        gamma, width = np.exp(x)
        L = nm.laplacian(self.X, NEIGHBORS, shift=SHIFT, sigma=width)
        total, slope = 0.0, np.zeros(2)
        for k, (train, held) in enumerate(self.folds):
            solution = nm.pcp(L, train, gamma=gamma).solve("bcd", tol=SHARP, start=self.starts[k])
            self.starts[k] = solution
            self.solves += 1
            term = nm.LossTerm(
                nm.Entries(held.n, (held.i, held.j)), "squared_hinge", held.sign, 1 / len(held)
            )
            found = held_out_sensitivity(solution, term)
            total += found.value
            pairs_only = float(solution.problem.terms[0].weight @ found.weights[0])
            slope += [pairs_only, width * found.cost.graph(self.X, NEIGHBORS, width)[0]]
        self.best = min(self.best, (total, tuple(x)))
        return total / len(self.folds), slope / len(self.folds)


def by_derivatives(X, pairs):
    """(gamma, width, solves, ended) by L-BFGS-B from gamma = 10 and the usual width."""
    search = Search(X, pairs)
    start = np.log([FIRST, graph_width(X, NEIGHBORS)])
    limits = [tuple(np.log([0.1, 1000.0])), (start[1] - np.log(2), start[1] + np.log(2))]
    ended = False
    try:
        minimize(search, start, jac=True, method="L-BFGS-B", bounds=limits, options={"maxfun": STEPS})
    except nm.SolverError:
        ended = True
    best = start if search.best[1] is None else search.best[1]
    return *np.exp(best), search.solves, ended


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=["iris", "wine", "glass"])
    parser.add_argument("--draws", type=int, default=10)
    given = parser.parse_args()
    for name in given.sets:
        data = nm.datasets.load(name)
        X = StandardScaler().fit_transform(data.X)
        rows = []
        for seed in range(given.draws):
            pairs = nm.Pairs.from_labels(data.y, 60, 60, seed)
            unseen = nm.Pairs.from_labels(data.y, 2000, 2000, seed + 1000)
            started = time.process_time()
            grid = Grid(gammas=(1.0, 10.0, 100.0), neighbors=(NEIGHBORS,), scalings=("raw",))
            best = select_setting(X, pairs, grid).best
            grid_cpu = time.process_time() - started
            started = time.process_time()
            gamma, width, solves, ended = by_derivatives(X, pairs)
            cpu = time.process_time() - started
            L = nm.laplacian(X, NEIGHBORS, shift=SHIFT, sigma=width)
            kernels = best.problem(X, pairs).solve(tol=TOL), nm.pcp(L, pairs, gamma=gamma).solve(tol=TOL)
            rows.append([grid_cpu, cpu, *(ranked_rightly(one.V, unseen) for one in kernels), solves, ended])
        mean = np.mean(rows, axis=0)
        apart = np.array(rows)[:, 3] - np.array(rows)[:, 2]
        report(
            benchmark="selection_gradient", data=name, draws=given.draws,
            grid_cpu=round(mean[0], 2), cpu=round(mean[1], 2), solves=round(mean[4], 1), grid_solves=9,
            ended=int(mean[5] * given.draws + 0.5),
            grid_right=round(mean[2], 4), right=round(mean[3], 4),
            difference=round(float(apart.mean()), 4),
            standard_error=round(float(apart.std(ddof=1) / np.sqrt(len(apart))), 4),
        )  # fmt: skip


if __name__ == "__main__":
    main()
