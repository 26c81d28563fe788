"""Jobs of several tabs, the run that opens the page, and the state in a link."""

import threading
import time

import pytest

import npkl_models as nm
from npkl_models.cli.main import main
from npkl_models.explore import server
from npkl_models.explore.server import fragment_of


def waiting(begun):
    def work(job):
        begun.set()
        while not job.stopping:
            time.sleep(0.01)
        job.check()

    return work


def test_the_opening_run_has_the_default_answer_for_every_page(session):
    session.begin()
    job = session.jobs.get(session.opening)
    assert session.state()["running"] is None  # nobody has to wait for it
    assert job.ended.wait(120)
    assert [e["status"] for e in job.since(0) if e["kind"] == "answer"] == ["OPTIMAL"]
    assert session.choices()["opening"] == job.key
    assert job.answer.made.problem.n == 60


def test_a_request_ends_the_opening_run(session):
    begun = threading.Event()
    first = session.jobs.begin("run", waiting(begun), yielding=True)
    assert begun.wait(10)
    second = session.jobs.begin("race", lambda job: job.tell("done", first=first.ended.is_set()), owner="tab")
    assert second.ended.wait(60)
    assert second.since(0)[0] == {"kind": "done", "first": True}
    assert "stopped before it had an answer" in first.since(0)[0]["text"]


def test_a_tab_is_told_what_another_one_runs(session):
    begun = threading.Event()
    job = session.jobs.begin("race", waiting(begun), owner="one")
    assert begun.wait(10)
    assert session.state() == {"running": "race", "key": job.key, "owner": "one"}
    with pytest.raises(nm.ProblemError, match="a race is still running"):
        session.start("run", {"n": 20}, {"owner": "two"})
    assert not session.jobs.stop("another")
    assert not job.stopping
    assert session.jobs.stop(job.key)
    assert job.ended.wait(60)
    assert session.state()["running"] is None


def test_a_job_can_be_found_again(client, session):
    body = {"form": {"n": "20"}, "owner": "tab"}
    key = client.post("/api/run", json=body).json()["key"]
    assert session.jobs.get(key).ended.wait(120)
    assert client.get(f"/api/jobs/{key}").json() == {"kind": "run", "form": {"n": "20"}, "ended": True}
    first, again = (client.get(f"/api/jobs/{key}/events").text for _ in range(2))
    assert first == again
    assert client.get("/api/jobs/none").status_code == 400
    assert client.get("/api/state").json()["running"] is None
    for action, more in (("step", {}), ("race", {"backends": ["bcd", "interior"]})):
        key = client.post(f"/api/{action}", json=body | more).json()["key"]
        assert session.jobs.get(key).ended.wait(120)
        assert f'"kind": "{action}' in client.get(f"/api/jobs/{key}/events").text
    assert client.post("/api/race", json=body).status_code == 400


@pytest.mark.parametrize("state", ["n=40&loss=hinge", "#n=40&loss=hinge", " n=40&loss=hinge "])
def test_a_state_is_the_end_of_the_address(state):
    assert fragment_of(state) == "#n=40&loss=hinge"


@pytest.mark.parametrize(
    "state", ["n", "n=1;rm", "=3", "n=1&token=x", "n='1'", "n=" + "1" * 3000, "a=b\nc=d"]
)
def test_another_state_is_refused(state):
    with pytest.raises(nm.ProblemError, match="the state to open must be as the page copies it"):
        fragment_of(state)


def test_the_command_opens_with_a_state(monkeypatch, capsys):
    uvicorn = pytest.importorskip("uvicorn")
    pytest.importorskip("matplotlib")
    opened, done = [], threading.Event()
    monkeypatch.setattr(server.webbrowser, "open", lambda address: (opened.append(address), done.set()))

    def run(self, sockets):
        done.wait(60)
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", run)
    assert main(["explore", "--open", "n=40&loss=hinge"]) == 0
    assert opened[0].endswith("#n=40&loss=hinge")
    assert opened[0] in capsys.readouterr().out
    assert main(["explore", "--open", "nonsense"]) == 2
    assert "must be as the page copies it" in " ".join(capsys.readouterr().err.split())
