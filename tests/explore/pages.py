"""What is asked of a page in a browser."""

import pytest

TOKEN, HOST = "a-token", "127.0.0.1:8000"
WIDTHS = (360, 1440)
NARROW_FIRST = (360, pytest.param(1440, marks=pytest.mark.slow))  # a minute of browsers is enough at once


def answered(page):
    """Wait until the run on the page has ended with an answer."""
    page.locator("#verdict_status:not(:empty)").wait_for()
    page.locator("#run:enabled").wait_for()


def fits(page):
    """Nothing is wider than the window."""
    wide, inner = page.evaluate("[document.documentElement.scrollWidth, window.innerWidth]")
    assert wide <= inner
