"""The names of this room, each imported when it is used."""

from . import (
    audit,
    clustering,
    constrained,
    embedding,
    estimators,
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
