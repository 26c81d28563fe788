"""
Structure preserving embedding
==============================

A graph is given, not points; each point's neighbours shall be nearer to it than all others.

What to see: 60 points of a Swiss roll, of which only the graph of four neighbours is told. With a small
weight the spectrum of the graph decides alone, and others come between neighbours; with a large one hardly
any do, in all dimensions of the kernel, of which two are shown.
"""

import matplotlib.pyplot as plt

import npkl_models as nm
from npkl_models.applications.structure import structure_preserving
from npkl_models.data.synthetic import swiss_roll
from npkl_models.show import plots

X, band = swiss_roll(60, random_state=0)
W = nm.knn_affinity(X, 4, sigma="binary")

figure, axes = plt.subplots(1, 2, figsize=(9.5, 4.2), layout="constrained")
for ax, C in zip(axes, (0.01, 20.0), strict=True):
    run = structure_preserving(W, C=C)
    print(f"C = {C}: {run.rounds} rounds, {len(run.triplets)} triplets, gap {run.relative_gap:.0e}")
    plots.embedding(run.solution, band, ax=ax, edges=W)
    ax.set_title(f"C = {C:g}: slack {run.slack:.2g}")
plt.show()
