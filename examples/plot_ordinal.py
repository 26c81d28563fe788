"""
A map from comparisons alone
============================

ordinal learns where points lie from answers to "is i nearer to j than to k?".

What to see: a spiral of 60 points (left). 2,400 comparisons were asked at random, and one answer in ten is
wrong. The certified kernel's two leading axes (middle) show the spiral; the refinement (right) sharpens it.
No coordinate was given, so each picture may be turned and mirrored.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.formulations.comparisons import ordinal_answers

angle = np.linspace(0.5, 9.0, 60)
X = np.column_stack([angle * np.cos(angle), angle * np.sin(angle)])
asked = ordinal_answers(X, 2_400, noise=0.1, random_state=0)
unseen = ordinal_answers(X, 5_000, random_state=1)
plain = nm.OrdinalEmbedding(2, refine=None).fit(asked)
model = nm.OrdinalEmbedding(2).fit(asked)
print(plain.solution_)

figure, axes = plt.subplots(1, 3, figsize=(11, 3.8), layout="constrained")
for ax, points, title in (
    (axes[0], X, "the points"),
    (axes[1], plain.embedding_, f"certified kernel, {plain.score(unseen):.2f} of unseen answers"),
    (axes[2], model.embedding_, f"refined ({model.refined_}), {model.score(unseen):.2f}"),
):
    ax.scatter(*points.T, c=angle, cmap="viridis", s=18)
    ax.set(title=title, xticks=[], yticks=[])
    ax.set_aspect("equal", "datalim")
plt.show()
