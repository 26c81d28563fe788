"""
Which pairs hold the kernel
===========================

The multiplier of a pair is what its loss pulls with.

What to see: pairs inside a class that the graph already joins pull hardly at all. The wide lines are
cannot-links between neighbours of two classes, and must-links across the graph's gaps.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.npkl(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs, loss="hinge")
solution = problem.solve()
print(solution)
ax = plots.pair_multipliers(solution)
plt.show()
