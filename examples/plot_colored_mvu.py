"""
Coloured unfolding
==================

colored_mvu pulls classes apart as far as the distances of neighbours let it.

What to see: three cultivars of wine in 13 dimensions. On the left the plane of their largest variance, which
knows no classes; on the right that of the kernel. The lines are the edges whose distances it keeps.
"""

import matplotlib.pyplot as plt
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.formulations.neighborhood import neighborhood
from npkl_models.show import plots

data = nm.datasets.load("wine")
X = StandardScaler().fit_transform(data.X)
problem = nm.colored_mvu(X, data.y, n_neighbors=5, trace_bound=float(data.n))
solution = problem.solve("simple_npkl")
print(solution)

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
axes[0].scatter(*PCA(2).fit_transform(X).T, c=data.y, cmap="viridis", s=12)
axes[0].set(title="principal components")
plots.embedding(solution, data.y, ax=axes[1], edges=neighborhood(X, 5, "euclidean").graph)
axes[1].set_title(f"coloured, gap {solution.certificate.relative_gap:.0e}")
plt.show()
