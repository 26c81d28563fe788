"""The names of this room, each imported when it is used."""

from . import (
    audit,
    beliefs,
    clustering,
    constrained,
    embedding,
    estimators,
    held_out,
    metric,
    pair_noise,
    propagated,
    scores,
    structure,
    unfolding,
    volume,
)

__all__ = [
    "audit",
    "beliefs",
    "clustering",
    "constrained",
    "embedding",
    "estimators",
    "held_out",
    "metric",
    "pair_noise",
    "propagated",
    "scores",
    "structure",
    "unfolding",
    "volume",
]
