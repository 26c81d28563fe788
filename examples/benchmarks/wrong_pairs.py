"""Clusters from pairs of which some are wrong, beside other methods, on twelve sets.

``python wrong_pairs.py [SET ...] [--draws 10] [--first 10] [--folder DIR] [--jobs 2]`` draws pairs of both
kinds, turns a share of them round, and gives them with standardised columns (at most 300 points) and the
number of classes to every method. Draws are numbered from ``--first`` on. It prints a line of JSON for each
budget, noise and method: the adjusted Rand index over all points and over points without a pair, in the mean
over the sets and draws, its paired difference to NPKLClustering with the standard error over draws, and CPU
seconds. Then a table of the sets. ``wrong_pairs_audits.py`` judges the audits.

The sets of OPEN were looked at while the model was made, with draws below 10. The sets of LAST were run at
the end and chose nothing. The weights of PCKMeans and MPCKMeans, and the gamma of ITML (of metric-learn, if
it is there), are the best of four, five and three values on OPEN, draws 0 and 1, 0.6 n.
"""

import argparse
import os
import sys
import time
import warnings
from functools import lru_cache, partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
from common import report
from comparison import modern
from pckmeans import pckmeans, signed_spectral
from sklearn.cluster import KMeans
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading
from sklearn.svm import SVC

import npkl_models as nm
from npkl_models.task_cache import Failure, sweep

OPEN = ("iris", "wine", "glass", "heart", "sonar", "protein", "digits", "a1a")
LAST = ("breast_cancer", "usps", "isolet", "mnist")
BUDGETS = {"50": None, "0.2 n": 0.2, "0.6 n": 0.6}  # of both kinds together; of each kind
NOISE = (*(("both", share) for share in (0.0, 0.05, 0.1, 0.2, 0.3)), ("must", 0.1), ("must", 0.2))
POINTS, NEIGHBORS = 300, 10


