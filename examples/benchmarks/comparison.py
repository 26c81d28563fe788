"""NPKLClustering beside the constrained and semi-supervised methods of three other packages.

``python comparison.py [SET ...] [--draws 20] [--folder DIR]`` draws 0.3 n must-links and 0.3 n cannot-links
from the classes of nine small sets, gives them (with standardised columns and the number of classes) to every
method, and prints a line of JSON for each set and method: the adjusted Rand index over all points, mean and
spread over the draws, and seconds. Then it prints the table in Markdown to standard error. With a folder
every result is kept when it is there, and not computed again.

active-semi-supervised-clustering and metric-learn are looked for and need not be there; a method that cannot
be imported or fails says so. metric-learn 0.7 calls a keyword of scikit-learn by its old name: here it is
told the new one. LabelSpreading and SelfTraining are given the classes of the points that have a pair, which
is more than the pairs say; KMeans and SpectralClustering are given nothing.
"""

import argparse
import importlib
import pkgutil
import signal
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial

import numpy as np
import scipy.sparse as sp
from common import report
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

import npkl_models as nm
from npkl_models.applications.estimators import NPKLClustering
from npkl_models.task_cache import Failure, sweep

SETS = ("chessboard", "double_spiral", "glass", "heart", "iris", "protein", "sonar", "soybean_small", "wine")
LIMIT = 20  # seconds of one run
NEIGHBORS = 10


def npkl(X, y, k, pairs, seed, **settings):
    """Ours, with its defaults if no setting is given."""
    model = NPKLClustering(k, random_state=seed, **settings)
    return model.fit(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link).labels_


def kmeans(X, y, k, pairs, seed):
    """Without pairs."""
    return KMeans(k, n_init=20, random_state=seed).fit_predict(X)


def spectral(X, y, k, pairs, seed, told=False):
    """On our graph; ``told`` sets the affinity of must-links to 1, that of cannot-links to 0."""
    S = nm.knn_affinity(X, NEIGHBORS).tolil()
    if told:
        for ends, value in ((pairs.must_link, 1.0), (pairs.cannot_link, 0.0)):
            S[ends[:, 0], ends[:, 1]] = value
            S[ends[:, 1], ends[:, 0]] = value
    return SpectralClustering(k, affinity="precomputed", random_state=seed).fit_predict(sp.csr_matrix(S))


def classified(X, y, k, pairs, seed, make):
    """A classifier that is told the classes of the points with pairs."""
    known = np.full(y.size, -1)
    ends = np.unique(np.concatenate([pairs.i, pairs.j]))
    known[ends] = y[ends]
    return make().fit(X, known).predict(X)


def constrained(X, y, k, pairs, seed, module, name):
    """active-semi-supervised-clustering's, which draws from numpy's global generator."""
    if name in ("MKMeans", "RCAKMeans"):
        modern("metric_learn")  # which they call
    made = getattr(importlib.import_module(f"active_semi_clustering.semi_supervised.{module}"), name)
    np.random.seed(seed)
    model = made(n_clusters=k)
    linked = (list(map(tuple, ends.tolist())) for ends in (pairs.must_link, pairs.cannot_link))
    with np.errstate(all="warn"):  # the package makes numpy raise on import
        model.fit(X, **dict(zip(("ml", "cl"), linked, strict=True)))
    return model.labels_


def metric(X, y, k, pairs, seed, name):
    """metric-learn's on pairs (RCA: on the chunks that must-links join), then k-means."""
    made = getattr(modern("metric_learn"), name)
    if name == "RCA":
        group = pairs.groups()[1]
        joined = np.bincount(group)[group] > 1
        chunk = np.full(y.size, -1)
        chunk[joined] = np.unique(group[joined], return_inverse=True)[1]
        Z = made().fit(X, chunk).transform(X)
    else:
        ends = np.stack([pairs.i, pairs.j], axis=1)
        more = {} if name == "SDML" else {"random_state": seed}
        Z = made(preprocessor=X, **more).fit(ends, pairs.sign.astype(int)).transform(X)
    return kmeans(Z, y, k, pairs, seed)


