"""How long a reader waits for the explorer's first answer: ``python look.py NPKL``, with a browser without a head.

The browser's own start is part of that; with ``python look.py NPKL open`` the browser is open before.
"""

import re
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


def waited(browser=None):
    """Seconds from the command to the first answer on the page."""
    began = time.perf_counter()
    server = subprocess.Popen([sys.argv[1], "explore", "--no-browser"], stdout=subprocess.PIPE, text=True)
    try:
        address = next(
            found[0] for line in server.stdout for found in [re.search(r"http://\S+", line)] if found
        )
        if browser is None:
            with browsing() as fresh:
                return answered(fresh, address, began)
        return answered(browser, address, began)
    finally:
        server.terminate()
        server.wait()


def answered(browser, address, began):
    page = browser.new_page()
    page.goto(address)
    page.get_by_text("certified optimal within the tolerance").first.wait_for(timeout=60_000)
    return time.perf_counter() - began


@contextmanager
def browsing():
    from playwright.sync_api import sync_playwright

    with sync_playwright() as control:
        path = next(filter(None, map(shutil.which, NAMES)), None)
        yield control.chromium.launch(executable_path=path, args=["--no-sandbox"])


if sys.argv[2:] == ["open"]:
    with browsing() as browser:
        seconds = waited(browser)
else:
    seconds = waited()
print(f"first answer on the page {seconds:.1f} s after the command")
