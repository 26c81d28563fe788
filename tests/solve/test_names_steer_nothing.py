"""A problem's and a term's name is text for people: another name gives the same answers, choice and words."""

import re
from dataclasses import replace

import numpy as np
import pytest
from test_every_formulation import ANCHORED, CASES, CHAIN, PAIRS, D, I, J, L

import npkl_models as nm
from npkl_models.cover.parameters import penalty_of_cost
from npkl_models.explore.optimality import numbers

pytestmark = pytest.mark.filterwarnings("ignore::npkl_models.model.graph.UnscaledWarning")  # raw on purpose

NAMES = ("distances", "ordinal", "lower bounds")  # that formulations give to problems and terms
GROUPS = ([0, 1, 2, 4, 5], [1, 2, 3, 5, 6], [0.1, 0.2, 9.0, 1.0, 1.0])  # two, one with a false triangle
FALSE = {
    "groups of comparisons": lambda: nm.ordinal([[0, 1, 2], [0, 2, 1], [3, 4, 5]], 7, penalty=0.1),
    "groups of distances": lambda: nm.distances(GROUPS, 8, penalty=0.1),
    "bounds alone": lambda: nm.distances(
        GROUPS, 7, penalty=0.1, bounds=([0, 6], [3, 3], [0.5, 0.7], [2.0, np.inf])
    ),
    "sensors": lambda: nm.distances((np.r_[I, 0], np.r_[J, 8], np.r_[D, 0.3]), penalty=0.1, **ANCHORED),
}
SLOW = ("locally_rigid", "conformal_eigenmaps", "kernel_completion, penalty", "reg_mvu")


def renamed(problem, name):
    terms = [replace(term, name=f"{name} {k}" * (k > 0) or name) for k, term in enumerate(problem.terms)]
    return replace(problem, terms=terms, name=name)


def told(problem):
    """All that is said of a problem and its answer, and the answer's numbers."""
    found, explained = problem.solve(max_iter=30, random_state=0), problem.explain()
    said = [
        *problem.diagnose(),
        explained,
        explained.dual,
        explained.dual.latex,
        problem.compatible_backends(),
    ]
    said += [*nm.choose_backend(problem), found.backend, re.sub(r"[\d.e-]+ s,", "", found.message)]
    V = b"" if found.V is None else found.V.tobytes()
    numbers = found.status, found.certificate.bound, V, penalty_of_cost(problem), found.iterations
    return "\n".join([*map(str, said), found.certificate.missed]), numbers


@pytest.mark.parametrize("case", [name for name in CASES if name not in SLOW] + [*FALSE])
def test_another_name_changes_nothing(case):
    problem = FALSE[case]() if case in FALSE else CASES[case][1]()
    words, numbers = told(renamed(problem, "qqq"))
    for name in NAMES:
        assert told(renamed(problem, name)) == (words.replace("qqq", name), numbers)


def test_a_path_of_a_penalty_begins_with_one_whatever_the_name():
    for name in NAMES:
        with pytest.raises(nm.ProblemError, match="begin with a penalty that is not 0"):
            nm.regularization_path(renamed(nm.distances((I, J, D)), name), "penalty", [1.0, 2.0])


def test_only_distances_that_hold_all_points_bound_a_kernel():
    """Squares outgrow a cost that spreads points out; a hinge may not, and two groups may move apart."""
    assert CASES["mvu, soft"][1]().diagnose() == CASES["psde"][1]().diagnose() == ()
    assert [one.kind for one in CASES["psde, hinge"][1]().diagnose()] == ["unboundedness"]
    n = 6
    ends = nm.SquaredDistances(n, ([0, 1, 3, 4], [1, 2, 4, 5]))
    centred = nm.distances((np.arange(5), np.arange(1, 6), np.ones(5))).basis
    apart = nm.Problem(-np.eye(n), nm.LossTerm(ends, "square", 1.0), basis=centred, name="distances")
    assert {one.kind for one in apart.diagnose()} >= {"disconnection", "unboundedness"}


def twice(method):
    """A method of twice a row."""
    own = getattr(nm.BoxLoss, method)
    if method in ("value", "derivative", "second_derivative", "cvxpy_value"):
        return lambda self, *given: 2 * own(self, *given)
    return lambda self, *given: own(self, *given[:-1], 2 * given[-1])  # of weight or step


METHODS = (*nm.Loss.__abstractmethods__, "domain", "box")
Borrowed = type("Borrowed", (nm.BoxLoss,), {method: twice(method) for method in METHODS})


@pytest.mark.parametrize("name", ["square", "hinge", "logistic", "linear"])
def test_a_loss_that_borrows_a_name_is_what_it_is(name, tmp_path):
    """Each row under the name of another loss has its own optimum, in each backend that takes it."""
    own = nm.BoxLoss("tilted", low=-0.5, high=2.0, q=0.7)
    plain, other = (nm.npkl(L, PAIRS, loss=loss) for loss in (own, replace(own, name=name)))
    best = plain.solve("sdp", eps=1e-9).objective
    able = [{key for key, why in one.compatible_backends().items() if why is None} for one in (plain, other)]
    assert able[0] == able[1] >= {"bcd", "admm", "burer_monteiro", "interior"}
    for backend in ("auto", "bcd", "admm", "burer_monteiro", "interior"):
        assert other.solve(backend).objective == pytest.approx(best, rel=1e-5)
    if name in ("hinge", "square"):
        with pytest.raises(nm.UnsupportedError, match="loss of psde BoxLoss"):
            nm.psde(CHAIN, loss=replace(own, name=name))
    twice = Borrowed(name, **({"low": -1.0, "high": 0.0, "signed": True} if name == "hinge" else {"q": 0.5}))
    doubled = nm.npkl(L, PAIRS, loss=twice)
    right = nm.npkl(L, PAIRS, loss=nm.LOSSES["hinge" if name == "hinge" else "square"], gamma=2.0)
    assert doubled.solve().objective == pytest.approx(right.solve().objective, rel=1e-5)
    with pytest.raises(nm.ProblemError, match="can be saved"):
        doubled.save(tmp_path / "doubled.npz")


def test_two_terms_of_one_name_keep_their_own_numbers():
    """Labels, multipliers and the summands of the page are those of each term."""
    ends = [([0], [1]), ([2], [5]), ([3], [7])]
    for names in (("a", "a", "a 1"), ("a", "a", "b")):
        terms = [
            nm.LossTerm(nm.Entries(12, e), "square", k + 1.0, 1.0, n)
            for k, (e, n) in enumerate(zip(ends, names, strict=True))
        ]
        problem = nm.Problem(L, terms)
        program = problem.to_cvxpy()
        program.solve()
        K, y = problem.read_cvxpy(program)
        assert nm.certify(problem, K, y, kind="kernel", feasibility=1e-4).relative_gap < 1e-3
        V = problem.solve().V
        paid = [-term.conjugate(s) for term, s in zip(terms, problem.derivatives(V).losses, strict=True)]
        assert numbers(problem, V)["dual"] == pytest.approx(paid)
    strange = nm.Problem(L, nm.LossTerm(nm.Entries(12, ([0], [1])), "square", 1.0, name=r"a}$\frac&1 2"))
    slack = strange.explain().dual.slack
    assert (slack.count("{"), "$" in slack) == (slack.count("}"), False)