@lru_cache
def points(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Standardised points and classes, at most 300."""
    data = nm.datasets.load(name)
    data = data.subset(POINTS, 0) if data.n > POINTS else data
    X = data.X[:, data.X.std(axis=0) > 0]
    return StandardScaler().fit_transform(X), np.unique(data.y, return_inverse=True)[1]


def drawn(y: np.ndarray, budget: str, kind: str, share: float, seed: int) -> tuple[nm.Pairs, np.ndarray]:
    """Pairs of both kinds, a share of all turned round (of the must-links alone if ``kind`` is "must")."""
    each = BUDGETS[budget]
    count = 25 if each is None else round(each * y.size)
    pairs = nm.Pairs.from_labels(y, count, count, random_state=seed)
    ends, sign = np.stack([pairs.i, pairs.j], axis=1), pairs.sign.copy()
    able = np.flatnonzero(sign > 0) if kind == "must" else np.arange(len(pairs))
    sign[np.random.default_rng(1000 + seed).choice(able, round(share * len(pairs)), replace=False)] *= -1
    found = nm.Pairs(y.size, ends[sign > 0], ends[sign < 0])
    return found, (y[found.i] == y[found.j]) != (found.sign > 0)


def ours(X, y, k, pairs, seed, **settings):
    """NPKLClustering, with its defaults if no setting is given."""
    return nm.NPKLClustering(k, random_state=seed, **settings).fit(X, pairs=pairs).labels_


def signed(X, y, k, pairs, seed):
    """Signed spectral clustering on our graph."""
    return signed_spectral(nm.knn_affinity(X, NEIGHBORS), pairs, k, random_state=seed)


def kmeans(X, y, k, pairs, seed):
    """Without pairs."""
    return KMeans(k, n_init=20, random_state=seed).fit_predict(X)


def closure(X, y, k, pairs, seed, make):
    """Groups of must-links; the k largest name classes that a classifier carries to all points."""
    label = pairs.groups()[1]
    largest = np.argsort(-np.bincount(label), kind="stable")[:k]
    known = np.full(y.size, -1)
    for c, group in enumerate(largest):
        known[label == group] = c
    return make(X, known)


def spread(X, known):
    """Label spreading on the neighbours' graph."""
    return LabelSpreading(kernel="knn", n_neighbors=NEIGHBORS).fit(X, known).predict(X)


def supported(X, known):
    """A support vector machine that learns from the named points alone."""
    told = known >= 0
    return SVC(C=10).fit(X[told], known[told]).predict(X)


def diffused(X, y, k, pairs, seed):
    """Pairs spread along the graph (E2CP; Lu & Peng, IJCV 103, 2013), then spectral clustering."""
    S = sp.csr_array(nm.knn_affinity(X, NEIGHBORS))
    scale = sp.diags_array(1 / np.sqrt(np.maximum(S.sum(axis=1), 1e-12)))
    W = (scale @ S @ scale).toarray()
    Z = np.zeros_like(W)
    Z[pairs.i, pairs.j] = Z[pairs.j, pairs.i] = pairs.sign
    inverse = np.linalg.inv(np.eye(y.size) - 0.6 * W)
    F = 0.16 * inverse @ Z @ inverse
    F /= max(np.abs(F).max(), 1e-12)
    A = np.where(F >= 0, 1 - (1 - F) * (1 - W), (1 + F) * W)
    degree = 1 / np.sqrt(np.maximum(A.sum(axis=1), 1e-12))
    V = np.linalg.eigh(degree[:, None] * A * degree)[1][:, -k:]
    return kmeans(V / np.maximum(np.linalg.norm(V, axis=1, keepdims=True), 1e-12), y, k, pairs, seed)


def penalised(X, y, k, pairs, seed, **settings):
    """PCKMeans or MPCKMeans."""
    return pckmeans(X, k, pairs, seed, **settings)


def itml(X, y, k, pairs, seed):
    """metric-learn's ITML, then k-means."""
    made = modern("metric_learn").ITML(gamma=0.1, max_iter=200, preprocessor=X, random_state=seed)
    Z = made.fit(np.stack([pairs.i, pairs.j], axis=1), pairs.sign.astype(int)).transform(X)
    return kmeans(Z, y, k, pairs, seed)


METHODS = {
    "NPKLClustering": ours,
    "NPKLClustering(noise=None, cannot=0.0)": partial(ours, noise=None, cannot=0.0),
    "NPKLClustering(noise=None)": partial(ours, noise=None),
    "signed spectral": signed,
    "E2CP": diffused,
    "PCKMeans": partial(penalised, weight=0.3),
    "MPCKMeans": partial(penalised, weight=0.03, learnt=True),
    "ITML, then k-means": itml,
    "must-link groups, label spreading": partial(closure, make=spread),
    "must-link groups, SVC": partial(closure, make=supported),
    "k-means (no pairs)": kmeans,
}


def one(method: str, name: str, budget: str, kind: str, share: float, seed: int) -> list[float]:
    """The index on all points, on points without a pair, and CPU seconds."""
    X, y = points(name)
    pairs, _ = drawn(y, budget, kind, share, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        labels = METHODS[method](X, y, len(np.unique(y)), pairs, seed)
        taken = time.process_time() - began
    outside = np.setdiff1d(np.arange(y.size), np.concatenate([pairs.i, pairs.j]))
    apart = adjusted_rand_score(y[outside], labels[outside]) if outside.size > 1 else np.nan
    return [float(adjusted_rand_score(y, labels)), float(apart), taken]


def seeds(given: argparse.Namespace) -> range:
    """The numbers of the draws."""
    return range(given.first, given.first + given.draws)


def clusters(given: argparse.Namespace) -> None:
    """The first part."""
    tasks = {
        f"{name} {budget} {kind} {share} {method} {seed}":
        partial(one, method, name, budget, kind, share, seed)
        for budget in given.budgets for kind, share in NOISE for name in given.sets
        for method in given.methods for seed in seeds(given)
    }  # fmt: skip
    found = sweep(tasks, given.jobs, given.folder)
    for budget in given.budgets:
        for kind, share in NOISE:
            shown, failed = {}, {}
            for method in given.methods:
                runs = [
                    [found[f"{name} {budget} {kind} {share} {method} {seed}"] for seed in seeds(given)]
                    for name in given.sets
                ]
                bad = [[isinstance(run, Failure) for run in row] for row in runs]
                failed[method] = int(np.sum(bad))
                shown[method] = np.array(
                    [[[np.nan] * 3 if isinstance(run, Failure) else run for run in row] for row in runs]
                )
            compared(given, (budget, kind, share), shown, failed)


def by_set(given: argparse.Namespace, values: np.ndarray, ours: np.ndarray) -> dict[str, list[float]]:
    """For each set the index, CPU seconds, and the lead of ours with its standard error over the draws."""
    lead = ours[:, :, 0] - values[:, :, 0]
    error = np.nanstd(lead, axis=1, ddof=1) / np.sqrt(np.sum(~np.isnan(lead), axis=1))
    found = np.nanmean(values[:, :, 0], axis=1), np.nanmean(values[:, :, 2], axis=1), np.nanmean(lead, axis=1)
    table = np.round(np.column_stack([*found, error]), 4).tolist()
    return dict(zip(given.sets, table, strict=True))


def compared(
    given: argparse.Namespace, case: tuple[str, str, float], shown: dict[str, np.ndarray],
    failed: dict[str, int],
) -> None:  # fmt: skip
    """Print the methods of one budget and noise; ``shown`` are arrays sets x draws x 3."""
    for method, values in shown.items():
        behind = np.zeros(0)
        if "NPKLClustering" in shown:  # over the runs that both have: a mean over the sets for each draw
            behind = np.nanmean(shown["NPKLClustering"][:, :, 0] - values[:, :, 0], axis=0)
        error = behind.std(ddof=1) / np.sqrt(behind.size) if behind.size > 1 else np.nan
        report(
            benchmark="wrong_pairs", budget=case[0], turned=case[1], noise=case[2], method=method,
            sets=len(given.sets), draws=given.draws, first=given.first,
            index=round(float(np.nanmean(values[:, :, 0])), 3),
            ahead=round(float(behind.mean()), 3) if behind.size else None, error=round(float(error), 3),
            outside=round(float(np.nanmean(values[:, :, 1])), 3),
            seconds=round(float(np.nanmean(values[:, :, 2])), 2), failed=failed[method],
            by_set=by_set(given, values, shown.get("NPKLClustering", values)),
        )  # fmt: skip
    print(f"{' '.join(map(str, case))}: {' '.join(given.sets)}", file=sys.stderr)
    for method, values in shown.items():
        row = np.nanmean(values[:, :, 0], axis=1)
        print(f"  {method:38}", " ".join(f"{value:6.2f}" for value in row), file=sys.stderr)


def options(about: str) -> argparse.ArgumentParser:
    """The sets, draws and budgets, and where results are kept."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("sets", nargs="*", default=list(OPEN + LAST))
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--budgets", nargs="+", default=list(BUDGETS), choices=list(BUDGETS))
    parser.add_argument("--folder")
    parser.add_argument("--jobs", type=int, default=1)
    return parser


def main() -> None:
    """Run it."""
    parser = options(__doc__)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    clusters(parser.parse_args())


if __name__ == "__main__":
    main()
