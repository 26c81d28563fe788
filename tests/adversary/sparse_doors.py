"""Sparse matrices with a broken or an odd structure, given to every public function that takes a matrix.

Run as a module, so that a crash ends this process alone: each outcome is one line of JSON, written at once.
"""

from __future__ import annotations

import json
import sys
import warnings
from itertools import pairwise

import numpy as np
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.answer.extension import extend, extend_points
from npkl_models.applications.clustering import kernel_kmeans
from npkl_models.applications.embedding import coordinates
from npkl_models.applications.estimators import landmark_pairs
from npkl_models.applications.metric import local_weights
from npkl_models.applications.pair_noise import pair_noise
from npkl_models.applications.propagated import propagated_spectral
from npkl_models.applications.scores import separation
from npkl_models.applications.structure import most_violated, structure_preserving
from npkl_models.formulations.comparisons import ordinal_answers
from npkl_models.show import plots
from npkl_models.show.plots.points import graph_edges

N = 6
X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 1.0], [10.0, 0.0], [11.0, 2.0], [12.0, 1.0]])
RING = np.eye(N, k=1) + np.eye(N, k=-1) + np.eye(N, k=5) + np.eye(N, k=-5)
COST = 3.0 * np.eye(N) - RING
SPD = np.eye(N) + 0.1 * RING
Q = np.zeros((N, 3))
Q[[0, 1], 0] = Q[[2, 3], 1] = [0.6, 0.8]
Q[[4, 5], 2] = [0.8, -0.6]
FAR = np.where(RING > 0, 2.0, 0.0)
MEMBER = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0], [0.0, 1.0], [1.0, 0.0], [1.0, 1.0]])
PAIRS = nm.Pairs(N, [(0, 1), (3, 4)], [(2, 3)])
PROBLEM = nm.pcp(COST, PAIRS)
SOLUTION = PROBLEM.solve("interior")
V = SOLUTION.V


def numbers(problem):
    """What a problem is, as one vector."""
    parts = [problem.cost.toarray().ravel(), problem.objective_of_factor(X), problem.violation(X)]
    parts += [getattr(part, "target", getattr(part, "value", 0.0)) for part in problem.terms]
    if problem.basis is not None:
        parts.append((problem.basis.dense @ problem.basis.dense.T).ravel())
    return np.concatenate([np.ravel(part) for part in parts])


def side(name):
    return {"pairs": [(0, 1), (3, 4), (2, 3)], "y_pairs": [1, 1, -1]} if name else {}


def learnt(A):
    return nm.KernelMetricLearner(n_neighbors=2).fit(A, **side("pairs")).embedding_


def precomputed(A):
    return nm.KernelMetricLearner(kernel="precomputed", n_neighbors=2).fit(A, **side("pairs")).embedding_


