"""scikit-learn estimators: clusters and features from a kernel that is learnt from pairs or some classes."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
