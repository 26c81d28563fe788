"""
A map that keeps angles
=======================

conformal_eigenmaps keeps the angles of neighbours, and lets each point have a scale of its own.

What to see: a cap of a sphere, 300 points. No flat map of it keeps distances, but some keep angles. In the
middle the map, on the right how the scale of a point depends on its height: the map grows from the pole
outwards or the other way round, and neighbours have nearly the same scale.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.formulations.conformal import scales
from npkl_models.show import plots

rng = np.random.default_rng(0)
height, turn = rng.uniform(0.0, 1.0, 300), rng.uniform(0, 2 * np.pi, 300)
radius = np.sqrt(1 - height**2)
X = np.column_stack([radius * np.cos(turn), radius * np.sin(turn), height])
solution = nm.conformal_eigenmaps(X, n_neighbors=6, n_basis=10).solve("qsdp", tol=1e-5)
print(solution)

figure = plt.figure(figsize=(11, 3.6), layout="constrained")
given = figure.add_subplot(1, 3, 1, projection="3d")
given.scatter(*X.T, c=height, s=6)
given.set_title("given")
flat = figure.add_subplot(1, 3, 2)
flat.scatter(*plots.layout(solution).T, c=height, s=8)
flat.set(aspect="equal", title=f"angles kept, rank {solution.rank}")
size = figure.add_subplot(1, 3, 3)
size.semilogy(height, scales(X, solution.V, 6), ".")
size.set(xlabel="height on the sphere", ylabel="scale of the point")
plt.show()
