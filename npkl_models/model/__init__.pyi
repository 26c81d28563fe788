"""What of this room has a public name."""

from . import formulations

__all__ = ["formulations"]
