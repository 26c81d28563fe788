"""The default: who is tried, for how long, and what is said of it."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.data.synthetic import swiss_roll
from npkl_models.solve.cost import Cost
from npkl_models.solve.portfolio import AUTO
from npkl_models.solve.registry import candidates, first_of

pytestmark = pytest.mark.filterwarnings("ignore::npkl_models.model.graph.UnscaledWarning")  # raw on purpose


def iris(shift):
    data = nm.datasets.load("iris")
    return nm.laplacian(data.X, 5, shift=shift), nm.Pairs.from_labels(data.y, 90, 90, 0)


def hard():
    """A problem on which descent on the rows crawls."""
    return nm.npkl(*iris(0.001), loss="squared_hinge", gamma=100.0)


def in_stages(problem, plan, options=None):
    """Backends in turn, each with its allowance of counted work."""
    return AUTO.in_stages(problem, options or {}, np.inf, plan)


@pytest.mark.parametrize(
    ("costs", "wanted"),
    [
        ({"a": Cost(2.0, 1.0), "b": Cost(3.0, 1.0, sure=True)}, [("a", 9.0), ("b", np.inf), ("a", 20.0)]),
        ({"a": Cost(1.0, 1.0), "b": Cost(0.5, 1.0, sure=True)}, [("b", np.inf), ("a", 10.0)]),
        ({"a": Cost(0.001, 1.0), "b": Cost(0.002, 1.0, sure=True)}, [("b", np.inf), ("a", 10.0)]),
        (
            {"a": Cost(1.0, 1.0), "b": Cost(2.0, 1.0), "c": Cost(9.0, 1.0)},
            [("a", np.inf), ("b", np.inf), ("c", np.inf)],
        ),
        (
            {"a": Cost(1.0, 1.0), "b": Cost(2.0, 1.0, anytime=True)},  # which ends when it is told to
            [("a", 3.0), ("b", 20.0), ("a", np.inf), ("b", np.inf)],
        ),
        ({"a": Cost(1.0, 1.0), "b": Cost(200.0, 1.0)}, [("a", np.inf)]),
        ({"a": Cost(1.0, 1.0)}, [("a", np.inf)]),
    ],
)
def test_the_sure_one_bounds_the_time_of_the_others(costs, wanted):
    assert AUTO.stages(costs, {}) == wanted


def test_under_a_short_limit_one_begins_that_has_a_point_at_any_time():
    costs = {"a": Cost(300.0, 1.0, anytime=True), "b": Cost(20.0, 1.0, sure=True), "c": Cost(30.0, 1.0)}
    assert first_of(costs, {}) == first_of(costs, {"time_limit": 20}) == "b"
    assert first_of(costs, {"time_limit": 7}) == "b"  # which may be done by then
    assert first_of(costs, {"time_limit": 5}) == "a"
    assert first_of({"b": costs["b"], "c": costs["c"]}, {"time_limit": 5}) == "b"
    with pytest.raises(nm.NPKLError, match="time_limit"):
        first_of(costs, {"time_limit": "soon"})


@pytest.mark.parametrize(("n", "weight", "chosen"), [(500, 1.0, "burer_monteiro"), (200, 1e5, "interior")])
def test_stiff_distances_are_left_to_interior(n, weight, chosen):
    """A factor folds along springs that hardly give; of soft ones it is quick."""
    X = swiss_roll(n, random_state=0, even=True)[0]
    X = X / np.sqrt(np.mean(np.sum((X - X.mean(axis=0)) ** 2, axis=1)))
    assert nm.choose_backend(nm.mvu(X, 6, components="connect", weight=weight)).name == chosen


def test_who_does_not_get_there_hands_over():
    solution = in_stages(hard(), [("bcd", 0.02), ("interior", np.inf)])
    assert solution.status is nm.Status.OPTIMAL
    assert [attempt.backend for attempt in solution.attempts] == ["bcd", "interior"]
    assert solution.attempts[0].status is nm.Status.ITERATION_LIMIT
    assert solution.attempts[1].gap <= 1e-6


def test_who_is_stopped_does_not_lose_what_others_found():
    problem, seen = hard(), []

    def callback(row):
        seen.append(row.iteration)
        return len(seen) > 1 and row.iteration < seen[-2]  # the second backend's first

    solution = in_stages(problem, [("bcd", 0.05), ("interior", np.inf)], {"callback": callback})
    assert solution.status is nm.Status.STOPPED
    assert solution.certificate.relative_gap == min(attempt.gap for attempt in solution.attempts)


def test_where_the_sure_one_fails_another_has_its_turn(monkeypatch):
    from npkl_models.interior import interior

    monkeypatch.setattr(interior.InteriorPlan, "iterations", 3)
    solution = in_stages(nm.npkl(*iris(0.1), loss="hinge"), [("interior", np.inf), ("bcd", 10.0)])
    assert solution.status is nm.Status.OPTIMAL
    assert [attempt.backend for attempt in solution.attempts] == ["interior", "bcd"]
    assert solution.solve_time >= sum(attempt.seconds for attempt in solution.attempts) - 1e-9


def test_where_no_gap_is_known_the_point_that_meets_the_equalities_best_is_kept():
    problem = nm.mvu(np.random.default_rng(11).normal(size=(9, 2)), 3, components="connect")
    plan, options = [("burer_monteiro", np.inf), ("interior", np.inf)], {"max_iter": 2, "feasibility": 1e-16}
    solution = in_stages(problem, plan, options)
    assert [attempt.gap for attempt in solution.attempts] == [np.inf, np.inf]
    off = [problem.solve(name, **options).certificate.violation for name, _ in plan]
    assert solution.certificate.violation == min(off) < max(off)


def test_a_factor_is_handed_on_as_a_start():
    solution = in_stages(hard(), [("bcd", 0.02), ("burer_monteiro", np.inf)], {"max_iter": 5})
    assert [attempt.backend for attempt in solution.attempts] == ["bcd", "burer_monteiro"]
    assert solution.status is not nm.Status.OPTIMAL
    assert solution.certificate.relative_gap == min(attempt.gap for attempt in solution.attempts)


def test_who_has_come_to_its_own_end_is_not_tried_again():
    plan = [("bcd", 1e3), ("burer_monteiro", 0.0), ("bcd", np.inf), ("burer_monteiro", np.inf)]
    solution = in_stages(hard(), plan, {"max_iter": 5})
    assert [attempt.backend for attempt in solution.attempts] == ["bcd", "burer_monteiro", "burer_monteiro"]


def test_a_limit_holds_for_all_together():
    solution = hard().solve(tol=1e-13, time_limit=0.1)
    assert solution.status in (nm.Status.TIME_LIMIT, nm.Status.INACCURATE, nm.Status.OPTIMAL)
    assert sum(attempt.seconds for attempt in solution.attempts) < 2.0


def test_only_those_that_know_the_options_are_tried(small):
    problem = small("npkl:hinge")
    assert "interior" in candidates(problem, {})[0]
    costs, declined = candidates(problem, {"rank": 4})
    assert set(costs) == {"bcd", "burer_monteiro", "hybrid", "admm"}
    assert any("interior has no option rank" in why for why in declined)
    assert problem.solve(rank=4).backend in costs
    assert problem.solve(solver="SCS").backend in ("sdp", "sdp_dual")
    with pytest.raises(nm.UnsupportedError, match=r"'rnk' \(did you mean 'rank'\?\); known are: callback"):
        problem.solve(rnk=4)


@pytest.mark.parametrize("gamma", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("form", ["pcp", "square", "hinge", "squared_hinge"])
def test_the_default_certifies(form, gamma):
    """A corner of the matrix of examples/benchmarks/matrix.py."""
    L = nm.laplacian(nm.datasets.load("wine").X[::2], 5, shift=0.001)
    pairs = nm.Pairs.from_labels(nm.datasets.load("wine").y[::2], 50, 50, 4)
    problem = nm.pcp(L, pairs, gamma=gamma) if form == "pcp" else nm.npkl(L, pairs, loss=form, gamma=gamma)
    assert problem.solve().status is nm.Status.OPTIMAL


def test_a_start_goes_to_those_that_take_one_and_does_not_keep_the_sure_one_away(small):
    """The quickest that takes a start is first, whatever is quicker; the sure one, which takes none, follows."""
    problem = small("pcp")
    first = problem.solve("bcd")
    able, declined = candidates(problem, {"start": first})
    assert "interior" in able
    assert not any("start" in line for line in declined)
    costs = {"interior": Cost(0.1, 1.0, sure=True), "bcd": Cost(1.0, 1.0)}
    assert [name for name, _ in AUTO.stages(costs, {"start": first})] == ["bcd", "interior", "bcd"]
    assert [name for name, _ in AUTO.stages(costs, {})] == ["interior", "bcd"]
    found = in_stages(problem, [("interior", np.inf)], {"start": first})
    assert found.status is nm.Status.OPTIMAL
    assert nm.choose_backend(problem, start=first).name != "interior"
    assert problem.compile(start=first).solve().status is nm.Status.OPTIMAL


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_where_none_is_sure_the_next_one_follows(seed):
    """A slack that is shared beside another loss, and a bound that does not bind: many kernels, one bound."""
    n, rng = 4, np.random.default_rng(seed)
    ends = np.arange(n)
    targets = rng.choice([-1.0, 1.0], n)
    cost = np.diag(-rng.uniform(0.5, 2, n))
    terms = [
        nm.LossTerm(nm.Entries(n, (ends, ends)), "shared_slack", targets, 20.0),
        nm.LossTerm(nm.Entries(n, ([0, 1, 2], [1, 2, 3])), "square", rng.choice([-1.0, 1.0], 3), 5.0),
    ]
    problem = nm.Problem(cost, terms, regularizer=nm.TracePower(2, bound=30.0))
    solution = problem.solve()
    assert solution.status is nm.Status.OPTIMAL
    assert solution.attempts[0].backend == "simple_npkl"
    assert len(solution.attempts) == 2


def parts(k=3, n=12):
    """Groups far apart, with pairs within each."""
    rng = np.random.default_rng(0)
    X = np.vstack([rng.normal(size=(n, 2)) + 50 * a for a in range(k)])
    i = np.arange(0, n * k, 3)
    must, cannot = np.stack([i, i + 1], axis=1), np.stack([i, i // n * n + (i + 5) % n], axis=1)
    return nm.npkl(nm.laplacian(X, 3, shift=0.1), nm.Pairs(n * k, must, cannot), loss="squared_hinge")


def test_parts_are_solved_in_turn_and_a_callback_sees_them():
    seen = []
    found = parts().solve(callback=lambda it: seen.append(it.iteration))
    assert found.is_optimal(1e-6)
    assert "3 independent parts" in found.message
    assert len(seen) > 2


def test_the_message_names_the_backends_that_answered_and_not_the_choice_for_the_whole():
    """A part that descent answers beside one that is small enough for interior, which is chosen for the whole."""
    sizes = (150, 40)
    X = np.vstack([np.random.default_rng(0).normal(size=(n, 2)) + 50 * n for n in sizes])
    i = np.r_[np.arange(0, 145, 3), np.arange(150, 185, 3)]
    pairs = nm.Pairs(190, np.stack([i, i + 1], axis=1), np.stack([i, i + 5], axis=1))
    problem = nm.npkl(nm.laplacian(X, 3, shift=0.1), pairs, loss="square")
    found, alike = problem.solve(), parts().solve()
    assert (nm.choose_backend(problem).name, found.backend) == ("interior", "bcd, interior")
    assert (
        found.message == "backend chosen: bcd, interior\npresolve split the problem into 2 independent parts"
    )
    assert alike.message.startswith(f"backend chosen: {alike.backend}\n")
    turned = type("Turned", (nm.Portfolio,), {"stages": lambda *_: [("hybrid", np.inf)]})()
    assert "backend chosen: hybrid" in hard().solve(turned, max_iter=3).message


@pytest.mark.parametrize("p", [1.5, 2.0, 4.0])
def test_a_bound_that_does_not_hold_is_left_to_a_factor(p):
    """Dual ascent is quick only if tr K^p reaches its bound."""
    held, loose = (nm.simple_npkl(*iris(0.1), p=p, trace_bound=c * 150.0**p).solve() for c in (0.01, 3.0))
    assert held.status is loose.status is nm.Status.OPTIMAL
    assert [attempt.backend for attempt in held.attempts] == ["simple_npkl"]
    assert [attempt.backend for attempt in loose.attempts] == ["simple_npkl", "burer_monteiro"]
    assert loose.message.startswith("tried: simple_npkl ")
