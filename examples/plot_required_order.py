"""
Comparisons that must hold
==========================

ordinal with infinite weights: some answers come from an expert and are hard constraints, the others from a
crowd that errs in one answer of four.

What to see: 30 points of a spiral. The expert's 60 answers hold in the certified kernel on the right; with
equal weights (left) the crowd overrules some of them.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.formulations.comparisons import differences, ordinal_answers

angle = np.linspace(0.5, 9.0, 30)
X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])
expert = ordinal_answers(X, 60, random_state=0)
crowd = ordinal_answers(X, 400, noise=0.25, random_state=1)
expert = np.array([row for row in expert if not (crowd == row).all(axis=1).any()])
answers = np.concatenate([expert, crowd])
unseen = differences(ordinal_answers(X, 5_000, random_state=2), 30)

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
for ax, weight, title in ((axes[0], 1.0, "equal weights"), (axes[1], np.inf, "required")):
    weights = np.repeat([weight, 1.0], [len(expert), len(crowd)])
    solution = nm.ordinal(answers, 30, weights=weights).solve()
    held = np.mean(differences(expert, 30).value(solution.K) < 0)
    right = np.mean(unseen.value(solution.K) < 0)
    print(f"{title}: {solution}, {held:.0%} of the expert's answers hold, {right:.0%} of unseen ones")
    axis = np.linalg.svd(solution.V - solution.V.mean(axis=0), full_matrices=False)
    ax.scatter(*(axis[0] * axis[1])[:, :2].T, c=angle, cmap="viridis")
    ax.set(title=f"{title}: {held:.0%} of the expert's answers", xticks=[], yticks=[])
plt.show()
