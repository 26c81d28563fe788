"""
A solver of one's own, judged
=============================

Plain gradient descent on V in ten lines, and what the certificate says of it on the way.

What to see: the objective (above) and the proved bound from nm.certify (below) close in on the optimum,
that an exact method knows. Nothing of the solver has to be believed.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
exact = problem.solve("interior", tol=1e-9)

V = 0.3 * np.random.default_rng(0).standard_normal((problem.n, 6))
steps, objective, bound = [], [], []
for step in range(401):
    if step in (0, 5, 10, 20, 40, 80, 160, 250, 400):
        certificate = nm.certify(problem, V, kind="factor")
        steps.append(max(step, 1))
        objective.append(certificate.objective - exact.objective)
        bound.append(exact.objective - certificate.bound)
    slack = problem.slack(problem.derivatives(V))
    V = V - 0.1 * (slack @ V)
print(f"after {step} steps: {certificate}")

figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
ax.loglog(steps, objective, "o-", label="objective above the optimum")
ax.loglog(steps, bound, "s--", label="proved bound below the optimum")
ax.set(xlabel="gradient steps", ylabel="distance from the exact optimum")
ax.legend()
plt.show()
