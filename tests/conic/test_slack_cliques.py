"""A sparse slack falls into cliques, and what is predicted of them decides which solver takes it."""

import numpy as np
import pytest
import scipy.sparse as sp
from problems import side_information

import npkl_models as nm
from npkl_models.conic.cost import clique_sizes, dense_order, slack_cliques
from npkl_models.conic.runner import PATIENCE, Standstill
from npkl_models.conic.sdp_dual import build
from npkl_models.conic.solvers import default_solver, predicted_bytes


def chain(n, width):
    """A chain of points with links up to ``width`` away, and pairs along it."""
    W = sp.diags_array([np.ones(n - k) for k in range(1, width + 1)], offsets=range(1, width + 1))
    W = sp.csr_array(W + W.T)
    L = sp.csr_array(sp.diags_array(W.sum(axis=1) + 0.1) - W)
    first = np.arange(0, n - 1, 3)
    pairs = np.stack([first, first + 1], axis=1)
    return nm.pcp(L, nm.Pairs(n, pairs[::2], pairs[1::2]))


@pytest.mark.parametrize("width", [1, 2, 4])
def test_a_band_has_cliques_of_its_width(width):
    sizes = slack_cliques(chain(60, width))
    assert set(sizes) == {width + 1}
    assert len(sizes) == 60 - width


def test_patterns_whose_cliques_are_known():
    star, full = np.zeros((8, 8)), np.ones((8, 8))
    star[0] = star[:, 0] = 1
    assert list(clique_sizes(sp.csc_array(star + np.eye(8)))) == [2] * 7
    assert list(clique_sizes(sp.csc_array(full))) == [8]
    assert list(clique_sizes(sp.eye_array(8, format="csc"))) == [1] * 8
    assert dense_order(np.array([8])) == pytest.approx(8)
    assert 8 < dense_order(np.array([8, 8])) < 10


def test_what_fills_the_slack_leaves_one_clique():
    L, pairs = side_information("iris", 12)
    assert list(slack_cliques(nm.simple_npkl(L, pairs, p=2.0, trace_bound=4.0))) == [12]
    assert list(slack_cliques(nm.pcp(L, pairs).with_basis(nm.eigenbasis(L, 5)))) == [5]


def test_the_program_has_entries_on_the_pattern_only():
    problem = chain(30, 2)
    data = build(problem).problem.get_problem_data("CLARABEL")[0]
    rows = data["A"].tocsr()[-465:]
    used = (np.diff(rows.indptr) > 0) | (data["b"][-465:] != 0)
    assert np.sum(used) == 30 + 29 + 28


def test_small_cliques_are_taken_by_clarabel_and_agree_with_the_primal():
    problem = chain(80, 2)
    cliques = dense_order(slack_cliques(problem))
    assert default_solver(None, 80) == "SCS"
    assert default_solver(None, 80, cliques) == "CLARABEL"
    assert predicted_bytes("CLARABEL", 80, cliques) < 0.01 * predicted_bytes("CLARABEL", 80)
    dual, primal = problem.solve("sdp_dual", tol=1e-7), problem.solve("sdp", solver="SCS")
    assert "CLARABEL" in dual.message
    assert dual.status is primal.status is nm.Status.OPTIMAL
    assert dual.objective == pytest.approx(primal.objective, rel=1e-5)
    assert "cliques, the largest of 3" in problem.compile("sdp_dual").describe()


def test_a_set_of_which_the_primal_form_is_refused_is_taken_by_its_cliques():
    problem = chain(1_500, 2)
    with pytest.raises(nm.UnsupportedError, match="needs about"):
        problem.compile("sdp", solver="CLARABEL")
    assert "CLARABEL" in problem.compile("sdp_dual", solver="CLARABEL").describe()


def test_a_gap_stands_still_once_it_has_not_halved_for_as_long_as_it_took():
    still = Standstill()
    assert not still.reached(PATIENCE, np.inf)
    assert not still.reached(2 * PATIENCE, 1e-3)
    assert not still.reached(3 * PATIENCE, 6e-4)
    assert still.reached(4 * PATIENCE, 6e-4)
    assert not still.reached(4 * PATIENCE + 1, 4e-4)


def test_a_run_that_stands_still_ends_inaccurate(small, monkeypatch):
    from npkl_models.conic import runner

    monkeypatch.setattr(runner, "PATIENCE", 1)
    monkeypatch.setattr(runner, "FALLEN", 1e-9)
    found = small("pcp").solve("sdp", solver="SCS", tol=1e-13, max_iter=3_000)
    assert found.iterations < 3_000
    assert found.status is nm.Status.INACCURATE
    assert "not been halved" in found.message
