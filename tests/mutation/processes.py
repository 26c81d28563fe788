"""Tests of a changed copy of the package, each run in a process of its own."""

from __future__ import annotations

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
import numpy as np
import pytest
import sklearn.datasets  # noqa: F401

ROOT = Path(__file__).parents[2]
EMPTY, SURVIVED = 5, 0
FAULT = 70  # an exception that no test raised: the run's own, or pytest's at the end
SLOWER, LATER = 10, 60.0  # times its usual seconds, and so many more, of its own processor: a test that hangs
WAITING = 5  # times all of that, by the clock: one that hangs without doing anything
HUNG = (-signal.SIGPROF, -signal.SIGALRM)


class Plugin:
    """Chooses and orders the tests, ends them in time, and writes what each of them did."""

    def __init__(
        self, order: dict[str, float] | None, seconds: float, recorder: Any, log: Path, limited: bool = True
    ) -> None:
        self.order, self.seconds, self.recorder, self.log = order, seconds, recorder, log
        self.limited = limited
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
            if self.limited:
                _end_in(SLOWER * self.order[item.nodeid] + LATER)
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


def _end_in(seconds: float) -> None:
    """The system ends this process then, whoever holds what lock; the signal tells the parent why.

    Seconds of the processor: other processes of a busy machine, and what they wait for, do not count.
    """
    for clock, number, limit in (
        (signal.ITIMER_PROF, signal.SIGPROF, seconds),
        (signal.ITIMER_REAL, signal.SIGALRM, WAITING * seconds),
    ):
        signal.signal(number, signal.SIG_DFL)
        signal.setitimer(clock, limit)


def warm(slot: Path) -> int:
    """Every loop of the package compiled in this slot, so that no test does it while its seconds are counted."""
    sys.path.insert(0, str(slot))
    _silent(slot)
    import npkl_models as nm
    from npkl_models.applications.assign import assign
    from npkl_models.interior.compiled import edges

    three, square, weak = np.arange(3), np.eye(3), np.zeros(3, dtype=np.intp)
    L = nm.laplacian(np.arange(12.0)[:, None] ** 1.5, n_neighbors=3, shift=0.1)
    problem = nm.pcp(L, nm.Pairs(12, must_link=[(0, 1), (3, 4)], cannot_link=[(2, 3)]))
    for backend in ("interior", "bcd", "admm"):
        problem.solve(backend)
    edges(three, weak, square, square)
    assign(three, np.zeros((3, 1), dtype=np.intp), np.zeros(4, dtype=np.intp), weak)
    return SURVIVED


def _silent(slot: Path) -> None:
    """What is printed goes to a file of the slot."""
    silent = os.open(slot / "output", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(silent, 1)
    os.dup2(silent, 2)


def child(slot: Path, files: list[str], plugin: Plugin) -> int:
    """In a process of its own: the tests of these files on the package in ``slot``."""
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(slot))
    os.environ |= {"PYTHONPATH": str(slot), "HYPOTHESIS_STORAGE_DIRECTORY": str(slot / "hypothesis")}
    os.chdir(ROOT)
    _silent(slot)
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
        os._exit(FAULT)
