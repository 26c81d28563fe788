"""scikit-learn estimators: clusters and features from a kernel that is learnt from pairs or some classes.

Examples
--------
>>> from npkl_models.applications.estimators import NPKLClustering
>>> NPKLClustering(3, gamma=10.0)
NPKLClustering(gamma=10.0, n_clusters=3)
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
