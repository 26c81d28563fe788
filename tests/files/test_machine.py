"""The memory that is left is the least of what the machine, the group and the address space leave."""

import math
import resource
import subprocess
import sys

import pytest

from npkl_models.files import machine


@pytest.fixture
def system(tmp_path, monkeypatch):
    """A machine with a gigabyte free, whose files are made here."""
    (tmp_path / "proc" / "self").mkdir(parents=True)
    (tmp_path / "proc" / "meminfo").write_text("MemTotal: 4000000 kB\nMemAvailable: 1000000 kB\n")
    (tmp_path / "groups").mkdir()
    monkeypatch.setattr(machine, "PROC", tmp_path / "proc")
    monkeypatch.setattr(machine, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(resource, "getrlimit", lambda which: (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    return tmp_path


def group(system, line, folder, limit, use, names):
    (system / "proc" / "self" / "cgroup").write_text(line)
    place = system / "groups" / folder
    place.mkdir(parents=True, exist_ok=True)
    for name, value in zip(names, (limit, use), strict=True):
        (place / name).write_text(f"{value}\n")


def test_what_is_free(system):
    assert machine.available_bytes() == 1024e6
    (system / "proc" / "meminfo").write_text("")
    assert machine.available_bytes() > 0  # of the whole machine


@pytest.mark.parametrize(("limit", "left"), [("500000000", 4e8), ("max", 1024e6), ("50", 0.0)])
@pytest.mark.parametrize(
    ("line", "folder", "names"),
    [
        ("0::/a/b\n", "a/b", ("memory.max", "memory.current")),
        ("0::/a/b\n", "a", ("memory.max", "memory.current")),
        ("0::/a/b\n", "", ("memory.max", "memory.current")),
        ("4:cpu,memory:/a\n", "memory/a", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
        ("4:memory:/outside\n", "memory", ("memory.limit_in_bytes", "memory.usage_in_bytes")),
    ],
)
def test_what_the_control_group_leaves(system, line, folder, names, limit, left):
    if folder == "":
        (system / "groups").rmdir()
    group(system, line, folder, limit, "100000000", names)
    assert machine.available_bytes() == left
    if folder == "a/b":  # the group around it has a larger limit, but is nearly full
        group(system, line, "a", "2000000000", "1999999990", names)
        assert machine.available_bytes() == min(left, 10.0)


def test_what_the_address_space_leaves(system, monkeypatch):
    monkeypatch.setattr(resource, "getrlimit", lambda which: (3e8, math.inf))
    (system / "proc" / "self" / "statm").write_text("1000 500 1 1 1 1 1\n")
    assert machine.available_bytes() == 3e8 - 1000 * resource.getpagesize()


def test_a_limit_of_this_process_is_seen():
    code = (
        "import resource; from npkl_models.files.machine import available_bytes as a; b = a();"
        "size = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
        "resource.setrlimit(resource.RLIMIT_AS, (size + 2**26, size + 2**26)); assert 0 < a() <= 2**26 + 2**20"
    )
    if sys.platform == "linux":
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
