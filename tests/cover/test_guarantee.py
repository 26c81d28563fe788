"""Paths with a guarantee, against optima at values that the path did not solve."""

import numpy as np
import pytest
from problems import build, side_information

import npkl_models as nm
from npkl_models.path import with_parameter

N = 20


def data_of(shift=0.1, n=N):
    data = nm.datasets.load("iris").subset(n, random_state=0)
    pairs = nm.Pairs.from_labels(data.y, 18, 18, random_state=0)
    return nm.laplacian(data.X, 5, shift=shift), pairs


def with_equalities(centred):
    """Losses on pairs, all K_ii = 1, and optionally centred kernels, which leaves no interior."""
    L, pairs = data_of()
    n, every = pairs.n, np.arange(pairs.n)
    term = nm.LossTerm(nm.Entries(n, (pairs.i, pairs.j)), "squared_hinge", pairs.sign)
    equalities = [nm.Constraint(nm.Entries(n, (every, every)), equal=1.0, name="diagonal")]
    if centred:
        equalities.append(nm.Constraint(nm.TotalSum(n), equal=0.0, name="centring"))
    return nm.Problem(L, (term, *equalities))


def cases():
    for loss in ("hinge", "squared_hinge", "square", "huber", "absolute"):
        for shift in (0.0, 0.01, 0.1):
            yield (
                f"npkl {loss} {shift}",
                lambda d=shift, f=loss: nm.npkl(*data_of(d), loss=f),
                "weight",
                (0.01, 100.0),
            )
        yield f"row {loss}", lambda f=loss: nm.npkl(*data_of(), loss=f, row_norm=0.9), "weight", (0.01, 100.0)
    for loss in ("hinge", "squared_hinge", "linear"):
        for p in (1.0, 2.0, 3.0):
            yield f"B {loss} {p}", lambda f=loss, q=p: build(f"B{q}:{f}", *data_of()), "bound", (1.0, 100.0)
            if loss != "linear" or p > 1:
                yield (
                    f"G {loss} {p}",
                    lambda f=loss, q=p: build(f"G{q}:{f}", *data_of()),
                    "penalty",
                    (0.1, 10.0),
                )
    yield "shared B", lambda: build("B2:shared_slack", *data_of()), "bound", (1.0, 100.0)
    yield "shared", lambda: build("row:shared_slack", *data_of()), "weight", (0.1, 10.0)
    yield "pcp", lambda: nm.pcp(*data_of()), "weight", (0.01, 100.0)
    yield "B weight", lambda: build("B2:squared_hinge", *data_of()), "weight", (0.01, 100.0)
    yield "basis", lambda: build("basis:pcp", *data_of()), "weight", (0.01, 100.0)
    yield "diagonal", lambda: with_equalities(False), "weight", (0.01, 100.0)
    yield "centred", lambda: with_equalities(True), "weight", (0.1, 10.0)


CASES = [pytest.param(*rest, id=name) for name, *rest in cases()]


def optimum(problem):
    """Bounds on the optimum that have nothing to do with a path."""
    exact = not problem.compatible_backends()["interior"]
    found = problem.solve("interior" if exact else "auto", tol=1e-9 if exact else 1e-7).certificate
    return found.bound, found.bound + found.gap


@pytest.mark.parametrize(("make", "parameter", "interval"), CASES)
def test_no_gap_is_larger_than_its_proof(make, parameter, interval):
    problem = make()
    path = nm.regularization_path(problem, parameter, interval, tol=3e-3)
    assert path.uncovered == ()
    assert path.guarantee <= 3e-3
    rng = np.random.default_rng(0)
    for value in np.exp(rng.uniform(*np.log(interval), 4)):
        here, found = with_parameter(problem, parameter, value), path.at(value)
        low, high = optimum(here)
        room = 1e-12 * here.size(low, high)
        assert found.bound <= high + room
        assert found.upper >= low - room
        assert here.objective_of_factor(found.V) <= found.upper + room
        assert here.violation(found.V) <= 1e-12
        assert found.relative_gap <= path.guarantee
        # the true gap, against the best upper bound there is: the optimum is not above it
        unit = (found.upper - found.bound) / found.relative_gap if found.relative_gap else 1.0
        assert found.upper - high <= found.relative_gap * unit + room


