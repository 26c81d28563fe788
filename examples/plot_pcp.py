"""
Constraint propagation
======================

Squares pull must-links to one, cannot-links to zero and the diagonal to one; the graph spreads what they
say.

What to see: three blocks, though only 180 of 11,175 pairs are given. The first class is far from the others
and its block is clean; the other two touch, and so do their blocks.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
solution = problem.solve()
print(solution)
ax = plots.kernel(solution, labels=data.y)
ax.set_title("pcp on iris, points ordered by class")
plt.show()
