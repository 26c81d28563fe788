"""Rivals as short functions: PCKMeans and MPCKMeans for pairs of which some are wrong, ITML, signed spectral.

The package active-semi-supervised-clustering has both, but refuses pairs that contradict each other. Here
all pairs are penalties, as in the paper, and no pair is added by closure. The first centres are the means of
groups of must-links, chosen farthest first with their sizes as weights; random points fill up. Points are
assigned one after the other in random order. Of several starts the one with the smallest objective is kept.

Source: Bilenko, Basu & Mooney, "Integrating Constraints and Metric Learning in Semi-Supervised Clustering",
ICML 2004, objectives (2) and (4); the metric of MPCKMeans is one diagonal matrix for all clusters.
"""

import numpy as np
from scipy.spatial.distance import pdist

from npkl_models.applications.clustering import kernel_kmeans, unit_rows
from npkl_models.applications.propagated import affinities, spectral_rows

STARTS, TURNS = 5, 30
SMALLEST = 1e-6  # of the metric's entries


def pckmeans(X, k, pairs, seed, weight=1.0, learnt=False):
    """Labels; ``weight`` is the penalty of a pair relative to a point's mean squared distance from the mean.

    With ``learnt`` the metric is learnt (MPCKMeans): the penalties then depend on the points of a pair.
    """
    rng = np.random.default_rng(seed)
    w = weight * (1.0 if learnt else X.var(axis=0).sum())
    found = [_start(X, k, pairs, rng, w, learnt) for _ in range(STARTS)]
    return min(found, key=lambda one: one[0])[1]


def _start(X, k, pairs, rng, w, learnt):
    """Objective and labels from one start."""
    n, d = X.shape
    metric, labels = np.ones(d), np.full(n, -1)
    centers = _centers(X, k, pairs, rng)
    touching = [[] for _ in range(n)]
    for e, (i, j) in enumerate(zip(pairs.i, pairs.j, strict=True)):
        touching[i].append((e, j))
        touching[j].append((e, i))
    must = pairs.sign > 0
    widest = np.ptp(X, axis=0) ** 2  # of the two points that are farthest apart in each column
    apart = (X[pairs.i] - X[pairs.j]) ** 2
    for _ in range(TURNS):
        broken_must = w * (apart @ metric if learnt else np.ones(len(apart)))
        broken_cannot = w * ((widest - apart) @ metric if learnt else np.ones(len(apart)))
        own = ((X[:, None, :] - centers) ** 2 * metric).sum(axis=2)
        old = labels.copy()
        for i in rng.permutation(n):
            cost = own[i].copy()
            for e, j in touching[i]:
                if labels[j] < 0:
                    continue
                if must[e]:
                    cost += broken_must[e]
                    cost[labels[j]] -= broken_must[e]
                else:
                    cost[labels[j]] += broken_cannot[e]
            labels[i] = cost.argmin()
        used = [c for c in range(k) if (labels == c).any()]
        for c in used:
            centers[c] = X[labels == c].mean(axis=0)
        same = labels[pairs.i] == labels[pairs.j]
        broken = np.where(must, broken_must * ~same, broken_cannot * same).sum()
        if learnt:
            spread = ((X - centers[labels]) ** 2).sum(axis=0)
            spread += w * apart[must & ~same].sum(axis=0) + w * (widest - apart)[~must & same].sum(axis=0)
            metric = np.maximum(n / np.maximum(spread, 1e-12), SMALLEST)
            metric = np.minimum(metric, 1 / SMALLEST)
        if (labels == old).all():
            break
    value = ((X - centers[labels]) ** 2 * metric).sum() + broken
    return value - (n * np.log(metric).sum() if learnt else 0.0), labels


def _centers(X, k, pairs, rng):
    """The means of k groups of must-links, farthest first by size; random points if there are too few."""
    label = pairs.groups()[1]
    size = np.bincount(label)
    large = np.flatnonzero(size > 1)
    means = np.array([X[label == group].mean(axis=0) for group in large]).reshape(-1, X.shape[1])
    if len(means) <= k:
        return np.concatenate([means, X[rng.choice(len(X), k - len(means), replace=False)]])
    weight = size[large]
    chosen = [int(rng.choice(len(means), p=weight / weight.sum()))]
    while len(chosen) < k:
        near = ((means[:, None] - means[chosen]) ** 2).sum(axis=2).min(axis=1)
        chosen.append(int(np.argmax(near * weight)))
    return means[chosen].copy()


def itml(X, pairs, gamma=1.0, rounds=200):
    """A matrix W for points x W, by ITML (Davis, Kulis, Jain, Sra & Dhillon, ICML 2007, algorithm 1).

    Similar points are bounded by the distance that 5 % of all points have, others by that of 95 %.
    """
    apart = X[pairs.i] - X[pairs.j]
    moved = (apart**2).sum(axis=1) > 0
    apart, sign = apart[moved], pairs.sign[moved]
    low, high = np.percentile(pdist(X, "sqeuclidean"), (5, 95))
    bound, dual, A = np.where(sign > 0, low, high), np.zeros(sign.size), np.eye(X.shape[1])
    for _ in range(rounds):
        before = dual.copy()
        for e, v in enumerate(apart):
            row = A @ v
            far = float(v @ row)
            step = min(dual[e], sign[e] * gamma / (gamma + 1) * (1 / far - 1 / bound[e]))
            turn = sign[e] * step / (1 - sign[e] * step * far)
            dual[e] -= step
            bound[e] = gamma * bound[e] / (gamma + sign[e] * step * bound[e])
            A += turn * np.outer(row, row)
        if np.abs(dual - before).sum() <= 1e-3 * (np.linalg.norm(dual) + np.linalg.norm(before)):
            break
    value, vector = np.linalg.eigh(A)
    return vector * np.sqrt(np.maximum(value, 0))


def signed_spectral(graph, pairs, k, random_state=0):
    """Clusters by the k smallest eigenvectors of the normalised signed Laplacian, with rows of length 1.

    A pair replaces the affinity of its points by +1 or -1; the largest affinity of the graph counts as 1.
    Kunegis et al., "Spectral Analysis of Signed Graphs", SDM 2010, section 4.
    """
    A = affinities(graph, pairs.n).tolil()
    A[pairs.i, pairs.j] = A[pairs.j, pairs.i] = pairs.sign
    return kernel_kmeans(unit_rows(spectral_rows(A.tocsr(), k)), k, 20, random_state)
