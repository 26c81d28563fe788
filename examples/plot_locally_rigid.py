"""
Places from distances of neighbours
===================================

locally_rigid sees the distances of near points only, and puts all points where they are.

What to see: 200 sensors in a square with a hole. Each knows how far its ten nearest ones are. On the left the
graph; on the right where the solution puts the sensors (dots) and where they are (circles). It is exact: the
basis holds the true coordinates, and the certificate proves that nothing is better.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.formulations.neighborhood import neighborhood
from npkl_models.show import plots

X = np.random.default_rng(3).uniform(-1, 1, size=(320, 2))
X = X[np.abs(X).max(axis=1) > 0.45][:200]
solution = nm.locally_rigid(X, n_neighbors=10, n_basis=8).solve()
print(solution)

figure, axes = plt.subplots(1, 2, figsize=(9, 4.5), layout="constrained")
for i, j in neighborhood(X, 10, "euclidean").pairs:
    axes[0].plot(*X[[i, j]].T, color="grey", linewidth=0.4)
axes[0].scatter(*X.T, s=6)
axes[0].set(aspect="equal", title="who knows whose distance")
places, true = plots.layout(solution), X - X.mean(axis=0)
U, _, T = np.linalg.svd(places.T @ true)
axes[1].scatter(*true.T, s=40, facecolors="none", edgecolors="C1")
axes[1].scatter(*(places @ U @ T).T, s=6)
axes[1].set(aspect="equal", title=f"rank {solution.rank}, off by {abs(places @ U @ T - true).max():.0e}")
plt.show()
