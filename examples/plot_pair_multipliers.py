"""
Which pairs hold the kernel
===========================

The multiplier of a pair is what its loss pulls with.

What to see: most must-links are met with room to spare and have no line: the graph holds those points
together anyway. Nearly all cannot-links pull, and the widest lines are those that pull hardest.
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
