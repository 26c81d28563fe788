"""Runs of Yeung, Chang & Dai 2008: sets, metrics and measures."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from cells import Row, apart_of, fixed, said
from common import known, load, seeds
from linear_metrics import relevant_components
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.metrics import pairwise_distances
from sklearn.metrics.pairwise import rbf_kernel

import npkl_models as nm
from npkl_models.applications.metric import KernelMetricLearner
from npkl_models.applications.scores import separation, weighted_rand_index

PLAIN: dict[str, Any] = {"blend": False, "n_iter": 3}
PAPER: dict[str, Any] = PLAIN | {"prior": 0.0, "dissimilar": False}  # else the library's two extensions
PAIRS = 50  # |S|
JUDGED = 2_000  # points, drawn, over which J is taken
REDUCED = 50  # principal components that the linear learners get where there are more features
WIDTH = 0.6  # of the mean distance, which they do not state: within what their rows of the RBF metric ask for
FEW = 5  # neighbours in place of 20
NOISE = 0.25  # of XOR: the J of the points is then theirs, 1.25
METHODS = ("input", "RBF", "RCA", "paper's", "this library's")
FIXED = ("input", "RBF")  # no pairs are asked
UCI = {"soybean_small": 10, "protein": 15, "wine": 20, "boston_housing": 40, "breast_cancer": 50}  # |S|


@lru_cache(maxsize=3)
def points(name: str) -> tuple[np.ndarray, np.ndarray]:
    """A set by name; digits of MNIST by their own, all that the test images have; XOR of 8,000."""
    if name == "xor":
        data = nm.datasets.load("xor", n=8_000, noise=NOISE)
        return data.X, data.y
    if name.isdigit():
        data = load("mnist")
        kept = np.isin(data.y, [int(c) for c in name])
        return data.X[kept] / 255, np.unique(data.y[kept], return_inverse=True)[1]
    data = load(name)
    if name in UCI:
        return (data.X - data.X.mean(axis=0)) / np.where(
            data.X.std(axis=0) > 0, data.X.std(axis=0), 1
        ), data.y
    return data.X, data.y


def here(name: str) -> bool:
    """Whether it can be had."""
    return name == "xor" or known("mnist" if name.isdigit() else name)


def some_of(X: np.ndarray) -> np.ndarray:
    """The points over which J and the mean distance are taken."""
    return X[np.random.default_rng(0).permutation(len(X))[:JUDGED]]


def gamma_of(X: np.ndarray, width: float = WIDTH) -> float:
    """The number in the Gaussian kernel of a width in mean distances."""
    return float(1 / (2 * (width * pairwise_distances(some_of(X)).mean()) ** 2))


def rbf(X: np.ndarray, gamma: float) -> np.ndarray:
    """Coordinates whose distances are those of the Gaussian kernel itself, of all points, without landmarks."""
    return np.linalg.cholesky(rbf_kernel(X, gamma=gamma) + 1e-9 * np.eye(len(X)))


def widths(name: str, theirs: float) -> dict[str, Any]:
    """The widths, in mean distances, at which J of the Gaussian kernel's metric is theirs."""
    X, y = points(name)
    y, X = some_of(y), some_of(X)
    grid = np.geomspace(0.35, 1.0, 14)
    above = np.array([separation(rbf(X, gamma_of(X, width)), y) for width in grid]) - theirs
    at = np.flatnonzero(np.diff(np.sign(above)))
    share = above[at] / (above[at] - above[at + 1])
    return {"widths": (grid[at] * (grid[at + 1] / grid[at]) ** share).tolist()}


def learned(X: np.ndarray, pairs: nm.Pairs, method: str, landmarks: int | None, seed: int) -> np.ndarray:
    """Coordinates in which the method measures."""
    if method == "input":
        return X
    if method == "RBF":
        return rbf(X, gamma_of(X))
    if method == "RCA":
        Z = PCA(min(REDUCED, *X.shape), random_state=0).fit_transform(X)
        return Z @ relevant_components(Z, pairs.must_link)
    if method == "this library's":
        model = KernelMetricLearner(landmarks, random_state=seed, **PLAIN)
        return model.fit_transform(X, must_link=pairs.must_link, cannot_link=pairs.cannot_link)
    few = {"n_neighbors": FEW} if "neighbours" in method else {}
    model = KernelMetricLearner(landmarks, random_state=seed, gamma=gamma_of(X), **PAPER, **few)
    return model.fit_transform(X, must_link=pairs.must_link)


def run(
    name: str,
    method: str,
    seed: int,
    count: int = PAIRS,
    landmarks: int | None = 100,
    rand: bool = False,
    among: int = 0,
) -> dict[str, Any]:
    """J of one draw, and the weighted Rand index of k-means where it is asked; the pairs of all points or among a few."""
    X, y = points(name)
    known = y
    if among:
        chosen = np.random.default_rng(seed).permutation(len(X))[:among]
        known = np.where(np.isin(np.arange(len(X)), chosen), y, -1)
    pairs = nm.Pairs.from_labels(known, count, count, seed)
    if method == "RBF" and not rand:
        return {"J": separation(rbf(some_of(X), gamma_of(X)), some_of(y))}
    Z = learned(X, pairs, method, landmarks, seed)
    out = {"J": separation(some_of(Z), some_of(y))}
    if rand:
        found = KMeans(int(y.max()) + 1, n_init=5, random_state=seed).fit_predict(Z)
        out["rand"] = weighted_rand_index(y, found)
    return out


def repeated(method: str, quick: bool) -> range:
    """One where nothing is drawn."""
    return range(1) if method in FIXED else seeds(quick, 10)


def cells_of(row: Row, what: str, digits: int) -> list[str]:
    """The cells of a row's methods; of what is not drawn the one figure."""
    return [
        fixed(next(iter(own.values()))[what], digits) if name in FIXED else said([one[what] for one in own.values()], digits)
        for name, own in row.runs.items()
    ]  # fmt: skip


def less_input(row: Row, method: str, what: str, digits: int) -> str:
    """How far a method is above the points as they are."""
    if method in FIXED:
        return "nothing drawn"
    base = next(iter(row.runs["input"].values()))[what]
    return apart_of([one[what] - base for one in row.runs[method].values()], digits)
