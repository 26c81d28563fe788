"""
Minimum volume embedding
========================

Unfolding lets every eigenvalue grow; minimum volume embedding only the first two.

What to see: 80 points on a Swiss roll. Unfolded, some of the variance is in a third direction and further
ones; step by step the other eigenvalues lose it, and the objective falls.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.applications.embedding import coordinates, scree
from npkl_models.applications.volume import minimum_volume
from npkl_models.data.synthetic import swiss_roll

X, band = swiss_roll(80, random_state=0)
run = minimum_volume(X, 2, n_neighbors=6, C=100.0, backend="interior")
unfolded = nm.mvu(X, 6, weight=50.0).solve("interior")
print(run.solution, run.objectives.round(1))

figure, axes = plt.subplots(1, 3, figsize=(12, 3.8), layout="constrained")
for ax, Z, title in (
    (axes[0], coordinates(unfolded), "mvu"),
    (axes[1], run.coordinates, f"mve, {len(run.objectives)} steps"),
):
    ax.scatter(*Z.T, c=band, s=14)
    ax.set(aspect="equal", title=title)
for name, found, marker in (("mvu", unfolded, "o"), ("mve", run.solution, "s")):
    values = scree(found)[:8]
    axes[2].semilogy(np.arange(1, values.size + 1), values, marker=marker, label=name)
axes[2].set(xlabel="k", ylabel="k-th eigenvalue of the centred K", title="spectrum")
axes[2].legend(frameon=False)
plt.show()
