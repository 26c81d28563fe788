"""What kernels are learnt for."""

from npkl_models.applications import clustering

__all__ = ["clustering"]
