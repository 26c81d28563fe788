"""Every formulation with every backend that takes it: one optimum, certified, and none that a formulation lost."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.formulations import FORMULATIONS
from npkl_models.formulations.known_distances import radio_network
from npkl_models.formulations.ordinal import largest_penalty

pytestmark = pytest.mark.filterwarnings("ignore::npkl_models.model.graph.UnscaledWarning")  # raw on purpose

N = 12
L, PAIRS = side_information("iris", N)
rng = np.random.default_rng(0)
X, Y = rng.normal(size=(N, 3)), np.arange(N) % 3
CHAIN = nm.Pairs(N, [(i, i + 1) for i in range(N - 1)], [(0, 5), (2, 9), (3, 7), (1, 11)])
KERNEL = X @ X.T
HOLES = np.where(np.abs(np.subtract.outer(np.arange(N), np.arange(N))) % 4 == 3, np.nan, KERNEL)
Q = nm.Basis(np.linalg.qr(rng.normal(size=(N, 5)))[0])
ASKED = rng.permuted(np.tile(np.arange(N), (60, 1)), axis=1)[:, :3]
(I, J, D), POINTS = radio_network(5, 3, 0.9, noise=0.05, random_state=0)
ANCHORED = {"anchors": (range(5, 8), POINTS[5:])}


def ordinal(loss: str) -> nm.Problem:
    return nm.ordinal(ASKED, loss=loss, penalty=0.2 * largest_penalty(nm.ordinal(ASKED, loss=loss)))


CASES = {
    "pcp": (4, lambda: nm.pcp(L, PAIRS)),
    "npkl": (4, lambda: nm.npkl(L, PAIRS, loss="hinge", row_norm=1.0)),
    "hard_pcp": (4, lambda: nm.hard_pcp(L, PAIRS)),
    "reg_pcp": (5, lambda: nm.reg_pcp(nm.eigenbasis(L, 5), PAIRS)),
    "simple_npkl": (4, lambda: nm.simple_npkl(L, PAIRS, loss="squared_hinge", trace_bound=4.0)),
    "mvu": (3, lambda: nm.mvu(X[:, :2], 3, components="connect")),
    "mvu, soft": (4, lambda: nm.mvu(X, 3, weight=2.0, components="connect")),
    "reg_mvu": (4, lambda: nm.reg_mvu(X, 3, n_basis=5, components="connect")),
    "colored_mvu": (4, lambda: nm.colored_mvu(X, Y, n_neighbors=3, C=2.0, components="connect")),
    "colored_mvu, bound": (
        4,
        lambda: nm.colored_mvu(X, Y, n_neighbors=3, C=2.0, trace_bound=30.0, components="connect"),
    ),
    "psde": (4, lambda: nm.psde(CHAIN, C=3.0)),
    "psde, hinge": (4, lambda: nm.psde(CHAIN, C=60.0, loss="hinge")),
    "psde, bound": (4, lambda: nm.psde(CHAIN, C=3.0, trace_bound=4.0)),
    "psde, features": (4, lambda: nm.psde(CHAIN, C=3.0, features=X + 3.0)),
    "conformal_eigenmaps": (4, lambda: nm.conformal_eigenmaps(X, 4, 5)),
    "locally_rigid": (5, lambda: nm.locally_rigid(X, 5, 4)),
    "kernel_completion": (5, lambda: nm.kernel_completion(HOLES[:8, :8])),
    "kernel_completion, penalty": (4, lambda: nm.kernel_completion(HOLES, penalty=0.5)),
    "kernel_completion, basis": (5, lambda: nm.kernel_completion(HOLES, basis=Q, penalty=0.5)),
    "ordinal": (4, lambda: ordinal("logistic")),
    "ordinal, hinge": (4, lambda: ordinal("hinge")),
    "distances": (4, lambda: nm.distances((I, J, D), penalty=0.02)),
    "distances, anchors": (6, lambda: nm.distances((I, J, D), penalty=-0.01, **ANCHORED)),
    "distances, absolute": (4, lambda: nm.distances((I, J, D), loss="absolute", **ANCHORED)),
}
"""A problem of each formulation, and how many backends take it at least."""

ELSEWHERE = {"mve", "spe"}
"""Steps of `minimum_volume` and rounds of `structure_preserving`, whose tests solve them."""


def test_every_formulation_is_here():
    assert {case.partition(",")[0] for case in CASES} | ELSEWHERE == set(FORMULATIONS)


@pytest.mark.parametrize("case", CASES)
def test_every_backend_that_takes_it_finds_the_one_optimum(case):
    least, stated = CASES[case]
    table = nm.crosscheck(stated(), time_limit=20)
    assert len([row for row in table.rows if row.ran]) >= least
    assert table.agrees, str(table)
    assert sum(row.status == "OPTIMAL" for row in table.rows) >= least
