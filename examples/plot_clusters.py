"""
From pairs to clusters
======================

Kernel k-means on the learnt kernel, for more and more pairs.

What to see: with few pairs the graph alone decides; with some tens of each kind the clusters are the
classes, nearly. The spread is over three draws of the pairs.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans

data = nm.datasets.load("wine")
X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
L = nm.laplacian(X, n_neighbors=5, shift=0.1)
counts = [5, 15, 40, 100]


def solved(m: int, seed: int) -> nm.Solution:
    """With m pairs of each kind."""
    return nm.pcp(L, nm.Pairs.from_labels(data.y, m, m, seed)).solve()


accuracy = np.array([
    [
        cluster_accuracy(data.y, kernel_kmeans(solved(m, seed), 3, n_init=4))
        for seed in range(3)
    ]
    for m in counts
])  # fmt: skip
print(accuracy.mean(axis=1).round(3))
figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.errorbar(counts, accuracy.mean(axis=1), accuracy.std(axis=1), fmt="o-", capsize=3)
ax.set(xscale="log", xlabel="pairs of each kind", ylabel="Rand index", title="wine")
plt.show()
