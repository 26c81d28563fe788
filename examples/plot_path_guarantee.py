"""
Every weight at once
====================

regularization_path with an interval and a tolerance chooses its own weights: at every weight between them, a
stored kernel is proved to be within the tolerance of the optimum.

What to see: the two bounds on the optimum cannot be told apart; the proved gap touches the tolerance between
the stored kernels, and falls to the gap of the solver at each of them; the rank of the best kernel changes.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
path = nm.regularization_path(problem, "weight", (0.01, 100.0), tol=1e-2)
print(path)
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.2), layout="constrained")
plots.envelopes(path, axes)
plt.show()
