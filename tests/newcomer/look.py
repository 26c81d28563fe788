"""How long a reader waits for the explorer's first answer: ``python look.py NPKL``, with a browser without a head."""

import re
import shutil
import subprocess
import sys
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")

began = time.perf_counter()
server = subprocess.Popen([sys.argv[1], "explore", "--no-browser"], stdout=subprocess.PIPE, text=True)
try:
    address = next(found[0] for line in server.stdout for found in [re.search(r"http://\S+", line)] if found)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as control:
        browser = control.chromium.launch(
            executable_path=next(filter(None, map(shutil.which, NAMES)), None), args=["--no-sandbox"]
        )
        page = browser.new_page()
        page.goto(address)
        page.get_by_text("certified optimal within the tolerance").first.wait_for(timeout=60_000)
        print(f"first answer on the page {time.perf_counter() - began:.1f} s after the command")
        browser.close()
finally:
    server.terminate()
    server.wait()
