"""
K and S beside each other
=========================

At an optimum K S = 0: the kernel lives where the slack is zero.

What to see: the eigenvalues of K end where those of S begin, and there is a gap between them. That gap is
what makes the certificate cheap: Lanczos needs few steps to see that nothing is negative.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
solution = problem.solve("interior", tol=1e-9)
print(solution)
ax = plots.joint_spectrum(solution)
plt.show()
