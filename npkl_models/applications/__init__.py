"""What kernels are learnt for.

Examples
--------
>>> import npkl_models as nm
>>> nm.applications.clustering.cluster_accuracy([0, 0, 1, 1], [1, 1, 0, 0])
1.0
"""

from npkl_models.applications import (
    audit,
    clustering,
    constrained,
    embedding,
    estimators,
    labelling,
    metric,
    scores,
    selection,
    structure,
    suggest,
    unfolding,
    volume,
)

__all__ = [
    "audit",
    "clustering",
    "constrained",
    "embedding",
    "estimators",
    "labelling",
    "metric",
    "scores",
    "selection",
    "structure",
    "suggest",
    "unfolding",
    "volume",
]
