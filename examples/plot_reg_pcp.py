"""
How large a basis
=================

reg_pcp restricts K to the span of the smoothest eigenvectors of the Laplacian.

What to see: the objective falls with each eigenvector that is let in, quickly at first; the order of the
unknown, and with it the price of an exact solver, grows all the way.
"""

import matplotlib.pyplot as plt

import npkl_models as nm

data = nm.datasets.load("wine").scaled("standard")
pairs = nm.Pairs.from_labels(data.y, n_must=100, n_cannot=100, random_state=0)
L = nm.laplacian(data.X, n_neighbors=8)
sizes = [3, 5, 8, 12, 18, 26]
solutions = [nm.reg_pcp(nm.eigenbasis(L, size), pairs).solve("burer_monteiro") for size in sizes]
print(*solutions, sep="\n")

figure, ax = plt.subplots(figsize=(6, 3.8), layout="constrained")
ax.plot(sizes, [solution.objective for solution in solutions], "o-")
ax.set(xlabel="eigenvectors in the basis", ylabel="certified optimum", ylim=(0, None), title="reg_pcp, wine")
plt.show()
