"""
Two ascent rules for the dual
=============================

Objective and bound of simple_npkl against eigendecompositions, and of the source's own steps.

What to see: the quasi-Newton rule closes the gap in a handful; the source's step does in hundreds what its
guarantee promises.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
L = nm.laplacian(data.X, n_neighbors=5)
cases = {"tr K^2 <= n": {"trace_bound": 150.0}, "(1/2) tr K^2": {"penalty": 1.0}}
figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
print("case | rule | eigendecompositions to a relative gap of 1e-2, 1e-4, 1e-6 | status")
for ax, (title, how) in zip(axes, cases.items(), strict=True):
    problem = nm.simple_npkl(L, pairs, loss="squared_hinge", **how)
    runs = {
        "quasi-Newton": problem.solve("simple_npkl", max_iter=400),
        "as printed": problem.solve("printed_simple_npkl", eigenpairs="all", max_iter=400),
    }
    for (rule, found), colour in zip(runs.items(), ("C0", "C1"), strict=True):
        h = found.history
        ax.plot(h.iteration, h.objective, colour, label=rule)
        ax.plot(h.iteration, h.bound, colour, linestyle="--")
        gap = np.minimum.accumulate(h.objective) - np.maximum.accumulate(h.bound)
        gap /= 1 + 2 * abs(found.objective)
        reached = [
            str(int(h.iteration[np.argmax(gap <= t)])) if np.any(gap <= t) else "-"
            for t in (1e-2, 1e-4, 1e-6)
        ]
        print(f"{title} | {rule} | {', '.join(reached)} | {found.status.name}")
    ax.set(xscale="log", xlabel="eigendecompositions", title=title)
axes[0].set_ylabel("objective (full), bound (dashed)")
axes[0].legend()
plt.show()
