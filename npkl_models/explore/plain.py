"""Values in the form that JSON needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from npkl_models.files.atomic import finite


def plain(value: Any) -> Any:
    """A value for JSON: arrays and tuples become lists, NaN and infinity become None."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return finite(value)
