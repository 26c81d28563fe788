"""The names of this room, each imported when it is used."""

from .clusterer import NPKLClustering
from .side import landmark_pairs, spanning_pairs
from .transformer import NPKLKernel

__all__ = ["NPKLClustering", "NPKLKernel", "landmark_pairs", "spanning_pairs"]
