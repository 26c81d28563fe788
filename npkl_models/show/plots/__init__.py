"""Pictures of solutions: functions that take solutions and return matplotlib axes (extra ``plot``).

Each function draws on the axes ``ax``, or on new axes. Without matplotlib, it raises a
`MissingDependencyError`.
"""

from npkl_models.show.plots.curves import convergence, path, rank_history
from npkl_models.show.plots.envelopes import envelopes
from npkl_models.show.plots.kernels import joint_spectrum, kernel, spectrum
from npkl_models.show.plots.objects import network, objects
from npkl_models.show.plots.points import clusters, embedding, layout, pair_multipliers
from npkl_models.show.plots.tables import audit, crosscheck, plot_crosscheck

__all__ = [
    "audit",
    "clusters",
    "convergence",
    "crosscheck",
    "embedding",
    "envelopes",
    "joint_spectrum",
    "kernel",
    "layout",
    "network",
    "objects",
    "pair_multipliers",
    "path",
    "plot_crosscheck",
    "rank_history",
    "spectrum",
]
