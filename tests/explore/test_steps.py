"""One solver step by step, and two in a race."""

import time

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.explore import answers, steps
from npkl_models.explore.form import Form
from npkl_models.explore.jobs import Job
from npkl_models.linalg import compile


def events(session, begun):
    job = session.jobs.get(begun["key"])
    assert job.ended.wait(120)
    return job.since(0)


@pytest.mark.parametrize("backend", ["bcd", "burer_monteiro", "admm", "hybrid"])
def test_each_step_is_the_certificate_of_its_iterate(session, backend):
    told = events(session, session.start("step", {"n": 30, "backend": backend}))
    (found,) = [one for one in told if one["kind"] == "steps"]
    count = len(found["iteration"])
    assert 2 < count <= steps.SHOWN + 1
    assert found["backend"] == backend
    assert found["status"] == "OPTIMAL"
    assert [len(row) for row in found["direction"]] == [30] * count
    assert np.shape(found["places"]) == (count, 30, 2)
    assert np.all(np.diff(found["best"]) >= 0)
    assert found["best"][-1] <= min(found["objective"]) + 1e-9
    gap = found["objective"][-1] - found["best"][-1]
    assert gap <= 1e-5 * (1 + abs(found["objective"][-1]))
    assert found["min_eigenvalue"][0] < found["min_eigenvalue"][-1] + 1e-9
    assert len(found["labels"]) == 30
    assert np.all(np.diff(found["labels"]) >= 0)


def test_the_low_eigenvector_is_that_of_the_slack():
    problem = Form.of({"n": 30}, {}).made().problem
    recorder = steps.Recorder(problem, lambda row: False)
    solution = problem.solve("burer_monteiro", rank=2, callback=recorder)
    last = recorder.judged(solution.V, lambda k, count: None)[-1]
    S = problem.slack(problem.derivatives(np.asarray(solution.V)))
    assert last.direction @ (S @ last.direction) == pytest.approx(last.proof.min_eigenvalue, abs=1e-6)
    assert last.proof.min_eigenvalue == pytest.approx(np.linalg.eigvalsh(S.toarray())[0], abs=1e-6)
    assert last.proof.min_eigenvalue < -1e-3


def test_what_cannot_be_stepped_through_says_so(session):
    (error,) = [
        e
        for e in events(session, session.start("step", {"n": 30, "backend": "interior"}))
        if e["kind"] == "error"
    ]
    assert "must have a factor at each iteration" in error["text"]
    (error,) = [
        e for e in events(session, session.start("step", {"data": "digits", "n": ""})) if e["kind"] == "error"
    ]
    assert "up to 300 points, got 1797" in error["text"]


def test_of_many_iterates_the_first_and_the_last_are_shown():
    assert steps.shown(5) == [0, 1, 2, 3, 4]
    many = steps.shown(2_000)
    assert len(many) <= steps.SHOWN + 1
    assert many[: steps.FIRST] == list(range(steps.FIRST))
    assert many[-1] == 1_999


def test_a_race_has_two_curves_and_a_winner(session):
    told = events(session, session.start("race", {"n": 30}, {"backends": ["bcd", "interior"]}))
    (found,) = [one for one in told if one["kind"] == "race"]
    assert [lane["name"] for lane in found["lanes"]] == ["bcd", "interior"]
    for lane in found["lanes"]:
        assert lane["status"] == "OPTIMAL"
        assert np.all(np.diff(lane["seconds"]) >= 0)
        assert lane["bound"][-1] <= lane["objective"][-1] + 1e-9
        assert lane["total"] >= lane["seconds"][-1]
    assert "interior" in found["words"]
    assert [e["text"] for e in told if e["kind"] == "progress"] == ["bcd is running", "interior is running"]


def test_compilation_and_the_work_of_a_lane_are_told_by_one_clock():
    """A compilation that waits for a busy machine takes nothing from the seconds of the processor."""

    class Waiting:
        def solve(self, name, callback):
            with compile._counted():
                time.sleep(0.3)
            ended = time.process_time() + 0.05
            while time.process_time() < ended:
                pass
            return Form.of({"n": 20}, {}).made().problem.solve("interior", callback=callback)

    lane = steps.Lane("interior")
    lane.run(Waiting(), {}, Job("race"))
    assert 0.05 <= lane.rows[0][0] <= lane.seconds < 5


def test_the_steps_of_auto_are_those_of_a_solver_that_compiles_nothing(session, monkeypatch):
    monkeypatch.setattr(compile.Loop, "load", lambda loop: pytest.fail(f"{loop.name} is compiled"))
    (found,) = [e for e in events(session, session.start("step", {"n": 30})) if e["kind"] == "steps"]
    assert f"problem.solve('{found['backend']}'" in found["code"]
    assert len(found["iteration"]) > 2


@pytest.mark.parametrize("names", [["bcd"], ["bcd", "bcd"], []])
def test_a_race_is_of_two(session, names):
    (error,) = [
        e
        for e in events(session, session.start("race", {"n": 30}, {"backends": names}))
        if e["kind"] == "error"
    ]
    assert "a race must be of two backends" in error["text"]


def test_the_winner_is_said_in_words():
    one, other = steps.Lane("one"), steps.Lane("other")
    assert steps.winner(one, other, 1e-6) == "Neither one nor other has a certified gap below 1e-06."
    problem = Form.of({"n": 20}, {}).made().problem
    good, bad = problem.solve("interior"), problem.solve("burer_monteiro", rank=1)
    one.solution, other.solution = good, bad
    one.seconds, other.seconds = 2.0, 1.0
    assert steps.winner(one, other, 1e-6).startswith("one wins: it alone is certified within 1e-06.")
    other.solution = good
    assert steps.winner(one, other, 1e-6).startswith("other wins, 2 times as quick")
    other.seconds = 1.9
    assert steps.winner(one, other, 1e-6).startswith("A draw")


def test_the_code_of_steps_and_of_a_race_runs(capsys):
    form = Form.of({"n": 20, "backend": "bcd"}, {})
    made, space = form.made(), {}
    exec(answers.program("step", made, form), space)
    assert space["solution"].is_optimal(1e-6)
    assert len(space["found"]) > 1
    exec(answers.program("race", made, form, ["bcd", "interior"]), space)
    assert "interior" in capsys.readouterr().out
    assert isinstance(space["solution"], nm.Solution)
