"""A loss, a regulariser and a backend from outside, each in one small file, cross-checked with all others."""

import dataclasses
import importlib.util
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from problems import side_information

import npkl_models as nm

TOYS = Path(__file__).parent / "toys"


def toy(name):
    spec = importlib.util.spec_from_file_location(name, TOYS / f"{name}.py")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def backend():
    found = nm.register(toy("projected_gradient").BACKEND)
    yield found
    nm.unregister(found.name)


def agreeing(table):
    return {row.backend for row in table.rows if row.verdict == "agrees"}


@pytest.mark.parametrize("path", sorted(TOYS.glob("*.py")), ids=lambda p: p.stem)
def test_each_is_one_file_of_at_most_sixty_lines(path):
    assert len(path.read_text().splitlines()) <= 60


def test_a_backend_from_outside_is_one_among_all(backend, small):
    problem = small("pcp")
    assert "projected_gradient" in nm.backends()
    solution = problem.solve("projected_gradient", tol=1e-5, look_every=100)
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.rigour == "proved"
    assert solution.iterations % 100 == 0
    table = nm.crosscheck(problem, tol=1e-5)
    assert "projected_gradient" in agreeing(table)
    assert table.agrees
    assert nm.crosscheck(problem, ["bcd", backend], tol=1e-5).agrees
    assert problem.solve(backend, tol=1e-5).status is nm.Status.OPTIMAL
    reasons = small("npkl:hinge").compatible_backends()
    assert reasons["projected_gradient"] == "needs smooth losses, got hinge"
    with pytest.raises(nm.UnsupportedError, match="unknown option of projected_gradient 'rank'.*look_every"):
        problem.solve("projected_gradient", rank=3)
    assert problem.solve("projected_gradient", max_iter=3).status is nm.Status.ITERATION_LIMIT
    assert problem.solve("projected_gradient", callback=lambda row: True).status is nm.Status.STOPPED


def test_a_backend_without_a_cost_is_never_chosen_and_says_so(backend, small):
    name, reason = nm.choose_backend(small("pcp"))
    assert name != "projected_gradient"
    assert "projected_gradient does not state its cost" in reason


@pytest.mark.parametrize("name", ["auto", "two words", "bcd"])
def test_names_that_cannot_be_registered(name):
    taken = nm.backends()["bcd"]
    with pytest.raises(nm.UnsupportedError, match="name must be|exists already"):
        nm.register(nm.extend.Backend(name, "toy", "", taken.takes, taken.plan, taken.options))


def test_a_loss_from_outside_is_solved_by_all_that_state_it():
    L, pairs = side_information("iris", 24)
    loss = toy("absolute_loss").Absolute()
    table = nm.crosscheck(nm.npkl(L, pairs, loss=loss))
    assert table.agrees
    assert agreeing(table) == {"bcd", "burer_monteiro", "hybrid", "admm", "interior", "sdp", "sdp_dual"}
    bounded = nm.crosscheck(nm.simple_npkl(L, pairs, loss=loss, trace_bound=9.0))
    assert bounded.agrees
    assert agreeing(bounded) == {"burer_monteiro", "hybrid", "admm", "simple_npkl", "sdp", "sdp_dual"}
    in_basis = nm.crosscheck(nm.npkl(L, pairs, loss=loss).with_basis(nm.eigenbasis(L, 8)))
    assert in_basis.agrees
    refused = {row.backend: row.verdict for row in in_basis.rows if not row.ran}
    assert refused["mfpc"] == "not run: needs smooth losses, got absolute"
    assert refused["sqlp"] == "not run: needs square or linear losses, got absolute"


def test_a_regulariser_from_outside_is_solved_by_all_that_state_it():
    L, pairs = side_information("iris", 20)
    ball = toy("spectral_ball").SpectralBall(1.5)
    problem = nm.Problem(L, nm.pcp(L, pairs).terms, regularizer=ball)
    table = nm.crosscheck(problem, ["sdp[SCS]", "sdp[CLARABEL]", "sdp_dual"])
    assert table.agrees
    best = max(table.solutions.values(), key=lambda s: s.certificate.bound)
    assert best.certificate.certifies(1e-6)
    assert np.linalg.eigvalsh(best.K)[-1] == pytest.approx(1.5)  # it binds
    reasons = problem.compatible_backends()
    assert {name for name, reason in reasons.items() if reason is None} == {"sdp", "sdp_dual"}
    assert reasons["bcd"] == "takes no regulariser, got spectral_ball"
    for name in ("none", "trace power", "trace_power"):
        borrowed = dataclasses.replace(
            problem, regularizer=type("Named", (type(problem.regularizer),), {"name": name})(1.5)
        )
        able = {key for key, reason in borrowed.compatible_backends().items() if reason is None}
        assert able == {"sdp", "sdp_dual"}


