"""
Similar pairs that must hold
============================

psde with ``C=(np.inf, 50.0)``: similar points are at most 1 apart, under all circumstances; dissimilar ones
should be further, and pay where they are not.

What to see: 40 views on a turntable. With a finite weight every similar pair is a little too far apart,
since all points push outwards. With an infinite weight the polygon has sides of length 1 to seven digits.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.show import plots

steps = np.abs(np.subtract.outer(np.arange(40), np.arange(40)))
steps = np.minimum(steps, 40 - steps)
must, cannot = np.argwhere(np.triu(steps == 1)), np.argwhere(np.triu(steps == 5))
pairs = nm.Pairs(40, must, cannot)

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, C in zip(axes, (20.0, (np.inf, 20.0)), strict=True):
    solution = nm.psde(pairs, C=C).solve()
    places = plots.layout(solution)
    sides = np.linalg.norm(places[must[:, 0]] - places[must[:, 1]], axis=1)
    print(f"C = {C}: {solution}, longest similar pair {sides.max():.7f}")
    for i, j in must:
        ax.plot(*places[[i, j]].T, color="grey", linewidth=0.8)
    ax.scatter(*places.T, c=np.arange(40), cmap="twilight", zorder=2)
    ax.set(aspect="equal", title=f"C = {C}: longest side {sides.max():.3f}")
plt.show()
