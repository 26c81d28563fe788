"""
The hinge stall
===============

Coordinate descent with the hinge, as printed in its source, against the method of multipliers. Takes about
5 seconds.

What to see: row by row the printed program descends and stops well above the optimum, because no single row
can go down at a kink of several pairs. The smoothed rows go through.
"""

import matplotlib.pyplot as plt

import npkl_models as nm

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.npkl(nm.laplacian(data.X, shift=0.1), pairs, loss="hinge")
print("two runs of the printed rows, about 5 seconds", flush=True)
best = problem.solve("bcd")
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for seed in range(2):
    run = problem.solve("printed_bcdkl", rank=8, random_state=seed, max_iter=12)
    h = run.history
    ax.loglog(h.iteration, h.objective / best.objective - 1, label=f"printed rows, start {seed}")
    print(f"start {seed}: {run.objective:.4f}, {run.status}")
print(f"multipliers: {best.objective:.4f}, {best.status}")
ax.axhline(max(best.certificate.relative_gap, 1e-9), color="k", linestyle="--", label="multipliers, proved")
ax.set(xlabel="sweeps", ylabel="objective above the optimum (relative)")
ax.legend()
plt.show()
