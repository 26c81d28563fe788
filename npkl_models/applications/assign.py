"""The compiled assignment step of constrained k-means."""

from __future__ import annotations

import numpy as np

from npkl_models.linalg import Index
from npkl_models.linalg.compile import compiled

SIGNATURES = {"assign": "Tuple((intp[::1], intp))(intp[::1], intp[:, ::1], intp[::1], intp[::1])"}


@compiled
def assign(
    order: Index, nearest: Index, indptr: Index, indices: Index
) -> tuple[Index, int]:  # pragma: no cover
    """Assign each group in turn to the nearest cluster that has no group it must not be with.

    If there is no such cluster, the group joins the nearest cluster. The number of such groups is returned.
    """
    n, k = nearest.shape
    labels = np.full(n, -1)
    broken = 0
    for g in order:
        chosen = -1
        for rank in range(k):
            cluster = nearest[g, rank]
            free = True
            for at in range(indptr[g], indptr[g + 1]):
                if labels[indices[at]] == cluster:
                    free = False
                    break
            if free:
                chosen = cluster
                break
        if chosen < 0:
            chosen = nearest[g, 0]
            broken += 1
        labels[g] = chosen
    return labels, broken
