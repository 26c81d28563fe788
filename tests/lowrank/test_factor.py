"""Solvers of factors: ranks, starts, descent."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.routes import backends

REGISTRY = backends()

LOWRANK = [name for name, backend in REGISTRY.items() if backend.family == "lowrank"]


@pytest.mark.parametrize("backend", LOWRANK)
def test_rotating_the_start_changes_nothing(small, backend):
    problem = small("pcp")
    rng = np.random.default_rng(0)
    V = rng.normal(size=(problem.n, 5))
    R = np.linalg.qr(rng.normal(size=(5, 5)))[0]
    first = problem.solve(backend, start=V, max_iter=5)
    second = problem.solve(backend, start=V @ R, max_iter=5)
    np.testing.assert_allclose(first.K, second.K, atol=1e-8)


@pytest.mark.parametrize("backend", LOWRANK)
@pytest.mark.parametrize("rank", ["auto", "pataki", 6])
def test_ranks(small, backend, rank):
    problem = small("npkl:squared_hinge")
    solution = problem.solve(backend, rank=rank)
    assert solution.status is nm.Status.OPTIMAL
    if rank == 6:
        assert solution.V.shape[1] == 6
    if rank == "pataki":
        r, m = solution.V.shape[1], problem.n_pairs
        assert r * (r + 1) // 2 <= m < (r + 1) * (r + 2) // 2


@pytest.mark.parametrize("backend", LOWRANK)
def test_a_rank_too_small_is_shown_and_left(small, exact, backend):
    """At rank 1 the point is stationary, not optimal: the certificate says so, "auto" goes on from it."""
    problem = small("pcp")
    stuck = problem.solve(backend, rank=1, max_iter=3000)
    assert stuck.status is not nm.Status.OPTIMAL
    assert stuck.certificate.min_eigenvalue < -1e-3
    assert not stuck.is_optimal(1e-4)
    assert stuck.objective > exact("pcp").objective + 1e-3
    left = problem.solve(backend, start=stuck, rank="auto")
    assert left.status is nm.Status.OPTIMAL
    assert left.rank > 1


def test_bcd_never_goes_up(small):
    for kind in ("pcp", "npkl:square", "npkl:squared_hinge", "row:linear", "row:squared_hinge"):
        history = small(kind).solve("bcd", tol=1e-9, rank=6).history
        rise = np.diff(history.objective)
        assert np.all(rise <= 1e-11 * np.abs(history.objective[0]))


@pytest.mark.parametrize("kind", ["pcp", "npkl:hinge", "G2:squared_hinge", "B2:hinge", "B2:linear"])
def test_admm_may_leave_the_last_digits_to_others(small, exact, kind):
    plain = small(kind).solve("admm", relaxation=1.0)
    assert plain.message == ""
    polished = small(kind).solve("admm", polish="newton", tol=1e-7)
    assert "last digits by newton" in polished.message
    assert plain.status is polished.status is nm.Status.OPTIMAL
    assert polished.objective == pytest.approx(exact(kind).objective, rel=1e-6)
    if kind.startswith(("B", "G")):
        with pytest.raises(nm.UnsupportedError, match="polish='bcd' does not take this problem"):
            small(kind).solve("admm", polish="bcd")
    else:
        assert "last digits by bcd" in small(kind).solve("admm", polish="bcd").message
    # a rank that is too small is left by whoever has the word
    left = small(kind).solve("admm", polish="newton", start=np.ones((24, 1)))
    assert left.status is nm.Status.OPTIMAL


def test_mixed_losses_in_one_problem():
    L, pairs = side_information("iris", 30)
    must, cannot = pairs.must_link.T, pairs.cannot_link.T
    n = np.arange(30)
    terms = (
        nm.LossTerm(nm.Entries(30, tuple(must)), "hinge", 1.0, 2.0, "must"),
        nm.LossTerm(nm.Entries(30, tuple(cannot)), "squared_hinge", -1.0, 0.5, "cannot"),
        nm.LossTerm(nm.Entries(30, (n, n)), "square", 1.0, 0.3, "diagonal"),
    )
    problem = nm.Problem(L, terms)
    reference = problem.solve("sdp", eps=1e-9)
    for backend in LOWRANK:
        solution = problem.solve(backend)
        assert solution.status is nm.Status.OPTIMAL
        assert solution.objective == pytest.approx(reference.objective, rel=1e-5)


def objective_and_point(kind, small, seed=0, r=4):
    from npkl_models.lowrank.factor.objective import FactorObjective

    f = FactorObjective(small(kind), beta=5.0)
    return f, f.at(np.random.default_rng(seed).normal(size=(small(kind).order, r)))


@pytest.mark.parametrize("kind", ["pcp", "npkl:hinge", "row:squared_hinge", "basis:npkl:hinge"])
def test_a_line_is_the_objective_along_it(small, kind):
    from npkl_models.lowrank.factor.lines import straight

    f, point = objective_and_point(kind, small)
    D = np.random.default_rng(1).normal(size=point.W.shape)
    bent = point.bent(f.incidence.along(point.V, f.lift(D)))
    line = straight(f, point, D).at
    known = straight(
        f, point, D, 0.5 * (np.sum(D * f.hessian(point)(D)) - bent)
    ).at  # as a Newton step has it
    assert known(0.3).value == pytest.approx(line(0.3).value, rel=1e-9, abs=1e-9)
    for t in (-0.7, 1e-3, 0.4, 2.0):
        at = f.at(point.W + t * D)
        assert line(t).value == pytest.approx(at.value - point.value, rel=1e-9, abs=1e-9)
        assert line(t).slope == pytest.approx(np.sum(at.gradient * D), rel=1e-9, abs=1e-9)
        bent = np.sum(D * f.hessian(at)(D))
        assert line(t).bend == pytest.approx(bent, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("kind", ["pcp", "npkl:hinge", "row:squared_hinge"])
def test_the_blocks_of_the_rows_are_those_of_the_hessian(small, kind):
    f, point = objective_and_point(kind, small)
    if not np.all(f.S(point.slope).diagonal() > 0.05):
        point = f.at(0.3 * point.W)
    n, r = point.W.shape
    product = f.hessian(point)
    inverse = f._blocks.at(point.V, f.S(point.slope).diagonal(), point.bend)
    positive = np.flatnonzero(f.S(point.slope).diagonal() > 0.05)
    assert positive.size > n // 2
    for i in positive[:6]:
        block = np.zeros((r, r))
        for a in range(r):
            E = np.zeros((n, r))
            E[i, a] = 1.0
            block[:, a] = product(E)[i]
        G = np.zeros((n, r))
        G[i] = np.arange(1.0, r + 1)
        np.testing.assert_allclose(block @ inverse(G)[i], G[i], rtol=1e-8, atol=1e-8)


def test_distances_touch_a_row_by_several_triplets():
    from npkl_models.lowrank.factor.objective import FactorObjective

    X = np.random.default_rng(0).normal(size=(12, 3))
    f = FactorObjective(nm.mvu(X, 4), beta=2.0)
    if f.Q is not None:  # its face is dense: the plain problem without the centring
        problem = nm.mvu(X, 4)
        f = FactorObjective(nm.Problem(problem.cost, problem.constraints[:1]), beta=2.0)
    point = f.at(np.random.default_rng(1).normal(size=(12, 3)))
    E = np.zeros((12, 3))
    E[4, 1] = 1.0
    own = 2 * f.S(point.slope).diagonal()[4] * E[4]
    block = f.hessian(point)(E)[4] - own
    blocks = f._blocks
    g = (blocks.gather @ point.V)[blocks.scatter[[4]].toarray()[0] > 0]
    bend = point.bend[blocks.value[blocks.scatter[[4]].toarray()[0] > 0]]
    np.testing.assert_allclose(block, (g * bend[:, None]).T @ g[:, 1], rtol=1e-9)


@pytest.mark.parametrize("shape", [(1.0, 0.0), (1e-6, 3.0), (-1.0, 2.0), (50.0, 1e3)])
def test_the_search_along_a_line_finds_a_minimum(shape):
    from npkl_models.lowrank.factor.lines import Line, minimum

    a, b = shape

    def line(t):  # -t + a t^2 / 2 + b t^4 / 4
        return Line(-t + a * t**2 / 2 + b * t**4 / 4, -1 + a * t + b * t**3, a + 3 * b * t**2)

    t = minimum(line)
    assert abs(line(t).slope) <= 0.1
    assert line(t).value < 0


def test_a_line_that_rises_at_once_is_not_followed():
    from npkl_models.lowrank.factor.lines import Line, minimum

    assert minimum(lambda t: Line(t, 1.0, 0.0)) == 0.0


@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "square"])
@pytest.mark.parametrize("backend", ["bcd", "burer_monteiro"])
@pytest.mark.parametrize("seed", [0, 7])
def test_large_weights_are_certified(loss, backend, seed):
    """gamma = 100, where eight columns and sweeps alone were trapped or crept."""
    data = nm.datasets.load("iris")
    pairs = nm.Pairs.from_labels(data.y, 90, 90, seed)
    problem = nm.npkl(nm.laplacian(data.X, 5, shift=0.1), pairs, loss=loss, gamma=100.0)
    solution = problem.solve(backend)
    assert solution.status is nm.Status.OPTIMAL
    exact = problem.solve("interior", tol=1e-8)
    assert abs(solution.objective - exact.objective) <= solution.certificate.gap + exact.certificate.gap


@pytest.mark.parametrize("seed", range(3))
def test_hard_constraints_are_certified_from_few_columns(seed):
    data = nm.datasets.load("iris")
    problem = nm.hard_pcp(nm.laplacian(data.X, 5), nm.Pairs.from_labels(data.y, 90, 90, seed))
    solution = problem.solve("burer_monteiro")
    assert solution.status is nm.Status.OPTIMAL
    exact = problem.solve("interior", tol=1e-8)
    assert abs(solution.objective - exact.objective) <= solution.certificate.gap + exact.certificate.gap


@pytest.mark.parametrize("seed", [0, 1])
def test_the_default_leaves_over_relaxation_where_it_swings(seed):
    """At these weights V and U changed places for ever under over-relaxation."""
    data = nm.datasets.load("iris")
    L = nm.laplacian(data.X, 5, shift=0.1)
    problem = nm.pcp(L, nm.Pairs.from_labels(data.y, 90, 90, seed), gamma=100.0)
    found = problem.solve("admm", time_limit=60)
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.relative_gap <= 1e-6
