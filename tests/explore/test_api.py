"""What the page and its server say to each other."""

import io
import json
import socket
import sys
import tempfile
import threading
import time

import numpy as np
import pytest

import npkl_models as nm
from explore.pages import TOKEN
from npkl_models.cli.main import main
from npkl_models.explore import server
from npkl_models.explore.app import STATIC
from npkl_models.explore.session import Session

FORM = {"formulation": "npkl", "loss": "hinge", "n": "40"}


def wait(session, seconds=60):
    running = session.jobs.running
    assert running is None or running.ended.wait(seconds)


def events(client, reply):
    assert reply.status_code == 200, reply.text
    key = reply.json()["key"]
    text = client.get(f"/api/jobs/{key}/events").text
    return key, [json.loads(line[6:]) for line in text.splitlines() if line.startswith("data: ")]


def of_kind(found, kind):
    return [event for event in found if event["kind"] == kind]


@pytest.mark.parametrize(
    ("path", "how", "reason"),
    [
        ("/", {"params": {"token": ""}}, "must carry the token"),
        ("/", {"params": {"token": "another"}}, "must carry the token"),
        ("/static/app.js", {"params": {"token": ""}}, "must carry the token"),
        ("/api/choices", {"params": {"token": ""}}, "must carry the token"),
        ("/api/choices", {"headers": {"host": "evil.example"}}, "this page is at"),
        ("/api/choices", {"headers": {"host": "evil.example:8000"}}, "this page is at"),
        ("/api/choices", {"headers": {"host": "127.0.0.1:9000"}}, "this page is at"),
        ("/api/choices", {"headers": {"origin": "http://evil.example"}}, "from the page itself"),
        ("/api/choices", {"headers": {"origin": "null"}}, "from the page itself"),
    ],
)
def test_strangers_are_turned_away(client, path, how, reason):
    reply = client.get(path, **how)
    assert reply.status_code == 403
    assert reason in reply.text
    assert TOKEN not in reply.text


@pytest.mark.parametrize("path", ["/api/run", "/api/stop", "/api/upload", "/api/describe"])
def test_nothing_is_done_for_strangers(client, session, path):
    assert client.post(path, json={"form": FORM}, params={"token": "x"}).status_code == 403
    assert (
        client.post(path, json={"form": FORM}, headers={"origin": "http://evil.example"}).status_code == 403
    )
    for site, status in (("cross-site", {403}), ("same-origin", {200, 400}), ("none", {200, 400})):
        reply = client.post(path, json={}, headers={"sec-fetch-site": site})
        assert reply.status_code in status, site
    assert session.jobs.running is None


def test_the_page_loads_nothing_from_elsewhere(client):
    for name in STATIC:
        reply = client.get("/" if name == "index.html" else f"/static/{name}")
        assert reply.status_code == 200
        assert "{{token}}" not in reply.text
        assert "http://" not in reply.text.replace("http://www.w3.org/2000/svg", "")
        assert "https://" not in reply.text
        policy = reply.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert reply.headers["referrer-policy"] == "no-referrer"
    assert client.get("/static/session.py").status_code == 404
    assert client.get("/static/..%2fdesk.py").status_code == 404


def test_choices_are_those_of_the_library(client):
    found = client.get("/api/choices").json()
    assert set(found["formulations"]) == set(nm.formulations.FORMULATIONS)
    assert set(found["backends"]) == set(nm.backends())
    choices = {field["name"]: field["choices"] for field in found["fields"] if field["choices"]}
    assert choices.keys() == {"data", "scaling", "formulation", "loss", "backend"}
    assert set(choices["loss"]) == {"", *nm.LOSSES}  # a formulation has one of its own
    assert set(choices["formulation"]) == set(nm.formulations.FORMULATIONS)
    assert choices["backend"] == ["auto", *nm.backends(), *nm.backends("printed")]
    assert set(found["printed"]) == set(nm.backends("printed"))
    assert choices["data"] == nm.datasets.names()


