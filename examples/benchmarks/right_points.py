"""Whether right points are certified without multipliers, and wrong ones are not: ``python right_points.py``.

Each formulation on five small data sets, drawn three times: `interior` solves to 1e-10, and its factor and
its kernel are handed back to `certify` as if they came from elsewhere. The same kernel, mixed with that of a
perturbed cost until the objective is 1e-4 worse, must never be certified to 1e-6. Prints a row for each
formulation, and every failure.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections import Counter

import numpy as np
from sklearn import datasets

import npkl_models as nm
from npkl_models.formulations.completion import known_affinities
from npkl_models.formulations.known_distances import neighbor_distances

CERTIFIED, WORSE = 1e-6, 1e-4
SETS = ("iris", "wine", "breast_cancer", "digits", "gaussians")


def drawn(name: str, n: int, seed: int):
    """n points of a data set, their labels, the Laplacian, and 0.6 n pairs of either kind."""
    rng = np.random.default_rng(seed)
    if name == "gaussians":
        y = rng.integers(0, 3, n)
        X = rng.normal(size=(n, 4)) + 3 * np.eye(3, 4)[y]
    else:
        X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
        chosen = rng.permutation(len(y))[:n]
        X, y = X[chosen], y[chosen]
        X = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    count = int(0.6 * n)
    return X, y, nm.laplacian(X, 5, shift=0.1), nm.Pairs.from_labels(y, count, count, seed)


FORMULATIONS = {
    "pcp": lambda X, y, L, pairs: nm.pcp(L, pairs),
    "npkl hinge": lambda X, y, L, pairs: nm.npkl(L, pairs, loss="hinge"),
    "npkl squared hinge": lambda X, y, L, pairs: nm.npkl(L, pairs),
    "npkl square": lambda X, y, L, pairs: nm.npkl(L, pairs, loss="square"),
    "npkl linear": lambda X, y, L, pairs: nm.npkl(L, pairs, loss="linear", row_norm=1.0),
    "simple_npkl": lambda X, y, L, pairs: nm.simple_npkl(L, pairs, loss="hinge", trace_bound=float(len(y))),
    "simple_npkl p=1": lambda X, y, L, pairs: nm.simple_npkl(L, pairs, p=1, penalty=1.0),
    "hard_pcp": lambda X, y, L, pairs: nm.hard_pcp(L, pairs),
    "hard_pcp as printed": lambda X, y, L, pairs: nm.hard_pcp(L, pairs, reduce=False),
    "reg_pcp": lambda X, y, L, pairs: nm.reg_pcp(nm.eigenbasis(L, 10), pairs),
    "mvu": lambda X, y, L, pairs: nm.mvu(X, 4, components="connect"),
    "reg_mvu": lambda X, y, L, pairs: nm.reg_mvu(X, 4, 10, components="connect"),
    "colored_mvu": lambda X, y, L, pairs: nm.colored_mvu(
        X, y, trace_bound=float(len(y)), components="connect"
    ),
    "mve": lambda X, y, L, pairs: nm.mve(X, 1, n_neighbors=4, C=10.0, components="connect"),
    "spe": lambda X, y, L, pairs: nm.spe(nm.knn_affinity(X, 5), trace_bound=float(len(y))),
    "conformal": lambda X, y, L, pairs: nm.conformal_eigenmaps(X, components="connect"),
    "kernel_completion": lambda X, y, L, pairs: nm.kernel_completion(known_affinities(X), penalty=1.0),
    "distances": lambda X, y, L, pairs: nm.distances(neighbor_distances(X), penalty=0.1),
    "locally_rigid": lambda X, y, L, pairs: nm.locally_rigid(X, components="connect"),
    "psde": lambda X, y, L, pairs: nm.psde(pairs, trace_bound=float(len(y))),
    "ordinal": lambda X, y, L, pairs: nm.ordinal(
        nm.formulations.comparisons.ordinal_answers(X, 5 * len(X)), len(X), loss="hinge", penalty=0.1
    ),
}


def worse(problem: nm.Problem, V: np.ndarray, wanted: float, seed: int) -> np.ndarray | None:
    """A factor of a kernel between VV' and that of a perturbed cost, with the wanted objective."""
    A = np.random.default_rng(seed).normal(size=problem.cost.shape)
    for size in (0.1, 1.0, 10.0):
        E = size * problem.cost_unit * A @ A.T / problem.n
        other = (
            nm.Problem(problem.cost + E, problem.terms, problem.regularizer, problem.basis).solve(tol=1e-6).V
        )
        if other is None or not problem.objective_of_factor(other) > wanted:
            continue
        low, high = 0.0, 1.0
        for _ in range(60):
            t = (low + high) / 2
            mixed = np.hstack([(1 - t) ** 0.5 * V, t**0.5 * other])
            low, high = (t, high) if problem.objective_of_factor(mixed) < wanted else (low, t)
        return mixed
    return None


def case(name: str, data: str, n: int, seed: int) -> list[str]:
    """What is wrong with one problem, in words; empty if nothing is."""
    problem = FORMULATIONS[name](*drawn(data, n, seed))
    backend = "interior" if problem.compatible_backends()["interior"] is None else "auto"
    best = problem.solve(backend, tol=1e-10)
    if best.V is None or not best.certificate.certifies(CERTIFIED):
        return [f"unsolved: {best.status.name} by {best.backend}"]
    wrong = []
    for kind, point in (("factor", best.V), ("kernel", best.V @ best.V.T)):
        found = nm.certify(problem, point, kind=kind)
        if not found.certifies(CERTIFIED):
            gap, missed = found.relative_gap, found.violation
            wrong.append(f"{kind} not certified: gap {gap:.1e}, violation {missed:.1e}, {found.source}")
    size = problem.size(best.objective, best.certificate.bound)
    mixed = worse(problem, best.V, best.objective + WORSE * size, seed)
    if mixed is None:
        wrong.append("no worse point")
    elif nm.certify(problem, mixed, kind="factor").certifies(CERTIFIED):
        wrong.append("worse point CERTIFIED")
    return wrong


def main() -> None:
    """Count what is certified."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--points", type=int, default=60)
    parser.add_argument("--draws", type=int, default=3)
    parser.add_argument("--only", nargs="+", choices=FORMULATIONS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.only or FORMULATIONS:
        counts, told, began = Counter(), [], time.perf_counter()
        for data in SETS:
            for seed in range(options.draws):
                try:
                    found = case(name, data, options.points, seed)
                except nm.NPKLError as error:
                    found = [f"raised {type(error).__name__}: {error}"]
                counts.update(["right"] * (not found) + ["cases"] + [words.split(":")[0] for words in found])
                told += [f"    {data} {seed}: {words}" for words in found]
        print(f"{name:20s} {time.perf_counter() - began:6.1f} s  {dict(counts)}", *told, sep="\n", flush=True)


if __name__ == "__main__":
    main()
