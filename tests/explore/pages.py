"""What is asked of a page in a browser."""

WIDTHS = (360, 1440)


def answered(page):
    """Wait until the run on the page has ended with an answer."""
    page.locator("#verdict_status:not(:empty)").wait_for()
    page.locator("#run:enabled").wait_for()


def fits(page):
    """Nothing is wider than the window."""
    wide, inner = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= inner