FITTED = nm.NPKLKernel(n_neighbors=2).fit(sp.csr_array(X), **side("pairs"))
DOORS = {
    "Problem": (COST, lambda A: numbers(nm.Problem(A, PROBLEM.terms))),
    "pcp": (COST, lambda A: numbers(nm.pcp(A, PAIRS))),
    "npkl": (COST, lambda A: numbers(nm.npkl(A, PAIRS))),
    "simple_npkl": (COST, lambda A: numbers(nm.simple_npkl(A, PAIRS, trace_bound=1.0))),
    "hard_pcp": (COST, lambda A: numbers(nm.hard_pcp(A, PAIRS))),
    "laplacian of points": (X, lambda A: nm.laplacian(A, 2).toarray()),
    "laplacian of an affinity": (RING, lambda A: nm.laplacian(A, metric="precomputed").toarray()),
    "knn_affinity": (X, lambda A: nm.knn_affinity(A, 2).toarray()),
    "Basis": (Q, lambda A: nm.Basis(A).dense),
    "eigenbasis": (COST, lambda A: nm.eigenbasis(A, 2).dense),
    "kernel_completion": (SPD, lambda A: numbers(nm.kernel_completion(A))),
    "weights of kernel_completion": (
        SPD,
        lambda A: numbers(nm.kernel_completion(sp.csr_array(SPD), weights=A)),
    ),
    "distances": (FAR, lambda A: numbers(nm.distances(A))),
    "weights of distances": (FAR, lambda A: numbers(nm.distances(sp.csr_array(FAR), weights=A))),
    "spe": (RING, lambda A: numbers(nm.spe(A))),
    "mvu": (X, lambda A: numbers(nm.mvu(A, 2, components="connect"))),
    "reg_mvu": (X, lambda A: numbers(nm.reg_mvu(A, 2, 2, components="connect"))),
    "colored_mvu": (SPD, lambda A: numbers(nm.colored_mvu(X, A, n_neighbors=3, trace_bound=1.0))),
    "mve": (X, lambda A: numbers(nm.mve(A, 1, n_neighbors=4))),
    "locally_rigid": (X, lambda A: numbers(nm.locally_rigid(A, 4, 3))),
    "conformal_eigenmaps": (X, lambda A: numbers(nm.conformal_eigenmaps(A, 4, 3))),
    "features of psde": (X, lambda A: numbers(nm.psde(PAIRS, features=A, trace_bound=1.0))),
    "DistanceCombinations": (
        MEMBER[:3],
        lambda A: nm.DistanceCombinations(N, ([0, 1], [1, 2]), A).value_of_factor(X),
    ),
    "certify": (V @ V.T, lambda A: nm.certify(PROBLEM, A, kind="kernel").objective),
    "objective": (SPD, lambda A: PROBLEM.objective(A)),
    "objective_of_factor": (X, lambda A: PROBLEM.objective_of_factor(A)),
    "violation": (X, lambda A: PROBLEM.violation(A)),
    "Solution.extend": (RING, lambda A: SOLUTION.extend(A)),
    "among new points": (RING, lambda A: extend(V, RING, A)),
    "Solution.extend_points": (X, lambda A: SOLUTION.extend_points(A, X + 0.1, 2)),
    "new points": (X, lambda A: extend_points(V, X, A, 2)),
    "Pairs.select": (V, lambda A: PAIRS.select(0.9, A).i),
    "comparisons": (X, lambda A: ordinal_answers(A, 4)),
    "propagated_spectral": (RING, lambda A: propagated_spectral(A, PAIRS, 2)),
    "pair_noise": (RING, lambda A: pair_noise(A, PAIRS, [[0, 0, 0, 1, 1, 1]], 2).wrong),
    "structure_preserving": (RING, lambda A: structure_preserving(A, max_rounds=1).objective),
    "most_violated": (RING, lambda A: most_violated(X, A)[1]),
    "kernel_kmeans": (SPD, lambda A: kernel_kmeans(A, 2)),
    "coordinates": (SPD, lambda A: coordinates(A, 2)),
    "separation": (X, lambda A: separation(A, [0, 0, 0, 1, 1, 1])),
    "local_weights": (SPD, lambda A: local_weights(A, SPD, 2).toarray()),
    "landmarks of local_weights": (SPD, lambda A: local_weights(SPD, A, 2).toarray()),
    "landmark_pairs": (X, lambda A: landmark_pairs(A, 2, 0).cannot_link),
    "X, affinities": (RING, lambda A: nm.NPKLKernel(affinity="precomputed").fit(A, **side("pairs")).factor_),
    "X, distances": (
        RING,
        lambda A: nm.NPKLKernel(metric="precomputed", n_neighbors=2).fit(A, **side("pairs")).factor_,
    ),
    "NPKLClustering.fit": (X, lambda A: nm.NPKLClustering(n_neighbors=2).fit(A, **side("pairs")).factor_),
    "NPKLKernel.transform": (X, lambda A: FITTED.transform(A)),
    "KernelMetricLearner.fit": (X, learnt),
    "a precomputed kernel": (SPD, precomputed),
    "plots.kernel": (SPD, lambda A: plots.kernel(A).images[0].get_array()),
    "edges of a plot": (RING, lambda A: graph_edges(PROBLEM, A)),
}


