"""
Pairs as hard constraints
=========================

hard_pcp fixes the diagonal and every pair; smoothness alone is minimised.

What to see: every given pair has exactly the value it must have, to rounding. The multipliers say what each
constraint costs: a few cannot-links between neighbours are dear, most are nearly free.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.show import plots

data = nm.datasets.load("iris")
pairs = nm.Pairs.from_labels(data.y, n_must=60, n_cannot=60, random_state=0)
problem = nm.hard_pcp(nm.laplacian(data.X, n_neighbors=5, shift=0.1), pairs)
solution = problem.solve()
K = solution.K
print(solution, "largest miss", f"{abs(K[pairs.i, pairs.j] - (pairs.sign > 0)).max():.0e}")

figure, axes = plt.subplots(1, 2, figsize=(9.4, 4), layout="constrained")
plots.kernel(solution, labels=data.y, ax=axes[0])
multipliers = sorted(abs(solution.certificate.multipliers.constraints[-1]), reverse=True)
axes[1].bar(range(len(multipliers)), multipliers)
axes[1].set(xlabel="cannot-links, sorted", ylabel="size of the multiplier")
plt.show()
