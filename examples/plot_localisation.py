"""
Sensors that are located by their distances
===========================================

distances finds positions from measured distances and a few anchors.

What to see: 80 sensors and 8 anchors (squares), and lines between points that measured their distance, with
5 % of noise. The plain relaxation (left) crowds the sensors together. With a little spread (middle) it does
so less. The refinement (right) starts there. Lines lead from each estimate to the true position.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.formulations.known_distances import radio_network

known, X = radio_network(80, 8, 0.28, noise=0.05, random_state=3)
anchors = (np.arange(80, 88), X[80:])
plain = nm.Localisation(2, spread=0.0, refine=False).fit(known, anchors=anchors)
model = nm.Localisation(2).fit(known, anchors=anchors)
print(model.solution_)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, found, title in (
    (axes[0], plain.relaxed_, "relaxation"),
    (axes[1], model.relaxed_, "with spread"),
    (axes[2], model.positions_, "refined"),
):
    error = np.sqrt(np.mean(np.sum((found[:80] - X[:80]) ** 2, axis=1)))
    ax.plot(*np.stack([X[known[0]], X[known[1]]]).transpose(2, 0, 1), color="0.92", lw=0.5, zorder=0)
    ax.plot(*np.stack([found, X]).transpose(2, 0, 1), color="tab:red", lw=1)
    ax.scatter(*found[:80].T, s=14)
    ax.scatter(*X[80:].T, s=30, marker="s", color="black")
    ax.set(title=f"{title}: error {error:.4f}", xticks=[], yticks=[])
    ax.set_aspect("equal")
plt.show()
