"""The solver rooms' tests under several arithmetics: ``python tests/machines/run.py [--quick] [TESTS ...]``.

OpenBLAS takes its kernels by the processor, and each sums in an order of its own; ``OPENBLAS_CORETYPE`` asks for
those of another. What passes under one and fails under another hangs on last bits. A line for each core type and
number of threads; the exit status is the number of those that failed. Types that this processor lacks are
left out: Prescott and Haswell run on any, SkylakeX where there is AVX-512.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORES = ("Prescott", "Sandybridge", "Haswell", "Zen", "SkylakeX")
QUICK = ("Prescott", "Haswell", "SkylakeX")
NEEDS = {"Sandybridge": "avx", "Haswell": "avx2", "Zen": "avx2", "SkylakeX": "avx512f"}
ROOMS = (
    "proof", "certify", "interior", "conic", "lowrank", "spectral", "presolve/test_cliques.py",
    "data/test_sdpa.py",
)  # fmt: skip
THREADS = (1, 2)
SLICE = (
    "presolve/test_cliques.py::test_interior_and_sdp_agree_on_the_face",
    "data/test_sdpa.py::test_hard_constraints",
    "proof/test_rounding.py",
)


def abilities() -> set[str]:
    """Of the processor, as Linux names them; none elsewhere."""
    try:
        text = Path("/proc/cpuinfo").read_text(encoding="ascii", errors="replace")
    except OSError:
        return set()
    return set(next((line for line in text.splitlines() if line.startswith("flags")), "").split())


def runnable(cores: tuple[str, ...]) -> list[str]:
    """Those of the core types that this processor has the instructions of."""
    able = abilities()
    return [core for core in cores if able and (core not in NEEDS or NEEDS[core] in able)]


def run(
    core: str, threads: int, tests: list[str], timeout: float | None = None
) -> subprocess.CompletedProcess[str]:
    """Pytest on these, under a core type and so many threads of BLAS."""
    count = str(threads)
    asked = {"OPENBLAS_CORETYPE": core, "OPENBLAS_NUM_THREADS": count, "OMP_NUM_THREADS": count}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", *tests]
    return subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | asked,
        capture_output=True,
        text=True,
        check=False,
        timeout=timeout,
    )


def main() -> int:
    """Run them, one line each, and what failed below it."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("tests", nargs="*", help="paths below tests/; the solver rooms by default")
    parser.add_argument(
        "--quick", action="store_true", help="three core types, one thread, a slice of the tests"
    )
    options = parser.parse_args()
    tests = [f"tests/{name}" for name in options.tests or (SLICE if options.quick else ROOMS)]
    failed = 0
    for core in runnable(QUICK if options.quick else CORES):
        for threads in THREADS[:1] if options.quick else THREADS:
            began = time.perf_counter()
            found = run(core, threads, tests)
            failed += found.returncode != 0
            lines = found.stdout.strip().splitlines()
            print(
                f"{core}, {threads} thread(s), {time.perf_counter() - began:.0f} s: {lines[-1] if lines else found.stderr}"
            )
            print(
                "".join(f"    {line}\n" for line in lines if line.startswith(("FAILED", "ERROR"))),
                end="",
                flush=True,
            )
    return failed


if __name__ == "__main__":
    raise SystemExit(main())
