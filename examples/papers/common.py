"""What the scripts on the papers share: pairs by components ratio, accuracies over repetitions."""

from __future__ import annotations

import numpy as np

import npkl_models as nm
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans


def load(name: str):
    """A data set by name."""
    return nm.datasets.load(name)


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


def accuracy(solution: nm.Solution, y: np.ndarray, seed: int) -> float:
    """Percent of pairs on which kernel k-means agrees with the classes."""
    return 100 * cluster_accuracy(y, kernel_kmeans(solution, int(y.max()) + 1, random_state=seed))


def spread(values: list[float]) -> str:
    """Mean and standard deviation."""
    return f"{np.mean(values):.1f} +- {np.std(values):.1f}"
