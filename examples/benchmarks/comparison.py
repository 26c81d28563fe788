"""Our estimators beside the constrained and semi-supervised methods of three other packages.

``python comparison.py [SET ...] [--draws 20] [--folder DIR]`` compares clusters: it draws 0.3 n must-links
and 0.3 n cannot-links from the classes of nine small sets, gives them to every method with standardised
columns and the number of classes, and prints a line of JSON for each set and method: the adjusted Rand index
over all points, mean and spread over the draws, and seconds. Then it prints the table in Markdown to standard
error. With a folder every result is kept when it is there, and not computed again.

``--task metrics`` compares metrics on twelve sets of at most 300 points: half of the points and their pairs
(0.3 n of each kind) are learnt from, the others get the class of three neighbours. ``--task classes`` takes
features for an SVC that knows 3 or 10 points of each class: the accuracy on the other points, and on the half
that came after the fit. ``--task embeddings`` places at most 120 points in the plane, and measures how
trustworthy their six neighbours are there. Sets with a star chose settings of metrics and features. The
others did not; five of them were looked at twice, without and with the blend.

active-semi-supervised-clustering, metric-learn and umap-learn are looked for and need not be there; a method
that cannot be imported or fails says so. metric-learn 0.7 calls a keyword of scikit-learn by its old name:
here it is told the new one. LabelSpreading, SelfTraining, NCA and LMNN are given the classes of the points
that have a pair, which is more than the pairs say; KMeans and SpectralClustering are given nothing.
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
import sklearn
from common import report
from pckmeans import itml
from sklearn.cluster import KMeans, SpectralClustering
from sklearn.manifold import Isomap, LocallyLinearEmbedding, trustworthiness
from sklearn.metrics import adjusted_rand_score
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis
from sklearn.pipeline import make_pipeline, make_union
from sklearn.preprocessing import Normalizer, StandardScaler
from sklearn.semi_supervised import LabelSpreading, SelfTrainingClassifier
from sklearn.svm import SVC

import npkl_models as nm
from npkl_models.applications.estimators import NPKLClustering, NPKLKernel
from npkl_models.applications.metric import KernelMetricLearner, whitening
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


def learnt(X, y, pairs, seed, **settings):
    """Ours: the map of points."""
    return KernelMetricLearner(random_state=seed, **settings).fit(X, pairs=pairs).transform


def searched_landmarks(X, y, pairs, seed):
    """Ours, with the number of landmarks that left-out pairs choose."""
    with sklearn.config_context(enable_metadata_routing=True):
        counts = {"n_landmarks": [30, 60, 300]}
        search = GridSearchCV(KernelMetricLearner(random_state=seed), counts, cv=nm.PairFolds(3))
        return search.fit(X, pairs=pairs).best_estimator_.transform


def whitened(X, y, pairs, seed):
    """The first half of ours alone: relevant components, shrunk."""
    W = whitening(X[pairs.must_link[:, 0]] - X[pairs.must_link[:, 1]])
    return lambda Z: Z @ W


def informed(X, y, pairs, seed):
    """The short implementation beside PCKMeans."""
    W = itml(X, pairs)
    return lambda Z: Z @ W


def compared(X, y, pairs, seed):
    """metric-learn's LSML: for each must-link and a cannot-link, the first is to be shorter."""
    both = pairs.must_link, pairs.cannot_link
    count = min(map(len, both))
    made = modern("metric_learn").LSML(preprocessor=X, random_state=seed)
    return made.fit(np.hstack([ends[:count] for ends in both])).transform


def margins(X, y, pairs, seed):
    """metric-learn's LMNN, which gets the classes of the points with pairs."""
    known = np.unique(np.concatenate([pairs.i, pairs.j]))
    few = max(1, min(3, np.unique(y[known], return_counts=True)[1].min() - 1))
    return modern("metric_learn").LMNN(n_neighbors=few, random_state=seed).fit(X[known], y[known]).transform


def components(X, y, pairs, seed):
    """scikit-learn's, which gets the classes of the points with pairs."""
    known = np.unique(np.concatenate([pairs.i, pairs.j]))
    return NeighborhoodComponentsAnalysis(random_state=seed).fit(X[known], y[known]).transform


METRICS = {
    "features": lambda X, y, pairs, seed: lambda Z: Z,
    "KernelMetricLearner": learnt,
    "KernelMetricLearner(blend=False)": partial(learnt, blend=False),
    "KernelMetricLearner(100, blend=False, n_iter=3)": partial(
        learnt, n_landmarks=100, blend=False, n_iter=3
    ),
    "KernelMetricLearner, landmarks searched": searched_landmarks,
    "whitening": whitened,
    "ITML": informed,
    "LSML": compared,
    "NCA (classes)": components,
    "LMNN (classes)": margins,
}


def plain(X, part):
    """The features themselves."""
    return lambda Z: Z


def kernel_rows(X, part, joined=False):
    """Rows of the kernel's factor, of length one; or they and the features' rows, of length one."""
    rows = make_pipeline(NPKLKernel(tol=1e-3), Normalizer())
    return (make_union(rows, Normalizer()) if joined else rows).fit(X, part).transform


def searched(folds):
    """An SVC whose C and width are chosen by cross-validation."""
    width = {"C": [0.1, 1, 10, 100], "gamma": ["scale", 0.001, 0.01, 0.1]}
    return GridSearchCV(SVC(), width, cv=folds)


