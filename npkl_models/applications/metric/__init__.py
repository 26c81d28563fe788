"""Metrics learnt from similar pairs by reweighing a kernel's eigenvalues.

Yeung, Chang & Dai, A scalable kernel-based semi-supervised metric learning algorithm with out-of-sample
generalization ability, Neural Computation, 2008. `eigenvalue_weights` implements section 2 and
`local_weights` section 3.3. `KernelMetricLearner` combines the two functions (sections 3 and 4).
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
