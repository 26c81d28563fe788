"""The circumstances of a result: versions, processor, memory, date."""

from __future__ import annotations

import os
import platform
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
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def machine() -> dict[str, str]:
    """Processor, cores, memory, operating system and number of threads, as far as they are known."""
    known = {
        "processor": _processor(),
        "cores": str(_cores()),
        "memory": _memory(),
        "system": f"{platform.system()} {platform.release()} ({platform.machine()})",
        "threads": os.environ.get("OMP_NUM_THREADS") or os.environ.get("OPENBLAS_NUM_THREADS") or "",
    }
    return {name: text for name, text in known.items() if text}


def date() -> str:
    """The current date and time, to the second, with the time zone."""
    return datetime.now().astimezone().isoformat(sep=" ", timespec="seconds")


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    names = (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor() or platform.machine())


def _cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _memory() -> str:
    try:
        return f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.1f} GiB"
    except (AttributeError, ValueError, OSError):
        return ""
