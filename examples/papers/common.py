"""What the papers' experiments share: sets, pairs, graphs, methods and measures."""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any

import numpy as np

import npkl_models as nm
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans
from npkl_models.linalg.compile import Loop, available

SMALL = ("chessboard", "double_spiral", "glass", "heart", "iris", "protein", "sonar", "soybean_small", "wine")
GENERATED = ("chessboard", "double_spiral")
GAMMA, SHIFT = 100.0, 0.1  # neither is said in the papers of Hu & Kwok
LIMIT = 120.0  # seconds of a solve
RESTARTS = 20  # of k-means


@lru_cache(maxsize=4)
def load(name: str, seed: int = 0) -> nm.datasets.Dataset:
    """A set by name; a generated one anew for each seed, of 100 points."""
    return nm.datasets.load(name, n=100, random_state=seed) if name in GENERATED else nm.datasets.load(name)


def known(name: str) -> bool:
    """Whether a set can be had here."""
    try:
        load(name)
    except nm.NPKLError:
        return False
    return True


def neighbors_of(name: str) -> int:
    """Hu & Kwok 2013, section 4: 50 for the adult sets, 5 for the others."""
    return 50 if name[0] == "a" and name[1].isdigit() else 5


def drawn(name: str, seed: int) -> tuple[nm.datasets.Dataset, nm.Pairs]:
    """0.6 n must-links and 0.6 n cannot-links."""
    data = load(name, seed)
    count = round(0.6 * data.n)
    return data, nm.Pairs.from_labels(data.y, count, count, seed)


@lru_cache(maxsize=4)
def graph(name: str, seed: int, shift: float = SHIFT) -> Any:
    """The Laplacian of a set."""
    return nm.laplacian(load(name, seed if name in GENERATED else 0).X, neighbors_of(name), shift=shift)


def pairs_at_ratio(y: np.ndarray, ratio: float, seed: int) -> nm.Pairs:
    """As many must-links as leave ``ratio`` n components, and as many cannot-links."""
    low, high = 1, y.size
    while low < high:  # must-links are drawn in the same order, so the ratio falls with their number
        middle = (low + high) // 2
        if nm.Pairs.from_labels(y, middle, 1, seed).connected_components_ratio() > ratio:
            low = middle + 1
        else:
            high = middle
    return nm.Pairs.from_labels(y, low, low, seed)


@lru_cache(maxsize=1)
def warm() -> None:
    """Load, or compile, each loop, and import what is imported late: no time that is told has that in it."""
    if available():
        for loop in Loop.every:
            loop.prepare()
    data = nm.datasets.load("iris").subset(30)
    pairs = nm.Pairs.from_labels(data.y, 10, 10, 0)
    for loss in ("hinge", "square"):
        problem = nm.npkl(nm.laplacian(data.X, 4, shift=SHIFT), pairs, loss=loss)
        for backend in ("bcd", "burer_monteiro", "interior"):
            problem.solve(backend)


def backend_of(method: str) -> str:
    """The backend of a column; "admm, printed" is KL-ADMM as its source prints it."""
    return {"admm, printed": "printed_kl_admm", "bcd, printed": "printed_bcdkl"}.get(method, method)


def timed(problem: nm.Problem, backend: str, **options: Any) -> tuple[nm.Solution, float]:
    """A solution, and the CPU seconds that it took."""
    warm()
    began = time.process_time()
    solution = problem.solve(backend, **options)
    return solution, time.process_time() - began


def accuracy(solution: nm.Solution, y: np.ndarray, seed: int = 0) -> float:
    """Percent of pairs of points on which kernel k-means agrees with the classes."""
    clusters = kernel_kmeans(solution, int(y.max()) + 1, RESTARTS, random_state=seed)
    return 100 * cluster_accuracy(y, clusters)


def measured(problem: nm.Problem, backend: str, y: np.ndarray, seed: int, **options: Any) -> dict[str, Any]:
    """What a table says of a run."""
    solution, seconds = timed(problem, backend, **options)
    return {
        "accuracy": accuracy(solution, y, seed), "seconds": seconds, "status": solution.status.name,
        "gap": float(solution.certificate.relative_gap), "objective": float(solution.objective),
        "rank": solution.rank, "iterations": solution.iterations,
    }  # fmt: skip


def seeds(quick: bool, most: int = 20) -> range:
    """20 repetitions, as in the papers; two where it must be quick."""
    return range(min(2, most) if quick else most)
