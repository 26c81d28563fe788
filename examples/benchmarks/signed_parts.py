"""What signed spectral clustering does right: each of its parts changed in turn, beside the learnt kernel.

``python signed_parts.py [SET ...] [--draws 3]`` draws 0.6 n pairs of each kind, with none, 10 and 20 % of
them turned round, and prints a line of JSON for each change: the adjusted Rand index over all points, a mean
over sets and draws.
"""

import argparse
import os
import warnings

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import scipy.sparse as sp
from common import report
from sklearn.metrics import adjusted_rand_score
from wrong_pairs import NEIGHBORS, OPEN, drawn, points

import npkl_models as nm
from npkl_models.applications.clustering import directions, kernel_kmeans, unit_rows
from npkl_models.applications.signed import degree_scale, leading, signed_graph

SHARES = (0.0, 0.1, 0.2)


def signed(X, y, k, pairs, weight=1.0, vectors=0, normalised=True, unit=True):
    """Signed spectral clustering, with pairs of another weight, more vectors, or without a scaling."""
    graph = nm.knn_affinity(X, NEIGHBORS)
    A = signed_graph(graph, pairs)
    if weight != 1.0:
        told = np.concatenate([pairs.i, pairs.j]), np.concatenate([pairs.j, pairs.i])
        A = sp.csr_array(A + sp.csr_array((np.tile((weight - 1) * pairs.sign, 2), told), shape=A.shape))
    if normalised:
        scale = degree_scale(A)
        A = sp.csr_array(scale @ A @ scale)
    else:
        A = sp.csr_array(A - sp.diags_array(np.asarray(abs(A).sum(axis=1)).ravel()))
        A = sp.csr_array(sp.eye_array(y.size) + A / abs(A).sum(axis=1).max())
    V = leading(A, k + vectors)
    return kernel_kmeans(unit_rows(V) if unit else V, k, 20, 0)


def learnt(X, y, k, pairs, gamma, axes=True, cannot=None):
    """K-means on the learnt kernel: on rows of length 1 in the k leading axes, or on the rows as they are."""
    L = nm.laplacian(X, NEIGHBORS, shift=0.1)
    target = -1 / (k - 1) if cannot is None else cannot
    V = nm.pcp(L, pairs, gamma=gamma, cannot=target).solve(tol=1e-4).V
    return kernel_kmeans(directions(V, k) if axes else V, k, 20, 0)


WAYS = {
    "signed spectral": (signed, {}),
    "pairs weigh 0.3": (signed, {"weight": 0.3}),
    "pairs weigh 3": (signed, {"weight": 3.0}),
    "pairs weigh 10": (signed, {"weight": 10.0}),
    "one vector fewer": (signed, {"vectors": -1}),
    "two vectors more": (signed, {"vectors": 2}),
    "degrees do not scale": (signed, {"normalised": False}),
    "rows are not scaled": (signed, {"unit": False}),
    **{
        f"kernel, targets of a simplex, {words}, weight {gamma:g}": (learnt, {"gamma": gamma, "axes": axes})
        for axes, words in ((True, "k axes"), (False, "all axes")) for gamma in (1.0, 3.0, 10.0, 100.0)
    },
    "kernel, target 0, all axes, weight 100": (learnt, {"gamma": 100.0, "axes": False, "cannot": 0.0}),
}  # fmt: skip


def main() -> None:
    """Run it."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(OPEN))
    parser.add_argument("--draws", type=int, default=3)
    given = parser.parse_args()
    for way, (work, settings) in WAYS.items():
        found = {}
        for share in SHARES:
            values = []
            for name in given.sets:
                X, y = points(name)
                for seed in range(given.draws):
                    pairs, _ = drawn(y, "0.6 n", "both", share, seed)
                    labels = work(X, y, len(np.unique(y)), pairs, **settings)
                    values.append(adjusted_rand_score(y, labels))
            found[f"{share:.0%}"] = round(float(np.mean(values)), 3)
        report(benchmark="signed_parts", way=way, sets=len(given.sets), draws=given.draws, **found)


if __name__ == "__main__":
    main()