def test_a_problem_is_described(client):
    found = client.post("/api/describe", json={"form": FORM}).json()
    assert "hinge loss" in found["text"]
    assert found["n"] == 40
    assert "needs a basis" in found["declined"]["mfpc"]
    assert found["auto"] in nm.backends()
    assert "nm.npkl(L, pairs, loss='hinge')" in found["code"]
    assert found["command"] == "npkl solve --n 40 --formulation npkl --loss hinge --time-limit 60.0\n"


def test_a_run_tells_its_way_and_shows_its_pictures(client):
    key, found = events(client, client.post("/api/run", json={"form": FORM | {"backend": "admm"}}))
    (answer,) = of_kind(found, "answer")
    assert of_kind(found, "iterate")[0]["objective"] > 0
    assert answer["status"] == "OPTIMAL"
    assert answer["bound"] <= answer["objective"] <= answer["upper"]
    assert answer["violation"] == 0
    assert answer["missed"] == ""
    assert answer["gap"] <= 1e-6
    assert answer["rigour"] in ("proved", "probable")
    (clusters,) = of_kind(found, "clusters")
    assert sum(clusters["sizes"]) == 40
    assert 0 < clusters["accuracy"] <= 1
    numbers = of_kind(found, "conditions")[-1]["numbers"]
    assert numbers["gap"] == pytest.approx(answer["objective"] - answer["bound"])
    assert of_kind(found, "iterate")[0]["backend"] == "admm"
    assert "<svg" in answer["bracket"]
    assert len(answer["history"]["objective"]) == len(answer["history"]["seconds"])
    assert found[-1]["kind"] == "end"
    for name in client.get("/api/choices").json()["figures"]:
        for by in ("classes", "clusters"):
            picture = client.get(f"/api/jobs/{key}/figure/{name}", params={"by": by, "width": 300, "dark": 1})
            assert picture.headers["content-type"].startswith("image/svg+xml"), picture.text
            assert picture.text.startswith("<svg")
    lacking = client.get(f"/api/jobs/{key}/figure/hologram")
    assert lacking.status_code == 400
    assert "unknown figure 'hologram'; known are" in lacking.json()["error"]


def test_a_path_is_certified_and_warm(client):
    body = {"form": FORM, "low": 0.1, "high": 10, "count": 5}
    key, found = events(client, client.post("/api/path", json=body))
    (path,) = of_kind(found, "path")
    np.testing.assert_allclose(path["gamma"], np.geomspace(0.1, 10, 5))
    assert np.all(np.diff(path["objective"]) >= -1e-5)
    assert max(path["gap"]) <= 1e-6
    assert len(path["accuracy"]) == len(path["bracket"]) == 5
    first, last = (client.get(f"/api/jobs/{key}/figure/embedding", params={"index": k}).text for k in (0, 4))
    assert first != last


def test_a_comparison_is_the_table_of_the_library(client):
    body = {"form": FORM, "backends": ["burer_monteiro", "interior", "mfpc"]}
    _, found = events(client, client.post("/api/compare", json=body))
    (table,) = of_kind(found, "table")
    assert table["agrees"]
    assert [row["good"] for row in table["rows"]] == [True, True, False]
    assert of_kind(found, "progress")[0]["text"] == "burer_monteiro is running"


@pytest.mark.parametrize(
    ("action", "body", "message"),
    [
        ("describe", {"form": {"gamma": "-1"}}, "gamma must be positive and finite, got -1"),
        (
            "describe",
            {"form": {"data": "irs"}},
            "unknown data set 'irs' (did you mean 'iris'?); known are: a1a",
        ),
        ("describe", {"form": {"formulation": "npkl", "loss": "linear"}}, "give row_norm=b"),
        ("describe", {}, "the request must be as the page makes it"),
        ("run", {"form": {"n_neighbors": 1.5}}, "n_neighbors must be an integer"),
        ("run", {"form": FORM | {"tol": 2}}, "tol must be between 0 and 1, got 2.0"),
        ("run", {"form": FORM | {"nu": 2}}, "npkl on iris must be given only what it uses, got nu"),
        ("run", {"form": {"data": "/etc/own.csv"}}, "unknown data set '/etc/own.csv'"),
        ("run", {"form": {"pairs": "/etc/own.csv"}}, "pairs must be a finite number, got '/etc/own.csv'"),
        ("run", {"form": {"data_file": "7"}}, "the uploaded file '7' is no longer here"),
        ("run", {"form": {"data_home": "/"}}, "unknown field 'data_home'"),
        ("path", {"form": {}, "low": 1, "high": 1, "count": 5}, "from a positive gamma to a larger one"),
        (
            "path",
            {"form": {}, "low": "x", "high": 1, "count": 5},
            "the first gamma must be a finite number, got 'x'",
        ),
        ("dance", {"form": {}}, "the request must be"),
    ],
)
def test_bad_requests_get_the_words_of_the_library(client, action, body, message):
    reply = client.post(f"/api/{action}", json=body)
    assert reply.status_code == 400
    assert message in reply.json()["error"]