def test_each_stored_kernel_has_its_place():
    problem = nm.pcp(*data_of())
    path = nm.regularization_path(problem, "weight", (0.1, 10.0), tol=1e-2)
    assert path.kernels == len(path.solutions) == path.values.size
    assert path.values[0] == 0.1
    assert path.values[-1] == 10.0
    for value, solution in zip(path.values, path.solutions, strict=True):
        found = path.at(value)
        assert found.upper <= (solution.certificate.bound + solution.certificate.gap) * (1 + 1e-12)
        assert found.bound == pytest.approx(solution.certificate.bound, rel=1e-12)
    between = np.sqrt(path.values[:-1] * path.values[1:])
    assert np.all(path.cover.lower(between) <= path.cover.upper(between))
    best = [path.solutions[k] for k in path.cover.best(between)]
    assert [path.at(value).solution for value in between] == best


def test_fewer_kernels_than_one_over_tol():
    problem = nm.npkl(*data_of(), loss="squared_hinge")
    few, many = (
        nm.regularization_path(problem, "weight", (0.1, 10.0), tol=tol).kernels for tol in (1e-2, 1e-4)
    )
    assert few < many <= 20 * few  # the root of 100 is 10


def test_a_list_proves_something_between_too():
    problem = nm.pcp(*data_of())
    path = nm.regularization_path(problem, "weight", [0.1, 1.0, 10.0], tol=1e-8)
    assert path.values.tolist() == [0.1, 1.0, 10.0]
    assert 1e-3 < path.guarantee < 1
    low, high = optimum(with_parameter(problem, "weight", 0.4))
    found = path.at(0.4)
    assert found.bound <= low + 1e-9
    assert found.upper >= high - 1e-9
    one = nm.regularization_path(problem, "weight", [2.0])
    assert one.guarantee == pytest.approx(one.relative_gap[0], abs=1e-12)
    assert one.at(2.0).relative_gap <= 1e-6


def test_processes_share_the_interval(tmp_path):
    problem = nm.npkl(*data_of(), loss="hinge")
    path = nm.regularization_path(problem, "weight", (0.1, 10.0), tol=1e-2, n_jobs=2, folder=tmp_path)
    assert path.guarantee <= 1e-2
    again = nm.regularization_path(problem, "weight", (0.1, 10.0), tol=1e-2, n_jobs=2, folder=tmp_path)
    np.testing.assert_array_equal(path.values, again.values)


@pytest.mark.parametrize("unit", [1e-30, 1e30])
def test_units_do_not_matter(unit):
    problem = nm.npkl(*data_of(), loss="squared_hinge")
    other = nm.npkl(unit * problem.cost, data_of()[1], loss="squared_hinge", gamma=unit)
    one, two = (nm.regularization_path(q, "weight", (0.1, 10.0), tol=1e-2) for q in (problem, other))
    assert one.kernels == two.kernels
    assert two.guarantee <= 1e-2


def test_numbers_near_the_ends_of_floating_point_prove_nothing():
    problem = nm.npkl(1e-200 * data_of()[0], data_of()[1], loss="squared_hinge", gamma=1e-200)
    path = nm.regularization_path(problem, "weight", (0.5, 2.0), tol=1e-2)
    assert path.guarantee == np.inf
    assert path.kernels <= 3


def test_an_optimum_of_zero():
    """Only cannot-links, which K = 0 meets: the optimum is zero at every weight, and a gap is relative."""
    L, _ = data_of()
    problem = nm.pcp(L, nm.Pairs(N, [(0, 1)], [(0, 2)]))
    zero = nm.Problem(L, nm.LossTerm(nm.Entries(N, ([0], [2])), "square", 0.0))
    path = nm.regularization_path(zero, "weight", (0.01, 100.0), tol=1e-3)
    assert path.guarantee <= 1e-3
    there = path.at(3.0)
    assert there.bound <= 0 <= there.upper <= 1e-3
    assert there.relative_gap <= path.guarantee
    assert nm.regularization_path(problem, "weight", (1e-6, 1e-5), tol=1e-3).guarantee <= 1e-3


