"""Zhuang, Tsang & Hoi 2011, Figure 2: active against random selection of constraints, on a1a.

``python active_selection.py [data [repetitions]]``; a1a needs NPKL_DATA_HOME. Squared hinge, B = n, C = 1,
20-NN, must-links that leave 60 % of n components; the kernel that is asked is that of the linear loss.
What to see: how seconds and accuracy go with the pairs, by the margin and by chance.
"""

import sys
import time

import numpy as np
from common import accuracy, load, pairs_at_ratio, spread

import npkl_models as nm

name = sys.argv[1] if len(sys.argv) > 1 else "a1a"
repetitions = int(sys.argv[2]) if len(sys.argv) > 2 else 3
data = load(name)
L = nm.laplacian(data.X, 20)
print(f"{name}: fraction of points | pairs | accuracy, seconds by margin | by chance")
for fraction in (0.1, 0.3, 0.5, 0.7, 1.0):
    shown = {}
    for criterion in ("margin", "random"):
        found, seconds, size = [], [], []
        for seed in range(repetitions):
            pairs = pairs_at_ratio(data.y, 0.6, seed)
            started = time.perf_counter()
            kernel = None
            if criterion == "margin" and fraction < 1:
                kernel = nm.simple_npkl(L, pairs, loss="linear", bound=float(data.n)).solve(
                    "closed_form", tol=1e-4
                )
            if fraction < 1:
                pairs = pairs.select(fraction, kernel, criterion, random_state=seed)
            problem = nm.simple_npkl(L, pairs, loss="squared_hinge", C=1.0, bound=float(data.n))
            solution = problem.solve("simple_npkl", tol=1e-4)
            seconds.append(time.perf_counter() - started)
            found.append(accuracy(solution, data.y, seed))
            size.append(len(pairs))
        shown[criterion] = f"{spread(found)}, {np.mean(seconds):.1f} s"
    print(f"{fraction} | {np.mean(size):.0f} | {shown['margin']} | {shown['random']}", flush=True)
