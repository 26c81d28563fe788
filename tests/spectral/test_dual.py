"""Dual ascent, closed forms, and bound against penalty."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from problems import SEPARABLE, side_information

import npkl_models as nm
from npkl_models.spectral.concave import Dual
from npkl_models.spectral.proximal import onto_ball


def simple(loss, n=40, p=2.0, **how):
    L, pairs = side_information("iris", n)
    return nm.simple_npkl(L, pairs, loss=loss, p=p, **(how or {"trace_bound": float(n)}))


@pytest.mark.parametrize("loss", SEPARABLE)
@pytest.mark.parametrize("p", [1.5, 2.0, 3.0, 4.0])
@pytest.mark.parametrize("how", [{"trace_bound": 1.0}, {"trace_bound": 40.0}, {"penalty": 1.0}])
def test_dual_ascent_closes_its_gap(loss, p, how):
    """To 1e-8 (hinge 1e-6) from every setting of the source's tables, in few eigendecompositions."""
    tol = 1e-6 if loss == "hinge" else 1e-8
    found = simple(loss, p=p, **how).solve("simple_npkl", tol=tol)
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.rigour == "proved"
    assert found.certificate.relative_gap <= tol
    assert found.iterations <= (30 if p == 2 and loss in ("square", "squared_hinge") else 60)
    if p == int(p):
        other = found.problem.solve("burer_monteiro")
        assert other.objective == pytest.approx(found.objective, abs=1e-5 * (1 + abs(found.objective)))


@pytest.mark.parametrize("loss", ["square", "hinge", "squared_hinge"])
def test_bounds_and_objectives_of_a_run_enclose_the_optimum(loss):
    problem = simple(loss, penalty=2.0)
    best = problem.solve("simple_npkl", tol=1e-8 if loss != "hinge" else 1e-6)
    found = problem.solve("simple_npkl", tol=1e-4, max_iter=600)
    assert found.status is nm.Status.OPTIMAL
    assert np.all(found.history.bound <= best.objective + 1e-9)
    assert np.all(found.history.objective >= best.certificate.bound - 1e-9)


@pytest.mark.parametrize("loss", ["square", "hinge", "squared_hinge"])
def test_a_bound_that_does_not_bind_is_met_by_proximal_points(loss):
    problem = simple(loss, trace_bound=4000.0)
    found = problem.solve("simple_npkl")
    assert found.status is nm.Status.OPTIMAL
    assert found.iterations > 50
    assert found.objective == pytest.approx(problem.solve("burer_monteiro").objective, rel=1e-5)


@pytest.mark.parametrize("loss", ["square", "squared_hinge", "hinge"])
@pytest.mark.parametrize("kind", ["entries", "distances", "basis", "equality"])
def test_the_dual_has_the_gradient_it_says(loss, kind):
    problem = simple(loss, n=16, trace_bound=5.0)
    rng = np.random.default_rng(0)
    if kind == "distances":
        i, j = rng.permutation(16)[:10].reshape(2, 5)
        sign = np.where(rng.random(5) < 0.5, -1.0, 1.0)
        problem = replace(problem, terms=(nm.LossTerm(nm.SquaredDistances(16, (i, j)), loss, sign),))
    if kind == "basis":
        problem = problem.with_basis(nm.eigenbasis(problem.cost, 6))
    if kind == "equality":
        fixed = nm.Constraint(nm.Entries(16, ([0], [0])), equal=0.3)
        problem = replace(problem, terms=(*problem.terms, fixed))
    dual = Dual(problem)
    x = dual.project(dual.first() + 0.3 * rng.normal(size=dual.lower.size))
    point, h = dual.at(x), 1e-6
    assert point.bound <= point.objective or kind == "equality"
    assert point.bound == pytest.approx(problem.dual_bound(dual.split(x)), abs=1e-8)
    for k in range(min(5, x.size)):
        step = np.zeros_like(x)
        step[k] = h
        if not (np.all(dual.project(x + step) == x + step) and np.all(dual.project(x - step) == x - step)):
            continue
        slope = (dual.at(x + step).bound - dual.at(x - step).bound) / (2 * h)
        assert slope == pytest.approx(point.gradient[k], abs=1e-5)


