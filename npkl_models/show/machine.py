"""The circumstances of a result: versions, processor, memory, date."""

from __future__ import annotations

import os
import platform
from contextlib import suppress
from datetime import datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from npkl_models._version import __version__

PACKAGES = (
    "numpy", "scipy", "numba", "scikit-learn", "cvxpy", "clarabel", "scs", "osqp", "mosek", "matplotlib",
)  # fmt: skip
"""The packages and solvers that influence a result; those that are not installed are left out."""


def versions() -> dict[str, str]:
    """The versions of this library, of Python, and of the installed packages in `PACKAGES`."""
    found = {"npkl_models": __version__, "python": platform.python_version()}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def machine() -> dict[str, str]:
    """Processor, cores, memory, operating system and number of threads, as far as they are known."""
    processor, memory = platform.processor() or platform.machine(), ""
    with suppress(OSError, StopIteration):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
        processor = next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    with suppress(AttributeError, ValueError, OSError):
        memory = f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB"
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    known = {
        "processor": processor, "cores": str(allowed or 1), "memory": memory,
        "system": f"{platform.system()} {platform.release()} ({platform.machine()})",
        "threads": os.environ.get("OMP_NUM_THREADS") or os.environ.get("OPENBLAS_NUM_THREADS") or "",
    }  # fmt: skip
    return {name: text for name, text in known.items() if text}


def date() -> str:
    """The current date and time, to the second, with the time zone."""
    return datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")
