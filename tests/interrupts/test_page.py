"""Ctrl-C ends the page while a job runs, whatever the job is."""

import json
import os
import signal
import subprocess
import sys
import urllib.request

import pytest

from interrupts.run import HERE, gone

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")
pytest.importorskip("matplotlib")
pytestmark = pytest.mark.skipif(not os.path.isdir("/proc"), reason="processes are counted in /proc")
FORM = {"data": "wine", "formulation": "npkl", "loss": "hinge", "time_limit": 50}


@pytest.mark.parametrize(
    ("action", "more"),
    [
        ("run", {"backend": "sdp_dual"}),
        ("run", {"backend": "interior"}),
        ("compare", {}),
        ("path", {"backend": "admm"}),
    ],
)
def test_an_interrupt_ends_the_page_and_what_it_does(action, more):
    process = subprocess.Popen(
        [sys.executable, "-m", "npkl_models", "explore", "--no-browser"],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=HERE, start_new_session=True,
    )  # fmt: skip
    address = process.stdout.readline().split()[-1]
    body = {
        "form": FORM | more,
        "low": 0.01,
        "high": 100,
        "count": 30,
        "backends": ["sdp", "interior", "bcd"],
    }
    url = address.replace("/?", f"/api/{action}?")  # it listens already
    with urllib.request.urlopen(url, json.dumps(body).encode()) as reply:
        assert "key" in json.load(reply)
    os.kill(process.pid, signal.SIGINT)
    try:
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
    assert (process.returncode, errors) == (0, "")
    assert gone(process.pid, 20) == []
