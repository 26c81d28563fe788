"""
What the trace power does
=========================

SimpleNPKL bounds tr K^p. One bound, three powers.

What to see: near p = 1 few eigenvalues carry the kernel; as p grows the bound stops minding how many there
are, and the spectrum becomes flat and long.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
L = nm.laplacian(data.X, n_neighbors=5)
figure, axes = plt.subplots(1, 3, figsize=(10, 3.4), layout="constrained", sharey=True)
for ax, p in zip(axes, (1.2, 2, 4), strict=True):
    solution = nm.simple_npkl(L, pairs, loss="squared_hinge", p=p, trace_bound=data.n).solve()
    print(f"p = {p:g}: {solution}")
    plots.spectrum(solution, ax=ax)
    ax.set_title(f"p = {p:g}, rank {solution.rank}")
plt.show()
