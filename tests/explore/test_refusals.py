"""Whatever the bytes of a request, the answer is 4xx with a sentence: never 500, never a path of this machine."""

import io
import json
import random
import time
import zipfile

import numpy as np
import pytest

from explore.pages import TOKEN
from npkl_models.explore.form import FILES, SHOWN
from npkl_models.explore.requests import MOST_FORM

ACTIONS = ("describe", "run", "path", "compare")
FORM = {"formulation": "npkl", "loss": "hinge", "n": 20}
FOLDER = "npkl_explore_"
ODD = (
    None, True, "", "x", "\ud800", "../../etc/passwd", "x" * 2000, -1, 0, 1.5, 1e308, -1e308, 10**400, "1e400", "nan",
    float("inf"), [], [1], {}, {"a": 1}, [[[[]]]], 2**63, -(2**63), "\x00",
)  # fmt: skip
BODIES = {
    "empty": b"", "no JSON": b"{", "no text": b"\xff\xfe\x00", "null": b"null", "number": b"1", "list": b"[]", "text": b'"form"',
    "deep lists": b"[" * 20_000, "deep objects": b'{"form":' * 5_000 + b"1" + b"}" * 5_000, "no form": b"{}",
    "form is null": b'{"form": null}', "form is a list": b'{"form": []}', "form is deep": b'{"form": {"n": ' + b"[" * 900 + b"]" * 900 + b"}}",
    "digits": b'{"form": {"n": ' + b"9" * 6000 + b"}}", "no such field": b'{"form": {"\\ud800": 1}}',
}  # fmt: skip


def refused(reply, *statuses):
    assert 400 <= reply.status_code < 500, (reply.status_code, reply.text[:300])
    assert not statuses or reply.status_code in statuses
    assert len(reply.json()["error"]) > 10
    assert FOLDER not in reply.text
    assert "Traceback" not in reply.text
    return reply.json()["error"]


@pytest.mark.parametrize("action", ACTIONS)
@pytest.mark.parametrize("name", BODIES)
def test_bodies_that_no_page_makes(client, action, name):
    refused(client.post(f"/api/{action}", content=BODIES[name]))


@pytest.mark.parametrize("field", [*(one.name for one in SHOWN), *FILES.values()])
def test_a_field_of_a_wrong_kind_is_an_answer_or_a_refusal(client, field):
    for value in ODD:
        body = json.dumps({"form": FORM | {field: value}})
        reply = client.post("/api/describe", content=body)
        assert reply.status_code == 200 or refused(reply), value


@pytest.mark.parametrize("given", [{}, {"low": 1}, {"low": 1, "high": 2}, {"high": 2, "count": 3}])
def test_a_path_without_its_ends(client, given):
    assert "got no field" in refused(client.post("/api/path", json={"form": FORM} | given))


@pytest.mark.parametrize("field", ["low", "high", "count", "backends"])
def test_fields_beside_the_form(client, session, field):
    action, body = ("compare", {}) if field == "backends" else ("path", {"low": 0.1, "high": 1, "count": 2})
    for value in ODD:
        reply = client.post(f"/api/{action}", content=json.dumps({"form": FORM} | body | {field: value}))
        if reply.status_code == 200:
            session.jobs.stop()
            assert session.jobs.get(reply.json()["key"]).ended.wait(60)
        else:
            refused(reply)


def test_bodies_are_refused_while_they_come(client):
    sent = []

    def endless():
        for _ in range(4 * MOST_FORM // 1024):
            sent.append(1)
            yield b" " * 1024

    for action in ACTIONS:
        refused(client.post(f"/api/{action}", content=endless()), 413)
        refused(client.post(f"/api/{action}", content=b" " * (MOST_FORM + 1)), 413)
    refused(client.post("/api/upload?name=a.csv", content=b"1", headers={"content-length": str(2**40)}), 413)


def test_bytes_by_chance(client):
    chance = random.Random(0)
    whole = json.dumps({"form": FORM, "low": 0.1, "high": 1, "count": 2, "backends": ["bcd"]}).encode()
    for _ in range(150):
        body = bytearray(whole)
        for _ in range(chance.randint(1, 6)):
            body[chance.randrange(len(body))] = chance.randrange(256)
        reply = client.post("/api/describe", content=bytes(body))
        assert reply.status_code == 200 or refused(reply), bytes(body)


def bomb():
    """A small archive that unpacks to 300 MiB."""
    file = io.BytesIO()
    head = io.BytesIO()
    np.lib.format.write_array_header_1_0(
        head, {"descr": "<f8", "fortran_order": False, "shape": (300 * 2**17, 1)}
    )
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("X.npy", "w") as entry:
        entry.write(head.getvalue())
        for _ in range(300):
            entry.write(bytes(2**20))
    return file.getvalue()


@pytest.mark.parametrize(
    ("name", "content", "kind"),
    [
        ("a.libsvm", b"1 2000000000:1\n-1 1:1\n", "points"), ("x" * 250 + ".csv", b"a,b\n1,2\n", "points"),
        ("é" * 100 + ".csv", b"a,b\n1,2\n", "points"), ("a\x00b.csv", b"a,b\n1,2\n", "points"), ("..", b"1", "points"),
        ("a.csv", b"\xff\xfe\x00", "points"), ("a.npz", b"PK\x03\x04", "points"), ("a.csv", b"", "points"),
        ("p.csv", b"0,1,maybe\n", "pairs"), ("p.csv", b"9" * 400 + b",1,1\n", "pairs"), ("p.csv", b"0,1,1\n", "x" * 5000),
        ("a.npz", None, "points"),
    ],
)  # fmt: skip
def test_refused_files_are_not_kept(client, session, name, content, kind):
    began = time.perf_counter()
    body = bomb() if content is None else content
    refused(client.post("/api/upload", content=body, params={"token": TOKEN, "name": name, "kind": kind}))
    assert not list(session.uploads.folder.iterdir())
    assert content is not None or time.perf_counter() - began < 60


def test_figures_and_addresses_of_no_sense(client):
    for query in ("index=x", "index=1e400", "width=x", "width=", "index=" + "9" * 5000):
        refused(client.get(f"/api/jobs/nothing/figure/kernel?{query}&token={TOKEN}"))
    assert client.get("/api/jobs/%00/events").status_code == 404
    for path in ("/nothing", "/api/run", "/static/../x", "/%ff"):
        assert 400 <= client.get(path).status_code < 500
