"""A loss, a regulariser and a backend from outside, each in one small file, cross-checked with all others."""

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


def test_what_a_backend_claims_is_not_believed(small):
    """Neither OPTIMAL, nor a certificate that its watch has not made."""
    problem = small("pcp")
    good = problem.solve()

    class Liar:
        def __init__(self, problem, options):
            self.problem = problem

        def run(self, watch):
            V = np.ones((self.problem.n, 1))
            return nm.Claim(V, None, nm.Status.OPTIMAL, 0.0, certificate=good.certificate)

        def describe(self):
            return ""

    found = nm.Backend("liar", "toy", "says what it likes", nm.Takes(("any",), regularizers=("any",)), Liar)
    solution = problem.solve(found)
    assert solution.status is nm.Status.INACCURATE
    assert solution.certificate.relative_gap > 0.1


@pytest.mark.parametrize("name", ["auto", "two words", "bcd"])
def test_names_that_cannot_be_registered(name):
    taken = nm.backends()["bcd"]
    with pytest.raises(nm.UnsupportedError, match="name must be|exists already"):
        nm.register(nm.Backend(name, "toy", "", taken.takes, taken.plan, taken.options))


def test_a_loss_from_outside_is_solved_by_all_that_state_it():
    L, pairs = side_information("iris", 24)
    loss = toy("absolute_loss").Absolute()
    table = nm.crosscheck(nm.npkl(L, pairs, loss=loss))
    assert table.agrees
    assert agreeing(table) == {"bcd", "burer_monteiro", "hybrid", "admm", "sdp", "sdp_dual"}
    bounded = nm.crosscheck(nm.simple_npkl(L, pairs, loss=loss, bound=9.0))
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
    assert reasons["bcd"] == "takes no regulariser or row norms, got spectral_ball"


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


def test_a_user_script_passes_strict_type_checks(tmp_path):
    """The public names are typed; so are the options, a wrong one is an error."""
    script = (Path(__file__).parent / "user_script.py").read_text()
    right, wrong = tmp_path / "right.py", tmp_path / "wrong.py"
    right.write_text(script)
    wrong.write_text(script.replace("rank=4", 'rank="four"').replace("rule=", "rules="))
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
    assert any('"rank"' in line or "Literal['auto', 'pataki']" in line for line in lines), found.stdout
    assert any('"rules"' in line for line in lines), found.stdout
