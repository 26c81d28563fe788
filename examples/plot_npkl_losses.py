"""
Four losses, four kernels
=========================

The same pairs and the same graph under the four losses of npkl.

What to see: the square loss asks for +1 and -1 exactly; the hinges stop asking once a pair is beyond them;
the linear loss never stops, and needs the row norm that bounds it.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
L = nm.laplacian(data.X, n_neighbors=5, shift=0.1)
figure, axes = plt.subplots(2, 2, figsize=(8, 7.4), layout="constrained")
for ax, loss in zip(axes.flat, ("square", "hinge", "squared_hinge", "linear"), strict=True):
    solution = nm.npkl(L, pairs, loss=loss, row_norm=1.0 if loss == "linear" else None).solve()
    print(f"{loss}: {solution}")
    plots.kernel(solution, labels=data.y, ax=ax)
    ax.set_title(f"{loss}, rank {solution.rank}")
plt.show()
