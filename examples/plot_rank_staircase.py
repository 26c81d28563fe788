"""
The rank staircase
==================

hybrid begins with two columns and adds one where the certificate shows the way down.

What to see: each step up is a negative eigenvalue of the slack whose eigenvector was appended.
burer_monteiro starts with more columns than the optimum has and needs no step; the kernel of either has
rank 4.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.01), pairs, gamma=10.0)
solutions = [problem.solve(name) for name in ("hybrid", "burer_monteiro")]
print(*solutions, sep="\n")
ax = plots.rank_history(solutions)
plt.show()
