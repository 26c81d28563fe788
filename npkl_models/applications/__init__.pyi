"""The names of this room, each imported when it is used."""

from . import (
    audit,
    clustering,
    constrained,
    embedding,
    estimators,
    held_out,
    labelling,
    metric,
    ranking,
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
    "held_out",
    "labelling",
    "metric",
    "ranking",
    "scores",
    "selection",
    "structure",
    "suggest",
    "unfolding",
    "volume",
]
