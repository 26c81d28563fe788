"""A browser without a head, and the page served from a thread; skipped, with the reason, without either."""

import shutil
import socket
import threading
import time
import warnings
from pathlib import Path

import pytest

from explore.pages import HOST, TOKEN, answered
from npkl_models.explore.app import make_app
from npkl_models.explore.session import Session

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WAIT = 180_000  # milliseconds; nothing waits so long unless it is broken


class Served:
    """The page on a port of its own, until it is stopped."""

    def __init__(self):
        import uvicorn

        self.listening = socket.socket()
        self.listening.bind(("127.0.0.1", 0))
        host = f"127.0.0.1:{self.listening.getsockname()[1]}"
        self.session = Session()
        app = make_app("key", (host,), self.session)
        config = uvicorn.Config(app, log_level="critical", lifespan="off", timeout_graceful_shutdown=1)
        self.server = uvicorn.Server(config)
        self.thread = threading.Thread(
            target=self.server.run, kwargs={"sockets": [self.listening]}, daemon=True
        )
        self.thread.start()
        while not self.server.started:
            time.sleep(0.01)
        self.address = f"http://{host}/?token=key"

    def stop(self):
        """End it, as Ctrl-C does."""
        self.session.jobs.stop()
        self.server.should_exit = True
        self.thread.join(30)
        self.session.close()
        self.listening.close()

    def quiet(self):
        """Wait until nothing runs."""
        self.session.jobs.stop()
        while self.session.jobs.running is not None:
            time.sleep(0.02)


@pytest.fixture
def session():
    session = Session()
    yield session
    session.close()
    running = session.jobs.running
    assert running is None or running.ended.wait(60)


@pytest.fixture
def client(session):
    """What a browser asks, without a browser."""
    pytest.importorskip("matplotlib")
    pytest.importorskip("httpx")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the client's own
        testclient = pytest.importorskip("starlette.testclient")
    found = testclient.TestClient(
        make_app(TOKEN, (HOST,), session), base_url=f"http://{HOST}", raise_server_exceptions=False
    )
    found.params = {"token": TOKEN}
    return found


@pytest.fixture(scope="module")
def browser():
    """Chromium: the system's, or the one that playwright has brought."""
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    found = next(filter(None, map(shutil.which, NAMES)), None)
    with playwright.sync_playwright() as control:
        own = control.chromium.executable_path
        if found is None and not Path(own).is_file():
            pytest.skip(f"no browser is installed: none of {', '.join(NAMES)}, and playwright has none")
        opened = control.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def served():
    """The page, served until the module's tests have ended."""
    for name in ("matplotlib", "uvicorn", "starlette"):
        pytest.importorskip(name, reason=f"{name} is not installed")
    found = Served()
    yield found
    found.stop()


@pytest.fixture
def opened(browser, served):
    """Opens the page at a width; what the console complains of is an error of the test."""
    pages, contexts, complaints = [], [], []

    def at(width, state="", beside=None, first=True, **how):
        """``beside`` is a page whose browser session is shared, ``first`` waits for the first answer."""
        size = {"width": width, "height": 900}
        context = beside.context if beside else browser.new_context(viewport=size, **how)
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.goto(served.address + state)
        page.locator("#words:not(:empty)").wait_for()
        pages.append(page)
        if first:
            answered(page)
        return page

    at.complaints = complaints
    yield at
    for page in pages:
        page.close()
    for context in contexts:
        context.close()
    served.quiet()
    assert complaints == []