@pytest.mark.parametrize(
    ("action", "body", "message"),
    [
        ("run", {"form": FORM | {"backend": "mfpc"}}, "needs a basis"),
        ("run", {"form": {"formulation": "hard_pcp", "pairs": 1e9}}, "got"),
        (
            "path",
            {"form": {"formulation": "hard_pcp", "n": 30}, "low": 1, "high": 2, "count": 2},
            "has no losses",
        ),
        ("compare", {"form": FORM, "backends": []}, "at least one backend"),
        ("compare", {"form": FORM, "backends": ["bdc"]}, "unknown backend 'bdc'"),
    ],
)
def test_errors_of_a_job_are_told(client, action, body, message):
    _, found = events(client, client.post(f"/api/{action}", json=body))
    (error,) = of_kind(found, "error")
    assert message in error["text"]
    assert found[-1]["kind"] == "end"


def test_a_run_can_be_stopped_and_only_one_goes_on(client, session):
    begun = threading.Event()

    def slow(job):
        begun.set()
        while not job.stopping:
            time.sleep(0.01)
        job.check()

    job = session.jobs.begin("run", slow)
    assert begun.wait(10)
    reply = client.post("/api/run", json={"form": FORM})
    assert reply.status_code == 400
    assert "a run is still running; stop it first" in reply.json()["error"]
    assert client.get("/api/choices").json()["running"] == "run"
    assert client.post("/api/stop").json() == {"stopping": True}
    assert job.ended.wait(10)
    assert "stopped before it had an answer" in job.since(0)[0]["text"]
    assert client.post("/api/stop").json() == {"stopping": False}


def test_a_stopped_solver_leaves_its_point(session, monkeypatch):
    monkeypatch.setattr("npkl_models.explore.jobs.EVERY", 0.0)
    told = threading.Event()
    tell = type(session.jobs.begin("run", lambda job: None)).tell
    wait(session)

    def stopping(job, kind, **content):
        tell(job, kind, **content)
        if kind == "iterate":
            job.stop()
            told.set()

    monkeypatch.setattr("npkl_models.explore.jobs.Job.tell", stopping)
    job = session.jobs.get(session.start("run", FORM | {"backend": "burer_monteiro"})["key"])
    assert job.ended.wait(60)
    assert told.is_set()
    (answer,) = of_kind(job.since(0), "answer")
    assert answer["status"] == "STOPPED"
    job = session.jobs.get(
        session.start("path", FORM | {"backend": "burer_monteiro"}, {"low": 0.1, "high": 1.0, "count": 3})[
            "key"
        ]
    )
    assert job.ended.wait(60)
    assert "stopped before" in of_kind(job.since(0), "stopped")[0]["text"]


def test_a_job_that_breaks_down_is_told_and_the_next_one_runs(session, caplog):
    job = session.jobs.begin("run", lambda job: 1 / 0)
    assert job.ended.wait(10)
    assert job.since(0)[0]["text"] == "ZeroDivisionError: division by zero"
    assert session.jobs.begin("run", lambda job: None).ended.wait(10)


