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


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", WIDTHS)
def test_nothing_serious_is_found(opened, width, scheme):
    page = opened(width, color_scheme=scheme)
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
    for tab in TABS:
        page.click(f"#tab_{tab}")
        assert serious(page) == [], tab
    page.click("#tab_fail")
    page.click("#fail_pairs")
    page.locator("#audit_table td").first.wait_for()
    page.locator("#run:enabled").wait_for()
    assert serious(page) == [], "audit"
    page.fill("#gamma", "-1")
    page.locator("#error", has_text="gamma must be positive").wait_for()
    assert serious(page) == [], "error"
    opened.complaints.clear()  # the refused request
