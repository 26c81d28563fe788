"""No finding of axe-core that is serious or critical, on any tab, in light and dark, narrow and wide."""

import pytest

from explore.pages import WIDTHS

axe = pytest.importorskip(
    "axe_playwright_python.sync_playwright", reason="axe-playwright-python is not installed"
)
TABS = ("one", "path", "steps", "race", "compare", "fail", "program")


def serious(page):
    found = axe.Axe().run(page).response["violations"]
    return [
        (one["id"], one["impact"], [node["html"][:200] for node in one["nodes"][:3]])
        for one in found if one["impact"] in ("serious", "critical")
    ]  # fmt: skip


LOOKS = [(width, scheme) for width in WIDTHS for scheme in ("light", "dark")]


@pytest.mark.parametrize(
    "looks", [LOOKS[1:2], pytest.param(LOOKS, marks=pytest.mark.slow)], ids=["narrow and dark", "all"]
)
def test_nothing_serious_is_found(opened, looks):
    """The page is filled once, and looked at in each width and scheme."""
    page = opened(WIDTHS[-1])
    page.locator("#figures svg").nth(5).wait_for()
    page.click("#share")
    page.click("#tab_steps")
    page.click("#walk")
    page.locator("#step_points svg").wait_for()
    page.click("#tab_race")
    page.click("#start_race")
    page.locator("#winner:not(:empty)").wait_for()
    page.click("#tab_path")
    page.fill("#count", "2")
    page.click("#follow")
    page.locator("#path_figures svg").nth(1).wait_for()
    look_at(page, looks, *TABS)
    page.click("#tab_fail")
    page.click("#fail_pairs")
    page.locator("#audit_table td").first.wait_for()
    page.locator("#run:enabled").wait_for()
    look_at(page, looks, "fail")
    page.fill("#gamma", "-1")
    page.locator("#error", has_text="gamma must be positive").wait_for()
    look_at(page, looks, "fail")
    opened.complaints.clear()  # the refused request


def look_at(page, looks, *tabs):
    for width, scheme in looks:
        page.set_viewport_size({"width": width, "height": 900})
        page.emulate_media(color_scheme=scheme)
        for tab in tabs:
            page.click(f"#tab_{tab}")
            assert serious(page) == [], (width, scheme, tab)
