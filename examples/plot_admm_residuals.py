"""
The residuals of KL-ADMM
========================

The alternation as Hu & Kwok (2013) print it: U and V drawn apart, rho = 100, stopped by their eq. (14).

What to see: their figure 2. The primal residual ||V - U|| falls at once, the dual one, rho ||V - V_before||,
slowly: at the same criterion the kernel is still 1e-5 from the optimum.
"""

import matplotlib.pyplot as plt

import npkl_models as nm

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=90, n_cannot=90, random_state=0)
problem = nm.pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
solution = problem.solve("printed_kl_admm", epsilon=1e-2, checks=True, max_iter=2000)
print(solution)
print(solution.message)
ax = plt.subplot()
for name in ("primal", "dual"):
    ax.semilogy(solution.history.iteration, solution.history[name], label=name)
ax.set_xlabel("iteration")
ax.set_ylabel("residual")
ax.legend()
plt.show()
