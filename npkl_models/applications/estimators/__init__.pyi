"""The names of this room, each imported when it is used."""

from .features import NPKLKernel
from .folds import PairFolds
from .localisation import Localisation
from .models import NPKLClustering
from .ordinal import OrdinalEmbedding
from .side import landmark_pairs, spanning_pairs

__all__ = [
    "Localisation",
    "NPKLClustering",
    "NPKLKernel",
    "OrdinalEmbedding",
    "PairFolds",
    "landmark_pairs",
    "spanning_pairs",
]
