"""
Which backend, measured
=======================

The default and six backends over 48 problems of two sets, as docs/matrix.json has them.

What to see: no backend is the quickest everywhere. A cross is a run that was not certified to 1e-6 in five seconds;
the default (left) has none, and is never far from the quickest of its row.
"""

import json
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

measured = json.loads((Path(__file__).parents[1] / "docs" / "matrix.json").read_text())
names = ["auto", *measured["backends"]]
rows = measured["rows"]
seconds = np.array([[row[name]["seconds"] for name in names] for row in rows])
certified = np.array([[row[name]["status"] == "OPTIMAL" for name in names] for row in rows])
print("certified of", len(rows), dict(zip(names, certified.sum(axis=0).tolist(), strict=True)))

figure, ax = plt.subplots(figsize=(8, 9.5), layout="constrained")
image = ax.imshow(np.log10(np.maximum(seconds, 0.003)), aspect="auto", cmap="viridis_r")
where = np.argwhere(~certified)
ax.scatter(where[:, 1], where[:, 0], marker="x", color="white", s=30)
ax.set_xticks(range(len(names)), names, rotation=30, ha="right")
labels = [f"{r['data']} {r['form']}, gamma {r['gamma']:g}, shift {r['shift']:g}" for r in rows]
ax.set_yticks(range(len(rows)), labels, fontsize=7)
bar = figure.colorbar(image, ax=ax, shrink=0.5, label="CPU seconds")
bar.set_ticks([-2, -1, 0, 0.7], labels=["0.01", "0.1", "1", "5"])
plt.show()