@pytest.mark.parametrize("p", [1.0, 1.5, 2.0, 3.0])
@pytest.mark.parametrize("how", [{"trace_bound": 20.0}, {"penalty": 0.7}])
def test_closed_forms_are_optimal(p, how):
    problem = simple("linear", n=14, p=p, **how)
    if p == 1 and "penalty" in how:
        assert "penalty at p = 1 is linear" in problem.compatible_backends()["closed_form"]
        return
    found = problem.solve("closed_form")
    assert found.status is nm.Status.OPTIMAL
    assert found.certificate.relative_gap <= 1e-9
    exact = problem.solve("sdp", eps=1e-9)
    assert found.objective == pytest.approx(exact.objective, rel=1e-6)
    if p == 1:
        assert found.rank == 1


def test_limits_stops_and_second_runs():
    problem = simple("squared_hinge", trace_bound=4000.0)
    seen = []

    def interrupted(state):
        seen.append(state.iteration)
        if len(seen) == 3:
            raise KeyboardInterrupt

    assert (
        problem.solve("simple_npkl", callback=lambda state: state.iteration == 2).status is nm.Status.STOPPED
    )
    assert problem.solve("simple_npkl", max_iter=4).status is nm.Status.ITERATION_LIMIT
    assert problem.solve("simple_npkl", time_limit=1e-6).status is nm.Status.TIME_LIMIT
    broken = problem.solve("simple_npkl", callback=interrupted)
    assert broken.status is nm.Status.STOPPED
    assert broken.certificate.bound <= broken.objective
    program = problem.compile("simple_npkl")
    assert program.solve().iterations == program.solve().iterations > 50


def test_ties_share_the_trace_equally():
    """Prop. 1 at p = 1: the largest eigenvalue of A has multiplicity two."""
    cost = sp.diags_array([-2.0, -2.0, 0.0, 1.0, 1.0]).tocsr()
    term = nm.LossTerm(nm.Entries(5, ([3], [4])), "linear", 1.0, 1e-3)
    problem = nm.Problem(cost, term, regularizer=nm.TracePower(1, bound=6.0))
    found = problem.solve("closed_form")
    np.testing.assert_allclose(np.diag(found.K), [3, 3, 0, 0, 0], atol=1e-9)
    assert found.objective == pytest.approx(-12)


@given(p=st.sampled_from([1.5, 2.0, 3.0]), seed=st.integers(0, 99))
@settings(max_examples=30, deadline=None)
def test_projection_onto_the_ball(p, seed):
    rng = np.random.default_rng(seed)
    v = rng.random(6) * 3
    inside = onto_ball(v, p, 2.0)
    assert np.sum(inside**p) <= 2.0 * (1 + 1e-9)
    assert np.sum(onto_ball(1e20 * v, p, 1e-8) ** p) <= 1e-8 * (1 + 1e-9)
    for _ in range(50):  # no feasible point is nearer
        other = rng.random(6) * 3
        other *= min(1.0, (2.0 / np.sum(other**p)) ** (1 / p))
        assert np.sum((v - inside) ** 2) <= np.sum((v - other) ** 2) + 1e-9


@pytest.mark.parametrize("p", [1.5, 2.0, 3.0])
def test_bound_and_penalty_are_one_family(p):
    """Zhuang et al. 2011, after Prop. 2: the conversion gives the same kernel, both ways."""
    penalised = simple("squared_hinge", p=p, penalty=0.8)
    there = penalised.solve("simple_npkl", tol=1e-9)
    B = nm.equivalent_bound(there)
    bounded = replace(penalised, regularizer=nm.TracePower(p, bound=B))
    back = bounded.solve("simple_npkl", tol=1e-9)
    np.testing.assert_allclose(back.K, there.K, atol=1e-4)
    assert nm.equivalent_penalty(back) == pytest.approx(0.8, rel=1e-3)
    with pytest.raises(nm.ProblemError, match="needs a solution of a problem with penalty="):
        nm.equivalent_bound(back)
    with pytest.raises(nm.ProblemError, match="trace_bound= and p > 1"):
        nm.equivalent_penalty(there)


@pytest.mark.parametrize("backend", ["simple_npkl", "bcd", "burer_monteiro"])
def test_a_start_that_is_none_is_refused(small, backend):
    problem = small("B2:squared_hinge" if backend != "bcd" else "npkl:squared_hinge")
    with pytest.raises(nm.NPKLError, match="start must be a Solution or an array"):
        problem.solve(backend, start=1)