def test_unbounded_everywhere():
    problem = nm.Problem(-np.eye(4), nm.LossTerm(nm.Entries(4, ([0], [1])), "square", 1.0))
    with pytest.raises(nm.SolverError, match=r"no kernel from 0\.5 to 2: UNBOUNDED"):
        nm.regularization_path(problem, "weight", (0.5, 2.0), tol=1e-3)


def test_infeasible_everywhere():
    every = np.arange(3)
    term = nm.LossTerm(nm.Entries(3, ([0], [1])), "square", 1.0)
    wrong = [
        nm.Constraint(nm.Entries(3, (every, every)), equal=1.0),
        nm.Constraint(nm.Entries(3, ([0], [2])), equal=2.0),
    ]
    with pytest.raises(nm.SolverError, match=r"no kernel from 0\.5 to 2: INFEASIBLE"):
        nm.regularization_path(nm.Problem(np.eye(3), (term, *wrong)), "weight", (0.5, 2.0), tol=1e-3)


def test_nothing_is_claimed_where_the_problem_is_unbounded():
    """min tr K - g K_01 over K: the slack I - g M is PSD up to g = 2, and the objective falls beyond."""
    problem = nm.Problem(np.eye(2), nm.LossTerm(nm.Entries(2, ([0], [1])), "linear", 1.0))
    path = nm.regularization_path(problem, "weight", (0.5, 8.0), tol=1e-3)
    assert path.guarantee == np.inf
    ((start, end),) = path.uncovered
    assert 1.8 < start <= 2.0
    assert end == 8.0
    assert "not within 0.001 from 1." in repr(path) or "not within 0.001 from 2 to 8" in repr(path)
    assert path.at(1.0).relative_gap <= 1e-3
    assert path.at(5.0).bound == -np.inf
    assert path.at(5.0).relative_gap == np.inf


def test_unsolved_chunks_are_named():
    """A solver that stops after one step certifies nothing, and the path says so."""
    L, pairs = side_information("iris", 40)
    path = nm.regularization_path(
        nm.npkl(L, pairs, loss="hinge"), "weight", (0.5, 2.0), "admm", tol=1e-6, max_iter=1
    )
    assert path.uncovered
    assert path.guarantee > 1e-6


@pytest.mark.parametrize(
    ("parameter", "values", "tol", "message"),
    [
        ("weight", (2.0, 1.0), 1e-3, "0 < low < high"),
        ("weight", (0.0, 1.0), 1e-3, "0 < low < high"),
        ("weight", (1.0, 1.0), 1e-3, "0 < low < high"),
        ("weight", (1.0, np.inf), 1e-3, "finite numbers"),
        ("weight", (1.0, 2.0), 0.0, "tol of a path must be between 0 and 1"),
        ("weight", (1.0, 2.0), 1.5, "tol of a path must be between 0 and 1"),
        ("weight", (1.0, 2.0), "0.1", "tol must be a real number"),
        ("p", (1.5, 2.0), 1e-3, "bends both ways in p"),
        ("penalty", (1.0, 2.0), 1e-3, "penalty must be a parameter of the problem's regulariser"),
    ],
)
def test_bad_intervals(parameter, values, tol, message):
    with pytest.raises(nm.ProblemError, match=message):
        nm.regularization_path(build("B2:hinge", *data_of()), parameter, values, tol=tol)


def test_values_outside_the_path():
    path = nm.regularization_path(nm.pcp(*data_of()), "weight", [0.5, 1.0])
    for value in ("one", None, [0.7, 0.8]):
        with pytest.raises(nm.ProblemError, match="weight must be a real number"):
            path.at(value)
    for value in (0.4, 1.1, np.nan):
        with pytest.raises(nm.ProblemError, match=r"weight must be between 0\.5 and 1"):
            path.at(value)
    powers = nm.regularization_path(build("B2:hinge", *data_of()), "p", [1.5, 2.0])
    with pytest.raises(nm.ProblemError, match="bends both ways in p"):
        powers.at(1.7)
