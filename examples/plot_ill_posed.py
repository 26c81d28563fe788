"""
Where the optimum runs away
===========================

A graph in two parts, one of which no pair holds: without a shift its kernel may grow for ever.

What to see: as the shift falls, the optimum settles and the trace of the optimal kernel grows without end.
With a shift of zero there is an infimum, and no kernel that has it; the certificate names the anchored
points.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
shifts = np.logspace(-1, -5, 5)
found = [nm.npkl(nm.laplacian(data.X, 5, shift=s), pairs, loss="hinge").solve() for s in shifts]
bare = nm.npkl(nm.laplacian(data.X, 5), pairs, loss="hinge").solve()
print(f"no shift: {bare}; repair: {bare.certificate.repair}")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
axes[0].semilogx(shifts, [solution.objective for solution in found], "o-")
axes[0].axhline(bare.certificate.bound, color="0.5", linestyle="--", label="proved bound without a shift")
axes[0].set(xlabel="shift", ylabel="optimum")
axes[0].legend()
axes[1].loglog(shifts, [solution.trace for solution in found], "o-")
axes[1].set(xlabel="shift", ylabel="tr K")
plt.show()