def modern(package: str):
    """The package, its calls of scikit-learn's validation with the keyword's name of today."""
    root = importlib.import_module(package)

    def told(function: Callable) -> Callable:
        def call(*args, force_all_finite=True, **kwargs):
            return function(*args, ensure_all_finite=force_all_finite, **kwargs)

        call.translated = True
        return call

    for found in pkgutil.iter_modules(root.__path__, f"{package}."):
        module = importlib.import_module(found.name)
        for name in ("check_array", "check_X_y"):
            old = getattr(module, name, None)
            if old is not None and not hasattr(old, "translated"):
                setattr(module, name, told(old))
    return root


ACTIVE = "pairwise_constraints"
METHODS = {
    "NPKLClustering": npkl,
    "NPKLClustering(noise=None, cannot=0.0)": partial(npkl, noise=None, cannot=0.0),
    **{
        name: partial(constrained, module=ACTIVE, name=name)
        for name in ("COPKMeans", "PCKMeans", "MPCKMeans", "MPCKMeansMF", "MKMeans", "RCAKMeans")
    },
    **{f"{name} + k-means": partial(metric, name=name) for name in ("ITML", "SDML", "MMC", "RCA")},
    "spectral, pairs in the graph": partial(spectral, told=True),
    "LabelSpreading (classes)": partial(
        classified, make=partial(LabelSpreading, kernel="knn", n_neighbors=NEIGHBORS)
    ),
    "SelfTraining SVC (classes)": partial(
        classified, make=lambda: SelfTrainingClassifier(SVC(probability=True, random_state=0))
    ),
    "SpectralClustering (no pairs)": spectral,
    "KMeans (no pairs)": kmeans,
}


def late(*_):
    """Of the alarm."""
    raise TimeoutError(f"more than {LIMIT} s")


def one(method: str, name: str, seed: int) -> list[float]:
    """The index of a method on a draw, and its seconds."""
    data = nm.datasets.load(name)
    X, count = StandardScaler().fit_transform(data.X), round(0.3 * data.n)
    pairs = nm.Pairs.from_labels(data.y, count, count, random_state=seed)
    signal.signal(signal.SIGALRM, late)
    signal.alarm(LIMIT)
    try:
        with warnings.catch_warnings(), np.errstate(all="warn"):
            warnings.simplefilter("ignore")
            began = time.perf_counter()
            labels = METHODS[method](X, data.y, len(np.unique(data.y)), pairs, seed)
            taken = time.perf_counter() - began
    finally:
        signal.alarm(0)
    return [float(adjusted_rand_score(data.y, labels)), taken]


def cell(found: list) -> str:
    """Mean and spread of what ran, and how many draws failed."""
    ran = np.array([one[0] for one in found if not isinstance(one, Failure)])
    failed = len(found) - ran.size
    if not ran.size:
        return "fails"
    words = f"{ran.mean():.2f} ± {ran.std():.2f}"
    return words + (f" ({failed} of {len(found)} fail)" if failed else "")


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS))
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--folder")
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    given = parser.parse_args()
    table = {method: [] for method in given.methods}
    for name in given.sets:
        for method in given.methods:
            runs = {seed: partial(one, method, name, seed) for seed in range(given.draws)}
            tasks = {f"{name} {method} {seed}": run for seed, run in runs.items()}
            found = list(sweep(tasks, 1, given.folder).values())
            table[method].append(cell(found))
            reasons = sorted({run.error for run in found if isinstance(run, Failure)})
            seconds = [run[1] for run in found if not isinstance(run, Failure)]
            report(
                benchmark="comparison", data=name, method=method, draws=given.draws, index=cell(found),
                seconds=round(float(np.mean(seconds)), 2) if seconds else None, failures=reasons[:2],
            )  # fmt: skip
    head = "".join(f" {name} |" for name in given.sets)
    print(f"| |{head}\n|{'---|' * (len(given.sets) + 1)}", file=sys.stderr)
    for method, cells in table.items():
        print(f"| {method} |{''.join(f' {words} |' for words in cells)}", file=sys.stderr)


if __name__ == "__main__":
    main()
