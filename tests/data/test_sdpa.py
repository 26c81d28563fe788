"""Files in SDPA's format, read back and solved as what they say."""

import cvxpy as cp
import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.data.sdpa import as_sdpa


def read(path):
    """c, the orders of the blocks, and the matrices F_0 .. F_m, block by block."""
    lines = [line for line in path.read_text().splitlines() if not line.startswith("*")]
    m, orders = int(lines[0]), [int(x) for x in lines[2].split()]
    assert int(lines[1]) == len(orders)
    c = np.array(lines[3].split(), dtype=float)
    F = [[np.zeros((abs(s), abs(s))) for s in orders] for _ in range(m + 1)]
    for line in lines[4:]:
        k, block, i, j, value = line.split()
        A = F[int(k)][int(block) - 1]
        A[int(i) - 1, int(j) - 1] = A[int(j) - 1, int(i) - 1] = float(value)
        assert orders[int(block) - 1] > 0 or i == j
    return c, orders, F


def solved(path):
    """The minimum of c'x, x, and the dual matrix of the first block."""
    c, orders, F = read(path)
    x = cp.Variable(c.size)
    constraints = []
    for b, order in enumerate(orders):
        A = sum(x[k] * F[k + 1][b] for k in range(c.size) if F[k + 1][b].any()) - F[0][b]
        constraints.append(cp.diag(A) >= 0 if order < 0 else A >> 0)
    value = cp.Problem(cp.Minimize(c @ x), constraints).solve(solver="CLARABEL")
    return value, x.value, constraints[0].dual_value


KINDS = [
    "pcp", "npkl:square", "npkl:hinge", "npkl:squared_hinge", "row:linear", "row:hinge", "B1:hinge",
    "G1:square", "B2:square", "B2:hinge", "basis:pcp",
]  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_the_file_states_the_problem(small, tmp_path, kind):
    problem = small(kind)
    exact = problem.solve(tol=1e-8)
    value, x, K = solved(problem.to_sdpa(tmp_path / "p.dat-s"))
    file = as_sdpa(problem)
    assert -value - file.constant == pytest.approx(exact.objective, rel=1e-5, abs=1e-6)
    K = K if problem.basis is None else problem.lift(problem.lift(K).T)
    found = nm.certify(problem, K, file.multipliers(problem, x), kind="kernel")
    assert found.relative_gap < 1e-4
    assert problem.dual_bound(file.multipliers(problem, 0.999 * x)) <= exact.certificate.upper


@pytest.mark.parametrize("reduce", [True, False])
def test_hard_constraints(tmp_path, reduce):
    L, pairs = side_information("iris", 24)
    problem = nm.hard_pcp(L, pairs, reduce=reduce)
    exact = problem.solve("interior")
    value, x, _ = solved(problem.to_sdpa(tmp_path / "p.dat-s"))
    assert -value == pytest.approx(exact.objective, rel=1e-4)
    assert (
        as_sdpa(problem).multipliers(problem, x).constraints[0].size == problem.constraints[0].functional.size
    )


def test_what_has_no_words(small, tmp_path):
    L, pairs = side_information("iris", 24)
    problem = nm.simple_npkl(L, pairs, loss="square", p=3, trace_bound=24.0)
    with pytest.raises(nm.UnsupportedError, match="takes tr K and tr K"):
        problem.to_sdpa(tmp_path / "p.dat-s")


X = np.random.default_rng(0).normal(size=(14, 3))
BUILT = {
    "mvu": lambda: nm.mvu(X, 4),
    "reg_mvu": lambda: nm.reg_mvu(X, 4, 5, 10.0),
    "colored_mvu": lambda: nm.colored_mvu(X, np.arange(14) % 2, n_neighbors=4, trace_bound=14.0),
    "psde": lambda: nm.psde(nm.Pairs(14, [(i, i + 1) for i in range(13)], [(0, 5), (3, 9)]), C=3.0),
    "distances": lambda: nm.distances(([0, 1, 2, 3], [1, 2, 3, 0], [1.0, 2.0, 1.0, 1.5]), penalty=0.1),
    "penalty": lambda: nm.Problem(
        nm.laplacian(X, 4),
        nm.LossTerm(nm.Entries(14, ([0, 2], [5, 6])), "hinge", [1.0, -1.0]),
        nm.TracePower(2, penalty=0.5),
    ),
    "conformal_eigenmaps": lambda: nm.conformal_eigenmaps(X, 4, 4),
}


@pytest.mark.parametrize("name", BUILT)
def test_formulations_over_any_basis(name, tmp_path):
    problem = BUILT[name]()
    exact = problem.solve(tol=1e-8)
    path = problem.to_sdpa(tmp_path / "p.dat-s")
    value, x, K = solved(path)
    file = as_sdpa(problem)
    size = problem.size(exact.objective)
    assert -value - file.constant == pytest.approx(exact.objective, rel=1e-4, abs=1e-5 * size)
    y = file.multipliers(problem, x)
    K = K if problem.basis is None else problem.lift(problem.lift(K).T)
    found = nm.certify(problem, K, y, kind="kernel")
    assert abs(found.objective - exact.objective) <= 1e-3 * size
    again = nm.Problem.from_sdpa(path)
    V = problem.lift(np.random.default_rng(1).normal(size=(problem.order, 2)))
    assert again.objective_of_factor(V) == problem.objective_of_factor(V)
    assert again.sizes == problem.sizes


def test_linear_losses_alone_have_nothing_to_state(tmp_path):
    L, pairs = side_information("iris", 24)
    base = nm.npkl(L, pairs, loss="linear", row_norm=1.0)
    with pytest.raises(nm.UnsupportedError, match="linear losses only"):
        nm.Problem(base.cost, base.losses).to_sdpa(tmp_path / "p.dat-s")


@pytest.mark.parametrize("lost", [1, 2])
def test_a_file_that_lost_its_first_lines_is_refused(tmp_path, lost):
    path = next(iter(BUILT.values()))().to_sdpa(tmp_path / "p.dat-s")
    path.write_text("".join(path.read_text().splitlines(keepends=True)[lost:]))
    with pytest.raises(nm.ProblemError, match="got another first line"):
        nm.Problem.from_sdpa(path)
