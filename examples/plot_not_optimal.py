"""
A low-rank point that is not optimal
====================================

Too few columns. The solver stops where it cannot go down any more, and the certificate says that it is not
the end.

What to see: the points of rank 1, 2 and 3 are stationary, and the slack S of their multipliers has a
negative eigenvalue. Its eigenvector is a new column: from there the objective falls, and at rank 4 no
eigenvalue is negative.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for rank in (1, 2, 3, 4):
    found = problem.solve("bcd", rank=rank)
    slack = problem.slack(problem.derivatives(found.V)).toarray()
    values = np.linalg.eigvalsh(slack)[:12]
    ax.plot(values, "o-", label=f"rank {rank}: {found.status}, objective {found.objective:.4f}")
    print(f"rank {rank}: {found.status}, smallest eigenvalue {found.certificate.min_eigenvalue:.1e}")
ax.axhline(0, color="0.6", linewidth=0.8)
ax.set(xlabel="index", ylabel="eigenvalue of the slack S")
ax.legend(fontsize=8)
plt.show()
