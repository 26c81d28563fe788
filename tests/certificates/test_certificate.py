"""Rigour levels and repairs of the certificate."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp
from problems import KINDS, side_information

import npkl_models as nm
from npkl_models import kernel, linalg
from npkl_models.certificates import repairs
from npkl_models.certificates.bounds import ANCHORED, EXACT, SIGNS, Dual
from npkl_models.certificates.certificate import MEANING, in_words
from npkl_models.certificates.repairs import MIXED, RAY, SCALE, SHIFT
from npkl_models.model.facts import trace_bound

METHODS = {"eigh": "proved", "cholesky": "proved", "lanczos": "probable", "ritz": "estimated"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", METHODS)
def test_every_rigour_on_every_problem(small, exact, method, kind):
    problem, reference = small(kind), exact(kind)
    found = nm.certify(problem, reference, method=method, search=0)
    exactly = found.repair in (EXACT, SIGNS)  # no eigenvalue is asked for
    assert found.rigour == ("proved" if exactly else METHODS[method])
    assert found.bound <= reference.objective + 1e-7
    assert found.certifies(1e-3) or (method == "ritz" and not exactly)
    assert not (found.certifies(1e-3) and found.rigour == "estimated")
    assert ("fails with probability" in str(found)) == (found.rigour == "probable")


def poor(problem):
    """Multipliers whose slack is far from PSD: the derivatives at a random point."""
    V = np.random.default_rng(3).normal(size=(problem.n, 2))
    return problem.derivatives(V)


@pytest.mark.parametrize("name", [SHIFT, RAY, SCALE, MIXED])
def test_every_repair_is_valid_where_it_applies(small, exact, name):
    """From a slack that is not PSD each repair still gives a bound, below the optimum and finite."""
    applied = 0
    problems = {kind: (small(kind), exact(kind)) for kind in KINDS[::2] if kind[0] not in "B"}
    L, pairs = side_information("iris", 24)
    n = np.arange(24)
    unit = nm.Constraint(nm.Entries(24, (n, n)), equal=1.0)
    fixed = nm.Problem(L, (*nm.npkl(L, pairs, loss="hinge").terms, unit))
    problems["unit diagonal"] = (fixed, fixed.solve("sdp", eps=1e-9))
    angle = np.linspace(0, 4, 12)
    arc = nm.mvu(np.stack([np.cos(angle), np.sin(angle)], axis=1), 2)
    problems["arc"] = (arc, arc.solve("sdp", eps=1e-9))
    problems["arc, short"] = problems["arc"]
    ones = nm.Constraint(nm.SparseMatrices(4, [np.eye(4), np.ones((4, 4))]), equal=[1.0, 2.0])
    program = nm.Problem(np.diag([1.0, -1.0, 0.5, 3.0]) + 0.3, (ones,))
    problems["program"] = (program, program.solve("sdp", eps=1e-9))
    free = nm.npkl(nm.laplacian(np.arange(24.0)[:, None] % 7, 4), pairs, loss="squared_hinge")
    problems["no shift"] = (free, free.solve("sdp", eps=1e-9))
    for kind, (problem, solution) in problems.items():
        if problem.regularizer.finite_support:
            continue
        y = solution.certificate.multipliers.scaled(0.7) if kind == "arc, short" else poor(problem)
        floor = kernel.floor_of(y, kernel.slack(problem, y))
        if floor.proved or not np.isfinite(floor.lower):
            continue
        moves = [
            *repairs._on_diagonal(problem, floor),
            *repairs._along(problem, floor, repairs._anchors(problem, floor, None)),
        ]
        if name == MIXED and (centre := repairs._centre(problem, y)) is not None:
            moves = list(repairs._along(problem, floor, [(MIXED, centre)]))
        for move in moves:
            said, found = repairs._cheapest(problem, floor, [move])
            if said != name:
                continue
            applied += 1
            bound = kernel.bound_of(problem, found)
            assert np.isfinite(bound.value), kind
            assert bound.rigour == "proved", kind
            assert bound.value <= solution.objective + 1e-7, kind
            S = linalg.dense(problem.restrict(problem.slack(found.y)))
            assert np.linalg.eigvalsh(S)[0] + problem.regularizer.shift >= -1e-9, kind
    assert applied >= 1


@pytest.mark.parametrize("kind", KINDS)
def test_trace_bound_is_above_the_optimal_trace(small, exact, kind):
    assert exact(kind).trace <= trace_bound(small(kind)) * (1 + 1e-6) + 1e-6


def test_no_repair_means_no_bound_and_says_so():
    """A singular Laplacian that no pair holds from below, a slack that is not PSD: nothing can be proved."""
    pairs = nm.Pairs(24, [(i, i + 1) for i in range(0, 20, 2)], None)
    L = nm.laplacian(np.random.default_rng(0).normal(size=(24, 2)), 4)
    y = [-pairs.sign]
    psd = nm.certify(nm.npkl(L, pairs, loss="hinge"), np.ones((24, 1)), nm.Multipliers(tuple(y)))
    assert psd.rigour == "proved"  # zero is a bound, C being PSD
    assert -1e-300 < psd.bound < 1e-9
    problem = nm.npkl(L - 1e-3 * sp.eye_array(24), pairs, loss="hinge")
    found = nm.certify(problem, np.ones((24, 1)), nm.Multipliers(tuple(y)))
    assert found.rigour == "none"
    assert found.bound == -np.inf
    assert found.relative_gap == np.inf
    assert found.repair == "no repair applies"
    assert not found.certifies(0.5)


@pytest.mark.parametrize("kind", ["B2:hinge", "B4:square", "G2:squared_hinge", "B1:hinge"])
def test_trace_power_bound_from_the_low_rank_part_alone(small, exact, monkeypatch, kind):
    """Beyond the order of a full eigendecomposition the bound comes from S + P + eps I >= 0."""
    from npkl_models.certificates import bounds

    full = nm.certify(small(kind), exact(kind))
    monkeypatch.setattr(bounds, "FULL", 10)
    found = nm.certify(small(kind), exact(kind))
    assert found.rigour == "proved"
    assert found.bound <= full.bound + 1e-9
    assert found.relative_gap <= 1e-4


def test_an_infeasible_point_is_not_certified():
    L, pairs = side_information("iris", 20)
    n = np.arange(20)
    unit = nm.Constraint(nm.Entries(20, (n, n)), equal=1.0)
    problem = nm.Problem(L, (*nm.npkl(L, pairs, loss="hinge").terms, unit))
    best = problem.solve("sdp", eps=1e-9)
    cheat = nm.certify(problem, 0.9 * best.K, best.multipliers)
    assert cheat.violation == pytest.approx(0.1, rel=0.01)
    assert cheat.objective == pytest.approx(problem.objective(0.9 * best.K))
    assert cheat.gap >= 0  # for the diagonal of the point
    wall = (unit, nm.Constraint(nm.Entries(20, ([0], [1])), equal=2.0))
    beyond = nm.certify(nm.Problem(L, (*problem.terms, *wall)), 0.9 * best.K)
    assert not beyond.feasible
    assert not beyond.certifies(0.999)


def test_points_outside_the_constraint_are_judged_as_they_are(small):
    problem = small("row:linear")
    V = 10 * np.ones((24, 2))
    found = nm.certify(problem, V)
    assert found.objective == pytest.approx(problem.objective_of_factor(V))
    assert found.violation == pytest.approx(200 / problem.constraints[0].value[0] - 1)
    assert not found.feasible


def test_kernels_and_factors_are_told_apart(small, exact):
    problem, solution = small("pcp"), exact("pcp")
    from_kernel = nm.certify(problem, solution.K)
    from_factor = nm.certify(problem, solution.V)
    assert from_kernel.objective == pytest.approx(from_factor.objective, rel=1e-9)
    symmetric = np.diag(np.arange(24.0))
    as_factor = nm.certify(problem, symmetric, kind="factor")
    assert as_factor.objective == pytest.approx(problem.objective(symmetric @ symmetric))


@pytest.mark.parametrize("short", [1e-5, 5e-5, 1e-3])
def test_rows_that_a_solver_left_below_their_bound_are_recognised(small, short):
    """By what their multipliers gain: at 1e-6 none would count, and the bound be far below."""
    problem = small("row:linear")
    best = problem.solve("interior", tol=1e-8)
    V = best.V * np.sqrt(1 - short)
    found = nm.certify(problem, V, kind="factor")
    assert found.relative_gap <= 20 * short
    assert found.bound <= best.certificate.upper


def test_an_estimate_does_not_replace_a_bound(small):
    """A larger number that proves nothing is no better."""
    problem = small("row:linear")
    y = problem.no_multipliers
    for rigour in ("proved", "probable"):
        known = Dual(-1.0, rigour, "shift", y, 0.0, np.ones(24))
        for guess in ("estimated", "none"):
            assert known.better(kernel.Bound(1e3, guess), SIGNS, y) is known
        assert known.better(kernel.Bound(-2.0, "proved"), SIGNS, y) is known
        assert known.better(kernel.Bound(-0.5, "probable"), SIGNS, y).rigour == "probable"
    assert (
        Dual(1e3, "estimated", "", y, 0.0, np.ones(24)).better(kernel.Bound(0.0, "proved"), SIGNS, y).bound
        == 0.0
    )
    assert (
        Dual(1e3, "estimated", "", y, 0.0, np.ones(24)).better(kernel.Bound(2e3, "proved"), SIGNS, y).bound
        == 2e3
    )


def test_a_solution_whose_factor_is_square_is_judged_by_its_factor(small):
    """Whatever its signs are: a square array alone might be a kernel."""
    problem = small("pcp")
    best = problem.solve("interior")
    wide = replace(best, V=np.hstack([best.V, np.zeros((24, 24 - best.V.shape[1]))]), multipliers=None)
    found = nm.certify(problem, wide)
    assert found.objective == pytest.approx(best.objective)
    assert found.certifies(1e-6)


def test_every_repair_has_a_meaning_in_words(small):
    given = {SHIFT, RAY, SCALE, MIXED, ANCHORED, EXACT, SIGNS, "regulariser"}
    assert given == set(MEANING)
    both = in_words(f"{ANCHORED} ({SHIFT})")
    assert both == f"{MEANING[ANCHORED]} and {MEANING[SHIFT]}"
    assert in_words(f"{ANCHORED} (none needed)") == MEANING[ANCHORED]
    assert in_words("no repair applies") == "no repair applies"
    found = nm.certify(small("npkl:hinge"), np.ones((24, 1)), search=0)
    assert found.repair == "scale"
    assert str(found).endswith("proved (all multipliers were scaled down)")
