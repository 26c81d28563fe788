"""A click path through the page in a browser without a head, at two widths, by mouse and by keyboard."""

import re
import shutil
import socket
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from npkl_models.explore.app import make_app
from npkl_models.explore.session import Session

pytest.importorskip("matplotlib")
playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
uvicorn = pytest.importorskip("uvicorn", reason="uvicorn is not installed")

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
WAIT = 60_000  # milliseconds; nothing waits so long unless it is broken
WIDTHS = (360, 1440)


@pytest.fixture(scope="module")
def browser():
    """Chromium: the system's, or the one that playwright has brought."""
    found = next(filter(None, map(shutil.which, NAMES)), None)
    with playwright.sync_playwright() as control:
        own = control.chromium.executable_path
        if found is None and not Path(own).is_file():
            pytest.skip(f"no browser is installed: none of {', '.join(NAMES)}, and playwright has none")
        opened = control.chromium.launch(executable_path=found, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def address():
    """The page, served from a thread."""
    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    host = f"127.0.0.1:{listening.getsockname()[1]}"
    session = Session()
    config = uvicorn.Config(
        make_app("key", (host,), session), log_level="error", lifespan="off", timeout_graceful_shutdown=1
    )
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.01)
    yield f"http://{host}/?token=key"
    server.should_exit = True
    thread.join(10)
    session.close()
    listening.close()


@pytest.fixture
def opened(browser, address):
    """Opens the page at a width; what the console complains of is an error of the test."""
    pages, complaints = [], []

    def at(width, **how):
        page = browser.new_page(viewport={"width": width, "height": 900}, **how)
        page.set_default_timeout(WAIT)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on("console", lambda m: complaints.append(m.text) if m.type == "error" else None)
        page.goto(address)
        page.locator("#words:not(:empty)").wait_for()
        pages.append(page)
        return page

    at.complaints = complaints
    yield at
    for page in pages:
        page.close()
    assert complaints == []


def fits(page):
    wide, inner = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= inner


@pytest.mark.parametrize("width", WIDTHS)
def test_click_path(opened, width, tmp_path):
    page = opened(width)
    page.fill("#n", "50")
    page.select_option("#formulation", "npkl")
    page.select_option("#loss", "hinge")
    page.locator("#words", has_text="hinge loss of 60 entries").wait_for()
    assert page.locator("#nu").is_hidden()
    assert page.locator("#row_norm").is_visible()
    page.click("#run")
    page.locator("#verdict_status", has_text="OPTIMAL").wait_for()
    page.locator("#figures svg").nth(5).wait_for()
    assert page.locator("#live_gap svg path").count() > 3
    assert "≤ optimum ≤" in page.inner_text("#inequality")
    assert page.locator("#bracket svg").count() == 1
    assert re.search(r"OPTIMAL after", page.inner_text("#status"))
    fits(page)

    page.click("#tab_path")
    page.fill("#count", "4")
    page.click("#follow")
    page.locator("#path_figures svg").nth(1).wait_for()
    before = page.inner_text("#here")
    page.focus("#drag")
    page.keyboard.press("Home")
    page.locator("#here", has_text="γ = 0.1:").wait_for()
    assert page.inner_text("#here") != before
    assert page.get_attribute("#drag", "aria-valuetext") == "gamma 0.1"
    fits(page)

    page.click("#tab_compare")
    for name in ("admm", "hybrid", "sdp", "sdp_dual"):
        page.uncheck(f"#backends input[value={name}]")
    assert page.is_disabled("#backends input[value=mfpc]")
    page.click("#check")
    page.locator("#table tr.good").nth(2).wait_for()
    assert "All agree." in page.inner_text("#status")
    fits(page)

    page.click("#tab_program")
    assert "nm.crosscheck(problem, backends" in page.inner_text("#code")
    page.select_option("#which", "run")
    space = {}
    exec(page.inner_text("#code"), space)
    assert space["solution"].status.name == "OPTIMAL"
    shot = tmp_path / f"explore_{width}.png"
    page.screenshot(path=shot, full_page=True)
    assert shot.stat().st_size > 5_000
    fits(page)


def test_the_keyboard_alone_will_do(opened):
    page = opened(1440)
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.focus("#gamma")
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    page.fill("#n", "40")
    page.keyboard.press("Enter")
    page.locator("#verdict_status", has_text="OPTIMAL").wait_for()
    page.focus("#tab_one")
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.id") == "tab_path"
    assert page.get_attribute("#tab_path", "aria-selected") == "true"
    assert page.locator("#path").is_visible()
    page.keyboard.press("End")
    assert page.locator("#program").is_visible()


def test_every_control_has_a_name(opened):
    page = opened(1440)
    nameless = page.evaluate(
        """[...document.querySelectorAll('input, select, button, [tabindex="0"]')].filter((one) =>
        !(one.labels && one.labels.length) && !one.getAttribute('aria-label') && !one.textContent.trim())
        .map((one) => one.outerHTML)"""
    )
    assert nameless == []
    doubled = page.evaluate(
        "(() => { const all = [...document.querySelectorAll('[id]')].map((e) => e.id);"
        " return all.filter((id, k) => all.indexOf(id) !== k); })()"
    )
    assert doubled == []


def test_errors_stand_as_the_library_words_them(opened):
    page = opened(360)
    page.fill("#gamma", "-1")
    page.locator("#error", has_text="gamma must be positive and finite, got -1.0").wait_for()
    page.click("#run")
    page.locator("#status", has_text="No answer.").wait_for()
    assert page.get_attribute("#error", "role") == "alert"
    page.fill("#gamma", "1")
    page.locator("#error").wait_for(state="hidden")
    assert all("400" in one for one in opened.complaints)  # what the browser says of refused requests
    opened.complaints.clear()


def test_escape_stops_a_run(opened):
    page = opened(1440, color_scheme="dark")
    page.select_option("#data", "digits")
    page.fill("#tol", "1e-14")
    page.select_option("#backend", "admm")
    page.locator("#title", has_text="digits, 1797 points").wait_for()
    page.click("#run")
    page.locator("#status", has_text="iteration").wait_for()
    page.keyboard.press("Escape")
    page.locator("#status", has_text=re.compile("STOPPED|was stopped")).wait_for()
    assert page.is_enabled("#run")


def test_a_file_of_ones_own(opened, tmp_path):
    rng = np.random.default_rng(0)
    rows = [f"{x + 5 * c:.3f},{y:.3f},{'ab'[c]}" for c in (0, 1) for x, y in rng.normal(size=(20, 2))]
    file = tmp_path / "mine.csv"
    file.write_text("x,y,label\n" + "\n".join(rows) + "\n")
    page = opened(360)
    page.select_option("#data", "(a file of my own)")
    page.set_input_files("#data_upload", file)
    page.locator("#data_about", has_text="40 points, 2 features, 2 classes").wait_for()
    page.locator("#title", has_text="mine, 40 points (uploaded)").wait_for()
    page.click("#run")
    page.locator("#verdict_status", has_text="OPTIMAL").wait_for()
    page.click("#tab_program")
    assert "tables.read_points('mine.csv')" in page.inner_text("#code")
