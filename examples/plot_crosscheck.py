"""
Every backend on one problem
============================

A cross-check, drawn: how well each answer is proved.

What to see: every backend ends below one in a million and none has a verdict beside its bar, so all agree;
the fast solvers prove their own gap as well as the exact ones, in less time.
"""

import matplotlib.pyplot as plt

import npkl_models as nm

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.npkl(nm.laplacian(data.X, shift=0.1), pairs, loss="hinge")

table = nm.crosscheck(problem)
print(table)
ax = table.plot()
ax.set_title(f"{problem.name}, hinge loss, n = {problem.n}")
plt.show()
assert table.agrees
