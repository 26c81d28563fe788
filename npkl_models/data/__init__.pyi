"""What of this room has a public name."""

from . import datasets

__all__ = ["datasets"]
