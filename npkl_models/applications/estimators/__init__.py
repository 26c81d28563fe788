"""scikit-learn estimators: clusters and features by a kernel that is learnt from pairs or from some classes.

Examples
--------
>>> from npkl_models.applications.estimators import NPKLClustering
>>> NPKLClustering(3, gamma=10.0)
NPKLClustering(gamma=10.0, n_clusters=3)
"""

from npkl_models.applications.estimators.clusterer import NPKLClustering
from npkl_models.applications.estimators.side import landmark_pairs, spanning_pairs
from npkl_models.applications.estimators.transformer import NPKLKernel

__all__ = ["NPKLClustering", "NPKLKernel", "landmark_pairs", "spanning_pairs"]
