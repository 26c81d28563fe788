"""A factor of floating-point numbers is in the range of a basis but for rounding, which is paid for."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.feasibility.restoration import restored
from npkl_models.kernel import off_basis
from npkl_models.model.basis import Basis, centred_wavelets
from npkl_models.model.functionals import (
    DistanceCombinations,
    DistanceDifferences,
    Entries,
    SquaredDistances,
    TotalSum,
    Trace,
)
from npkl_models.model.statement import Statement
from npkl_models.model.terms import LossTerm

N = 5
NOTHING = LossTerm(SquaredDistances(4, ([0], [0])), "square", 0.0)
FUNCTIONALS = (
    Entries(N, ([0, 1, 2], [0, 3, 4])),
    SquaredDistances(N, ([0, 1], [2, 4])),
    DistanceDifferences(N, ([0, 3], [1, 1], [2, 4])),
    TotalSum(N),
    Trace(N),
    DistanceCombinations(N, ([0, 1, 1], [2, 4, 3]), [[1.0, -0.3, 0.0], [0.2, 0.0, 5.0]]),
)


def exact(A: np.ndarray) -> list[list[Fraction]]:
    return [[Fraction(x) for x in row] for row in A.tolist()]


def product(A: list[list[Fraction]], B: list[list[Fraction]]) -> list[list[Fraction]]:
    return [
        [sum((a * b for a, b in zip(row, c, strict=True)), Fraction(0)) for c in zip(*B, strict=True)]
        for row in A
    ]


def nearly_parallel(seed: int, apart: float) -> np.ndarray:
    """Orthonormal columns (4 x 2) whose rows 0 and 2 are parallel but for ``apart``."""
    rng = np.random.default_rng(seed)
    first = rng.normal(size=2)
    rows = [first, rng.normal(size=2), 0.7 * first + apart * np.array([-first[1], first[0]])]
    return np.linalg.qr(np.vstack([*rows, rng.normal(size=2)]))[0]


@pytest.mark.parametrize("apart", [1e-3, 1e-6, 1e-9])
def test_an_upper_bound_is_not_below_the_optimum_where_short_rows_come_of_long_ones(apart):
    """Min 2 K_02, tr K <= 1, is the smallest eigenvalue over the basis; rows 0 and 2 of V are of size apart.

    That upper I is below Q'CQ would say that the bound is false; it is looked at in rational numbers.
    """
    C = np.zeros((4, 4))
    C[0, 2] = C[2, 0] = 1.0
    for seed in range(20):
        basis = Basis(nearly_parallel(seed, apart))
        Q = basis.dense
        bound = nm.TracePower(1, bound=1.0)
        problem = nm.Problem(sp.csr_array(C), (NOTHING,), bound, basis=basis)
        q = exact(Q)
        H = product(list(map(list, zip(*q, strict=True))), product(exact(C), q))
        G = product(list(map(list, zip(*q, strict=True))), q)
        w = np.linalg.eigh(Q.T @ C @ Q)[1][:, :1]
        found = nm.certify(problem, restored(problem, Q @ w), kind="factor")
        assert found.feasible
        upper = Fraction(found.upper)
        M = [[h - upper * g for h, g in zip(*rows, strict=True)] for rows in zip(H, G, strict=True)]
        assert not (M[0][0] > 0 and M[0][0] * M[1][1] > M[0][1] ** 2)


def test_without_a_basis_there_is_no_way():
    assert not off_basis(nm.Problem(sp.eye_array(4).tocsr(), NOTHING), np.ones((4, 2))).any()


@pytest.mark.parametrize("functional", FUNCTIONALS, ids=lambda f: f.kind)
def test_values_change_by_no_more_than_is_said(functional):
    rng = np.random.default_rng(0)
    for _ in range(50):
        V, D = rng.normal(size=(2, N, 3)) * 10.0 ** rng.uniform(-3, 0, size=(2, N, 1))
        off = np.linalg.norm(D, axis=1)
        change = np.abs(functional.value_of_factor(V + D) - functional.value_of_factor(V))
        bound = functional.change_of_factor(V, off)
        assert (change <= bound * (1 + 1e-12)).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_the_distance_from_the_range_is_no_less_than_it_is(sparse):
    basis = centred_wavelets(np.arange(40)) if sparse else Basis(nearly_parallel(0, 1e-8))
    problem = nm.Problem(
        sp.eye_array(basis.n).tocsr(), LossTerm(SquaredDistances(basis.n, ([0], [1])), "square", 1.0),
        basis=basis,
    )  # fmt: skip
    for seed in range(20):
        rng = np.random.default_rng(seed)
        V = problem.lift(rng.normal(size=(basis.size, 3)) * 10.0 ** rng.uniform(-6, 6, size=(basis.size, 1)))
        there = product(exact(basis.dense), exact(problem.drop(V)))
        off = off_basis(problem, V)
        for row, wanted, bound in zip(exact(V), there, off.tolist(), strict=True):
            away = sum((a - b) ** 2 for a, b in zip(row, wanted, strict=True))
            assert away <= Fraction(bound) ** 2
        assert off.max() <= 1e-12 * np.abs(V).max()


def test_a_bound_on_rows_is_met_in_the_range_itself():
    for seed in range(30):
        basis = Basis(nearly_parallel(seed, 1e-3))
        problem: Statement = nm.Problem(sp.eye_array(4).tocsr(), NOTHING, nm.RowNormBound(1.0), basis=basis)
        V = problem.lift(np.random.default_rng(seed).normal(size=(2, 2)))
        V = V / np.linalg.norm(V, axis=1).max()
        found = restored(problem, V)
        assert nm.certify(problem, found).feasible
        there = product(exact(basis.dense), exact(problem.drop(found)))
        assert max(sum(x * x for x in row) for row in there) <= 1 + Fraction(1, 10**9)
