"""
A Swiss roll over a basis
=========================

reg_mvu asks for the distances by squares, over a few eigenvectors of the graph.

What to see: 600 points in three dimensions are laid out along the roll, band after band. The unknown has
order 12, not 600, and the answer is certified like any other.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.data.synthetic import swiss_roll
from npkl_models.show import plots

X, band = swiss_roll(600, random_state=2)
problem = nm.reg_mvu(X, n_neighbors=6, n_basis=12, nu=100.0)
solution = problem.solve()
print(solution)

figure = plt.figure(figsize=(9, 4), layout="constrained")
given = figure.add_subplot(1, 2, 1, projection="3d")
given.scatter(*X.T, c=band, s=6)
given.set_title("given")
ax = figure.add_subplot(1, 2, 2)
ax.scatter(*plots.layout(solution).T, c=band, s=8)
ax.set(aspect="equal", title=f"unfolded, rank {solution.rank}, gap {solution.certificate.relative_gap:.0e}")
plt.show()
