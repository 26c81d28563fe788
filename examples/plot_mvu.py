"""
An arc, unrolled
================

Maximum variance unfolding keeps the distances of neighbours and pulls all else apart.

What to see: 60 points on a rolled-up strip become a straight line, because nothing but the distances of
neighbours holds them. One eigenvalue is left of two.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.show import plots

angle = np.linspace(1.5, 9.5, 60)
X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])
solution = nm.mvu(X, n_neighbors=2).solve()
print(solution)

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
axes[0].scatter(*X.T, c=angle)
axes[0].set(aspect="equal", title="given")
axes[1].scatter(*plots.layout(solution).T, c=angle)
axes[1].set(aspect="equal", title=f"unfolded, rank {solution.rank}")
plt.show()
