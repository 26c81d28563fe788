"""
What the residual of a first-order solver hides
===============================================

The same hard problem by SCS, a first-order conic solver, at tighter and tighter tolerances, and by the
interior-point method, iteration by iteration.

What to see: the *violation* says how far a point misses its constraints. The point meets exactly a problem
whose right sides differ by so much: its backward error. The *proved gap* says how far it is from the optimum
of that problem. The violation of SCS is soon small, but its objective is still below the optimum by far more,
since its kernel is not quite positive semidefinite; a gap is proved only at the tightest tolerances, and
before there is no orange point. Interior meets all constraints from the start, and its gap falls by a digit
or more in an iteration.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm

data = nm.datasets.load("iris").subset(40)
pairs = nm.Pairs.from_labels(data.y, n_must=15, n_cannot=30, random_state=0)
problem = nm.hard_pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
optimum = problem.solve("interior", tol=1e-9).objective
program = problem.to_cvxpy()
tolerances = 10.0 ** -np.arange(1, 9)
rows = {"SCS": [], "interior": []}
for eps in tolerances:
    program.solve(solver="SCS", eps_abs=eps, eps_rel=eps, max_iters=100_000, warm_start=False)
    K, y = problem.read_cvxpy(program)
    judged = nm.certify(problem, K, y, kind="kernel")
    rows["SCS"].append((program.solver_stats.num_iters, judged))
for most in range(3, 16):
    found = problem.solve("interior", max_iter=most, tol=1e-9)
    rows["interior"].append((most, found.certificate))

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained", sharey=True)
for ax, (name, points) in zip(axes, rows.items(), strict=True):
    at = [count for count, _ in points]
    ax.loglog(at, [max(one.violation, 1e-17) for _, one in points], "o-", label="violation")
    ax.loglog(at, [max(one.relative_gap, 1e-17) for _, one in points], "s-", label="proved gap")
    ax.loglog(
        at,
        [max(abs(one.objective / optimum - 1), 1e-17) for _, one in points],
        ".--",
        label="error of the objective",
    )
    ax.set(xlabel="iterations", title=name)
    for count, one in points:
        print(f"{name} {count}: {one.violation:.0e}, {one.relative_gap:.0e}, {one.objective - optimum:+.0e}")
axes[0].legend()
plt.show()
