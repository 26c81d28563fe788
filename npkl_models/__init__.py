"""A modelling layer for non-parametric kernel learning.

Write a problem once, solve it exactly or fast, and get a proved bound on the error of every solution.
"""

from npkl_models import _first as _first  # before the imports that take time

# isort: split
import lazy_loader

from npkl_models._version import __version__

__getattr__, _, _names = lazy_loader.attach_stub(__name__, __file__)  # a name is imported on first use
__all__ = ["__version__", *_names]


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted(__all__)
