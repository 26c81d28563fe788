"""Coordinate descent with the hinge loss as printed in the source, against the method of multipliers.

What to see: the printed row program descends and stops well above the optimum from every start; the method of
multipliers reaches it and proves it.
"""

import sys

import npkl_models as nm

sweeps = int(sys.argv[1]) if len(sys.argv) > 1 else 400
data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.npkl(nm.laplacian(data.X, shift=0.1), pairs, loss="hinge")

best = problem.solve("bcd")
print(
    f"multipliers       {best.objective:.5f}  proved gap {best.certificate.relative_gap:.0e}, {best.status}"
)
for seed in range(3):
    printed = problem.solve("printed_bcdkl", rank=8, random_state=seed, max_iter=sweeps)
    excess = printed.objective / best.objective - 1
    print(f"printed, start {seed}  {printed.objective:.5f}  {100 * excess:.1f} % above, {printed.status}")
