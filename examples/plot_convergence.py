"""
Fast and exact on one picture
=============================

How objective and bound come together, for a low-rank, a splitting and an interior-point method.

What to see: against seconds the two factor methods end first; against iterations the interior-point method
does, each of whose iterations is dear. Hollow marks are the bounds that were proved on the way.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
problem.solve("bcd")  # what is compiled is compiled now
solutions = [problem.solve(name, tol=1e-8) for name in ("bcd", "burer_monteiro", "admm", "interior")]
print(*solutions, sep="\n")
figure, axes = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
plots.convergence(solutions, ax=axes[0], against="seconds")
plots.convergence(solutions, ax=axes[1], against="iterations")
plt.show()
