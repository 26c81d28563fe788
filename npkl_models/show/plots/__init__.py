"""Pictures of solutions: functions that take solutions and return matplotlib axes (extra ``plot``).

Each function draws on the axes ``ax``, or on new axes, and returns them. Without matplotlib, it raises a
`MissingDependencyError`; of a solution without a kernel, a `SolverError`; and a `ProblemError` if labels,
names or pairs are not those of the points, or if there is nothing to draw.

Examples
--------
>>> import npkl_models as nm
>>> from npkl_models.show import plots
>>> problem = nm.npkl([[1.0, -0.9], [-0.9, 1.0]], nm.Pairs(2, [(0, 1)], None))
>>> ax = plots.convergence({name: problem.solve(name) for name in ("burer_monteiro", "interior")})
>>> [text.get_text() for text in ax.get_legend().get_texts()]
['burer_monteiro', 'interior']
"""

from npkl_models.show.plots.curves import (
    audit,
    convergence,
    crosscheck,
    envelopes,
    path,
    rank_history,
)
from npkl_models.show.plots.kernels import joint_spectrum, kernel, spectrum
from npkl_models.show.plots.points import (
    clusters,
    embedding,
    layout,
    network,
    objects,
    pair_multipliers,
)

__all__ = [
    "audit", "clusters", "convergence", "crosscheck", "embedding", "envelopes", "joint_spectrum", "kernel",
    "layout", "network", "objects", "pair_multipliers", "path", "rank_history", "spectrum",
]  # fmt: skip
