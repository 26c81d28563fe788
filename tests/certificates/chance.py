"""How often a probable bound fails at a fixed seed: ``python tests/certificates/chance.py --spectra 2000``.

Spectra that are built against Lanczos: one eigenvalue far below a cluster, many close to the lowest, a lowest
vector that is orthogonal to the starts of matrices with the same degrees and the same numbers. A bound fails if
it is above the smallest eigenvalue by more than rounding; it may with the stated probability, 1e-6.
"""

from __future__ import annotations

import argparse
from collections import Counter

import numpy as np
import scipy.sparse as sp

from npkl_models.certificates.bounds import generator_of
from npkl_models.proof.bounds import min_eigenvalue
from npkl_models.proof.eigenbound import Query

KINDS = ("one", "tiny", "deep", "cluster", "relatives", "blocks")
ORDER = 240


def ring(order: np.ndarray) -> sp.csr_array:
    """A cycle through the points in that order: all have the same degrees and numbers."""
    n = order.size
    entries = (np.ones(n), (order, np.roll(order, -1)))
    out = sp.coo_array(entries, shape=(n, n)).tocsr()
    return sp.csr_array(out + out.T)


def matrix(kind: str, rng: np.random.Generator) -> sp.csr_array:
    """A sparse matrix of that kind."""
    n = ORDER
    R = ring(rng.permutation(n))
    identity = sp.eye_array(n, format="csr")
    if kind == "cluster":  # many eigenvalues next to the lowest
        return sp.csr_array(
            sp.diags_array(np.concatenate([[-1e-3], 1e-3 * rng.random(n // 2), rng.random(n - n // 2 - 1)]))
        )
    if kind == "blocks":  # the lowest one alone in a component
        half = n // 2
        parts = [
            2.0 * sp.eye_array(half) - ring(rng.permutation(half)),
            2.5 * sp.eye_array(half) - ring(rng.permutation(half)),
        ]
        out = sp.block_diag(parts, format="csr")
        return sp.csr_array(out - 0.02 * sp.diags_array(np.repeat([1.0, 0.0], half)))
    if kind == "relatives":  # orthogonal to the start of a matrix with the same degrees and numbers
        x = generator_of(0, 2.0 * identity - ring(rng.permutation(n)), np.zeros((n, 1))).standard_normal(n)
        v = rng.standard_normal(n)
        v[np.abs(v) < 1.5] = 0.0
        v -= (v @ x) / (x @ x) * x * (v != 0)
        v /= max(float(np.linalg.norm(v)), 1e-300)
        return sp.csr_array(2.001 * identity - R - 0.5 * sp.csr_array(np.outer(v, v)))
    low = {"one": -0.02, "tiny": -1e-4, "deep": -1.0}[kind]
    bump = np.zeros(n)
    bump[rng.integers(n)] = low - 2.0
    return sp.csr_array(2.001 * identity - R + sp.diags_array(bump))


def count(kind: str, size: int, seed: int) -> Counter:
    """So many spectra of a kind: how many bounds were false, how many were given."""
    out: Counter = Counter()
    rng = np.random.default_rng(seed)
    for _ in range(size):
        S = matrix(kind, rng)
        true = float(np.linalg.eigvalsh(S.toarray())[0])
        found = min_eigenvalue(
            S, None, Query("lanczos", 1e-6, 1e-6, generator_of(0, S, np.zeros((S.shape[0], 1))))
        )
        out["spectra"] += 1
        out["bounds"] += bool(np.isfinite(found.lower))
        out["false"] += bool(found.lower > true + 1e-12)
        out["within 1e-3"] += bool(found.lower > true - 1e-3)
    return out


def main() -> int:
    """Count over all kinds."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--spectra", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    total: Counter = Counter()
    for kind in KINDS:
        found = count(kind, -(-options.spectra // len(KINDS)), options.seed)
        print(f"{kind:<12}", dict(found), flush=True)
        total += found
    print("all         ", dict(total))
    return int(bool(total["false"]))


if __name__ == "__main__":
    raise SystemExit(main())
