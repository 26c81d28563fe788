"""Pictures of answers: functions that take solutions and return matplotlib axes (extra ``plot``)."""

from npkl_models.show.plots.audits import audit
from npkl_models.show.plots.curves import convergence, path, rank_history
from npkl_models.show.plots.matrices import kernel
from npkl_models.show.plots.partitions import clusters
from npkl_models.show.plots.points import embedding, layout, pair_multipliers
from npkl_models.show.plots.spectra import joint_spectrum, spectrum
from npkl_models.show.plots.tables import crosscheck, plot_crosscheck

__all__ = [
    "audit",
    "clusters",
    "convergence",
    "crosscheck",
    "embedding",
    "joint_spectrum",
    "kernel",
    "layout",
    "pair_multipliers",
    "path",
    "plot_crosscheck",
    "rank_history",
    "spectrum",
]
