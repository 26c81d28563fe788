"""The interior-point method: its parts against their definitions, its answers on problems that others find hard."""

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm
from npkl_models.data.synthetic import swiss_roll
from npkl_models.interior import schur
from npkl_models.interior.values import values_of

pytestmark = pytest.mark.filterwarnings("ignore::npkl_models.model.graph.UnscaledWarning")  # raw on purpose


def draw(name, seed=0, shift=0.1):
    data = nm.datasets.load(name)
    count = round(0.6 * data.n)
    return nm.laplacian(data.X, 5, shift=shift), nm.Pairs.from_labels(data.y, count, count, seed)


@pytest.mark.parametrize("shift", [0.0, 0.1])
@pytest.mark.parametrize("seed", [0, 3, 7, 11])
def test_draws_of_pairs_on_which_first_order_solvers_stand_still(seed, shift):
    """A few of the 24 of the benchmark."""
    solution = nm.pcp(*draw("iris", seed, shift)).solve("interior", tol=1e-8)
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
    assert solution.iterations <= 20


@pytest.mark.parametrize("shift", [0.1, 0.01])
@pytest.mark.parametrize("loss", ["hinge", "squared_hinge", "square"])
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_large_weights_are_no_trouble(name, loss, shift):
    L, pairs = draw(name, 1, shift)
    solution = nm.npkl(L, pairs, loss=loss, gamma=100.0).solve("interior", tol=1e-8)
    assert solution.status is nm.Status.OPTIMAL
    assert solution.iterations <= 40
    assert solution.rank < 20


def problems():
    L, pairs = side_information("iris", 12)
    n, every = 12, np.arange(12)
    distance = nm.LossTerm(nm.SquaredDistances(n, (pairs.i, pairs.j)), "square", 1.0)
    triple = nm.LossTerm(nm.DistanceDifferences(n, ([0, 1, 2], [3, 4, 5], [6, 7, 8])), "hinge", -1.0)
    unit = nm.Constraint(nm.Entries(n, (every, every)), equal=1.0)
    plain = nm.npkl(L, pairs, loss="hinge")
    return {
        "entries": plain,
        "pcp": nm.pcp(L, pairs),
        "distances": nm.Problem(L, (distance, triple)),
        "distances alone": nm.Problem(L, distance),
        "distances, bound": nm.Problem(L, distance, nm.TracePower(1, bound=5.0)),
        "distances, basis": nm.mvu(np.random.default_rng(5).normal(size=(12, 3)), 3),
        "distances, soft": nm.mvu(np.random.default_rng(5).normal(size=(12, 3)), 3, weight=2.0),
        "equalities": nm.Problem(L, (*plain.terms, unit)),
        "rows": nm.npkl(L, pairs, loss="linear", row_norm=1.0),
        "trace": nm.simple_npkl(L, pairs, loss="hinge", p=1, trace_bound=5.0),
        "basis": nm.Problem(L, (distance, *plain.terms)).with_basis(nm.eigenbasis(L, 5)),
        "squares, basis": squares(L, (distance, *plain.terms)),
    }


def squares(L, terms):
    """More squares than a kernel over the basis has coordinates, of different weights."""
    i, weight = np.arange(12), np.linspace(0.1, 3.0, 12)
    more = nm.LossTerm(nm.Entries(12, (i, (i + 3) % 12)), "square", np.cos(i), weight, name="more")
    return nm.Problem(L, (more, *terms), nm.TracePower(1, bound=9.0)).with_basis(nm.eigenbasis(L, 3))


def test_fewer_squares_stand_for_all():
    problem, rng = problems()["squares, basis"], np.random.default_rng(2)
    values = values_of(problem)
    (part,) = values.parts
    assert values.box.b.size < 6 + problem.n_pairs
    y = np.clip(rng.normal(size=values.box.b.size), values.box.lower, values.box.upper)
    V = rng.normal(size=(3, 3))
    U, every = V @ V.T, values.multipliers(y)
    conjugates = sum(term.conjugate(own) for term, own in zip(problem.losses, every.losses, strict=True))
    assert values.box.conjugate(y) + values.constant - 9.0 * y[-1] == pytest.approx(conjugates)
    slack = problem.restrict(problem.slack(every)) + y[-1] * np.eye(3)
    np.testing.assert_allclose(part.slack(y), slack, atol=1e-12)
    assert values.objective([U]) == pytest.approx(problem.objective_of_factor(problem.Q @ V))
    assert problem.solve("interior").objective == pytest.approx(problem.solve("sdp").objective, rel=1e-5)


def matrices(part, size):
    """M_e of every multiplier that moves, one by one."""
    for one in np.eye(size):
        M = part.adjoint(one)
        yield M.toarray() if hasattr(M, "toarray") else M


@pytest.mark.parametrize("loss", ["absolute", "hinge"])
@pytest.mark.parametrize("seed", range(3))
def test_a_cost_that_is_rounding_over_the_basis_is_none(loss, seed):
    """The basis spans the null space of the Laplacian: the cost of any kernel is zero."""
    rng = np.random.default_rng(seed)
    A = np.triu(rng.random((8, 8)), 1)
    i, j = rng.integers(0, 8, 12), rng.integers(0, 4, 12)
    far = nm.LossTerm(
        nm.SquaredDistances(8, (i, (i + 1 + j) % 8)), "square", np.ones(12), 10 ** rng.random(12)
    )
    near = nm.LossTerm(nm.Entries(8, ([0, 1], [2, 3])), loss, np.array([1.0, -1.0]), np.ones(2))
    problem = nm.Problem(nm.laplacian(A + A.T), (far, near), basis=nm.Basis(np.full((8, 1), 8**-0.5)))
    found = problem.solve("interior")
    assert found.status is nm.Status.OPTIMAL
    assert found.objective == pytest.approx(problem.solve("sdp").objective, rel=1e-6)


