"""
A ring from similar pairs alone
===============================

psde knows no coordinates and no distances: only which pairs are similar and which are not.

What to see: 40 views on a turntable, each similar to the next one and dissimilar to the one five steps on.
The embedding is a ring in two dimensions, and its optimum is certified. Similar pairs are drawn as lines.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.show import plots

steps = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
steps = np.minimum(steps, 40 - steps)
must, cannot = np.argwhere(np.triu(steps == 1)), np.argwhere(np.triu(steps == 5))
solution = nm.psde(nm.Pairs(40, must, cannot), C=50.0).solve()
print(solution)

figure, ax = plt.subplots(figsize=(5, 5), layout="constrained")
places = plots.layout(solution)
for i, j in must:
    ax.plot(*places[[i, j]].T, color="grey", linewidth=0.8)
ax.scatter(*places.T, c=np.arange(40), cmap="twilight", zorder=2)
ax.set(aspect="equal", title=f"rank {solution.rank}, gap {solution.certificate.relative_gap:.0e}")
plt.show()
