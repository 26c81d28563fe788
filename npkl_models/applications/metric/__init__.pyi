"""The names of this room, each imported when it is used."""

from .landmarks import local_weights
from .learner import KernelMetricLearner
from .reweighing import eigenvalue_weights

__all__ = ["KernelMetricLearner", "eigenvalue_weights", "local_weights"]
