"""
A map that keeps angles
=======================

conformal_eigenmaps keeps the angles of neighbours, and lets each point have a scale of its own.

What to see: a cap of a sphere, 200 points. No flat map of it keeps distances, but some keep angles. In the
middle the leading two dimensions of the solution; on the right the scale of each point, which falls from
the pole to near the rim: neighbours have nearly the same. The eigenvectors in the basis are flat at the rim.
The stereographic projection keeps all angles and grows towards it; it is not in their span.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.formulations.conformal import scales
from npkl_models.show import plots

i = np.arange(200) + 0.5
height, turn = 1 - i / 200, np.pi * (1 + 5**0.5) * i
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
flat.set(aspect="equal", title="angles kept, nearly")
size = figure.add_subplot(1, 3, 3)
size.semilogy(height, scales(X, solution.V, 6), ".")
size.set(xlabel="height on the sphere", ylabel="scale of the point")
plt.show()
