"""
A kernel with holes
===================

kernel_completion meets the entries of a kernel that are known, and says what the others may be.

What to see: of the linear kernel of 60 points of iris, sorted by class, three of four entries are hidden
(white, on the left). The kernel in the middle meets the others; on the right what it is off by, against the
kernel that was hidden, on the same scale.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm

data = nm.datasets.load("iris").subset(60, random_state=0)
order = np.argsort(data.y, kind="stable")
X = (data.X - data.X.mean(axis=0))[order]
K = X @ X.T
holes = np.triu(np.random.default_rng(0).random(K.shape) < 0.75, 1)
known = np.where(holes | holes.T, np.nan, K)
solution = nm.kernel_completion(known, penalty=1e-2).solve("interior")
print(solution)

figure, axes = plt.subplots(1, 3, figsize=(11, 4), layout="constrained")
top = abs(K).max()
for ax, shown, title in zip(
    axes, (known, solution.K, solution.K - K), ("known", f"met, rank {solution.rank}", "off by"), strict=True
):
    picture = ax.imshow(shown, cmap="RdBu_r", vmin=-top, vmax=top)
    ax.set(title=title, xticks=[], yticks=[])
figure.colorbar(picture, ax=axes)
plt.show()
