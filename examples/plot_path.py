"""
Along gamma
===========

regularization_path solves for each weight of the pairs, each solve begun at its neighbour's answer.

What to see: objective and rank along the weight; every point has its own certificate.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
path = nm.regularization_path(problem, "weight", np.logspace(-2, 2, 9))
print(path, f"largest certified gap {path.relative_gap.max():.1e}")
figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.2), layout="constrained")
plots.path(path, ax=axes)
plt.show()
