"""Constrained k-means as in Table 2 and Table 7: in each round, points go in turn to the nearest free centre.

Wagstaff, Cardie, Rogers & Schroedl, ICML 2001. Must-links are contracted first, so that only cannot-links remain.
A restart may break some of them; the one that breaks the fewest is kept.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.cluster import kmeans_plusplus

import npkl_models as nm
from npkl_models.applications.clustering import membership
from npkl_models.linalg import Array, Index


def cop_kmeans(
    V: Array, n_clusters: int, pairs: nm.Pairs, n_init: int, random_state: int, max_iter: int = 300
) -> Index:
    """The labels of the best of ``n_init`` restarts on the rows of V."""
    count, group = pairs.groups()
    gather = membership(group, count)
    ends = group[pairs.cannot_link] if len(pairs.cannot_link) else np.zeros((0, 2), dtype=np.intp)
    both = np.concatenate([ends, ends[:, ::-1]])
    forbidden = sp.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(count, count))
    weight = np.asarray(gather.sum(axis=1)).ravel()
    groups = Groups(gather @ V, weight, forbidden, float(np.sum(V**2)))
    rng = np.random.default_rng(random_state)
    runs = [restart(groups, n_clusters, max_iter, rng) for _ in range(n_init)]
    return min(runs, key=lambda run: run[:2])[2][group]


def in_turn(order: Index, nearest: Index, near: list[list[int]]) -> tuple[Index, int]:
    """The clusters of the groups, each the nearest without a forbidden group, and how many found none."""
    labels, broken = np.full(len(nearest), -1), 0
    for g in order.tolist():
        taken = {labels[h] for h in near[g]}
        free = [c for c in nearest[g].tolist() if c not in taken]
        labels[g] = free[0] if free else nearest[g, 0]
        broken += not free
    return labels, broken


@dataclass(frozen=True, eq=False)
class Groups:
    """The groups that must-links form."""

    sums: Array  # sum of the rows of each group
    weight: Array  # number of points of each group
    forbidden: Any  # pairs of groups that must not be together
    squares: float  # sum of the squares of all rows


def restart(groups: Groups, k: int, max_iter: int, rng: np.random.Generator) -> tuple[int, float, Index]:
    """One run: the number of broken cannot-links, the inertia, and the cluster of each group."""
    sums, weight, forbidden = groups.sums, groups.weight, groups.forbidden
    means = sums / weight[:, None]
    seed = int(rng.integers(2**31 - 1))
    centres = (
        kmeans_plusplus(means, k, sample_weight=weight, random_state=seed)[0] if k <= len(means) else means
    )
    order = rng.permutation(len(means))
    near = [forbidden.indices[a:b].tolist() for a, b in pairwise(forbidden.indptr.tolist())]
    old = np.full(len(means), -1)
    for _ in range(max_iter):
        distance = weight[:, None] * np.einsum("kr,kr->k", centres, centres) - 2 * sums @ centres.T
        labels, broken = in_turn(order, np.argsort(distance, axis=1), near)
        if (labels == old).all():
            break
        old = labels
        member = membership(labels, len(centres))
        size = np.asarray(member @ weight).ravel()
        moved = (member @ sums) / np.maximum(size, 1.0)[:, None]
        centres = np.where(size[:, None] > 0, moved, centres)  # an empty cluster keeps its centre
    inertia = groups.squares + float(np.sum(distance[np.arange(labels.size), labels]))
    return int(broken), max(inertia, 0.0), labels
