"""Two tabs, a reload, a server that has stopped, and the keyboard alone."""

import re

import pytest

from explore.conftest import WAIT, Served
from explore.pages import NARROW_FIRST, answered, fits

LONG = "#data=digits&n=&tol=1e-14&backend=admm"


def runs_long(page):
    page.locator("#status", has_text="admm is running").wait_for()


@pytest.mark.parametrize("width", NARROW_FIRST)
def test_two_tabs_leave_each_others_screens_alone(opened, width):
    quiet = opened(width)
    before = quiet.inner_text("#verdict"), quiet.inner_text("#title")
    busy = opened(width, state=LONG, beside=quiet, first=False)
    runs_long(busy)
    quiet.locator("#other", has_text="Another tab is running a run").wait_for()
    quiet.click("#run")
    quiet.locator("#error", has_text="Another tab is running.").wait_for()
    assert "a run is still running; stop it first" in quiet.inner_text("#error")
    assert quiet.inner_text("#title") == before[1]
    runs_long(busy)
    assert busy.locator("#error").is_hidden()
    fits(quiet)
    quiet.locator("#stop:enabled").click()
    busy.locator("#status", has_text=re.compile("STOPPED|was stopped")).wait_for()
    quiet.locator("#other").wait_for(state="hidden")
    quiet.click("#run")
    quiet.locator("#status", has_text="interior: OPTIMAL").wait_for()
    assert "digits" in busy.inner_text("#title")
    opened.complaints.clear()  # the refused request


@pytest.mark.parametrize("width", NARROW_FIRST)
def test_a_reload_in_the_middle_of_a_run_finds_it_again(opened, width):
    page = opened(width, state=LONG, first=False)
    runs_long(page)
    page.reload()
    runs_long(page)
    assert page.input_value("#data") == "digits"
    page.locator("#stop:enabled").click()
    page.locator("#status", has_text=re.compile("STOPPED|was stopped")).wait_for()


@pytest.mark.slow
def test_a_reload_after_an_answer_shows_the_answer_again(opened, served):
    page = opened(1440)
    page.fill("#n", "41")
    page.click("#run")
    page.locator("#title", has_text="41 points").wait_for()
    page.locator("#status", has_text="OPTIMAL after").wait_for()
    before = page.inner_text("#inequality")
    known = len(served.session.jobs._known)
    page.reload()
    answered(page)
    assert page.inner_text("#inequality") == before
    assert len(served.session.jobs._known) == known


@pytest.mark.parametrize("width", NARROW_FIRST)
def test_a_page_says_that_its_server_has_stopped(browser, width):
    own = Served()
    page = browser.new_page(viewport={"width": width, "height": 900})
    try:
        page.set_default_timeout(WAIT)
        page.goto(f"{own.address}#n=40")
        answered(page)
        own.stop()
        page.locator("#gone", has_text="The server has stopped.").wait_for()
        assert page.inner_text("#gone_command") == "npkl explore --open 'n=40'"
        page.click("#run")
        page.locator("#error", has_text="npkl explore has stopped").wait_for()
        assert page.inner_text("#verdict_status") == "OPTIMAL"
        fits(page)
    finally:
        page.close()


def reach(page, name):
    """Press Tab until the element has the focus."""
    for _ in range(120):
        if page.evaluate("document.activeElement.id") == name:
            return
        page.keyboard.press("Tab")
    raise AssertionError(f"{name} is not reached")


@pytest.mark.parametrize("width", NARROW_FIRST)
def test_all_by_the_keyboard(opened, width):
    page = opened(width)
    reach(page, "n")
    page.keyboard.press("Control+a")
    page.keyboard.type("30")
    page.keyboard.press("Enter")
    page.locator("#title", has_text="30 points").wait_for()
    answered(page)
    reach(page, "tab_one")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    assert page.locator("#steps").is_visible()
    reach(page, "walk")
    page.keyboard.press("Enter")
    page.locator("#step_words", has_text="Step 1 of").wait_for()
    page.keyboard.press("ArrowRight")
    page.locator("#step_words", has_text="Step 2 of").wait_for()
    page.focus("#tab_steps")
    page.keyboard.press("End")
    assert page.locator("#program").is_visible()
    page.keyboard.press("ArrowLeft")
    assert page.locator("#fail").is_visible()
    reach(page, "fail_rank")
    page.keyboard.press("Enter")
    page.locator("#verdict_status", has_text="LOCALLY_SOLVED").wait_for()
    page.locator("#run:enabled").wait_for()
    page.focus("#lesson")
    reach(page, "cure")
    page.keyboard.press("Space")
    page.locator("#verdict_status", has_text="OPTIMAL").wait_for()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") in ("solid", "none")