def test_points_from_elsewhere_are_judged_in_the_same_table(small):
    problem = small("pcp")
    good = problem.solve()
    points = {"mine": good.K, "other": good.V, "poor": 0.9 * good.V}
    table = nm.crosscheck(problem, ["bcd"], points=points)
    verdicts = {row.backend: row.verdict for row in table.rows}
    assert verdicts["bcd"] == verdicts["mine"] == verdicts["other"] == "agrees"
    assert verdicts["poor"].startswith("worse by")
    assert not table.agrees
    assert nm.crosscheck(problem, [], points={"mine": good.V}).rows[0].status == "OPTIMAL"
    with pytest.raises(nm.ProblemError, match="labels of their own"):
        nm.crosscheck(problem, ["bcd"], points={"bcd": good.V})


@pytest.mark.slow
def test_a_user_script_passes_strict_type_checks(tmp_path):
    """The public names are typed; so are the options, a wrong one is an error."""
    script = (Path(__file__).parent / "user_script.py").read_text()
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(script)
    wrong.write_text(script.replace("rank=4", 'rank="four"').replace("max_iter=", "max_iters="))
    command = [sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent"]  # as of an installed one
    command += [
        "--python-version",
        "3.12",
        "--ignore-missing-imports",
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    env = os.environ | {"MYPYPATH": str(Path(nm.__file__).parents[1])}
    found = subprocess.run(
        [*command, "right.py", "wrong.py"], capture_output=True, text=True, cwd=tmp_path, env=env
    )
    lines = [line for line in found.stdout.splitlines() if " error: " in line]
    assert (Path(nm.__file__).parent / "py.typed").is_file()
    assert not [line for line in lines if "wrong.py" not in line], found.stdout
    places = {
        number for number, line in enumerate(script.splitlines(), 1) if "rank=" in line or "max_iter=" in line
    }
    assert {int(line.split(":")[1]) for line in lines} == places, found.stdout


# ------------------------------------------------------------------------------ what others may get wrong


def made_by(run, takes=None):
    """A backend whose plan runs that function of (problem, watch)."""

    class Plan:
        def __init__(self, problem, options):
            self.problem = problem

        def run(self, watch):
            return run(self.problem, watch)

        def describe(self):
            return ""

    return nm.extend.Backend(
        "mine", "toy", "", takes or nm.extend.Takes(("any",), regularizers=("any",)), Plan
    )


def test_what_a_backend_claims_is_not_believed(small):
    """Neither OPTIMAL, nor a certificate that its watch has not made."""
    problem = small("pcp")
    claim = nm.extend.Claim(
        np.ones((24, 1)), None, nm.Status.OPTIMAL, 0.0, certificate=problem.solve().certificate
    )
    solution = problem.solve(made_by(lambda own, watch: claim))
    assert solution.status is nm.Status.INACCURATE
    assert solution.certificate.relative_gap > 0.1


def test_a_certificate_of_another_problem_counts_for_nothing(small):
    """Even if the watch of this run has made it."""
    problem = small("pcp")
    other = nm.pcp(problem.cost, nm.Pairs(24, [(0, 1)], [(2, 3)]), gamma=1e-3)
    V = other.solve().V

    def run(own, watch):
        found = watch.certify(other, V, None)
        return nm.extend.Claim(V, None, nm.Status.OPTIMAL, certificate=found)

    solution = problem.solve(made_by(run))
    assert solution.status is nm.Status.INACCURATE
    assert solution.objective == pytest.approx(problem.objective_of_factor(V))


def test_a_certificate_that_was_changed_is_not_believed(small):
    problem = small("pcp")
    good = problem.solve()

    def run(own, watch):
        found = watch.certify(own, 0.9 * good.V, None)
        object.__setattr__(found, "relative_gap", 0.0)
        object.__setattr__(found, "upper", found.bound)
        with pytest.raises(ValueError, match="read-only"):
            found.point[:] = 0.0
        return nm.extend.Claim(0.9 * good.V, None, nm.Status.OPTIMAL, certificate=found)

    solution = problem.solve(made_by(run))
    assert solution.status is nm.Status.INACCURATE
    assert solution.certificate.relative_gap > 1e-3


ASKED = {"sdp": {"solver": "SCS", "tol": 1e-12}, "simple_npkl": {"tol": 1e-12}}
"""So that they do not end before the callback is asked."""


@pytest.mark.parametrize("name", ["bcd", "admm", "simple_npkl", "sdp"])
@pytest.mark.parametrize("error", [ZeroDivisionError, np.linalg.LinAlgError, KeyError, ValueError])
def test_an_error_of_a_callback_is_the_callers(small, name, error):
    def callback(row):
        raise error("mine")

    with pytest.raises(error, match="mine"):
        small("G2:squared_hinge" if name == "simple_npkl" else "pcp").solve(
            name, callback=callback, **ASKED.get(name, {})
        )


@pytest.mark.parametrize("name", ["bcd", "burer_monteiro", "sdp"])
def test_a_callback_may_read_but_not_write(small, name):
    def callback(row):
        row.V[:] = 0.33

    with pytest.raises(ValueError, match="read-only"):
        small("pcp").solve(name, callback=callback, **ASKED.get(name, {}))


@pytest.mark.parametrize(
    ("claim", "message"),
    [
        (lambda P: None, "must end with a Claim, got NoneType"),
        (lambda P: nm.extend.Claim(np.ones((P.n, 1)), status="OPTIMAL"), "must be a Status, got 'OPTIMAL'"),
        (lambda P: nm.extend.Claim(np.ones((P.n + 1, 1))), "must have 24 rows, got 25"),
        (lambda P: nm.extend.Claim([[1.0]] * P.n), "real array"),
        (lambda P: nm.extend.Claim(np.ones((P.n, 1), dtype=complex)), "real array"),
    ],
)
def test_a_claim_that_is_none_is_an_error(small, claim, message):
    with pytest.raises(nm.SolverError, match=message):
        small("pcp").solve(made_by(lambda P, watch: claim(P)))


def test_a_backend_that_breaks_costs_the_others_nothing(small):
    def run(problem, watch):
        raise RuntimeError("mine")

    def cost(problem):
        raise ZeroDivisionError("cost")

    problem, broken = small("pcp"), dataclasses.replace(made_by(run), cost=cost)
    table = nm.crosscheck(problem, ["bcd", broken])
    assert [row.verdict for row in table.rows] == ["agrees", "failed: RuntimeError: mine"]
    nm.register(broken)
    try:
        name, reason = nm.choose_backend(problem)
    finally:
        nm.unregister("mine")
    assert name != "mine"
    assert "mine has a cost that raises ZeroDivisionError: cost" in reason


def test_two_backends_of_one_name_are_not_one_row(small):
    bcd = nm.backends()["bcd"]
    with pytest.raises(nm.ProblemError, match="backends must have different names, got 'bcd' twice"):
        nm.crosscheck(small("pcp"), ["bcd", dataclasses.replace(bcd, summary="another")])
    assert len(nm.crosscheck(small("pcp"), "bcd").rows) == 1
    assert len(nm.crosscheck(small("pcp"), ["bcd", "bcd", bcd]).rows) == 1


@pytest.mark.parametrize(
    ("stated", "message"),
    [
        (
            {"losses": ("smoth",)},
            r"unknown name in losses 'smoth' \(did you mean 'smooth'\?\); known are: absolute, any",
        ),
        ({"losses": "any"}, "losses must be a tuple of names, got 'any'"),
        ({"regularizers": ("nothing",)}, "unknown name in regularizers"),
        ({"functionals": ("pairs",)}, "unknown name in functionals"),
    ],
)
def test_what_cannot_be_taken_cannot_be_stated(stated, message):
    with pytest.raises(nm.UnsupportedError, match=message):
        nm.extend.Takes(**stated)


def test_a_regulariser_must_say_what_it_is():
    """Nothing is taken for granted: no support function, no claim."""

    class Bare(nm.Regularizer):
        name = latex = "bare"

    with pytest.raises(TypeError, match="support"):
        Bare()
    with pytest.raises(nm.ProblemError, match="must be a Regularizer such as TracePower"):
        nm.Problem(np.eye(3), nm.LossTerm(nm.Entries(3, ([0], [0])), "square", 1.0), regularizer="row_norm")


def test_a_loss_must_say_what_it_is():
    absolute = toy("absolute_loss").Absolute

    class Silent(nm.Loss):
        pass

    for name in nm.Loss.__abstractmethods__:
        setattr(Silent, name, getattr(absolute, name))
    Silent.__abstractmethods__ = frozenset()
    E = nm.Entries(3, ([0], [1]))
    with pytest.raises(nm.ProblemError, match="must declare name, latex, smooth"):
        nm.LossTerm(E, Silent(), 1.0)
    with pytest.raises(nm.ProblemError, match=r"instance, got the class BoxLoss; write BoxLoss\(\)"):
        nm.LossTerm(E, nm.BoxLoss, 1.0)


PAIRS_OF_TWELVE = nm.Pairs(12, [(0, 2), (4, 6)], [(0, 1), (2, 5), (3, 9)])


def test_a_row_of_data_is_a_loss_of_its_own(tmp_path):
    """A pinball loss: solved, certified against the exact SDP, saved with its numbers, and loaded."""
    pinball = nm.BoxLoss("pinball", low=-0.3, high=0.7)
    L, pairs = nm.laplacian(np.random.default_rng(0).normal(size=(12, 2)), 3, shift=0.1), PAIRS_OF_TWELVE
    problem = nm.npkl(L, pairs, loss=pinball, gamma=2.0)
    table = nm.crosscheck(problem, ["bcd", "admm", "burer_monteiro", "interior", "sdp", "sdp_dual"])
    assert [row.verdict for row in table.rows] == ["agrees"] * 6
    again = nm.Problem.load(problem.save(tmp_path / "p"))
    assert again.losses[0].loss == pinball
    assert again.objective_of_factor(np.ones((12, 1))) == problem.objective_of_factor(np.ones((12, 1)))
    with pytest.raises(nm.ProblemError, match="low <= 0 <= high"):
        nm.BoxLoss("x", low=0.5, high=1.0)
    with pytest.raises(nm.ProblemError, match="finite ends"):
        nm.BoxLoss("x", low=0.0)
