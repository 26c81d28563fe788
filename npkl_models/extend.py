"""What backends and regularisers of your own are written with (docs/how_to/extend.md).

Examples
--------
>>> import npkl_models as nm
>>> nm.extend.Takes(losses=("square",)).losses
('square',)
"""

from npkl_models.model.trace_cones import CvxSupport
from npkl_models.solve.backend import Backend, Plan, Program
from npkl_models.solve.cost import Cost
from npkl_models.solve.engine import Engine
from npkl_models.solve.engine_plan import EnginePlan
from npkl_models.solve.judge import Claim
from npkl_models.solve.options import IterativeOptions
from npkl_models.solve.takes import Powers, Takes
from npkl_models.solve.watch import RunMonitor

__all__ = [
    "Backend", "Claim", "Cost", "CvxSupport", "Engine", "EnginePlan", "IterativeOptions", "Plan", "Powers",
    "Program", "RunMonitor", "Takes",
]  # fmt: skip
