"""A problem in other units is the same problem: statuses, backends, iterations; kernels times the unit."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.model.units import binary_units, own_units

UNITS = [(1e-150, 1.0), (1e150, 1e-150), (3e-7, 1e120)]
MOST = 3  # problems for a backend
BINARY = [(2.0**-497, 4.0**249)]


def in_units(problem, t, s):
    """The same problem with costs times t and kernels times s, by the formulas."""
    terms = []
    for term in problem.losses:
        target, weight = term.target, term.weight * t
        if term.loss.name == "square":
            target, weight = target * s, weight / s
        elif term.loss.name == "shared_slack":
            target = target * s
        else:
            assert s == 1 or term.loss.name == "linear"
        terms.append(nm.LossTerm(term.functional, term.loss, target, weight, term.name))
    R = problem.regularizer
    if isinstance(R, nm.TracePower) and R.bound is not None:
        R = nm.TracePower(R.p, bound=R.bound * s**R.p)
    elif isinstance(R, nm.TracePower):
        R = nm.TracePower(R.p, penalty=R.penalty * t / s ** (R.p - 1))
    hard = [part.moved(part.value * s) for part in problem.constraints]
    return nm.Problem(problem.cost * t, (*terms, *hard), R, problem.basis, problem.name)


def free_of_units(problem):
    return not any(term.loss.name in ("hinge", "squared_hinge") for term in problem.losses)


def problems():
    L, pairs = side_information("iris", 24)
    X = np.random.default_rng(0).normal(size=(12, 2))
    path = np.eye(8, k=1) + np.eye(8, k=-1)
    return {
        "pcp": nm.pcp(L, pairs),
        "pcp, large weight": nm.pcp(L, pairs, gamma=100.0),
        "hinge": nm.npkl(L, pairs, loss="hinge"),
        "squared hinge": nm.npkl(L, pairs),
        "linear with row norms": nm.npkl(L, pairs, loss="linear", row_norm=1.0),
        "hard": nm.hard_pcp(L, pairs),
        "trace power": nm.simple_npkl(L, pairs, loss="square", trace_bound=24.0),
        "linear, trace power": nm.simple_npkl(L, pairs, loss="linear", p=3, trace_bound=24.0),
        "penalty": nm.simple_npkl(L, pairs, loss="square", penalty=0.1),
        "basis": nm.reg_pcp(nm.eigenbasis(L, 6), pairs),
        "unfolding": nm.mvu(X, n_neighbors=5),
        "soft unfolding": nm.mvu(X, n_neighbors=4, weight=100.0),
        "minimum volume": nm.mve(X, 1, n_neighbors=4, C=10.0),
        "structure": nm.spe(path, trace_bound=8.0),
    }


@pytest.mark.parametrize("name", problems())
def test_the_default_does_not_see_units(name):
    problem = problems()[name]
    first = problem.solve()
    assert first.status is nm.Status.OPTIMAL
    for t, s in UNITS:
        if s != 1 and not free_of_units(problem):
            s = 1.0
        if s != 1 and isinstance(problem.regularizer, nm.TracePower):
            s = 1e30  # B s^p must be a number
        other = in_units(problem, t, s).solve()
        assert other.status is first.status
        assert other.objective / t / s == pytest.approx(first.objective, rel=2e-6)
        assert other.certificate.relative_gap <= 1e-6
        K, scaled = first.K, other.K / s
        assert np.linalg.norm(scaled - K) <= 2e-2 * np.linalg.norm(K)


LONG = ("mfpc", "admm")  # thousands of iterations


@pytest.mark.parametrize(
    "backend", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in nm.backends()]
)
def test_units_that_are_powers_of_two_change_exponents_alone(backend):
    """Every backend, on every problem here that it takes: the same iterates to the last bit."""
    tried = 0
    for problem in problems().values():
        if tried == MOST or backend == "scsdp" or problem.compatible_backends()[backend] is not None:
            continue
        first = problem.solve(backend)
        for t, s in BINARY:
            if s != 1 and not free_of_units(problem):
                s = 1.0
            if isinstance(problem.regularizer, nm.TracePower):
                s = 1.0
            other = in_units(problem, t, s).solve(backend)
            assert (other.status, other.iterations) == (first.status, first.iterations)
            if first.V is not None:
                np.testing.assert_array_equal(other.V / np.sqrt(s), first.V)
                assert other.certificate.bound == first.certificate.bound * t * s
            tried += 1
    assert tried or backend == "scsdp"


@pytest.mark.parametrize("name", problems())
def test_the_way_back_is_exact(name):
    problem = in_units(problems()[name], 2.0**77, 1.0)
    units = binary_units(problem)
    assert 1.0 <= units.problem.cost_unit < 2.0
    np.testing.assert_array_equal(units.problem.cost.data * units.cost, problem.cost.data)
    y = problem.derivatives(np.ones((problem.n, 2)))
    back = units.multipliers(units.inner_multipliers(y))
    for a, b in zip(back.terms, y.terms, strict=True):
        np.testing.assert_array_equal(a, b)
    V = np.random.default_rng(0).normal(size=(problem.n, 2))
    for inner in (units, own_units(problem)):
        value = inner.value(inner.problem.objective_of_factor(inner.inner_point(V)))
        assert value == pytest.approx(problem.objective_of_factor(V), rel=1e-12)


def test_a_problem_of_hinges_keeps_their_unit():
    L, pairs = side_information("iris", 24)
    assert nm.npkl(L, pairs, loss="hinge").kernel_unit == 1.0
    assert nm.npkl(1e9 * L, pairs, gamma=1e9).size() == pytest.approx(1e-3 * 1e9)


@pytest.mark.parametrize("weight", [1.0, 1e4, 1e8])
def test_heavy_pairs_do_not_make_a_gap_look_small(weight):
    """Found by a reviewer: with a median of the losses as the unit OPTIMAL was said of five times the optimum."""
    L = nm.laplacian(np.arange(6.0)[:, None], 2, shift=0.1)
    heavy = nm.LossTerm(nm.SquaredDistances(6, ([0, 1, 2], [3, 4, 5])), "squared_hinge", 1.0, weight)
    light = nm.LossTerm(nm.Entries(6, ([0, 2], [1, 1])), "hinge", [1.0, -1.0])
    problem = nm.Problem(L, [heavy, light])
    assert problem.size() <= 1e-3  # the least loss at K = 0, one value alone
    for backend in ("interior", "burer_monteiro", "hybrid"):
        found = problem.solve(backend, time_limit=1.0)
        gap = found.certificate.upper - found.certificate.bound
        assert found.status is not nm.Status.OPTIMAL or gap <= 3e-6 * (1 + found.objective)


def test_what_is_no_optimum_is_not_called_one_in_small_units():
    """Found by a reviewer: relative to 1 + |objective| + |bound| any point is optimal once all is small."""
    L, pairs = side_information("iris", 24)
    for t in (1.0, 1e-5, 1e-7, 1e-100):
        problem = nm.pcp(t * L, pairs, gamma=t)
        V = problem.solve().V
        assert not nm.certify(problem, 1.3 * V).certifies(1e-2)
        assert nm.certify(problem, V).certifies(1e-6)


def test_options_that_are_numbers_are_in_the_units_of_the_statement():
    """With a penalty of its own, admm works on the problem as it was stated."""
    L, pairs = side_information("iris", 24)
    program = nm.pcp(50 * L, pairs).compile("admm", rho=7.0)
    assert program.units.same
    assert not nm.pcp(50 * L, pairs).compile("admm").units.same


def test_histories_and_callbacks_are_in_the_units_of_the_statement():
    L, pairs = side_information("iris", 24)
    seen = []
    problem = nm.pcp(64 * L, pairs, gamma=64.0)
    solution = problem.solve("bcd", callback=lambda row: seen.append((row.objective, row.V.copy())) and None)
    objective, V = seen[-1]
    assert objective == pytest.approx(problem.objective_of_factor(V), rel=1e-9)
    assert solution.history.objective[-1] == pytest.approx(solution.objective, rel=1e-5)
