"""Ctrl-C at random moments of the commands, and sweeps whose main process is killed and that are resumed.

    python tests/interrupts/run.py --interrupts 200 --sweeps 20 --seed 1

An interrupted command must end with 130 (or as it would have), say one line and no traceback, and leave no
child; a killed sweep must leave no process, and have every result when it is run again.
"""

import argparse
import contextlib
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
IMPORTS, WORK, AFTER = "before the work began", "within the work", "after the work"
BEGUN, READY, DONE = b".", b"w", b"e"  # what a command says of where it is
RUN = f"""
import os, sys
sys.argv = ["npkl", *sys.argv[2:]]
say = lambda what: os.write({{fd}}, what)
class Told:  # of the first import after the one that answers the signal
    def find_spec(name, path=None, target=None):
        if name == "lazy_loader":
            say({BEGUN!r})
sys.meta_path.insert(0, Told)
import npkl_models.interrupts as interrupts
def told(work, before, after):
    return lambda: (say(before), work(), say(after))
interrupts.begin = told(interrupts.begin, b"", {READY!r})
interrupts.end = told(interrupts.end, {DONE!r}, b"")
from npkl_models.cli.main import command
command()
"""
FEW = "bcd,interior,admm"
COMMANDS = {
    "crosscheck": ["crosscheck", "--data", "iris", "--backends", FEW],
    "jobs": ["crosscheck", "--data", "iris", "--jobs", "2", "--backends", FEW],
    "solve": ["solve", "--data", "iris", "--gamma", "10"], "bcd": ["solve", "--data", "iris", "--backend", "bcd", "--tol", "1e-9"],
    "interior": ["solve", "--data", "iris", "--backend", "interior"], "sdp": ["solve", "--data", "iris", "--backend", "sdp"],
    "path": ["path", "--data", "iris"], "path jobs": ["path", "--data", "iris", "--jobs", "2"],
    "cluster": ["cluster", "iris", "--k", "3"], "help": ["--help"],
    "datasets": ["datasets"], "explain": ["explain", "--data", "iris"], "explore": ["explore", "--no-browser"],
}  # fmt: skip
ENDLESS = {"explore": 5.0}  # seconds in which they are interrupted
EARLIEST = 0.005  # what comes before the first import of ours is the interpreter's own
LATEST = 0.9  # of the time that a command takes
PATIENCE = 60.0  # seconds after which a process that was told to end is said to hang
SLOW = 8.0  # seconds that are counted as a slow end


@dataclass
class Ending:
    """How a process has ended after the signal."""

    name: str
    delay: float
    phase: str
    status: int
    seconds: float
    errors: str
    printed: str
    left: list[int] = field(default_factory=list)
    files: list[str] = field(default_factory=list)

    @property
    def fault(self) -> str:
        lines = [line for line in self.errors.splitlines() if line.strip()]
        said = self.errors + self.printed
        if self.status not in (130, 0, 1) or "Traceback" in said or "Exception ignored" in said:
            return "traceback or status"
        if lines not in ([], [LINE]) or (self.status == 130) != (lines == [LINE]):
            return "not one line"
        if self.left or self.files:
            return "children left" if self.left else "files left"
        return "slow" if self.seconds > SLOW else ""


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


def files(process: int, seconds: float) -> list[str]:
    """Semaphores and folders of a process's workers that are left when all had so long to go."""
    until = time.monotonic() + seconds
    while True:
        places = {Path("/dev/shm"), Path(tempfile.gettempdir())}
        names = (f"sem.loky-{process}-*", f"joblib_memmapping_folder_{process}_*")
        left = [str(path) for place in places for name in names for path in place.glob(name)]
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.05)


def interrupted(name: str, delay: float | None, group: bool = True, within: bool = False) -> Ending:
    """Run a command, and interrupt it (and its children, as a terminal does) after so many seconds.

    They count from its beginning, or that of its work. Without a delay nothing interrupts it.
    """
    reading, writing = os.pipe()
    with (
        tempfile.TemporaryFile() as errors,
        tempfile.TemporaryFile() as printed,
        tempfile.TemporaryDirectory() as folder,
    ):
        arguments = [word.format(folder=folder) for word in COMMANDS[name]]
        process = subprocess.Popen(
            [sys.executable, "-c", RUN.format(fd=writing), "npkl", *arguments], stdin=subprocess.PIPE, stdout=printed, stderr=errors,
            pass_fds=(writing,), start_new_session=True, env=HERE,
        )  # fmt: skip
        os.close(writing)
        said = os.read(reading, 1)
        while within and said and READY not in said:
            said += os.read(reading, 16)
        os.set_blocking(reading, False)
        began = time.monotonic()
        if delay is not None:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(delay)
            with contextlib.suppress(BlockingIOError):
                said += os.read(reading, 16)
            began = time.monotonic()
            if process.poll() is None:
                (os.killpg if group else os.kill)(process.pid, signal.SIGINT)
        ended = process.poll() is not None or DONE in said
        phase = AFTER if ended else WORK if READY in said else IMPORTS
        try:
            status = process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            status = process.wait()
        took = time.monotonic() - began
        os.close(reading)
        if process.stdin is not None:
            process.stdin.close()
        left, kept = gone(process.pid, 10), files(process.pid, 10)
        errors.seek(0)
        printed.seek(0)
        words = [file.read().decode(errors="replace") for file in (errors, printed)]
        return Ending(name, 0.0 if delay is None else delay, phase, status, took, *words, left, kept)


def swept(folder: str, seed: int, tasks: int = 12, latest: float = 2.0) -> list[str]:
    """Kill a sweep's main process, look for orphans, and run it again; returns what is wrong."""
    chance = random.Random(seed)
    command = [sys.executable, str(Path(__file__).with_name("sweeping.py")), folder, str(tasks)]
    process = subprocess.Popen(
        command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=HERE
    )
    until = time.monotonic() + PATIENCE
    while not list(Path(folder).glob("*.json")) and process.poll() is None and time.monotonic() < until:
        time.sleep(0.05)
    time.sleep(chance.uniform(0, latest))
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


def measured() -> dict[str, float]:
    """Seconds that each command takes, or in which one without an end is interrupted."""
    found = {}
    for name in COMMANDS:
        found[name] = ENDLESS[name] if name in ENDLESS else interrupted(name, None).seconds
        print(f"{name}: {found[name]:.1f} s", flush=True)
    return found


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--interrupts", type=int, default=100)
    parser.add_argument("--sweeps", type=int, default=10)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell has its background jobs ignore it
    chance, faults, slowest = random.Random(options.seed), [], 0.0
    statuses: Counter[int] = Counter()
    phases: Counter[str] = Counter()
    latest = {name: LATEST * seconds for name, seconds in measured().items()} if options.interrupts else {}
    for _ in range(options.interrupts):
        name = chance.choice(list(COMMANDS))
        one = interrupted(name, chance.uniform(EARLIEST, latest[name]), chance.random() < 0.5)
        statuses[one.status] += 1
        phases[one.phase] += 1
        slowest = max(slowest, one.seconds)
        if one.fault:
            faults.append(one)
            print(
                f"{one.fault}: {one.name} after {one.delay:.3f} s, {one.phase}, status {one.status},"
                f" {one.seconds:.1f} s, {one.left} {one.files}"
            )
            print(one.errors[-1500:], one.printed[-1500:], flush=True)
    orphans = sum(bool(one.left) for one in faults)
    print(f"{options.interrupts} interrupts: {dict(statuses)}; {dict(phases)}", flush=True)
    print(f"slowest end {slowest:.1f} s, {orphans} with orphans, {len(faults)} faults", flush=True)
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
