"""Values as JSON has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from npkl_models.files.atomic import finite


def plain(value: Any) -> Any:
    """The same for JSON: lists for arrays and tuples, None for what is no finite number."""
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [plain(one) for one in value]
    if isinstance(value, np.generic):
        value = value.item()
    return finite(value)
