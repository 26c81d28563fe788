"""All randomised runs of one certificate share its failure probability."""

import importlib

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.certificates.certificate import FAILURE
from npkl_models.proof.eigenbound import PLAIN

lanczos = importlib.import_module("npkl_models.proof.lanczos")


@pytest.mark.parametrize("quick", [True, False])
@pytest.mark.parametrize("alone", [True, False])
def test_the_runs_of_a_certificate_spend_its_chance_once(quick, alone, monkeypatch):
    """Points that no pair holds get a bound of their own, and with it a run of their own."""
    rng = np.random.default_rng(0)
    held, free = 500, 450
    parts = [nm.laplacian(rng.normal(size=(n, 3)), n_neighbors=5, shift=0.0) for n in (held, free)]
    L = sp.csr_array(sp.block_diag(parts)) if alone else parts[0]
    i, j = np.sort(rng.integers(0, held, (2, 400)), axis=0)
    pairs = np.unique(np.stack([i, j], axis=1)[i != j], axis=0)
    n = L.shape[0]
    problem = nm.npkl(L, nm.Pairs(n, must_link=pairs[:200], cannot_link=pairs[200:]))
    spent, own = [], lanczos.smallest_component
    monkeypatch.setattr(lanczos, "smallest_component", lambda n, p: spent.append(p) or own(n, p))
    point = 0.3 * rng.normal(size=(n, 4))
    nm.certify(problem, point, kind="factor", method="lanczos", failure_probability=1e-3, quick=quick)
    assert sum(p for p in spent if p > FAILURE) <= 1e-3 * (1 + 1e-12)  # a solve has a budget of its own
    spent.clear()
    nm.certify(
        problem, point, kind="factor", method="lanczos", failure_probability=1e-3, quick=quick, search=0
    )
    spent = [p for p in spent if p != PLAIN.failure_probability]  # those runs serve proofs alone
    assert sum(spent) <= 1e-3 / 2 * (1 + 1e-12)  # one look of two
    assert len(spent) == (2 if alone and not quick else 1)


@pytest.mark.parametrize("kind", ["trace bound", "row norm"])
def test_every_further_run_has_a_share_of_the_chance(kind, monkeypatch):
    """A finite support has two runs at most; multipliers of a solve are one more look, and share the chance."""
    rng = np.random.default_rng(1)
    n = 500
    L = nm.laplacian(rng.normal(size=(n, 3)), n_neighbors=5, shift=0.1)
    pairs = nm.Pairs(n, must_link=[(i, i + 1) for i in range(0, 100, 2)], cannot_link=[(0, 200), (4, 300)])
    if kind == "trace bound":
        problem, runs = nm.simple_npkl(L, pairs, loss="hinge", trace_bound=50.0), 2
    else:
        problem, runs = nm.npkl(L, pairs, loss="linear", row_norm=1.0), 2
    spent, own = [], lanczos.smallest_component
    monkeypatch.setattr(lanczos, "smallest_component", lambda n, p: spent.append(p) or own(n, p))
    nm.certify(
        problem, 0.05 * rng.normal(size=(n, 4)), kind="factor", method="lanczos", failure_probability=1e-3
    )
    spent = [p for p in spent if p != PLAIN.failure_probability]
    spent = [p for p in spent if p > FAILURE]  # a solve has a budget of its own
    assert len(spent) <= 2 * runs
    assert sum(spent) <= 1e-3 * (1 + 1e-12)
