"""The memory that is left for this process, from files of the operating system."""

from __future__ import annotations

import math
import os
from pathlib import Path

PROC, GROUPS = Path("/proc"), Path("/sys/fs/cgroup")
VERSIONS = (
    ("", "memory.max", "memory.current"),
    ("memory", "memory.limit_in_bytes", "memory.usage_in_bytes"),
)


def available_bytes() -> float:
    """The bytes that are left: the least of free memory, control group limit and address space limit."""
    return max(min(_free(), _of_group(), _of_address_space()), 0.0)


def _free() -> float:
    """The available memory of the machine; its whole memory if the system does not report it."""
    for line in _lines(f"{PROC}/meminfo"):
        words = line.split()
        if words[:1] == ["MemAvailable:"] and len(words) > 1 and words[1].isdecimal():
            return 1024.0 * float(words[1])
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # another operating system
        return math.inf


def _of_group() -> float:
    """The least difference of limit and use, of the control group and the groups that contain it."""
    least = math.inf
    for line in _lines(f"{PROC}/self/cgroup"):
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        for version, limit, use in VERSIONS:
            if controllers != version and version not in controllers.split(","):
                continue
            folder = f"{GROUPS}/{version}{group}".rstrip("/")
            while True:
                most = _number(f"{folder}/{limit}")
                if most < math.inf:
                    least = min(least, most - min(_number(f"{folder}/{use}"), most))
                if len(folder) <= len(f"{GROUPS}/{version}"):
                    break
                folder = os.path.dirname(folder)
    return least


def _of_address_space() -> float:
    """The limit RLIMIT_AS minus the used address space."""
    try:
        import resource
    except ImportError:  # another operating system
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return math.inf
    words = (_lines(f"{PROC}/self/statm") or ["0"])[0].split()
    return float(limit) - float(words[0]) * resource.getpagesize()


def _lines(path: str) -> list[str]:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read().splitlines()
    except OSError:
        return []


def _number(path: str) -> float:
    """The number in a file; infinity for any other text, such as "max"."""
    words = (_lines(path) or [""])[0].strip()
    return float(words) if words.isdecimal() else math.inf
