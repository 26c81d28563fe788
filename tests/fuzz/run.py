"""The fuzzer's own command: ``python tests/fuzz/run.py --files 100000 --seed 0`` tries altered files on every reader.

Prints how many were refused by a sentence that names the file, taken as what they are, or neither; its exit
status is 1 if there was any error of another kind, any file taken for what it is not, or any hang. With
``--minutes`` it ends when the time is up.
"""

from __future__ import annotations

import argparse
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter, defaultdict
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))
sys.path.insert(0, str(Path(__file__).parents[1]))

import npkl_models as nm
from fuzz.mutations import mutated
from fuzz.targets import AGAIN, Target, plain, targets

LONGEST = 10.0  # seconds that a file may take
ROOM = 2 * 2**30  # bytes of address space beyond those at the start
SHOWN = 40  # findings of a kind


class Hang(BaseException):
    """A reader took too long; no reader may catch it."""


@dataclass
class Tally:
    """What came of the files."""

    counts: dict[str, Counter[str]] = field(default_factory=lambda: defaultdict(Counter))
    found: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    slowest: tuple[float, str] = (0.0, "")
    peak: int = 0
    seconds: float = 0.0

    def total(self, what: str) -> int:
        """Of all readers."""
        return sum(count[what] for count in self.counts.values())

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not any(self.found.values())

    def __str__(self) -> str:
        kinds = ("files", "refused", "right", "raw error", "unnamed", "silent", "hang")
        lines = [f"{'reader':18}" + "".join(f"{kind:>11}" for kind in kinds)]
        for name, count in [*self.counts.items(), ("all", sum(self.counts.values(), Counter()))]:
            lines.append(f"{name:18}" + "".join(f"{count[kind]:11d}" for kind in kinds))
        rate = self.total("files") / max(self.seconds, 1e-9)
        lines.append(
            f"{self.seconds:.0f} s, {rate:.0f} files a second; slowest {self.slowest[0]:.2f} s ({self.slowest[1]}); "
            f"peak memory {self.peak / 2**20:.0f} MiB above the start"
        )
        for kind, found in self.found.items():
            lines += [f"\n{kind}, {len(found)}:", *found[:SHOWN]]
        return "\n".join(lines)


def attack(files: int, seed: int = 0, minutes: float = float("inf")) -> Tally:
    """Try so many altered files, each reader in its turn."""
    tally, random, began = Tally(), Random(seed), time.monotonic()
    before = signal.signal(signal.SIGALRM, _hang)
    limits = resource.getrlimit(resource.RLIMIT_AS)
    memory = Path("/dev/shm")  # where there is a file system in memory, the fuzzer is not one of the disk
    where = memory if memory.is_dir() else None
    with tempfile.TemporaryDirectory(dir=where) as place, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        every = targets(Path(place))
        known = {target.name: _originals(target, Path(place)) for target in every}
        others = [data for target in every for data in target.originals]
        start = _peak()
        resource.setrlimit(resource.RLIMIT_AS, (_size() + ROOM, limits[1]))
        try:
            for number in range(files):
                if time.monotonic() - began > 60 * minutes:
                    break
                target = every[number % len(every)]
                data = mutated(random.choice(target.originals), target.kind, target.pack, others, random)
                _try(target, data, Path(place) / target.name, known[target.name], tally)
        finally:
            resource.setrlimit(resource.RLIMIT_AS, limits)
            signal.signal(signal.SIGALRM, before)
        tally.peak, tally.seconds = _peak() - start, time.monotonic() - began
    return tally


def _originals(target: Target, place: Path) -> list[Any]:
    """What the reader reads of the files as they were written."""
    out = []
    (place / target.name).mkdir()
    for data in target.originals:
        path = place / target.name / target.file
        path.write_bytes(target.pack(data))
        value = target.read(path)
        assert value != AGAIN, target.name
        assert target.holds(target.pack(data), value, [plain(value)]), target.name
        out.append(plain(value))
    return out


def _try(target: Target, data: bytes, place: Path, originals: list[Any], tally: Tally) -> None:
    path = place / target.file
    path.write_bytes(data)
    count, began = tally.counts[target.name], time.perf_counter()
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    kind, words = "refused", ""
    try:
        value = target.read(path)
        if not (isinstance(value, str) and value == AGAIN):
            kind = "right" if _holds(target, data, value, originals) else "silent"
            words = f"{target.name}: {data[:200]!r} was read as {str(plain(value))[:300]}"
    except nm.NPKLError as error:
        if str(path) not in str(error) and path.name not in str(error):
            kind, words = "unnamed", f"{target.name}: {error}"
    except Hang:
        kind, words = "hang", f"{target.name}: {data[:300]!r}"
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt):
            raise
        kind, words = "raw error", f"{target.name}: {''.join(traceback.format_exception(error)[-3:])}"
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    seconds = time.perf_counter() - began
    tally.slowest = max(tally.slowest, (seconds, f"{target.name}, {kind}"))
    count["files"] += 1
    count[kind] += 1
    if kind not in ("refused", "right"):
        tally.found[kind].append(words)


def _holds(target: Target, data: bytes, value: Any, originals: list[Any]) -> bool:
    """Whether what was read is right; where the plain reader gives up, it is not."""
    try:
        return target.holds(data, value, originals)
    except Exception:
        return False


def _hang(*_: object) -> None:
    raise Hang


def _peak() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def _size() -> int:
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def main() -> int:
    """Run until the files or the time are used up."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=float("inf"))
    options = parser.parse_args()
    tally = attack(options.files, options.seed, options.minutes)
    print(tally)
    return 0 if tally.clean else 1


if __name__ == "__main__":
    sys.exit(main())