FITTED_BY_SKLEARN = (
    "NPKLClustering.fit", "NPKLKernel.transform", "KernelMetricLearner.fit", "a precomputed kernel",
    "X, affinities", "X, distances",
)  # fmt: skip
PATTERNS = ("edges of a plot",)  # whose numbers are not used
MEASURES = ("objective", "objective_of_factor", "violation")  # of a point, also that of a solver that failed


def changed(A, **parts):
    """A copy with parts in the place of its own, which SciPy does not check."""
    out = A.copy()
    for name, value in parts.items():
        setattr(out, name, value)
    return out


def put(values, place, value):
    out = np.array(values)
    out[place] = value
    return out


class Turning(sp.csr_array):
    """Its columns are those of the matrix when they are read first, and outside it from then on."""

    armed = 0

    @property
    def indices(self):
        if self.armed:
            self.armed += 1
        return self.own if self.armed <= 2 else self.own + 10**6

    @indices.setter
    def indices(self, value):
        self.own = value


class Lying(sp.csr_array):
    def tocsr(self, copy=False):
        raise AssertionError("the stored numbers are what the matrix is")

    toarray = tocoo = asformat = copy = tocsr


def broken(A):
    """Matrices that no format allows, by what is wrong with them."""
    A = sp.csr_array(A)
    (n, m), p, j, x = A.shape, A.indptr, A.indices, A.data
    coo, csc, lil = A.tocoo(), A.tocsc(), A.tolil()
    bsr = A.tobsr(blocksize=(n // 3, m // 2) if m % 2 == 0 else (n // 3, 1))
    rows = np.arange(coo.nnz) % n
    ragged, wide, outside = lil.copy(), lil.copy(), A.todok()
    ragged.data[0] = [*ragged.data[0], 1.0]
    wide.rows[0] = [m + 3, *wide.rows[0][1:]]
    outside._dict[(0, m + 10**7)] = 1.0
    larger = A.copy()
    larger._shape = (n + 5, m)
    return {
        "indptr too long": changed(A, indptr=np.append(p, p[-1])),
        "indptr too short": changed(A, indptr=p[:-1]),
        "indptr decreasing": changed(A, indptr=put(p, 1, p[-1] + 1)),
        "indptr negative": changed(A, indptr=put(p, 1, -1)),
        "indptr from one": changed(A, indptr=p + 1),
        "indptr beyond the entries": changed(A, indptr=put(p, -1, p[-1] + 10**6)),
        "indptr around the range of integers": changed(
            A, indptr=np.array([0, 2**63 - 1, -(2**63), -1, *range(n - 3)])
        ),
        "indptr of floats": changed(A, indptr=p + 0.5),
        "negative columns": changed(A, indices=put(j, 0, -1)),
        "far negative columns": changed(A, indices=put(j, 0, -(10**8))),
        "columns from one": changed(A, indices=j + 1),
        "columns beyond 32 bits": changed(A, indices=put(j.astype(np.int64), 0, 2**31 + 5)),
        "columns beyond 63 bits": changed(A, indices=put(j.astype(np.uint64), 0, 2**64 - 1)),
        "columns of floats": changed(A, indices=j + 0.25),
        "columns of objects": changed(A, indices=j.astype(object)),
        "fewer columns than numbers": changed(A, indices=j[:-1]),
        "fewer numbers than columns": changed(A, data=x[:-1]),
        "numbers in two dimensions": changed(A, data=x.reshape(1, -1)),
        "numbers of objects": changed(A, data=x.astype(object)),
        "complex numbers": changed(A, data=x.astype(complex)),
        "text": changed(A, data=x.astype(str)),
        "no numbers": changed(A, data=None),
        "NaN": changed(A, data=put(x, 0, np.nan)),
        "infinity": changed(A, data=put(x, -1, np.inf)),
        "long doubles beyond floats": changed(A, data=put(x.astype(np.longdouble), 0, np.longdouble("1e400"))),
        "integers between floats": changed(A, data=put(x.astype(np.int64), 0, 2**53 + 1)),
        "more rows than stored": larger,
        "rows from one in CSC": changed(csc, indices=csc.indices + 1),
        "indptr decreasing in CSC": changed(csc, indptr=put(csc.indptr, 1, csc.indptr[-1] + 1)),
        "rows beyond the last in COO": changed(coo, coords=(put(coo.row, 0, n + 10**7), coo.col)),
        "negative columns in COO": changed(coo, coords=(coo.row, put(coo.col, 0, -2))),
        "rows of another length in COO": changed(coo, coords=(rows[:-1], coo.col)),
        "columns of blocks beyond the last": changed(bsr, indices=bsr.indices + 10**7),
        "blocks without rows": changed(bsr, data=np.ones((len(bsr.data), 0, 1))),
        "blocks that do not fit": changed(bsr, data=np.ones((len(bsr.data), n - 1, 1))),
        "numbers without dimensions in DIA": changed(A.todia(), data=np.ones(3)),
        "offsets of text in DIA": changed(A.todia(), offsets=np.array(["a"] * len(A.todia().offsets))),
        "rows of other lengths in LIL": ragged,
        "columns beyond the last in LIL": wide,
        "columns beyond the last in DOK": outside,
        "one dimension": sp.coo_array(np.arange(1.0, n + 1)),
    }  # fmt: skip


def legal(A):
    """Matrices that SciPy takes as equal to the given one."""
    A = sp.csr_array(A)
    p, j, x = A.indptr, A.indices, A.data
    order = np.concatenate([np.arange(a, b)[::-1] for a, b in pairwise(p)])
    twice = sp.csr_array((np.repeat(x / 2, 2), np.repeat(j, 2), 2 * p), shape=A.shape)
    coo = A.tocoo()
    flagged = sp.csr_array((twice.data, twice.indices, twice.indptr), shape=A.shape)
    flagged.has_canonical_format = flagged.has_sorted_indices = True
    out = {
        "unsorted rows": sp.csr_array((x[order], j[order], p), shape=A.shape),
        "entries twice": twice,
        "entries twice, said to be once": flagged,
        "entries twice in COO": sp.coo_array((np.tile(x / 2, 2), (np.tile(coo.row, 2), np.tile(coo.col, 2)))),
        "indices of 64 bits": changed(A, indices=j.astype(np.int64), indptr=p.astype(np.int64)),
        "unsigned indices": changed(A, indices=j.astype(np.uint64), indptr=p.astype(np.uint32)),
        "numbers behind the last row": changed(A, data=np.append(x, np.nan), indices=np.append(j, 99)),
        "columns that change": changed(Turning((x, j, p), shape=A.shape), armed=1),
        "other methods": Lying((x, j, p), shape=A.shape),
    }
    out |= {
        f: getattr(sp, f)(A)
        for form in ("csc", "coo", "bsr", "dia", "lil", "dok")
        for f in (f"{form}_array", f"{form}_matrix")
    }
    return out


def outcome(call, given):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = np.asarray(call(given), dtype=float)
    except nm.NPKLError as error:
        return "refused", str(error)
    except Exception as error:
        return "foreign", f"{type(error).__name__}: {error}"
    return "answer", found.tolist()


def main(names):
    for door in names or DOORS:
        given, call = DOORS[door]
        print(json.dumps([door, "itself", *outcome(call, sp.csr_array(given))]), flush=True)
        for matrices in (legal(given), broken(given)):
            for case, matrix in matrices.items():
                print(json.dumps([door, case]), flush=True)
                print(json.dumps([door, case, *outcome(call, matrix)]), flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
