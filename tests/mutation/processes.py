"""Tests of a changed copy of the package, each run in a process of its own."""

from __future__ import annotations

import faulthandler
import json
import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import coverage
import cvxpy  # noqa: F401  what every test needs is imported once, and inherited by each process
import pytest
import sklearn.datasets  # noqa: F401

ROOT = Path(__file__).parents[2]
EMPTY, SURVIVED, KILLED = 5, 0, 1
SLOWER, LATER = 10, 60.0  # times its usual seconds, and so many more: a test that hangs


class Plugin:
    """Chooses and orders the tests, ends them in time, and writes what each of them did."""

    def __init__(self, order: dict[str, float] | None, seconds: float, recorder: Any, log: Path) -> None:
        self.order, self.seconds, self.recorder, self.log = order, seconds, recorder, log
        self.end, self.result, self.bad = 0.0, {}, set()

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        if self.order is None:
            return
        ranks: dict[str, int] = {}  # in turn from each file: the quickest of one may share a slow fixture
        chosen = sorted((i for i in items if i.nodeid in self.order), key=lambda i: self.order[i.nodeid])
        place = {}
        for item in chosen:
            file = item.nodeid.split("::")[0]
            ranks[file] = place[item.nodeid] = ranks.get(file, 0) + 1
        items[:] = sorted(chosen, key=lambda i: place[i.nodeid])

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        if self.order is not None:
            self.end = self.end or time.monotonic() + self.seconds
            if time.monotonic() > self.end:
                os._exit(SURVIVED)
            self.log.write_text(item.nodeid)
            limit = SLOWER * self.order[item.nodeid] + LATER
            faulthandler.dump_traceback_later(limit, exit=True, file=sys.__stderr__)
            return (yield)
        self.recorder.switch_context(item.nodeid)
        began = time.monotonic()
        try:
            return (yield)
        finally:
            self.result[item.nodeid] = time.monotonic() - began

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.outcome != "passed":
            self.bad.add(report.nodeid)


def child(slot: Path, files: list[str], plugin: Plugin) -> int:
    """In a process of its own: the tests of these files on the package in ``slot``."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(slot))
    os.environ |= {"PYTHONPATH": str(slot), "HYPOTHESIS_STORAGE_DIRECTORY": str(slot / "hypothesis")}
    os.chdir(ROOT)
    silent = os.open(slot / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(silent, 1)
    os.dup2(silent, 2)
    off = [f"-p no:{name}" for name in ("cacheprovider", "xdist", "faulthandler")]
    stop = ["-x"] if plugin.order is not None else []
    return int(
        pytest.main(
            [
                "-q",
                "--assert=plain",
                "-o",
                "addopts=",
                "-m",
                "not slow",
                *" ".join(off).split(),
                *stop,
                *files,
            ],
            [plugin],
        )
    )


def of_file(slot: Path, file: str, rooms: list[str], out: Path) -> int:
    """Which lines of the rooms each test of a file executes, and its seconds."""
    recorder = coverage.Coverage(data_file=None, source=[str(slot / "npkl_models" / room) for room in rooms])
    plugin = Plugin(None, 0.0, recorder, out)
    recorder.start()
    child(slot, [file], plugin)
    recorder.stop()
    data, lines = recorder.get_data(), {}
    for path in data.measured_files():
        of_lines = data.contexts_by_lineno(path).items()
        lines[str(Path(path).relative_to(slot))] = {n: [t for t in tests if t] for n, tests in of_lines}
    out.write_text(json.dumps({"seconds": plugin.result, "bad": sorted(plugin.bad), "lines": lines}))
    return 0


def in_processes(
    slots: list[Path], works: list[Callable[[Path], int]], done: Callable[[int, int], None]
) -> None:
    """Each of the works in a process of its own, as many at a time as there are slots."""
    free, running, at = list(slots), {}, 0
    try:
        while at < len(works) or running:
            while free and at < len(works):
                slot = free.pop()
                pid = os.fork()
                if pid == 0:
                    _only(works[at], slot)
                running[pid], at = (slot, at), at + 1
            pid, status = os.wait()
            slot, which = running.pop(pid)
            free.append(slot)
            done(which, os.waitstatus_to_exitcode(status))
    finally:
        for pid in running:
            os.kill(pid, signal.SIGKILL)


def _only(work: Callable[[Path], int], slot: Path) -> NoReturn:
    """The work, and the end of the process whatever comes of it."""
    try:
        os._exit(work(slot))
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(KILLED)
