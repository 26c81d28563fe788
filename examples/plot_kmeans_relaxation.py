"""
Bounds on the sizes of clusters
===============================

The relaxation of k-means by Peng & Wei (2007): the kernel of a clustering is 1/m on the pairs of a cluster
of m points. So its rows sum to one, its trace is the number of clusters, and its entries are not negative.

What to see: the certified optimum is a lower bound on the sum of squares of every clustering, and k-means on
the kernel comes near it. At least 8 and at most 12 points in a cluster are two more bounds, on the diagonal.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

import npkl_models as nm

rng = np.random.default_rng(0)
X = np.repeat([[0.0, 0.0], [4.0, 0.0], [2.0, 3.5]], [5, 10, 15], axis=0) + rng.normal(size=(30, 2))
n, squared = len(X), np.square(X[:, None] - X).sum(axis=2)
rows, columns = np.divmod(np.arange(n * n), n)
sums = nm.SparseMatrices(n, (rows, rows, columns, np.where(rows == columns, 1.0, 0.5)))
always = [
    nm.Constraint(sums, equal=1.0, name="rows"),
    nm.Constraint(nm.Trace(n), equal=3.0, name="clusters"),
    nm.Constraint(nm.Entries(n, np.triu_indices(n, 1)), lower=0.0, name="entries"),
]
diagonal = nm.Entries(n, (range(n), range(n)))
sizes = nm.Constraint(diagonal, lower=1 / 12, upper=1 / 8, name="sizes")

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, constraints, title in ((axes[0], always, "any size"), (axes[1], [*always, sizes], "8 to 12 points")):
    solution = nm.Problem(squared / 2, constraints, name="k-means").solve()
    labels = KMeans(3, n_init=20, random_state=0).fit_predict(solution.V)
    cost = sum(np.square(X[labels == c] - X[labels == c].mean(axis=0)).sum() for c in range(3))
    print(f"{title}: {solution}, sizes {np.bincount(labels)}")
    print(f"no clustering costs less than {solution.certificate.bound:.2f}; this one costs {cost:.2f}")
    ax.scatter(*X.T, c=labels, cmap="viridis")
    ax.set(title=f"{title}: {cost:.1f}, at least {solution.certificate.bound:.1f}", aspect="equal")
plt.show()
