"""Applications of learnt kernels: clustering, embedding, metrics and estimators.

Examples
--------
>>> import npkl_models as nm
>>> nm.applications.clustering.cluster_accuracy([0, 0, 1, 1], [1, 1, 0, 0])
1.0
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
