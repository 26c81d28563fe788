"""
An arc, unrolled
================

Maximum variance unfolding keeps the distances of neighbours and pulls all else apart.

What to see: 60 points on a spiral become all but a line, because nothing except the distances of neighbours
holds them. What is left of the second direction is the two triangles at the ends, whose sides are all
given.
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
axes[1].set(ylim=(-6, 6), title=f"unfolded, rank {solution.rank}")
plt.show()