@pytest.mark.parametrize("compiled", [True, False])
@pytest.mark.parametrize("name", problems())
def test_the_schur_complement_is_its_definition(name, compiled, monkeypatch):
    if not compiled:
        monkeypatch.setattr(schur, "worth", lambda *asked: False)
    values = values_of(problems()[name])
    rng = np.random.default_rng(0)
    (part,), m = values.parts, values.box.b.size
    K, Z = (A @ A.T for A in rng.normal(size=(2, part.order, part.order)))
    M = list(matrices(part, m))
    wanted = np.array([[np.sum(A * (K @ B @ Z)) for B in M] for A in M])
    wanted = 0.5 * (wanted + wanted.T)
    np.testing.assert_allclose(
        part.schur(K, Z, np.zeros((m, m))), wanted, rtol=1e-10, atol=1e-10 * np.abs(wanted).max()
    )
    z = [np.sum(A * K) for A in M]
    np.testing.assert_allclose(part.of(K), z, atol=1e-10 * np.abs(z).max())


@pytest.mark.parametrize(("n", "k", "draw"), [(100, 4, 0), (100, 5, 0), (150, 4, 1)])
def test_distances_that_nearly_depend_on_each_other(n, k, draw):
    """Hard unfolding: equalities that hold to rounding only after damped steps, and then exactly."""
    problem = nm.mvu(swiss_roll(n, random_state=draw, even=True)[0], k, components="connect")
    solution = problem.solve("interior")
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
    assert problem.violation(solution.V) < 1e-12


@pytest.mark.parametrize(("seed", "points", "freedom"), [(3, 100, 2.0), (4, 40, 1.2), (1, 60, 1.2)])
def test_multipliers_far_from_zero_are_reached(seed, points, freedom):
    """Distances of very different lengths: objective and bound go apart for twenty iterations first."""
    X = np.random.default_rng(seed).standard_t(freedom, size=(points, 6))
    X = (X - X.mean(axis=0)) / np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))
    problem = nm.mve(X, 2, n_neighbors=5, C=np.inf, components="connect")
    assert problem.solve("interior").is_optimal(1e-6)


def test_a_loss_with_another_conjugate_is_refused():
    from house.toys.absolute_loss import Absolute

    class Cubic(Absolute):
        name = "cubic"

        def project(self, y, t, w):
            return y

        def value(self, z, t):
            return np.abs(z - t) ** 3

        def derivative(self, z, t):
            return 3 * np.abs(z - t) * (z - t)

        def conjugate(self, y, t, w):
            return y * t + 2 / 3 * np.abs(y) * np.sqrt(np.abs(y) / (3 * w))

        def conjugate_derivative(self, y, t, w):
            return t + np.sign(y) * np.sqrt(np.abs(y) / (3 * w))

    problem = nm.Problem(np.eye(3), nm.LossTerm(nm.Entries(3, ([0], [1])), Cubic(), 1.0))
    assert "conjugate is quadratic" in problem.compatible_backends()["interior"]


def test_limits_and_stops(small):
    problem = small("npkl:hinge")
    assert problem.solve("interior", max_iter=3).status is nm.Status.ITERATION_LIMIT
    assert problem.solve("interior", callback=lambda row: row.iteration == 4).status is nm.Status.STOPPED
    late = problem.solve("interior", time_limit=1e-6)
    assert late.status is nm.Status.TIME_LIMIT
    assert late.V is not None


def test_without_a_shift_it_ends_with_what_can_be_proved():
    """Components that no pair holds from below: no strictly feasible dual point, and no exception."""
    solution = nm.npkl(*draw("iris", 1, 0.0), loss="hinge").solve("interior")
    assert solution.status is nm.Status.INACCURATE
    assert "positive definite" in solution.message
    assert solution.certificate.feasible


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1.0])
@pytest.mark.parametrize("R", [nm.RowNormBound(1.0), nm.TracePower(1, bound=5.0)], ids=["rows", "trace"])
def test_a_cost_that_is_small_against_the_weights(scale, R):
    L, pairs = side_information("iris", 24)
    problem = nm.Problem(scale * L, nm.npkl(L, pairs, loss="hinge").terms, regularizer=R)
    own, other = problem.solve("interior"), problem.solve("burer_monteiro")
    assert own.status is other.status is nm.Status.OPTIMAL
    assert own.objective == pytest.approx(other.objective, rel=1e-5)


def test_an_iteration_that_would_outlast_the_limit_is_not_begun(small, monkeypatch):
    from npkl_models.interior import interior

    monkeypatch.setattr(interior, "iteration_seconds", lambda problem: 1e3)
    late = small("pcp").solve("interior", time_limit=10.0)
    assert late.status is nm.Status.TIME_LIMIT
    assert late.V is None
    assert "allows no iteration" in late.message
    assert small("pcp").solve("interior").status is nm.Status.OPTIMAL


@pytest.mark.parametrize("shift", [0.0, 0.01, 0.001])
@pytest.mark.parametrize(("name", "seed"), [("wine", 0), ("iris", 2), ("breast_cancer", 14)])
def test_hard_pairs_are_certified(name, seed, shift):
    """Draws of the kind that `interior.py hard` of the benchmarks counts."""
    data = nm.datasets.load(name).subset(150, 0)
    pairs = nm.Pairs.from_labels(data.y, 90, 90, seed)
    solution = nm.hard_pcp(nm.laplacian(data.X, 5, shift=shift), pairs).solve("interior")
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
    assert solution.iterations <= 20
