"""A slice of ``python tests/interrupts/run.py``: no moment of these is a matter of the machine's speed."""

import os
import subprocess
import sys

import pytest

from interrupts.run import interrupted, swept

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc"), reason="processes are counted in /proc")


@pytest.mark.parametrize(("name", "delay"), [("solve", 0.01), ("help", 0.2), ("crosscheck", 2.5)])
def test_an_interrupt_is_one_line_and_no_traceback(name, delay):
    found = interrupted(name, delay)
    assert found.fault in ("", "slow"), found


def test_workers_end_with_the_process_that_was_killed(tmp_path):
    assert swept(str(tmp_path), 0) in ([], ["the sweep ended before it was killed"])


def test_an_interrupt_that_others_swallow_is_raised_again():
    code = """
import signal, time
from npkl_models import interrupts
interrupts.begin()
try:
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        pass
    time.sleep(60)
except KeyboardInterrupt:
    interrupts.answered()
    interrupts.leave_at_once()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (130, "npkl: interrupted\n")


def test_a_second_interrupt_ends_at_once():
    code = """
import os, signal, time
from npkl_models import interrupts
interrupts.begin()
try:
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
except KeyboardInterrupt:
    interrupts.answered()
    time.sleep(0.5)
    os.kill(os.getpid(), signal.SIGINT)
    time.sleep(60)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stderr) == (130, "npkl: interrupted\n")


def test_the_library_leaves_the_signal_alone():
    code = "import signal; a = signal.getsignal(2); import npkl_models; assert signal.getsignal(2) is a"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