def test_files_of_ones_own(client):
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.repeat([0, 1, 2], 10)
    X[:, 0] += 4 * y
    file = io.BytesIO()
    np.savez(file, X=X, y=y)
    kept = client.post(
        "/api/upload", content=file.getvalue(), params={"token": TOKEN, "name": "mine.npz"}
    ).json()
    assert kept["about"] == "mine.npz: 30 points, 3 classes; 3 features"
    links = client.post(
        "/api/upload", content=b"0,1,1\n0,15,-1\n", params={"token": TOKEN, "name": "l.csv", "kind": "pairs"}
    )
    assert links.json()["about"] == "l.csv: 1 must-links, 1 cannot-links"
    form = {"data_file": kept["key"], "pairs_file": links.json()["key"]}
    found = client.post("/api/describe", json={"form": form}).json()
    assert found["title"] == "mine, 30 points (uploaded)"
    _, told = events(client, client.post("/api/run", json={"form": form}))
    assert of_kind(told, "answer")[0]["status"] == "OPTIMAL"


@pytest.mark.parametrize(
    ("name", "content", "kind", "message"),
    [
        ("a.txt", b"1", "points", "must be a file with .csv"),
        ("a.csv", b"a,b\n1,x\n", "points", "a.csv, line 2"),
        ("a.npz", b"nonsense", "points", ""),
        ("p.csv", b"0,1,maybe\n", "pairs", "p.csv, line 1"),
        ("", b"0,1", "points", "a file must have a name"),
        ("../../etc/x.csv", b"a,label\n1,2\n2,3\n", "points", None),
    ],
)
def test_bad_files(client, session, name, content, kind, message):
    reply = client.post("/api/upload", content=content, params={"token": TOKEN, "name": name, "kind": kind})
    if message is None:  # kept by its last name, in the folder of the session
        assert reply.json()["about"].startswith("x.csv: ")
        return
    assert reply.status_code == 400
    assert message in reply.json()["error"]
    assert str(session.uploads.folder) not in reply.text


def test_the_desk_leaves_no_files(tmp_path):
    session = Session()
    session.uploads.keep("x.csv", b"a,label\n1,2\n2,3\n")
    folder = session.uploads.folder
    assert list(folder.rglob("x.csv"))
    session.close()
    assert not folder.exists()


def test_a_desk_without_files_makes_no_folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    session = Session()
    assert session.uploads.words(ValueError("a word")) == "a word"
    session.close()
    assert not list(tmp_path.iterdir())


def test_the_server_listens_on_loopback_alone():
    listening = server._listen(0)
    assert listening.getsockname()[0] == "127.0.0.1"
    with pytest.raises(nm.ProblemError, match="must be free"):
        server._listen(listening.getsockname()[1])
    listening.close()
    with pytest.raises(nm.ProblemError, match="port must be between"):
        server._listen(70_000)


def test_the_command_prints_the_address(monkeypatch, capsys):
    uvicorn = pytest.importorskip("uvicorn")
    opened, served = [], []
    monkeypatch.setattr(server.webbrowser, "open", opened.append)

    def run(self, sockets):
        served.extend(sockets)
        time.sleep(0.2)
        raise KeyboardInterrupt

    monkeypatch.setattr(uvicorn.Server, "run", run)
    assert main(["explore"]) == 0
    shown = capsys.readouterr().out
    assert "npkl explore is at http://127.0.0.1:" in shown
    assert "?token=" in shown
    assert opened[0] in shown
    assert main(["explore", "--no-browser"]) == 0
    assert len(opened) == 1
    assert all(one.fileno() == -1 for one in served)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["explore", "--no-browser", "--port", str(taken.getsockname()[1])]) == 2
    assert "must be free" in capsys.readouterr().err.replace("\n", " ")


def test_without_its_packages_the_command_says_which_extra_brings_them(monkeypatch, capsys):
    for package in ("uvicorn", "starlette", "matplotlib"):
        with monkeypatch.context() as without:
            without.setitem(sys.modules, package, None)
            without.setitem(sys.modules, f"{package}.applications", None)
            assert main(["explore", "--no-browser"]) == 2
        said = " ".join(capsys.readouterr().err.split())
        assert f'npkl explore needs {package}; install it with: pip install "npkl_models[explore]"' in said
