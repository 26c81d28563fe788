"""Every step of presolve: the same optimum, a certificate of the whole, and a feasible point of it."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.feasibility.faces import face_of
from npkl_models.feasibility.restoration import restored
from npkl_models.presolve.steps import FACES, STEPS

STEP = {step.name: step for step in (*STEPS, FACES)}


def groups(shift=0.1):
    """Three groups of points far apart, one without a pair; pairs within groups."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(12, 2)) + 50 * k for k in range(3)])
    i = np.arange(0, 24, 3)
    must = [(a, a + 1) for a in i.tolist() if a // 12 == (a + 1) // 12]
    cannot = [(a, a + 5) for a in i.tolist() if a // 12 == (a + 5) // 12]
    return nm.laplacian(X, 3, shift=shift), nm.Pairs(36, must, cannot)


def hard(L, pairs):
    """Must-links and the diagonal as equalities on entries, cannot-links as a loss."""
    i = np.arange(L.shape[0])
    must = nm.Constraint(nm.Entries(i.size, np.transpose(pairs.must_link)), equal=1.0)
    apart = nm.LossTerm(nm.Entries(i.size, np.transpose(pairs.cannot_link)), "square", -1.0)
    return nm.Problem(L, (apart, nm.Constraint(nm.Entries(i.size, (i, i)), equal=1.0), must))


def problems():
    L, pairs = groups()
    bare, _ = groups(0.0)
    angle = np.linspace(0, 4, 12)
    return {
        ("anchored points", "square"): nm.npkl(bare, pairs, loss="square"),
        ("anchored points", "squared hinge"): nm.npkl(bare, pairs),
        ("faces", "hard"): hard(L, pairs),
        ("faces", "unfolding"): nm.mvu(
            np.column_stack([np.cos(angle), np.sin(angle)]), n_neighbors=2, reduce=False
        ),
        ("faces", "centred"): nm.Problem(
            L, (*nm.pcp(L, pairs).terms, nm.Constraint(nm.TotalSum(36), equal=0.0))
        ),
    }


CASES = problems()


@pytest.fixture(scope="module")
def solved():
    """What the step makes of each, and a certified answer of that."""
    out = {}
    for key, problem in CASES.items():
        step = STEP[key[0]]
        if not step.accepts(problem):
            continue
        smaller = step.apply(problem)
        out[key] = smaller, nm.solve(smaller.problem, tol=1e-8)
    return out


@pytest.mark.parametrize("key", CASES, ids=": ".join)
def test_the_step_takes_the_problem(key, solved):
    assert key in solved


@pytest.mark.parametrize("key", CASES, ids=": ".join)
def test_the_optimum_is_the_same(key, solved):
    smaller, found = solved[key]
    problem = CASES[key]
    V, _ = smaller.undo((found.V, found.multipliers))
    whole = problem.solve("interior" if "interior" in able(problem) else "auto", tol=1e-7)
    assert whole.certificate.certifies(1e-6)
    here = problem.objective_of_factor(V)
    assert here == pytest.approx(whole.objective, abs=3e-6 * problem.size(whole.objective))


def able(problem):
    return [name for name, reason in problem.compatible_backends().items() if reason is None]


@pytest.mark.parametrize("key", CASES, ids=": ".join)
def test_a_certificate_undone_is_one_of_the_whole(key, solved):
    smaller, found = solved[key]
    V, y = smaller.undo((found.V, found.multipliers))
    certificate = nm.certify(CASES[key], V, y)
    assert certificate.certifies(1e-6)
    assert certificate.rigour == "proved"


@pytest.mark.parametrize("key", CASES, ids=": ".join)
def test_points_undone_are_feasible(key, solved):
    smaller, _ = solved[key]
    rng = np.random.default_rng(0)
    part = smaller.problem
    given = restored(face_of(part).problem, part.lift(rng.normal(size=(part.order, 3))))
    assert part.violation(given) < 1e-12
    V, y = smaller.undo((given, None))
    assert CASES[key].violation(V) < 1e-12
    assert y is None or not any(part.any() for part in y.terms)


@pytest.mark.parametrize("name", ["square", "squared hinge"])
def test_the_default_takes_the_step_and_shows_a_callback_points_of_the_whole(name):
    problem, seen = CASES["anchored points", name], []
    found = problem.solve(callback=lambda iterate: seen.append(iterate) and None)
    assert "presolve removed the points that are not anchored" in found.message
    assert found.certificate.rigour == "proved"
    assert all(iterate.V is None or len(iterate.V) == problem.n for iterate in seen)
    stopped = problem.solve(callback=lambda iterate: True)
    assert stopped.status is nm.Status.STOPPED
    assert np.isfinite([stopped.objective, stopped.certificate.bound]).all()


def test_groups_that_nothing_joins_are_one_problem():
    """A kernel that cannot be, or one without a bound, in one of three groups."""
    L, pairs = groups()
    assert nm.pcp(L, pairs).solve().is_optimal(1e-6)
    impossible = nm.Constraint(nm.Entries(36, ([3], [3])), equal=-1.0)
    assert nm.Problem(L, (*nm.pcp(L, pairs).terms, impossible)).solve().status is nm.Status.INFEASIBLE
    C = L.toarray()
    C[30:, 30:] -= 5 * np.eye(6)
    assert nm.Problem(C, nm.pcp(L, pairs).terms[0]).solve().status is nm.Status.UNBOUNDED
