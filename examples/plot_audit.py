"""
Pairs that look wrong
=====================

One pair in ten of wine is turned round, a must-link into a cannot-link or the other way; an audit ranks them.

What to see: the turned pairs (red) stand at the top, most of them in the tenth that is looked at first.
"""

import matplotlib.pyplot as plt
import numpy as np

import npkl_models as nm
from npkl_models.applications.audit import audit_pairs
from npkl_models.show import plots

data = nm.datasets.load("wine")
X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
pairs = nm.Pairs.from_labels(data.y, n_must=100, n_cannot=100, random_state=0)
ends = np.stack([pairs.i, pairs.j], axis=1)
turned = np.random.default_rng(0).choice(len(pairs), size=20, replace=False)
sign = pairs.sign.copy()
sign[turned] *= -1
noisy = nm.Pairs(data.n, ends[sign > 0], ends[sign < 0])
found = audit_pairs(nm.pcp(nm.laplacian(X, n_neighbors=10, shift=0.1), noisy, gamma=10.0).solve())
print(found)
plots.audit(found, flipped=ends[turned])
plt.show()
