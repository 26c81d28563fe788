"""A certificate says the same of the same problem in other units: of rows, constraints, costs, and beside a block."""

from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.model.functional import Functional

COSTS = 2.0**30
POINTS = {"right": 1.0, "too good": 0.999, "1e-5": 1 + 1e-5, "1e-3": 1 + 1e-3, "30 %": 1.3}


def matrices(f: Functional, d: np.ndarray, c: np.ndarray) -> nm.SparseMatrices:
    """The M_e as c_e D^-1 M_e D^-1, over as many points as d has; those of M_e are the first."""
    t = f.triplets()
    low, high = np.minimum(t.row, t.column), np.maximum(t.row, t.column)
    entry = np.where(low == high, t.coefficient, t.coefficient / 2) / d[low] / d[high] * c[t.owner]
    n = d.size
    M = sp.coo_array((entry, (t.owner, low * n + high)), shape=(f.size, n * n)).tocsr().tocoo()
    return nm.SparseMatrices(n, (M.row, M.col // n, M.col % n, M.data), size=f.size)


def rewritten(problem, d, c=None, costs=1.0, block=None):
    """The problem of DKD, its constraints times numbers c, and all costs times ``costs``; perhaps beside a block."""
    C, n = problem.cost.toarray() / d[:, None] / d * costs, problem.n
    if block is not None:
        C, d = sp.block_diag([C, block]).toarray(), np.concatenate([d, np.ones(len(block))])
    terms, at = [], 0
    for part in problem.terms:
        own = np.ones(part.functional.size)
        if isinstance(part, nm.LossTerm):
            terms.append(
                nm.LossTerm(
                    matrices(part.functional, d, own), part.loss, part.target, part.weight * costs, part.name
                )
            )
            continue
        if c is not None:
            own, at = c[at : at + own.size], at + own.size
        side = "equal" if part.equal else "lower" if "at least" in part.kinds else "upper"
        terms.append(
            nm.Constraint(matrices(part.functional, d, own), **{side: part.value * own}, name=part.name)
        )
    assert n <= d.size
    return nm.Problem(C, terms)


def side_information():
    data = nm.datasets.load("iris")
    X, y = data.X[::5], data.y[::5]
    pairs = nm.Pairs.from_labels(y, n_must=12, n_cannot=12, random_state=0)
    return nm.laplacian(X, 5, shift=0.1), pairs


def cut(n=12):
    W = np.triu(np.random.default_rng(0).integers(0, 4, (n, n)), 1).astype(float)
    i = np.arange(n)
    return nm.Problem(W + W.T, nm.Constraint(nm.Entries(n, (i, i)), equal=1.0))


def beside(big):
    """Min K_00 + big (K_11 + K_22), K_00 = 1, whose optimum is one."""
    return nm.Problem(np.diag([1.0, big, big]), nm.Constraint(nm.Entries(3, ([0], [0])), equal=1.0))


FORMULATIONS = {
    "pcp": lambda: nm.pcp(*side_information()),
    "hinge": lambda: nm.npkl(*side_information(), loss="hinge"),
    "squared hinge": lambda: nm.npkl(*side_information()),
    "logistic": lambda: nm.npkl(*side_information(), loss="logistic"),
    "row norm": lambda: nm.npkl(*side_information(), loss="linear", row_norm=1.0),
    "hard": lambda: nm.hard_pcp(*side_information(), reduce=False),
    "cut": cut,
    "1e4 beside": lambda: beside(1e4),
    "1e6 beside": lambda: beside(1e6),
    "1e9 beside": lambda: beside(1e9),
}


@cache
def written(name):
    """The problem as matrices, an optimal point, its multipliers, and the certificates of all points."""
    problem = FORMULATIONS[name]()
    best = problem.solve("interior", tol=1e-10)
    plain = rewritten(problem, np.ones(problem.n))
    y = nm.Multipliers(best.multipliers.losses, best.multipliers.constraints)
    return plain, best.V, y, {how: judged(plain, share * best.V, y) for how, share in POINTS.items()}


def judged(problem, V, y):
    return nm.certify(problem, V, y, kind="factor", random_state=0, search=0)


def ways(problem):
    """The problem in other units, as (problem, D, numbers of constraints, costs)."""
    rng, n = np.random.default_rng(1), problem.n
    m = sum(part.functional.size for part in problem.constraints)
    one, d = np.ones(n), np.ldexp(1.0, rng.integers(-40, 41, n))
    c = np.ldexp(1.0, rng.integers(-20, 21, m))
    out = {
        "rows": (d, None, 1.0, None), "constraints": (one, c, 1.0, None), "costs": (one, None, COSTS, None),
        "all": (d, c, COSTS, None),
    }  # fmt: skip
    for size in (1e-9, 1.0, 1e9):
        out[f"block {size:.0e}"] = (one, None, 1.0, size * (2 * np.eye(3) - np.full((3, 3), 0.5)))
    return out


WAYS = ("rows", "constraints", "costs", "all", "block 1e-09", "block 1e+00", "block 1e+09")


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", FORMULATIONS)
def test_a_certificate_is_the_same_in_other_units(name, way):
    problem, best, y, known = written(name)
    d, c, costs, block = ways(problem)[way]
    other = rewritten(problem, d, c, costs, block)
    nus, at = [], 0
    for nu in y.constraints:
        nus.append(nu * costs / (1.0 if c is None else c[at : at + nu.size]))
        at += nu.size
    multipliers = nm.Multipliers(tuple(part * costs for part in y.losses), tuple(nus))
    more = np.zeros((other.n - problem.n, best.shape[1]))
    for how, share in POINTS.items():
        found, before = judged(other, np.vstack([share * best * d[:, None], more]), multipliers), known[how]
        assert found.objective == pytest.approx(before.objective * costs, rel=1e-8), how
        assert found.bound == pytest.approx(before.bound * costs, rel=1e-8), how
        assert found.certifies(1e-6) == before.certifies(1e-6), how
        assert found.rigour == before.rigour == "proved", how
        assert found.violation == pytest.approx(before.violation, rel=1e-8, abs=1e-14), how


@pytest.mark.parametrize("name", FORMULATIONS)
def test_what_is_right_is_certified_and_what_is_far_off_is_not(name):
    _, best, y, known = written(name)
    assert known["right"].certifies(1e-6)
    assert judged(FORMULATIONS[name](), best, y).certifies(1e-6)
    assert not known["30 %"].certifies(1e-6)


@pytest.mark.parametrize("big", [1e4, 1e6, 1e9])
def test_a_large_cost_of_other_entries_makes_no_gap_small(big):
    """K_11 = K_22 = 0.1 / big has an objective of 1.2, and the optimum is one."""
    problem = beside(big)
    for more in (0.0, 0.1, 1e-4):
        found = nm.certify(problem, np.diag([1.0, (more / big) ** 0.5, (more / big) ** 0.5]), kind="factor")
        assert found.certifies(1e-6) == (more == 0.0)
        assert found.relative_gap == pytest.approx(more / (1 + more), rel=0.1, abs=1e-12)
