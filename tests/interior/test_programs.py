"""General semidefinite programs: the interior-point method on blocks, against CVXPY, and rays that are proved."""

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.interior.cone import parts_of
from npkl_models.interior.values import values_of


def blocks(sizes, density, rng):
    """A random symmetric matrix with these blocks."""
    M = np.zeros((sum(sizes), sum(sizes)))
    at = 0
    for size in sizes:
        B = np.where(rng.random((size, size)) < density, rng.standard_normal((size, size)), 0.0)
        M[at : at + size, at : at + size] = B + B.T
        at += size
    return M


def program(seed, sizes=(5, 1, 3, 1), m=6, density=0.6, sided=False):
    """A program with an interior on both sides: A(X0) = b and C = S0 - sum y_e M_e, X0 and S0 positive definite."""
    rng = np.random.default_rng(seed)
    n = sum(sizes)
    M = [blocks(sizes, density, rng) for _ in range(m)]
    y = rng.standard_normal(m)
    if sided:
        y[: m // 2] = np.abs(y[: m // 2])
    C = np.eye(n) + blocks(sizes, density, rng) * 0.1 - sum(a * B for a, B in zip(y, M, strict=True))
    b = np.array([np.trace(B) for B in M])
    F = nm.SparseMatrices(n, M)
    if not sided:
        return nm.Problem(C, (nm.Constraint(F, equal=b),)), M, b
    half = np.arange(m) < m // 2
    upper = nm.Constraint(F.kept(half), upper=b[half] + 0.1)
    return nm.Problem(C, (upper, nm.Constraint(F.kept(~half), equal=b[~half]))), M, b


@pytest.mark.parametrize("density", [0.15, 0.6])
@pytest.mark.parametrize("seed", range(4))
def test_programs_agree_with_cvxpy(seed, density):
    problem, M, b = program(seed, density=density)
    found = problem.solve("interior")
    X = cp.Variable((problem.n, problem.n), PSD=True)
    held = [cp.trace(B @ X) == target for B, target in zip(M, b, strict=True)]
    exact = cp.Problem(cp.Minimize(cp.trace(problem.cost.toarray() @ X)), held).solve(solver="CLARABEL")
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.rigour == "proved"
    assert found.objective == pytest.approx(exact, rel=1e-5, abs=1e-5)
    assert found.certificate.violation <= 1e-7


@pytest.mark.parametrize("seed", range(3))
def test_one_sided_constraints_are_part_of_the_cone(seed):
    problem, _, _ = program(seed, sided=True)
    found, exact = problem.solve("interior"), problem.solve("sdp")
    assert found.status is nm.Status.OPTIMAL
    assert found.objective == pytest.approx(exact.objective, rel=1e-5, abs=1e-5)
    assert (found.multipliers.constraints[0] >= 0).all()


def test_no_number_meets_an_entry_between_the_parts():
    problem, _, _ = program(0)
    made = values_of(problem)
    assert sorted(part.order for part in made.parts) == [2, 3, 5]
    assert sum(part.order for part in made.parts) == problem.n == made.degree


@pytest.mark.parametrize("density", [0.05, 0.3, 1.0])
def test_the_schur_complement_is_what_it_says(density):
    """H_ef = <M_e, X M_f Z>, whether entries are gathered or matrices are multiplied."""
    rng = np.random.default_rng(1)
    n, m = 12, 9
    M = [blocks((n,), density if e % 3 else 1.0, rng) for e in range(m)]
    F = nm.SparseMatrices(n, M)
    (part,) = parts_of(sp.csr_array(np.ones((n, n))), F.incidence.symmetric_operator())
    X, Z = (A @ A.T for A in rng.standard_normal((2, n, n)))
    H = np.zeros((m, m))
    H = part.schur(X, Z, H)
    exact = [[np.trace(A @ X @ B @ Z) for B in M] for A in M]
    np.testing.assert_allclose(H, exact, rtol=1e-10, atol=1e-10 * np.abs(exact).max())


def test_a_direction_of_descent_is_proved():
    """<M, D> = 0 and <C, D> < 0 for D inside the cone: the objective falls without limit."""
    n = 5
    F = nm.SparseMatrices(n, [np.diag([1.0, -1.0, 0, 0, 0]), np.diag([0.0, 1.0, 1.0, -1.0, -1.0])])
    problem = nm.Problem(-np.eye(n), (nm.Constraint(F, equal=[0.5, 1.0]),))
    found = problem.solve("interior")
    assert found.status is nm.Status.UNBOUNDED, found.message
    assert "direction" in found.message


def test_constraints_without_any_kernel_are_proved():
    n = 4
    F = nm.SparseMatrices(
        n, [np.diag([1.0, 1.0, 0, 0]), np.diag([0, 0, 1.0, 2.0]), np.diag([1.0, 1.0, 1.0, 3.0])]
    )
    problem = nm.Problem(np.eye(n), (nm.Constraint(F, equal=[1.0, 1.0, -1.0]),))
    found = problem.solve("interior")
    assert found.status is nm.Status.INFEASIBLE, found.message


def test_a_program_without_an_interior_is_solved():
    """K_11 = 0 forces a row of zeros, and 1'K1 = 0 centres: no K is positive definite."""
    n = 8
    rng = np.random.default_rng(0)
    C = rng.standard_normal((n, n))
    ones = nm.SparseMatrices(n, [np.ones((n, n)), *(np.diag(row) for row in np.eye(n))])
    problem = nm.Problem(C + C.T, (nm.Constraint(ones, equal=[0.0, *np.ones(n)]),))
    found, exact = problem.solve("interior"), problem.solve("sdp")
    assert found.objective == pytest.approx(exact.objective, rel=1e-4, abs=1e-4)
    assert found.certificate.violation <= 1e-7


def test_small_blocks_of_one_order_are_computed_together():
    """A stack of blocks has the Schur complement and the steps of its blocks one by one."""
    rng = np.random.default_rng(3)
    sizes, m = (3,) * 6, 5
    F = nm.SparseMatrices(18, [blocks(sizes, 0.7, rng) for _ in range(m)])
    C = sp.csr_array(blocks(sizes, 1.0, rng))
    (stack,) = parts_of(C, F.incidence.symmetric_operator())
    assert stack.C.shape == (6, 3, 3)
    X, Z = (np.stack([A @ A.T for A in rng.standard_normal((6, 3, 3))]) for _ in range(2))
    whole = [np.zeros((18, 18)) for _ in range(2)]
    for full, part in zip(whole, (X, Z), strict=True):
        for places, one in zip(stack.places, part, strict=True):
            full[np.ix_(places, places)] = one
    H = np.zeros((m, m))
    H = stack.schur(X, Z, H)
    M = [F.matrix(e).toarray() for e in range(m)]
    exact = [[np.trace(A @ whole[0] @ B @ whole[1]) for B in M] for A in M]
    np.testing.assert_allclose(H, exact, rtol=1e-10, atol=1e-10 * np.abs(exact).max())
    step = stack.longest(stack.factor(X), -2 * X, 0.9)
    assert step == pytest.approx(0.45)
    np.testing.assert_allclose(
        stack.inverse(stack.factor(X)) @ X, np.broadcast_to(np.eye(3), X.shape), atol=1e-8
    )
    V = np.zeros((18, 18))
    stack.fill(V, stack.factor(X))
    np.testing.assert_allclose(V @ V.T, whole[0], atol=1e-10)


def test_the_gap_is_relative_to_the_objective_and_not_to_a_large_target():
    """Rows of constraints may have any size, and a target that does not matter may be large."""
    heavy = nm.Constraint(nm.SparseMatrices(2, [1e8 * np.eye(2)]), lower=1e8)
    problem = nm.Problem(np.eye(2), heavy)
    assert problem.solve("interior").objective == pytest.approx(1.0, rel=1e-5)
    assert not nm.certify(problem, np.diag([30.0, 10.0]), kind="kernel").certifies(1e-6)
    two = nm.SparseMatrices(3, [np.diag([1.0, 1.0, 0.0]), np.diag([0.0, 0.0, 1.0])])
    problem = nm.Problem(np.diag([1.0, 2.0, 0.0]), nm.Constraint(two, equal=[1.0, 1e8]))
    assert not nm.certify(problem, np.diag([0.0, 1.0, 1e8]), kind="kernel").certifies(1e-6)
    assert nm.certify(problem, np.diag([1.0, 0.0, 1e8]), kind="kernel").certifies(1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_the_size_of_a_row_does_not_matter(scale):
    problem, M, b = program(2)
    factors = np.where(np.arange(len(M)) % 2, scale, 1.0)
    scaled = nm.SparseMatrices(problem.n, [s * B for s, B in zip(factors, M, strict=True)])
    found = nm.Problem(problem.cost, nm.Constraint(scaled, equal=factors * b)).solve("interior")
    assert found.status is nm.Status.OPTIMAL, found.message
    assert found.objective == pytest.approx(problem.solve("interior").objective, rel=1e-5)


def test_an_upper_bound_alone_is_no_bound():
    problem = nm.Problem(-np.eye(2), nm.Constraint(nm.SparseMatrices(2, [np.diag([1.0, 0.0])]), upper=1.0))
    assert problem.solve("interior").status in (nm.Status.UNBOUNDED, nm.Status.INACCURATE)


def test_the_parts_of_a_large_order_take_no_memory_of_its_square():
    """300,000 numbers are one vector; a row of all entries of K would have 9e10 places."""
    n = 300_000
    i = np.arange(n)
    F = nm.SparseMatrices(n, (i, i, i, np.ones(n)))
    (part,) = parts_of(sp.eye_array(n, format="csr"), F.incidence.symmetric_operator())
    assert part.order == n
    assert part.of(np.full(n, 2.0)).tolist()[:3] == [2.0, 2.0, 2.0]
