"""
A correlation matrix from noisy entries
=======================================

kernel_completion with infinite weights: the diagonal is exactly one, and all other entries are met in the
sense of least squares. This is the nearest correlation matrix (Higham 2002), here with a third of the
entries unknown.

What to see: the noisy matrix has negative eigenvalues (grey). The certified kernel has none, and its
diagonal is one, which the projection on positive semidefinite matrices (orange) loses.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm

rng = np.random.default_rng(0)
V = rng.normal(size=(30, 3))
V /= np.linalg.norm(V, axis=1, keepdims=True)
noise = np.triu(rng.normal(scale=0.3, size=(30, 30)), 1)
observed = V @ V.T + noise + noise.T
unknown = np.triu(rng.random((30, 30)) < 1 / 3, 1)
known = np.where(unknown | unknown.T, np.nan, observed)
weights = np.where(np.eye(30) > 0, np.inf, 1.0)
solution = nm.kernel_completion(known, weights=weights).solve()
values, vectors = np.linalg.eigh(observed)
projected = (vectors * np.maximum(values, 0.0)) @ vectors.T
print(solution)
print(f"diagonal: {np.diag(solution.K).min():.8f} to {np.diag(solution.K).max():.8f}")
print(f"diagonal of the projection: {np.diag(projected).min():.2f} to {np.diag(projected).max():.2f}")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.5), layout="constrained")
axes[0].plot(values, "o", color="grey", label="noisy entries")
axes[0].plot(np.linalg.eigvalsh(solution.K), ".", color="C0", label="kernel")
axes[0].set(title="eigenvalues")
axes[1].plot(np.diag(projected), "o", color="C1", label="projection")
axes[1].plot(np.diag(solution.K), ".", color="C0", label="kernel")
axes[1].set(title="diagonal")
for ax in axes:
    ax.legend()
plt.show()
