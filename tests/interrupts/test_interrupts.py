"""A slice of ``python tests/interrupts/run.py``: no moment of these is a matter of the machine's speed."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import npkl_models.interrupts as interrupts
from interrupts.run import HERE, IMPORTS, LINE, PATIENCE, WORK, files, gone, interrupted, swept

pytestmark = pytest.mark.skipif(not os.path.isdir("/proc"), reason="processes are counted in /proc")


@pytest.mark.parametrize(
    ("name", "within", "delay"), [("solve", False, 0.01), ("help", False, 0.2), ("crosscheck", True, 0.5)]
)
def test_an_interrupt_is_one_line_and_no_traceback(name, within, delay):
    found = interrupted(name, delay, within=within)
    assert found.fault in ("", "slow"), found
    assert not within or found.phase == WORK
    assert delay > 0.1 or found.phase == IMPORTS


@pytest.mark.parametrize(("group", "again"), [(False, False), (True, True)])
def test_workers_are_silent_and_leave_nothing(tmp_path, group, again):
    process = subprocess.Popen(
        [sys.executable, Path(__file__).with_name("spreading.py"), tmp_path],
        stderr=subprocess.PIPE, text=True, env=HERE, start_new_session=True,
    )  # fmt: skip
    until = time.monotonic() + PATIENCE
    while len(marks := list(tmp_path.iterdir())) < 2 and time.monotonic() < until and process.poll() is None:
        time.sleep(0.05)
    for _ in range(1 + again):
        (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
        time.sleep(0.05)  # or two are one
    try:
        _, errors = process.communicate(timeout=PATIENCE)
    finally:
        process.kill()
    assert {mark.name.split("-")[1] for mark in marks} == {"deaf"}
    assert (process.returncode, errors) == (130, f"{LINE}\n")
    assert gone(process.pid, PATIENCE) == []
    assert files(process.pid, PATIENCE) == []


@pytest.mark.slow
def test_workers_end_with_the_process_that_was_killed(tmp_path):
    assert swept(str(tmp_path), 0, tasks=4, latest=0.2) in ([], ["the sweep ended before it was killed"])


def test_an_interrupt_that_others_swallow_ends_the_process():
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


def test_nothing_is_begun_after_an_interrupt_that_an_answer_does_not_show():
    code = """
import signal, warnings
from functools import partial
from npkl_models import interrupts
from npkl_models.task_cache import sweep
def task(name):
    print(name, flush=True)
    try:
        signal.raise_signal(signal.SIGINT)
    except KeyboardInterrupt:
        interrupts.answered()  # as a run does that then ends optimal all the same
    warnings.warn("of others")
    return name
interrupts.begin()
try:
    sweep({name: partial(task, name) for name in ("first", "second")})
except KeyboardInterrupt:
    interrupts.say()
    warnings.warn("of others")
    interrupts.leave_at_once()
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (found.returncode, found.stdout, found.stderr) == (130, "first\n", f"{LINE}\n")


def test_no_solve_is_begun_after_an_interrupt(small, monkeypatch):
    monkeypatch.setattr(interrupts._State, "recorded", True)
    with pytest.raises(KeyboardInterrupt):
        small("pcp").solve("bcd")


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
