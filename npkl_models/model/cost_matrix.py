"""The cost matrix of a problem, checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import ProblemError
from npkl_models.linalg import Matrix
from npkl_models.linalg.owned import owned_sparse, real_matrix

LARGEST_COST = 1e300  # beyond, sums of two entries may not be finite


def symmetric_cost(cost: Any) -> Matrix:
    """The cost as a symmetric CSR array, or a ProblemError."""
    given = real_matrix(cost, "cost matrix (Laplacian)")
    if given.ndim != 2 or given.shape[0] != given.shape[1]:
        raise ProblemError(f"cost matrix (Laplacian) must be square, got shape {given.shape}")
    C = sp.csr_array(given).astype(float)
    if C.shape[0] < 2:
        raise ProblemError(f"cost matrix (Laplacian) must have at least 2 rows, got {C.shape[0]}")
    if not np.isfinite(C.data).all():
        bad = sp.coo_array(C)
        where = np.flatnonzero(~np.isfinite(bad.data))[:3]
        raise ProblemError(
            "cost matrix (Laplacian) must be finite, got NaN or infinity at "
            f"{[(int(bad.row[k]), int(bad.col[k])) for k in where]}"
        )
    if C.nnz and abs(C).max() > LARGEST_COST:
        raise ProblemError(f"cost matrix (Laplacian) must have entries up to 1e300, got {abs(C).max():.1e}")
    skew = sp.coo_array(abs(C - C.T))
    scale = float(abs(C).max()) if C.nnz else 0.0
    if skew.nnz and skew.data.max() > 1e-10 * max(scale, 1e-300):
        k = int(np.argmax(skew.data))
        raise ProblemError(
            "cost matrix (Laplacian) must be symmetric, got a difference of "
            f"{skew.data[k]:.2e} at ({int(skew.row[k])}, {int(skew.col[k])})"
        )
    return owned_sparse((C + C.T) * 0.5)
