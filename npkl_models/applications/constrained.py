"""Constrained k-means: the pairs are kept while clusters are formed.

Wagstaff, Cardie, Rogers & Schroedl, ICML 2001: in each round, points go one after the other to the nearest
centre that no pair forbids. Must-links are contracted first, so that only cannot-links remain.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from npkl_models.applications.clustering import as_rows, check_clusters, membership
from npkl_models.errors import ProblemError
from npkl_models.linalg import Array, Index
from npkl_models.linalg.compile import Loop
from npkl_models.linalg.owned import generator
from npkl_models.model.colouring import broken_by, coloured, in_words, neighbours, of_pairs
from npkl_models.model.pairs import Pairs

ASSIGN = Loop("npkl_models.applications.assign", "assign", 1.5)


@dataclass(frozen=True)
class Constrained:
    """The result of constrained k-means.

    Attributes
    ----------
    labels : ndarray of int, shape (n,)
        Cluster of each point.
    violated : int
        Number of violated cannot-links; 0 unless every restart failed. Must-links are always kept.
    inertia : float
        Sum of the squared distances of points to their centres.
    restarts, failed : int
        Number of restarts, and number of restarts that violate a cannot-link.
    """

    labels: Index
    violated: int
    inertia: float
    restarts: int
    failed: int

    @property
    def satisfied(self) -> bool:
        """Whether all pairs are kept."""
        return self.violated == 0


def constrained_kmeans(
    kernel: Any, n_clusters: int, pairs: Pairs, n_init: int = 20, max_iter: int = 300,
    random_state: int | None = 0,
) -> Constrained:  # fmt: skip
    """Constrained k-means (COP-KMeans) on a solution, a factor or a kernel matrix.

    Parameters
    ----------
    kernel : Solution, or ndarray of shape (n, r) or (n, n)
        A solution, a factor, or a symmetric kernel matrix.
    n_clusters : int
        Number of clusters.
    pairs : Pairs
        Must-links and cannot-links over the same points.
    n_init, max_iter : int
        Number of restarts, each with its own centres (by k-means++) and order of the points; and their
        rounds.
    random_state : int, optional
        Seed of centres and orders.

    Returns
    -------
    Constrained
        The best restart that keeps all pairs, or else the one that violates the fewest cannot-links. The
        greedy assignment may fail although a partition that keeps all pairs exists; the search for one is
        NP-hard.

    Raises
    ------
    ProblemError
        If must-links and cannot-links contradict each other, so that no partition keeps all pairs.

    Examples
    --------
    >>> import numpy as np
    >>> import npkl_models as nm
    >>> from npkl_models.applications.constrained import constrained_kmeans
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1]])
    >>> constrained_kmeans(X, 2, nm.Pairs(5, [(0, 3)], [(0, 1)])).satisfied
    True
    """
    V = as_rows(kernel)
    if pairs.n != len(V):
        raise ProblemError(f"pairs must be over the {len(V)} points, got pairs over {pairs.n}")
    check_clusters(n_clusters, len(V))
    chains = pairs.contradictions()
    if chains:
        raise ProblemError(
            f"pairs must not contradict each other, but must-links join the points of {len(chains)} "
            f"cannot-links, for example by the chain {chains[0]}"
        )
    count, group = pairs.groups()
    gather = membership(group, count)
    weight = np.asarray(gather.sum(axis=1)).ravel()
    groups = _Groups(
        gather @ V, weight, _forbidden(pairs, count, group), float(np.sum(np.einsum("ir,ir->i", V, V)))
    )
    rng = generator(random_state)
    runs = [_restart(groups, n_clusters, max_iter, rng) for _ in range(max(n_init, 1))]
    broken, inertia, of_groups = min(runs, key=lambda run: run[:2])
    failed = sum(run[0] > 0 for run in runs)
    labels = of_groups[group]
    violated = (
        int(np.sum(labels[pairs.cannot_link[:, 0]] == labels[pairs.cannot_link[:, 1]])) if broken else 0
    )
    return Constrained(labels, violated, inertia, len(runs), failed)


def keeping(pairs: Pairs, beliefs: Array) -> Index:
    """The most probable labels (n,) that keep all pairs, by the beliefs (n x k) about each point.

    The groups of must-links are assigned in turn, the most certain one first. If a group finds no free
    cluster, a search by `npkl_models.model.colouring.coloured` follows. A ProblemError names the conflict if
    no k clusters keep the pairs, or none that do were found.
    """
    k = beliefs.shape[1]
    found = [message for _, message in of_pairs(pairs, k)]
    if found:
        raise ProblemError(f"pairs must be such that {k} clusters can keep them, got: {found[0]}")
    count, group = pairs.groups()
    score = np.asarray(membership(group, count) @ np.log(np.maximum(beliefs, np.finfo(float).tiny)))
    nearest = np.argsort(-score, axis=1, kind="stable")
    ranked = np.sort(score, axis=1)
    order = np.argsort(ranked[:, -2] - ranked[:, -1], kind="stable") if k > 1 else np.arange(count)
    forbidden = _forbidden(pairs, count, group)
    labels, broken = ASSIGN(order, nearest, *_links(forbidden))
    if broken:
        colours, _ = coloured(neighbours(pairs)[0], k, nearest)
        if colours is None:
            raise ProblemError(
                f"pairs must be such that {k} clusters keep them, got a search that is too long; "
                f"the labels would not keep {in_words(broken_by(labels[group], pairs))}"
            )
        labels = np.array(colours, dtype=np.intp)
    return labels[group]


def _forbidden(pairs: Pairs, count: int, group: Index) -> Any:
    """The pairs of groups that must not be together, as a sparse matrix."""
    ends = group[pairs.cannot_link] if len(pairs.cannot_link) else np.zeros((0, 2), dtype=np.intp)
    both = np.concatenate([ends, ends[:, ::-1]])
    return sp.csr_array((np.ones(len(both)), (both[:, 0], both[:, 1])), shape=(count, count))


def _links(forbidden: Any) -> tuple[Index, Index]:
    return forbidden.indptr.astype(np.intp, copy=False), forbidden.indices.astype(np.intp, copy=False)


@dataclass(frozen=True, eq=False)
class _Groups:
    sums: Array  # sum of the rows of each group
    weight: Array  # number of points of each group
    forbidden: Any  # pairs of groups that must not be together
    squares: float  # sum of the squares of all rows


def _restart(groups: _Groups, k: int, max_iter: int, rng: np.random.Generator) -> tuple[int, float, Index]:
    """One run: the number of broken cannot-links, the inertia, and the cluster of each group."""
    from sklearn.cluster import kmeans_plusplus

    sums, weight, forbidden = groups.sums, groups.weight, groups.forbidden
    means = sums / weight[:, None]
    seed = int(rng.integers(2**31 - 1))
    centres = (
        kmeans_plusplus(means, k, sample_weight=weight, random_state=seed)[0] if k <= len(means) else means
    )
    order = rng.permutation(len(means))
    links = _links(forbidden)
    old = np.full(len(means), -1)
    for _ in range(max_iter):
        distance = weight[:, None] * np.einsum("kr,kr->k", centres, centres) - 2 * sums @ centres.T
        labels, broken = ASSIGN(order, np.argsort(distance, axis=1), *links)
        if (labels == old).all():
            break
        old = labels
        member = membership(labels, len(centres))
        size = np.asarray(member @ weight).ravel()
        moved = (member @ sums) / np.maximum(size, 1.0)[:, None]
        centres = np.where(size[:, None] > 0, moved, centres)  # an empty cluster keeps its centre
    inertia = groups.squares + float(np.sum(distance[np.arange(labels.size), labels]))
    return int(broken), max(inertia, 0.0), labels
