"""
A metric from similar pairs
===========================

The exclusive or: four clouds, of which the opposite ones are one class. Fifty pairs that are alike are known.

What to see: no linear map brings opposite corners together and neighbours apart. In the space of a kernel,
with its eigenvalues reweighed by the pairs, the first two axes show the classes, and points that were not
there (large) fall where theirs are. J is the mean distance between classes over that within them.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.applications.metric import KernelMetricLearner
from npkl_models.applications.scores import separation

data = nm.datasets.load("xor", n=400)
new = nm.datasets.load("xor", n=40, random_state=1)
pairs = nm.Pairs.from_labels(data.y, 50, 50, random_state=0)
models = {
    "the points": None,
    "the kernel as it is": KernelMetricLearner(blend=False).fit(data.X),
    "similar pairs": KernelMetricLearner(blend=False).fit(data.X, must_link=pairs.must_link),
    "similar and dissimilar pairs": KernelMetricLearner(blend=False).fit(
        data.X, must_link=pairs.must_link, cannot_link=pairs.cannot_link
    ),
}
figure, axes = plt.subplots(2, 2, figsize=(7, 6.4), layout="constrained")
for ax, (title, model) in zip(axes.flat, models.items(), strict=True):
    Z, of_new = (data.X, new.X) if model is None else (model.embedding_, model.transform(new.X))
    first = np.argsort(-Z.var(axis=0))[:2]
    colors = np.array(["tab:blue", "tab:orange"])
    ax.scatter(*Z[:, first].T, c=colors[data.y], s=6, alpha=0.6)
    ax.scatter(*of_new[:, first].T, c=colors[new.y], s=40, edgecolors="k")
    ax.set(title=f"{title}: J = {separation(Z, data.y):.2f}", xticks=[], yticks=[])
    print(f"{title}: J {separation(Z, data.y):.2f}, of new points {separation(of_new, new.y):.2f}")
plt.show()
