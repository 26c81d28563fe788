"""The names of this room, each imported when it is used."""

from .learner import KernelMetricLearner
from .weights import eigenvalue_weights, local_weights, whitening

__all__ = ["KernelMetricLearner", "eigenvalue_weights", "local_weights", "whitening"]