CLASSES = {
    "tuned SVC on features": (plain, searched),
    "SVC(C=10) on features": (plain, lambda _: SVC(C=10)),
    "SVC(C=10) on NPKLKernel": (kernel_rows, lambda _: SVC(C=10)),
    "SVC(C=10) on NPKLKernel and features": (partial(kernel_rows, joined=True), lambda _: SVC(C=10)),
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


CHOSE = ("iris", "wine", "glass", "heart", "digits", "sonar")
ONCE = ("breast_cancer", "protein", "usps", "isolet", "a1a", "mnist")


def halves(name: str, seed: int):
    """At most 300 points and their classes, standardised, and two halves of their rows."""
    data = nm.datasets.load(name)
    data = data.subset(300, 0) if data.n > 300 else data
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    X, y = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0]), np.unique(data.y, return_inverse=True)[1]
    return X, y, *train_test_split(np.arange(y.size), test_size=0.5, stratify=y, random_state=seed)


def metrics_of(method: str, name: str, seed: int) -> list[float]:
    """The accuracy of three neighbours in a learnt metric, and seconds."""
    X, y, old, new = halves(name, seed)
    count = round(0.3 * old.size)
    pairs = nm.Pairs.from_labels(y[old], count, count, random_state=seed)
    began = time.process_time()
    placed = METRICS[method](X[old], y[old], pairs, seed)
    taken = time.process_time() - began
    nearest = KNeighborsClassifier(3).fit(placed(X[old]), y[old])
    return [float(nearest.score(placed(X[new]), y[new])), taken]


def classes_of(method: str, name: str, seed: int, count: int, after: bool) -> list[float]:
    """The accuracy of an SVC on features, with few known classes, and seconds."""
    X, y, old, new = halves(name, seed)
    rng, old = np.random.default_rng(seed), old if after else np.arange(y.size)
    members = [rng.permutation(np.flatnonzero(y[old] == c)) for c in np.unique(y)]
    known = np.concatenate([own[: min(count, own.size // 2)] for own in members])
    part = np.full(old.size, -1)
    part[known] = y[old][known]
    asked = new if after else np.setdiff1d(old, known)
    made, classifier = CLASSES[method]
    warnings.simplefilter("ignore")  # of classes with a single known point
    began = time.process_time()
    placed = made(X[old], part)
    folds = StratifiedKFold(min(3, max(2, np.bincount(y[old][known]).min())))
    found = classifier(folds).fit(placed(X[old])[known], y[old][known])
    taken = time.process_time() - began
    return [float(found.score(placed(X[asked]), y[asked])), taken]


def umap(X):
    """umap-learn's, if it is there."""
    made = importlib.import_module("umap").UMAP(n_components=2, n_neighbors=6, random_state=0, n_jobs=1)
    return made.fit_transform(X)


EMBEDDINGS = {
    "Isomap": Isomap(n_neighbors=6).fit_transform,
    "MVU": nm.MVU(2, n_neighbors=6).fit_transform,
    "MVE": nm.MVE(2, n_neighbors=6).fit_transform,
    "locally linear": LocallyLinearEmbedding(
        n_neighbors=6, random_state=0, eigen_solver="dense"
    ).fit_transform,
    "UMAP": umap,
}


def embedding_of(method: str, name: str, seed: int) -> list[float]:
    """How trustworthy the neighbours in the plane are, and seconds."""
    data = nm.datasets.load(name)
    data = data.subset(120, seed) if data.n > 120 else data
    X = data.X.toarray() if sp.issparse(data.X) else data.X
    X = StandardScaler().fit_transform(X[:, X.std(axis=0) > 0])
    warnings.simplefilter("ignore")  # of graphs of several parts
    began = time.process_time()
    Z = EMBEDDINGS[method](X)
    taken = time.process_time() - began
    return [float(trustworthiness(X, Z, n_neighbors=6)), taken]


TASKS = {
    "metrics": {"": (METRICS, metrics_of)},
    "embeddings": {"": (EMBEDDINGS, embedding_of)},
    "classes": {
        f"{count} of each class, {'new' if after else 'other'} points": (
            CLASSES, partial(classes_of, count=count, after=after)
        )
        for count in (3, 10) for after in (False, True)
    },
}  # fmt: skip


def means(given: argparse.Namespace) -> None:
    """The tables of means over draws: each set, all sets, the worst set beside the first method, seconds."""
    names = given.sets if given.sets != list(SETS) else [*CHOSE, *ONCE]
    for title, (methods, run) in TASKS[given.task].items():
        print(
            f"\n{title}\n\n| | " + " | ".join(n + "*" * (n in CHOSE) for n in names), end="", file=sys.stderr
        )
        print(f" | mean | worst lead | CPU s |\n|{'---|' * (len(names) + 4)}", file=sys.stderr)
        first = None
        for method in methods:
            tasks = {
                f"{title} {name} {method} {seed}": partial(run, method, name, seed)
                for name in names for seed in range(given.draws)
            }  # fmt: skip
            found = list(sweep(tasks, 1, given.folder).values())
            reasons = sorted({one.error for one in found if isinstance(one, Failure)})
            both = np.array([[np.nan] * 2 if isinstance(one, Failure) else one for one in found])
            value, taken = both.reshape(len(names), given.draws, 2).mean(axis=1).T
            first = value if first is None else first
            row = [*value, value.mean(), (value - first).min()]
            shown = " | ".join(f"{one:.3f}" for one in row)
            print(f"| {method} | {shown} | {taken.mean():.2f} |", file=sys.stderr, flush=True)
            report(
                benchmark="comparison", task=f"{given.task} {title}", method=method, draws=given.draws,
                mean=round(float(value.mean()), 4), failures=reasons[:2],
            )  # fmt: skip


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
    parser.add_argument("--task", default="clusters", choices=["clusters", *TASKS])
    given = parser.parse_args()
    if given.task != "clusters":
        means(given)
        return
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
