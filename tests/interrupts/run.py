"""Ctrl-C at random moments of the commands, and sweeps whose main process is killed and that are resumed.

    python tests/interrupts/run.py --interrupts 200 --sweeps 20 --seed 1

An interrupted command must end with 130 (or as it would have), say one line and no traceback, and leave no
child; a killed sweep must leave no process, and have every result when it is run again.
"""

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
HERE = {**os.environ, "PYTHONPATH": str(ROOT)}
LINE = "npkl: interrupted"
STARTED = "import os, sys; sys.argv = ['npkl', *sys.argv[1:]]; os.write({fd}, b'.')\n"
RUN = STARTED + "from npkl_models.cli.main import command; command()"
COMMANDS = {
    "crosscheck": ["crosscheck", "--data", "iris"], "jobs": ["crosscheck", "--data", "iris", "--jobs", "2"],
    "solve": ["solve", "--data", "wine", "--gamma", "10"], "bcd": ["solve", "--data", "iris", "--backend", "bcd"],
    "interior": ["solve", "--data", "wine", "--backend", "interior"], "sdp": ["solve", "--data", "iris", "--backend", "sdp"],
    "path": ["path", "--data", "iris"], "cluster": ["cluster", "iris", "--k", "3"], "help": ["--help"],
    "datasets": ["datasets"], "explain": ["explain", "--data", "iris"], "explore": ["explore", "--no-browser"],
}  # fmt: skip
LATEST = 4.0  # seconds from the first import to a signal
EARLIEST = 0.005  # what comes before the first import of ours is the interpreter's own
PATIENCE = 60.0  # seconds after which a process that was told to end is said to hang
SLOW = 8.0  # seconds that are counted as a slow end


@dataclass
class Ending:
    """How a process has ended after the signal."""

    name: str
    delay: float
    status: int
    seconds: float
    errors: str
    left: list[int] = field(default_factory=list)

    @property
    def fault(self) -> str:
        lines = [line for line in self.errors.splitlines() if line.strip()]
        if self.status not in (130, 0, 1) or "Traceback" in self.errors or "Exception ignored" in self.errors:
            return "traceback or status"
        if lines not in ([], [LINE]) or (self.status == 130) != (lines == [LINE]):
            return "not one line"
        return "children left" if self.left else "slow" if self.seconds > SLOW else ""


def processes(group: int) -> list[int]:
    """Living processes of a session."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rsplit(")", 1)[1].split()
            except (OSError, IndexError):
                continue
            if int(words[3]) == group and words[0] not in "ZX":
                found.append(int(entry.name))
    return found


def gone(group: int, seconds: float) -> list[int]:
    """What is left of a session when all had so long to end."""
    until = time.monotonic() + seconds
    while (left := processes(group)) and time.monotonic() < until:
        time.sleep(0.05)
    return left


def interrupted(name: str, delay: float, group: bool = True) -> Ending:
    """Run a command, and interrupt it (and its children, as a terminal does) after so many seconds."""
    reading, writing = os.pipe()
    with tempfile.TemporaryFile() as errors:
        process = subprocess.Popen(
            [sys.executable, "-c", RUN.format(fd=writing), *COMMANDS[name]], stdout=subprocess.DEVNULL, stderr=errors,
            pass_fds=(writing,), start_new_session=True, env=HERE,
        )  # fmt: skip
        os.close(writing)
        os.read(reading, 1)
        os.close(reading)
        time.sleep(delay)
        began = time.monotonic()
        if process.poll() is None:
            (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        took = time.monotonic() - began
        left = gone(process.pid, 10)
        errors.seek(0)
        return Ending(name, delay, status, took, errors.read().decode(errors="replace"), left)


def swept(folder: str, seed: int) -> list[str]:
    """Kill a sweep's main process, look for orphans, and run it again; returns what is wrong."""
    chance, tasks = random.Random(seed), 12
    command = [sys.executable, str(Path(__file__).with_name("sweeping.py")), folder, str(tasks)]
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=HERE
    )
    until = time.monotonic() + PATIENCE
    while not list(Path(folder).glob("*.json")) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(chance.uniform(0, 2))
    if process.poll() is not None:
        return ["the sweep ended before it was killed"]
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    faults = ["orphans"] if gone(process.pid, 15) else []
    out = subprocess.run(
        command, capture_output=True, text=True, timeout=10 * PATIENCE, check=False, env=HERE
    )
    wanted = {str(k): k * k for k in range(tasks)}
    if not out.stdout or json.loads(out.stdout.splitlines()[-1]) != wanted:
        faults.append(f"results incomplete: {out.stdout[-200:]} {out.stderr[-300:]}")
    return faults


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--interrupts", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    chance, faults, statuses, slowest = random.Random(options.seed), [], Counter(), 0.0
    for _ in range(options.interrupts):
        one = interrupted(
            chance.choice(list(COMMANDS)), chance.uniform(EARLIEST, LATEST), chance.random() < 0.5
        )
        statuses[one.status] += 1
        slowest = max(slowest, one.seconds)
        if one.fault:
            faults.append(one)
            print(
                f"{one.fault}: {one.name} after {one.delay:.3f} s, status {one.status}, {one.seconds:.1f} s"
            )
            print(one.errors[-1500:], flush=True)
    print(
        f"{options.interrupts} interrupts: {dict(statuses)}, slowest end {slowest:.1f} s, {len(faults)} faults",
        flush=True,
    )
    wrong = 0
    for k in range(options.sweeps):
        with tempfile.TemporaryDirectory() as folder:
            if found := swept(folder, options.seed + k):
                wrong += 1
                print(f"sweep {k}: {found}", flush=True)
    print(f"{options.sweeps} sweeps killed and resumed: {wrong} faults")
    return 1 if faults or wrong else 0


if __name__ == "__main__":
    sys.exit(main())
