"""The names of this room, each imported when it is used."""

from .models import NPKLClustering, NPKLKernel
from .side import landmark_pairs, spanning_pairs

__all__ = ["NPKLClustering", "NPKLKernel", "landmark_pairs", "spanning_pairs"]
