"""
A Swiss roll by five ways
=========================

Soft unfolding by a factor beside what scikit-learn has: 800 points, coloured by their place along the roll.

What to see: unfolding and Isomap lay the sheet flat, the others do not. Isomap is much quicker, and bent
where the graph has holes; of the kernel of unfolding it is proved how far it can be from the optimum. The
table says how well each image keeps the neighbours, and how well the two true coordinates are a linear
function of it.
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.manifold import TSNE, Isomap, LocallyLinearEmbedding, SpectralEmbedding, trustworthiness

import npkl_models as nm
from npkl_models.applications.embedding import coordinates, held

X = nm.datasets.load("swiss_roll", n=800).X
angle = np.hypot(X[:, 0], X[:, 2])
along = 0.5 * (angle * np.sqrt(1 + angle**2) + np.arcsinh(angle))  # arc length
true = np.column_stack([along, X[:, 1]])


def unfolded():
    """Ten seconds are enough for a sheet, not for a proof to six digits."""
    solution = nm.mvu(X, 6, weight=1e3).solve("burer_monteiro", tol=1e-4, time_limit=10)
    print(solution, f"gap {solution.certificate.relative_gap:.1e}, two coordinates hold {held(solution):.4f}")
    return coordinates(solution)


def explained(Z):
    """Multiple correlations of the true coordinates with an image."""
    A = np.column_stack([Z, np.ones(len(Z))])
    rest = true - A @ np.linalg.lstsq(A, true, rcond=None)[0]
    return np.sqrt(1 - rest.var(axis=0) / true.var(axis=0))


ways = {
    "unfolding": unfolded,
    "Isomap": lambda: Isomap(n_neighbors=6).fit_transform(X),
    "LLE": lambda: LocallyLinearEmbedding(n_neighbors=10, random_state=0).fit_transform(X),
    "spectral": lambda: SpectralEmbedding(n_neighbors=6, random_state=0).fit_transform(X),
    "t-SNE": lambda: TSNE(max_iter=500, random_state=0).fit_transform(X),
}
figure, axes = plt.subplots(1, 5, figsize=(14, 3), layout="constrained")
print(f"{'':10} {'seconds':>8} {'trustworthy':>12} {'along':>7} {'across':>7}")
for ax, (name, way) in zip(axes, ways.items(), strict=True):
    began = time.perf_counter()
    Z = way()
    seconds, R = time.perf_counter() - began, explained(Z)
    print(f"{name:10} {seconds:8.1f} {trustworthiness(X, Z, n_neighbors=6):12.4f} {R[0]:7.4f} {R[1]:7.4f}")
    ax.scatter(*Z.T, c=along, s=3)
    ax.set(title=f"{name}, {seconds:.1f} s", xticks=[], yticks=[])
plt.show()
