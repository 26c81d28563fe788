"""The mutation run's own command: ``python tests/mutation/run.py --mutants 300 --seed 0``.

Changes one expression or statement of a room (`mutants`), in a copy of the package, and runs those tests of the
folder of the same name that execute the changed line, the quickest first, until one fails. A change that none
of them sees within ``--seconds`` survives; one under which a test takes ten times as long and 60 s is killed by a
hang, which is counted apart: nothing is compiled while seconds are counted, and they are those of the processor.
With ``--json`` the results are kept, and a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import compileall
import hashlib
import json
import os
import random
import shutil
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
os.environ["OPENBLAS_NUM_THREADS"] = "1"
os.environ["NUMBA_NUM_THREADS"] = "1"
os.environ["MPLBACKEND"] = "Agg"

from mutation.mutants import Mutant, mutants_of
from mutation.processes import EMPTY, FAULT, HUNG, ROOT, SURVIVED, Plugin, child, in_processes, of_file, warm


class Run:
    """Slots with a copy of the package each, and what is known of the tests."""

    def __init__(self, folder: Path, rooms: list[str], known: dict[str, Any], seconds: float) -> None:
        self.rooms, self.seconds, self.known, self.slots = rooms, seconds, known, []
        for k in range(2):
            self.slots.append(folder / str(k))
            shutil.copytree(
                ROOT / "npkl_models",
                folder / str(k) / "npkl_models",
                ignore=shutil.ignore_patterns("__pycache__"),
            )
            compileall.compile_dir(folder / str(k), quiet=2)
        self.files = {
            room: sorted(str(p.relative_to(ROOT)) for p in (ROOT / "tests" / room).glob("test_*.py"))
            for room in rooms
        }

    def warm(self) -> None:
        """Compile in each slot: as many works as slots begin at once, each in a slot of its own."""

        def done(k: int, status: int) -> None:
            if status != SURVIVED:
                output = [(slot / "output").read_text()[-3000:] for slot in self.slots]
                raise SystemExit(f"a slot cannot be warmed ({status}):\n" + "\n".join(output))

        in_processes(self.slots, [warm] * len(self.slots), done)

    def look(self) -> None:
        """What every test executes; files that have not changed since the last look are left out."""
        source = b"".join(p.read_bytes() for p in sorted((ROOT / "npkl_models").rglob("*.py")))
        keys = {
            f: hashlib.sha1(source + (ROOT / f).read_bytes()).hexdigest()
            for of in self.files.values()
            for f in of
        }
        todo = [f for f, key in keys.items() if self.known.get(f, {}).get("key") != key]
        out = self.slots[0].parent / "look"
        out.mkdir(exist_ok=True)

        def done(k: int, status: int) -> None:
            self.known[todo[k]] = json.loads((out / f"{k}.json").read_text()) | {"key": keys[todo[k]]}
            for name in self.known[todo[k]]["bad"]:
                print("left out, since it fails or is skipped without any change:", name, flush=True)

        works = [
            lambda slot, f=f, k=k: of_file(slot, f, self.rooms, out / f"{k}.json") for k, f in enumerate(todo)
        ]
        in_processes(self.slots, works, done)

    def tests_of(self, mutant: Mutant) -> dict[str, float]:
        """Tests that execute the line (where it runs at import or is compiled: the module), with their seconds."""
        found: dict[str, float] = {}
        whole: dict[str, float] = {}
        once = mutant.path.endswith("schur.py")
        for file in self.files[mutant.room]:
            known = self.known[file]
            for line, tests in known["lines"].get(mutant.path, {}).items():
                here = mutant.line <= int(line) <= mutant.last
                once |= here and not tests
                for test in set(tests) - set(known["bad"]):
                    whole[test] = known["seconds"][test]
                    if here:
                        found[test] = known["seconds"][test]
        return found or (whole if once else {})

    def control(self) -> None:
        """An unchanged package must survive, or the run would count its own faults as kills."""

        def work(slot: Path, room: str) -> int:
            known = [self.known[file] for file in self.files[room]]
            tests = {t: s for k in known for t, s in k["seconds"].items() if t not in k["bad"]}
            return child(slot, self.files[room], Plugin(tests, 2 * self.seconds, None, slot / "last"))

        def done(k: int, status: int) -> None:
            if status != SURVIVED:
                why = "hangs in" if status in HUNG else f"is killed ({status}) by"
                tails = [
                    f"{(slot / 'last').read_text() if (slot / 'last').exists() else ''}\n"
                    + (slot / "output").read_text()[-3000:]
                    for slot in self.slots
                ]
                raise SystemExit(f"{self.rooms[k]} {why} its tests without any change:\n" + "\n".join(tails))

        in_processes(self.slots, [lambda slot, room=room: work(slot, room) for room in self.rooms], done)

    def judge(self, mutants: list[Mutant], results: dict[str, Any], save: Callable[[], None]) -> None:
        """Kill what can be killed."""
        todo = [m for m in mutants if m.name not in results]

        def work(slot: Path, mutant: Mutant) -> int:
            tests = self.tests_of(mutant)
            if not tests:
                return SURVIVED
            target = slot / mutant.path
            for old in (target.parent / "__pycache__").glob(f"{target.stem}.*"):
                old.unlink()
            target.write_bytes(mutant.applied((ROOT / mutant.path).read_bytes()))
            files = sorted({name.split("::")[0] for name in tests})
            return child(slot, files, Plugin(tests, self.seconds, None, slot / "last"))

        def done(k: int, status: int) -> None:
            mutant = todo[k]
            for slot in self.slots:
                if (slot / mutant.path).read_bytes() == mutant.applied((ROOT / mutant.path).read_bytes()):
                    shutil.copyfile(ROOT / mutant.path, slot / mutant.path)
                    by = (slot / "last").read_text() if (slot / "last").exists() else ""
                    break
            else:
                by = "no test executes it"
            killed, hung = status not in (SURVIVED, EMPTY, FAULT), status in HUNG
            results[mutant.name] = {"room": mutant.room, "killed": killed, "hung": hung, "by": by}
            word = (
                "hangs   "
                if hung
                else "killed  "
                if killed
                else "FAULT   "
                if status == FAULT
                else "SURVIVED"
            )
            print(word, mutant.name, "|", by, flush=True)
            save()

        in_processes(self.slots, [lambda slot, m=m: work(slot, m) for m in todo], done)


def main() -> None:
    """Draw, judge, count."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--mutants", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--rooms", default="certify,feasibility,proof,interior")
    parser.add_argument("--seconds", type=float, default=40.0, help="of tests for one change")
    parser.add_argument("--json", type=Path)
    parser.add_argument(
        "--again", action="store_true", help="try what survived once more, against newer tests"
    )
    given = parser.parse_args()
    rooms = given.rooms.split(",")
    state = {"tests": {}, "results": {}}
    if given.json and given.json.exists():
        state = json.loads(given.json.read_text())
    drawn, left = [], {}
    for room in rooms:
        kept, omitted = mutants_of(ROOT, room)
        drawn += kept
        for reason, count in omitted.items():
            left[reason] = left.get(reason, 0) + count
    total = len(drawn)
    drawn = random.Random(given.seed).sample(drawn, min(given.mutants, total))
    results = state["results"]
    for name in [n for n, r in results.items() if given.again and not r["killed"]]:
        del results[name]

    def save() -> None:
        if given.json:
            given.json.write_text(json.dumps(state))

    with tempfile.TemporaryDirectory() as folder:
        run = Run(Path(folder), rooms, state["tests"], given.seconds)
        run.warm()
        run.look()
        save()
        run.control()
        run.judge(drawn, results, save)
    for room in rooms:
        of = [results[m.name]["killed"] for m in drawn if m.room == room]
        print(f"{room}: {sum(of)} killed of {len(of)}")
    every = [results[m.name]["killed"] for m in drawn]
    hung = sum(results[m.name].get("hung", False) for m in drawn)
    print(
        f"{sum(every)} killed of {len(every)} drawn ({100 * sum(every) / len(every):.1f} %) of {total} changes: "
        f"{sum(every) - hung} by a test that fails, {hung} by one that hangs"
    )
    print("left out:", "; ".join(f"{count} {reason}" for reason, count in sorted(left.items())))


if __name__ == "__main__":
    main()
