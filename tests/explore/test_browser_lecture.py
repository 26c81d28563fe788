"""What a lecture needs, clicked through: the first answer, formulas, steps, a race, failures, links, paper."""

import re

import pytest

from explore.pages import NARROW_FIRST, answered, fits
from npkl_models.explore.session import FAILURES


@pytest.mark.parametrize("width", NARROW_FIRST)
def test_the_first_answer_comes_by_itself_with_formulas_and_numbers(opened, width):
    page = opened(width)
    assert page.inner_text("#verdict_status") == "OPTIMAL"
    assert page.input_value("#n") == "60"
    page.locator("#conditions strong").first.wait_for()
    page.locator("#point", has_text="At the certified kernel").wait_for()
    assert page.locator("#sides math").count() >= 6
    objective, bound = page.locator("#sides .total .value").all_inner_texts()
    assert 0 <= float(objective) - float(bound) < 1e-4
    assert set(page.locator("#conditions strong").all_inner_texts()) == {"holds"}
    assert "interior" in page.inner_text("#status")
    fits(page)


@pytest.mark.parametrize("width", NARROW_FIRST)
def test_steps_by_buttons_and_arrows(opened, width):
    page = opened(width)
    page.fill("#n", "40")
    page.click("#tab_steps")
    page.click("#walk")
    page.locator("#step_points svg").wait_for()
    assert page.inner_text("#step_words").startswith("Step 1 of ")
    assert "not positive semidefinite" in page.inner_text("#step_words")
    assert page.locator("#step_bars rect").count() == 40
    page.click("#step_next")
    assert page.inner_text("#step_words").startswith("Step 2 of ")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("ArrowLeft")
    assert page.inner_text("#step_words").startswith("Step 3 of ")
    page.click("#step_last")
    assert "The bound meets the objective" in page.inner_text("#step_words")
    assert page.is_disabled("#step_next")
    fits(page)


@pytest.mark.parametrize("width", NARROW_FIRST)
def test_a_race_says_who_has_won_and_how_it_was_run(opened, width):
    page = opened(width)
    page.click("#tab_race")
    assert "one after the other, never at once" in page.inner_text("#race")
    page.select_option("#first", "burer_monteiro")
    page.click("#start_race")
    page.locator("#winner:not(:empty)").wait_for()
    assert re.search("wins|A draw", page.inner_text("#winner"))
    assert page.locator("#race_gap svg path").count() > 3
    page.locator("#replay:enabled").click()
    page.locator("#race_gap svg").first.wait_for()
    fits(page)


@pytest.mark.slow
def test_between_the_kernels_of_a_path_both_envelopes_are_drawn(opened):
    page = opened(1440)
    page.click("#tab_path")
    page.fill("#count", "3")
    page.click("#follow")
    page.locator("#path_figures svg").nth(1).wait_for()
    page.focus("#drag")
    page.keyboard.press("Home")
    assert "the stored kernel has the objective" in page.inner_text("#here")
    page.keyboard.press("ArrowRight")
    words = page.inner_text("#here")
    assert "the stored kernel of γ = 0.1 has the objective" in words
    upper, lower = (
        float(x) for x in re.search(r"objective ([\d.]+); the optimum is at least ([\d.]+)", words).groups()
    )
    assert lower < upper
    assert "tangents above" in page.locator("#path_charts svg").first.text_content()


@pytest.mark.parametrize("one", FAILURES, ids=lambda one: one["name"])
def test_each_failure_is_seen_and_explained_and_cured(opened, one):
    page = opened(1440)
    page.click("#tab_fail")
    page.click(f"#fail_{one['name']}")
    page.locator("#lesson").wait_for()
    answered(page)
    status = page.inner_text("#verdict_status")
    assert (status == "OPTIMAL") == (one["name"] == "pairs")
    if one["name"] == "pairs":
        assert "are wrong" in page.inner_text("#audit_words")
    for part in ("seen", "why", "helps"):
        assert page.inner_text(f"#lesson_{part}") == one[part]
    assert f"failure={one['name']}" in page.url
    page.click("#cure")
    page.locator("#lesson").wait_for(state="hidden")
    answered(page)
    assert page.inner_text("#verdict_status") == "OPTIMAL"


@pytest.mark.slow
def test_a_link_restores_the_form_and_has_no_token(opened):
    page = opened(1440)
    page.fill("#n", "44")
    page.select_option("#formulation", "npkl")
    page.fill("#gamma", "2.5")
    page.click("#tab_race")
    page.select_option("#second", "admm")
    fragment = page.url.split("#")[1]
    assert set(fragment.split("&")) == {
        "n=44", "formulation=npkl", "gamma=2.5", "tab=race", "second=admm"
    }  # fmt: skip
    page.click("#share")
    shared = page.inner_text("#shared")
    assert f"npkl explore --open '{fragment}'" in shared
    assert "key" not in shared
    assert "token=" not in shared
    other = opened(360, state=f"#{fragment}", first=False)
    other.locator("#race").wait_for()
    other.locator("#run:enabled").wait_for()
    assert other.input_value("#n") == "44"
    assert other.input_value("#formulation") == "npkl"
    assert other.input_value("#second") == "admm"
    other.locator("#title", has_text="44 points").wait_for()


@pytest.mark.slow
def test_a_strange_link_does_no_harm(opened):
    page = opened(1440)
    page.evaluate("location.hash = '#formulation=nonsense&tab=form&failure=x&n=<b>30&second=no'")
    page.locator("#error", has_text="n must be an integer, got '<b>30'").wait_for()
    assert page.input_value("#formulation") == "pcp"
    page.locator("#one").wait_for()
    page.locator("#run:enabled").wait_for()
    assert all("400" in one for one in opened.complaints)
    opened.complaints.clear()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_handout_has_answer_and_code_and_no_controls(opened, scheme):
    page = opened(1440, color_scheme=scheme)
    page.locator("#figures svg").nth(5).wait_for()
    page.emulate_media(media="print")
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    for shown in ("#sides", "#conditions", "#inequality", "#figures", "#printed_code", "#title"):
        assert page.locator(shown).is_visible(), shown
    for control in ("#form", "#share", "#run", "#tab_one", "#status", "#by"):
        assert page.locator(control).is_hidden(), control
    assert "problem.solve(" in page.inner_text("#printed_code")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    assert len(page.pdf(format="A4")) > 20_000
