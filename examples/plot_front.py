"""
In one picture
==============

Pairs on iris, the kernel that is learnt from them, and the proof that no kernel is better.

What to see: green lines join points that belong together, red lines points that do not. The learnt kernel
has a block for each class. On the right the objective falls and the proved bound rises, until they meet.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=45, n_cannot=45, random_state=0)
problem = nm.npkl(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs, loss="squared_hinge")
solution = problem.solve()
print(solution.certificate)
sweeps = range(1, 13)
on_the_way = [problem.solve("bcd", max_iter=sweep).certificate for sweep in sweeps]

centred = data.X - data.X.mean(axis=0)
points = centred @ np.linalg.svd(centred, full_matrices=False)[2][:2].T
figure, axes = plt.subplots(1, 3, figsize=(12, 3.6), layout="constrained")
for ends, colour in ((pairs.must_link, "tab:green"), (pairs.cannot_link, "tab:red")):
    for pair in ends:
        axes[0].plot(*points[pair].T, color=colour, linewidth=0.6, alpha=0.7)
axes[0].scatter(*points.T, c=data.y, s=12, cmap="viridis", zorder=3)
axes[0].set(title="what you know: pairs", xticks=[], yticks=[])
plots.kernel(solution, labels=data.y, ax=axes[1])
axes[1].set_title("what is learnt: a kernel")
upper, lower = [one.objective for one in on_the_way], [one.bound for one in on_the_way]
axes[2].fill_between(sweeps, lower, upper, alpha=0.2)
axes[2].plot(sweeps, upper, label="objective of the kernel")
axes[2].plot(sweeps, lower, label="bound that no kernel can beat")
axes[2].set(title="what is proved: no kernel is better", xlabel="sweeps", ylim=(0, 1.5 * upper[-1]))
axes[2].legend(frameon=False)
plt.show()
