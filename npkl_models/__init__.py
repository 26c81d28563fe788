"""A modelling layer for non-parametric kernel learning.

Write a problem once, solve it exactly or fast, and get a proved bound on the error of every solution.
"""

from npkl_models import _first as _first  # before the imports that take time

# isort: split
import copyreg
import sys
from importlib import import_module
from types import ModuleType

import lazy_loader

from npkl_models._version import __version__

__getattr__, _, _names = lazy_loader.attach_stub(__name__, __file__)  # a name is imported on first use
__all__ = ["__version__", *_names]


def _by_name(module: ModuleType) -> tuple[object, tuple[str]]:
    return import_module, (module.__name__,)


if type(sys.modules[__name__]) is not ModuleType:
    # lazy_loader 0.6 gives the package a class of its own, which cloudpickle cannot pickle. Without this a
    # function of a script that uses the package could not be sent to another process.
    copyreg.pickle(type(sys.modules[__name__]), _by_name)


def __dir__() -> list[str]:
    """The public names, imported or not."""
    return sorted(__all__)
