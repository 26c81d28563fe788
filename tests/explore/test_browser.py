"""A click path through the page in a browser without a head, at two widths, by mouse and by keyboard."""

import re

import pytest

from explore.pages import NARROW_FIRST, answered, fits


@pytest.mark.parametrize("width", NARROW_FIRST)
def test_click_path(opened, width, tmp_path):
    page = opened(width)
    page.fill("#n", "50")
    page.select_option("#formulation", "npkl")
    page.select_option("#loss", "hinge")
    page.locator("#words", has_text="hinge loss of 60 entries").wait_for()
    assert page.locator("#nu").is_hidden()
    assert page.locator("#row_norm").is_visible()
    page.click("#run")
    answered(page)
    assert page.inner_text("#verdict_status") == "OPTIMAL"
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


@pytest.mark.slow
def test_escape_stops_a_run(opened):
    page = opened(1440, color_scheme="dark")
    page.select_option("#data", "digits")
    page.fill("#n", "")
    page.fill("#tol", "1e-14")
    page.select_option("#backend", "admm")
    page.locator("#title", has_text="digits, 1797 points").wait_for()
    page.click("#run")
    page.locator("#status", has_text="admm is running").wait_for()
    page.keyboard.press("Escape")
    page.locator("#status", has_text=re.compile("STOPPED|was stopped")).wait_for()
    page.locator("#run:enabled").wait_for()
