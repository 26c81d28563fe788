"""KL-ADMM as its source prints it: residuals, criterion, start, Lemma 1, Proposition 1, and its error."""

from dataclasses import replace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.structure import structure
from npkl_models.printed.kl_admm import KLADMMOptions, KLADMMPlan, Lagrangian

NAME = "printed_kl_admm"


@pytest.fixture(scope="module")
def run(small):
    return small("pcp").solve(NAME, checks=True, max_iter=5000)


def test_it_stops_by_equation_14_and_no_sooner(run):
    worst = np.maximum(run.history["primal"], run.history["dual"])
    assert worst[-1] < 1e-3
    assert (worst[:-1] >= 1e-3).all()
    assert run.status is not nm.Status.OPTIMAL or run.certificate.certifies(1e-6)
    assert np.isnan(run.history.bound).all()  # nobody asked for a certificate on the way


@pytest.mark.parametrize("kind", ["pcp", "npkl:square"])
def test_a_small_epsilon_ends_at_the_optimum(small, exact, kind):
    found = small(kind).solve(NAME, epsilon=1e-7, max_iter=30_000)
    assert found.objective == pytest.approx(exact(kind).objective, rel=1e-5)
    assert found.certificate.bound <= exact(kind).objective * (1 + 1e-7)


def test_a_large_epsilon_is_not_called_optimal(small, exact):
    found = small("pcp").solve(NAME, epsilon=30.0)
    assert found.iterations < 100
    assert found.objective > exact("pcp").objective * (1 + 1e-4)
    assert found.status is nm.Status.LOCALLY_SOLVED
    assert found.certificate.bound <= exact("pcp").objective


def test_residuals_are_what_they_are_called(small):
    engine = KLADMMPlan(small("pcp"), KLADMMOptions()).engine()
    assert not np.allclose(engine.V, engine.U)
    for _ in range(5):
        V, rho = engine.V, engine.rho
        engine.iterate()
        assert engine.measured["primal"] == pytest.approx(np.linalg.norm(engine.V - engine.U))
        assert engine.measured["dual"] == pytest.approx(rho * np.linalg.norm(engine.V - V))


def test_lemma_1_holds_with_half_its_constant_and_not_with_the_printed_one(run):
    scale = 1e-9 * (1 + np.abs(run.history.objective))
    assert (run.history["lemma"] >= -scale).all()
    assert (run.history["lemma_printed"] < -scale)[run.history["steps"] > 1e-3].all()
    n = run.iterations
    assert f"held at {n} of {n} iterates with rho / 2" in run.message


def test_proposition_1_kkt_goes_to_zero_with_the_steps(run):
    assert run.history["kkt"][-1] < 1e-2 < 1 < run.history["kkt"][0]
    assert run.history["steps"][-1] < 2e-3 / 10  # the residuals bound them: epsilon / rho
    path = run.history["multiplier_path"]
    assert (np.diff(path) >= 0).all()
    assert path[-1] - path[len(path) // 2] < 1e-2 * path[-1]  # (16): the path is finite


@pytest.mark.parametrize("kind", ["pcp", "npkl:square", "row:linear"])
def test_slopes_of_the_lagrangian(small, kind):
    problem = small(kind)
    pairs = structure(problem)
    held = Lagrangian(problem, pairs, EdgeModel(pairs))
    rng = np.random.default_rng(0)
    V, U, zero = rng.normal(size=(24, 3)), rng.normal(size=(24, 3)), np.zeros((24, 3))
    F_V, F_U = held.slopes(V, U)
    D, h = rng.normal(size=(24, 3)), 1e-5

    def along(dV, dU):
        ends = (held.value((V + s * h * dV, U + s * h * dU, zero), 0.0)[0] for s in (1, -1))
        return (next(ends) - next(ends)) / (2 * h)

    assert along(D, zero) == pytest.approx(np.sum(F_V * D), rel=1e-6)
    assert along(zero, D) == pytest.approx(np.sum(F_U * D), rel=1e-6)


def test_the_lagrangian_at_v_equal_u_is_the_objective(small):
    problem = small("pcp")
    pairs = structure(problem)
    V = np.random.default_rng(0).normal(size=(24, 3))
    held = Lagrangian(problem, pairs, EdgeModel(pairs))
    constant = problem.objective_of_factor(np.zeros((24, 1))) - held.model.value(np.zeros(pairs.size))
    assert held.value((V, V, V), 7.0)[0] + constant == pytest.approx(problem.objective_of_factor(V))


@pytest.mark.slow
def test_the_printed_d_does_not_lead_to_a_stationary_point(small, exact):
    found = small("pcp").solve(NAME, misprint=True, max_iter=20_000)
    right = small("pcp").solve(NAME, max_iter=20_000)
    assert right.objective == pytest.approx(exact("pcp").objective, rel=1e-3)
    assert found.objective > 1.5 * exact("pcp").objective
    assert found.status is not nm.Status.OPTIMAL
    assert found.certificate.bound <= exact("pcp").objective


@pytest.mark.parametrize(
    ("kind", "options", "message"), [
        ("pcp", {"rho": -1.0}, "rho must be > 0"),
        ("pcp", {"relaxation": 1.5}, "unknown option of printed_kl_admm 'relaxation'"),
        ("npkl:hinge", {}, "needs square losses, got hinge"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused(small, kind, options, message):
    with pytest.raises(nm.UnsupportedError, match=message):
        small(kind).solve(NAME, **options)


def test_it_grows_without_limit_and_begins_again_where_rho_is_far_too_small():
    """It does so at rho = 0.01 in place of 100."""
    data = nm.datasets.load("iris").subset(60)
    pairs = nm.Pairs.from_labels(data.y, 20, 20, 0)
    problem = nm.pcp(nm.laplacian(data.X, 5, shift=0.1), pairs, gamma=100.0)
    found = problem.solve(NAME, rho=0.01, rho_floor=0.01, max_iter=300)
    assert found.history.objective[0] == found.history.objective[1]  # that of the start, again
    assert found.history.objective[-1] != found.history.objective[0]


def test_numbers_out_of_range_are_no_fault_of_the_multipliers_that_were_given():
    """In units of 1e150 its rho is next to nothing: squares of the first steps overflow."""
    data = nm.datasets.load("iris").subset(12)
    given = nm.pcp(nm.laplacian(data.X, 5, shift=0.1), nm.Pairs.from_labels(data.y, 4, 4, 0))
    terms = [replace(term, weight=1e150 * term.weight) for term in given.terms]
    problem = nm.Problem(1e150 * given.cost, terms)
    for name in (NAME, "admm"):
        found = problem.solve(name, rho=1.0, rho_floor=1.0, max_iter=100)
        assert np.isfinite(found.objective)
        assert found.certificate.bound <= found.objective
