"""How much memory this process may still take, as the system says in its own files."""

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
    """The least of what is free, what the control group leaves and what the address space leaves."""
    return max(min(_free(), _of_group(), _of_address_space()), 0.0)


def _free() -> float:
    """Of the machine: free or easily freed; all of it where the system does not say."""
    for line in _lines(PROC / "meminfo"):
        words = line.split()
        if words[:1] == ["MemAvailable:"] and len(words) > 1 and words[1].isdecimal():
            return 1024.0 * float(words[1])
    try:
        return float(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
    except (AttributeError, OSError, ValueError):  # not a system of this kind
        return math.inf


def _of_group() -> float:
    """The limit of the control group less what it uses, and of those that it is in."""
    least = math.inf
    for line in _lines(PROC / "self" / "cgroup"):
        _, controllers, group = (*line.split(":", 2), "", "")[:3]
        for version, limit, use in VERSIONS:
            if controllers != version and version not in controllers.split(","):
                continue
            inside = GROUPS / version / group.lstrip("/")
            for folder in (inside, *inside.parents):
                least = min(least, _number(folder / limit) - min(_number(folder / use), 2.0**62))
                if folder == GROUPS / version:
                    break
    return least


def _of_address_space() -> float:
    """What RLIMIT_AS leaves."""
    try:
        import resource
    except ImportError:  # not a system of this kind
        return math.inf
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit == resource.RLIM_INFINITY:
        return math.inf
    words = (_lines(PROC / "self" / "statm") or ["0"])[0].split()
    return float(limit) - float(words[0]) * resource.getpagesize()


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []


def _number(path: Path) -> float:
    """A number that a file holds, infinity for none ("max")."""
    words = (_lines(path) or [""])[0].strip()
    return float(words) if words.isdecimal() else math.inf
