"""Every step of presolve: the same optimum, a certificate of the whole, and a feasible point of it."""

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.feasibility.faces import face_of
from npkl_models.feasibility.restoration import restored
from npkl_models.presolve.steps import FACES, MOST, PARTS, separable, separated

STEP = {step.name: step for step in (*PARTS, FACES)}


def groups(shift=0.1, lonely=True):
    """Three groups of points far apart, one without a pair if that is asked for; pairs within groups."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(12, 2)) + 50 * k for k in range(3)])
    last = 24 if lonely else 36
    i = np.arange(0, last, 3)
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
        ("components", "pcp"): nm.pcp(L, pairs),
        ("components", "hinge"): nm.npkl(L, pairs, loss="hinge", gamma=10.0),
        ("components", "row norms"): nm.npkl(L, pairs, loss="linear", row_norm=1.0),
        ("components", "hard"): hard(L, pairs),
        ("components", "none lonely"): nm.pcp(*groups(lonely=False)),
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
    """What the step makes of each, and certified answers of that."""
    out = {}
    for key, problem in CASES.items():
        step = STEP[key[0]]
        if not step.accepts(problem):
            continue
        smaller = step.apply(problem)
        found = [nm.solve(part, tol=1e-8) for part in smaller.problems]
        out[key] = smaller, found
    return out


@pytest.mark.parametrize("key", CASES, ids=": ".join)
def test_the_step_takes_the_problem(key, solved):
    assert key in solved


@pytest.mark.parametrize("key", CASES, ids=": ".join)
def test_the_optimum_is_the_same(key, solved):
    smaller, found = solved[key]
    problem = CASES[key]
    V, _ = smaller.undo(*((one.V, one.multipliers) for one in found))
    whole = problem.solve("interior" if "interior" in able(problem) else "auto", tol=1e-7)
    assert whole.certificate.certifies(1e-6)
    here = problem.objective_of_factor(V)
    assert here == pytest.approx(whole.objective, abs=3e-6 * problem.size(whole.objective))


def able(problem):
    return [name for name, reason in problem.compatible_backends().items() if reason is None]


@pytest.mark.parametrize("key", CASES, ids=": ".join)
def test_a_certificate_undone_is_one_of_the_whole(key, solved):
    smaller, found = solved[key]
    V, y = smaller.undo(*((one.V, one.multipliers) for one in found))
    certificate = nm.certify(CASES[key], V, y)
    assert certificate.certifies(1e-6)
    assert certificate.rigour == "proved"


@pytest.mark.parametrize("key", CASES, ids=": ".join)
def test_points_undone_are_feasible(key, solved):
    smaller, _ = solved[key]
    rng = np.random.default_rng(0)
    points = []
    for part in smaller.problems:
        given = restored(face_of(part).problem, part.lift(rng.normal(size=(part.order, 3))))
        assert part.violation(given) < 1e-12
        points.append((given, None))
    V, y = smaller.undo(*points)
    assert CASES[key].violation(V) < 1e-12
    assert y is None or not any(part.any() for part in y.terms)


def test_single_points_go_with_the_first_part():
    """A statement has two points at least."""
    L, pairs = groups()
    C = sp.block_diag([L, sp.eye_array(3)], format="csr")
    i = np.arange(39)
    terms = (
        nm.LossTerm(nm.Entries(39, (i, i)), "square", 1.0),
        nm.LossTerm(nm.Entries(39, np.transpose(pairs.must_link)), "square", 1.0),
    )
    problem = nm.Problem(C, terms)
    assert [part.n for part in separated(problem).problems] == [15, 12, 12]
    assert problem.solve().status is nm.Status.OPTIMAL
    assert not separable(nm.Problem(np.eye(39), terms[0]))


def test_undo_wants_a_point_for_each_part():
    smaller = separated(CASES["components", "pcp"])
    assert [part.n for part in smaller.problems] == [12, 12, 12]
    with pytest.raises(ValueError, match="undo takes 3 points, got 1"):
        smaller.undo((None, None))
    assert smaller.undo(*[(None, None)] * 3) == (None, None)


def test_what_is_tied_is_not_separated():
    """By an edge, a pair, a value of all points, a trace, a slack that is shared, a basis."""
    L, pairs = groups()
    assert separable(nm.pcp(L, pairs))
    across = nm.Pairs(36, [*map(tuple, pairs.must_link), (3, 30), (30, 15)], pairs.cannot_link)
    assert not separable(nm.pcp(L, across))
    ends = ([3, 20, 20, 30], [20, 3, 30, 20])
    edge = sp.coo_array((np.full(4, -0.01), ends), shape=(36, 36))
    assert not separable(nm.pcp(sp.csr_array(L + edge), pairs))
    assert not separable(nm.simple_npkl(L, pairs, loss="square", trace_bound=36.0))
    assert not separable(nm.Problem(L, (*nm.pcp(L, pairs).terms, nm.Constraint(nm.TotalSum(36), equal=1.0))))
    i = np.arange(36)
    assert not separable(nm.Problem(L, nm.LossTerm(nm.Entries(36, (i, i)), "shared_slack", 1.0)))
    assert not separable(nm.pcp(L, pairs).with_basis(nm.eigenbasis(L, 5)))


@pytest.mark.parametrize("name", ["pcp", "hinge", "row norms", "hard", "none lonely"])
def test_the_default_solves_parts_one_by_one(name):
    solution = CASES["components", name].solve()
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
    K = solution.K
    assert np.max(np.abs(K[:12, 12:])) == 0.0


def test_a_part_without_a_kernel_or_a_bound_is_one_of_the_whole():
    L, pairs = groups()
    impossible = nm.Constraint(nm.Entries(36, ([3], [3])), equal=-1.0)
    assert nm.Problem(L, (*nm.pcp(L, pairs).terms, impossible)).solve().status is nm.Status.INFEASIBLE
    C = L.toarray()
    C[30:, 30:] -= 5 * np.eye(6)
    falls = nm.Problem(C, nm.pcp(L, pairs).terms[0])
    assert separable(falls)
    assert falls.solve().status is nm.Status.UNBOUNDED


def test_an_interrupted_part_ends_the_solve():
    solution = CASES["components", "pcp"].solve(callback=lambda row: True)
    assert solution.status is nm.Status.STOPPED


def triples(count):
    """As many groups of three points, with a pair each."""
    C = sp.block_diag([nm.laplacian([[0.0], [1.0], [2.5 + k / count]], 1, shift=0.1) for k in range(count)])
    first = 3 * np.arange(count)
    return nm.pcp(sp.csr_array(C), nm.Pairs(3 * count, np.stack([first, first + 1], 1), [(1, 2)]))


def test_of_many_parts_the_small_ones_are_one():
    """V had as many columns as all of 200 parts together, and the solve took their number squared."""
    problem = triples(200)
    smaller = separated(problem)
    assert len(smaller.problems) == MOST
    assert sum(part.n for part in smaller.problems) == problem.n
    solution = problem.solve()
    assert solution.is_optimal(1e-6)
    assert solution.V.shape[1] < 200
    assert solution.objective == pytest.approx(problem.solve("burer_monteiro").objective, rel=2e-6)


@pytest.mark.parametrize("steps", [1, 5, 40])
def test_who_is_stopped_among_the_parts_has_a_point(steps):
    problem, seen = triples(20), []
    solution = problem.solve(callback=lambda iterate: seen.append(iterate) or len(seen) >= steps)
    assert solution.status is nm.Status.STOPPED
    assert np.isfinite([solution.objective, solution.certificate.bound]).all()
    iterations = [iterate.iteration for iterate in seen]
    assert iterations == sorted(set(iterations))
    for iterate in seen:
        if iterate.V is not None:  # the interior-point method shows no factor on its way
            assert iterate.objective == pytest.approx(problem.objective_of_factor(iterate.V))


def test_what_a_time_limit_cuts_among_the_parts_has_a_point():
    solution = triples(200).solve(time_limit=1e-3)
    assert solution.status is nm.Status.TIME_LIMIT
    assert np.isfinite([solution.objective, solution.certificate.bound]).all()


def test_the_message_says_that_there_were_parts():
    assert "presolve split the problem into 3 independent parts" in triples(3).solve().message
