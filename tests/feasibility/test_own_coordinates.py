"""Feasible kernels of tiny eigenvalues, in their own coordinates."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.data.synthetic import swiss_roll
from npkl_models.feasibility import own_coordinates
from npkl_models.feasibility.own_coordinates import inside
from npkl_models.feasibility.restoration import restore
from npkl_models.linalg.nearly_dependent import Rows
from npkl_models.model import rounding
from npkl_models.presolve.faces import complement

N = 9
I, J = np.triu_indices(N, 1)
SOME = np.random.default_rng(7).permutation(I.size)[:20]


def problem_of(V, basis=None, D=None):
    """The trace of centred kernels with some distances of V (I + D) V'."""
    K = V @ (np.eye(V.shape[1]) + (0 if D is None else D)) @ V.T
    i, j = I[SOME], J[SOME]
    value = K[i, i] + K[j, j] - 2 * K[i, j]
    equal = nm.Equality(nm.SquaredDistances(N, (i, j)), value)
    return nm.Problem(-np.eye(N), (), equal, basis=basis or complement(N))


def graded(least, seed=0):
    """A square factor of a centred kernel with eigenvalues from 1 to ``least``."""
    Q = complement(N).dense
    turn = np.linalg.qr(np.random.default_rng(seed).normal(size=(N - 1, N - 1)))[0]
    return Q @ (turn * np.sqrt(np.geomspace(1.0, least, N - 1)))


@pytest.mark.parametrize("least", [1e-2, 1e-6, 1e-10])
@pytest.mark.parametrize("off", [0.0, 1e-9, 0.02])
def test_a_kernel_of_tiny_eigenvalues_is_restored_with_proof(least, off):
    V = graded(least)
    problem = problem_of(V)
    D = np.random.default_rng(1).normal(size=(N - 1, N - 1))
    found = inside(problem, V @ (np.eye(N - 1) + off * (D + D.T)))
    assert found is not None
    assert 0 < found.turned < 1e-2
    assert problem.violation(found.V) < 1e-11
    restored = restore(problem, V @ (np.eye(N - 1) + off * (D + D.T)))
    objective, zero = problem.objective_of_factor(restored.V), (np.zeros(20),)
    upper = restored.near.upper(problem, restored.V, objective, zero)
    assert objective < upper < objective + 1e-2 * abs(objective) * (1 if least < 1e-8 else 1e-6)


def test_what_no_points_have_is_not_proved():
    V = graded(1e-6)
    problem = problem_of(V)
    ends = (np.array([0, 0, 1]), np.array([1, 2, 2]))
    value = np.array([1.0, 1.0, 4.0 * (1 + 1e-9)])  # no triangle
    equal = nm.Equality(nm.SquaredDistances(N, ends), value)
    other = nm.Problem(-np.eye(N), (), equal, basis=complement(N))
    assert inside(other, V) is None
    flat = V[:, : N - 2]
    assert inside(problem, flat) is None  # not square
    squares = nm.LossTerm(nm.SquaredDistances(N, ends), "square", value)
    assert inside(nm.Problem(-np.eye(N), squares, problem.equalities, basis=complement(N)), V) is None


@pytest.mark.parametrize("clear", [1e-9, 0.3])
def test_the_length_is_no_less_than_that_of_the_shortest_change(clear):
    rng = np.random.default_rng(2)
    P = rng.normal(size=(12, 6)) * np.geomspace(1, 1e-3, 6)
    rows = Rows.of(P, P, clear)
    assert (rows.others.shape[1] > 0) == (clear > 0.1)
    for _ in range(5):
        missed = np.abs(rng.normal(size=12)) * 1e-6
        found = own_coordinates._length(rows, missed, np.zeros(12))
        A = np.einsum("ea,eb->eab", P, P).reshape(12, -1)
        for signs in rng.choice([-1.0, 1.0], size=(20, 12)):
            shortest = np.linalg.lstsq(A, signs * missed, rcond=1e-15)[0]
            assert np.linalg.norm(shortest) <= found < np.inf
    assert own_coordinates._length(rows, missed, np.full(12, 1.0)) == np.inf  # nothing is known of the edges


def test_the_cost_of_a_turned_kernel_is_within_its_bound():
    rng = np.random.default_rng(3)
    V = graded(1e-4)
    for scale in (1e-6, 1e-2):
        D = scale * rng.normal(size=(N - 1, N - 1))
        D = D + D.T
        problem = problem_of(V, D=D)
        K, other = V @ V.T, V @ (np.eye(N - 1) + D) @ V.T
        missed = np.abs(problem.equalities[0].functional.value_of_factor(V) - problem.equalities[0].value)
        for nu in (np.zeros(20), rng.normal(size=20), 1e3 * rng.normal(size=20)):
            bound = rounding.turned_change(problem, V, np.linalg.norm(D), 0.0, (nu,), missed + 1e-15)
            assert abs(np.trace(other - K)) <= bound
    nothing = nm.Problem(np.zeros((N, N)), (), problem.equalities, basis=complement(N))
    assert rounding.turned_change(nothing, V, 0.5, 0.1, (nu,), missed) == 0.0


@pytest.mark.parametrize(("n", "draw"), [(100, 4), (100, 6)])
def test_exact_unfolding_where_objective_and_bound_cross_and_stresses_are_nearly_semidefinite(n, draw):
    problem = nm.mvu(swiss_roll(n, random_state=draw, even=True)[0], 4, components="connect")
    solution = problem.solve("interior")
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
    assert solution.certificate.feasible
    assert solution.certificate.relative_gap <= 1e-6


def test_sizes_whose_squares_underflow_prove_nothing_here():
    """Distances of 1e-289, and a subnormal entry that keeps the problem from other units."""
    B, (i, j) = complement(5), np.triu_indices(5, 1)
    for seed in range(40):
        rng = np.random.default_rng(seed)
        turn = np.linalg.qr(rng.normal(size=(4, 4)))[0]
        V = B.Q @ (turn * np.sqrt(np.geomspace(1, 10.0 ** -rng.integers(0, 9), 4))) * 2.0**-480
        C = -4 * np.eye(5)
        C[0, 1] = C[1, 0] = 3 * 2.0**-1074
        value = ((V[i] - V[j]) ** 2).sum(axis=1) * (1 + (seed % 2) * 1e-9 * rng.normal(size=10))
        problem = nm.Problem(C, (), nm.Equality(nm.SquaredDistances(5, (i, j)), value), basis=B)
        given = problem.no_multipliers if seed % 4 < 2 else None
        found = nm.certify(problem, V, given, kind="factor")
        assert not found.feasible or found.upper >= found.bound
    none = problem.no_multipliers.equalities
    assert rounding.turned_change(problem, V, 1e-3, 0.0, none, np.zeros(10)) == np.inf


@pytest.mark.parametrize("apart", [1e-60, 1e-80, 1e-120, 1e-155])
def test_points_that_all_but_coincide_and_are_to_be_apart(apart):
    """There is no way to feasibility that a proof could follow: the certificate says so."""
    V = np.diag([1.0, 2.0, 3.0, 4.0])
    V[1] = V[0]
    V[1, 1] = apart
    problem = nm.Problem(-np.eye(4), (), nm.Equality(nm.SquaredDistances(4, ([0, 0], [1, 2])), [1.0, 1.0]))
    with np.errstate(all="ignore"):  # as a certificate has it
        assert inside(problem, V) is None
    nm.certify(problem, V, kind="factor")
