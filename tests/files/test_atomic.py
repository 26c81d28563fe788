"""Writing: as a whole or not at all, whatever happens in between."""

import os
import resource
import subprocess
from pathlib import Path

import numpy as np
import pytest
from files.kills import kill

import npkl_models as nm
from npkl_models.cli import output
from npkl_models.data.sdpa import to_sdpa
from npkl_models.files import atomic
from npkl_models.files.atomic import write_text, written
from npkl_models.task_cache import sweep


@pytest.fixture
def full_disk():
    """Files may grow to 4 KiB: what a full disk does, to this process alone."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def large(n=300):
    X = np.random.default_rng(0).normal(size=(n, 3))
    return nm.pcp(nm.laplacian(X, 5, shift=0.1), nm.Pairs(n, [(0, 1), (3, 4)], [(2, 200)]))


@pytest.mark.parametrize("kind", ["problem", "solution"])
def test_kills_lose_no_file(kind):
    count = kill(kind, 6)
    assert count.kills == 6
    assert count.saves >= 6
    assert count.lost == []


def test_a_full_disk_loses_nothing(tmp_path, full_disk):
    problem = large()
    writers = {
        "p.npz": lambda path: problem.save(path),
        "p.dat-s": lambda path: to_sdpa(problem, path),
        "labels.csv": lambda path: output.write_csv(path, {"cluster": np.arange(9000)}),
        "page.html": lambda path: write_text(path, "x" * 5000),
        "table.json": lambda path: atomic.write_json(path, ["x" * 5000]),
        "image.png": lambda path: atomic.save_figure(Drawing(), path),
    }
    for name, write in writers.items():
        (tmp_path / name).write_text("old")
        with pytest.raises(
            nm.WriteError, match=f"{name} must be a file that can be written, got File too large"
        ):
            write(tmp_path / name)
        assert (tmp_path / name).read_text() == "old"
    assert {path.name for path in tmp_path.iterdir()} == set(writers)


class Drawing:
    def savefig(self, file, format):
        file.write(format.encode() * 2000)


def test_a_sweep_on_a_full_disk_goes_on(tmp_path, full_disk, caplog):
    problem = large()
    found = sweep({"a": lambda: problem.solve("bcd", max_iter=3), "b": lambda: 3}, folder=tmp_path)
    assert found["a"].V is not None
    assert found["b"] == 3
    assert "a was not kept" in caplog.text
    assert [path.name for path in tmp_path.iterdir()] == ["b.json"]


def test_a_link_is_followed_and_permissions_are_kept(tmp_path):
    target, link = tmp_path / "target.txt", tmp_path / "link.txt"
    target.write_text("old")
    target.chmod(0o640)
    link.symlink_to(target)
    write_text(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"
    assert target.stat().st_mode & 0o777 == 0o640


def test_an_error_amid_a_write_leaves_the_old_file(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("old")
    with pytest.raises(ZeroDivisionError), written(path) as file:
        file.write("half")
        raise ZeroDivisionError
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("name", ["folder", "nowhere/a.txt", "x" * 300 + ".txt"])
def test_what_cannot_be_written_is_named(tmp_path, name):
    (tmp_path / "folder").mkdir()
    with pytest.raises(nm.WriteError, match=name[-9:]):
        write_text(tmp_path / name, "text")


def test_long_names_and_unicode(tmp_path):
    path = write_text(tmp_path / ("é" * 120 + ".txt"), "text")
    assert path.read_text(encoding="utf-8") == "text"


def test_a_pipe_is_written_through(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    reader = subprocess.Popen(["cat", str(path)], stdout=subprocess.PIPE, text=True)
    write_text(path, "through")
    assert reader.communicate()[0] == "through"


def test_nothing_else_in_the_package_opens_a_file():
    """Every reader and writer is in `files`; packages read their own static pages."""
    words = (
        "open(",
        "write_text(",
        "write_bytes(",
        "read_text(",
        "read_bytes(",
        "np.load(",
        "np.save",
        "savefig(",
    )
    words += ("genfromtxt(", "gzip.open", "bz2.open", "json.load(", "to_csv(", "tofile(")
    allowed = {
        ("show/machine.py", "read_text("),
        ("explore/app.py", "read_text("),
        ("show/page.py", "savefig("),
        ("show/page.py", "read_text("),  # the package's own file, as in the explorer
        ("explore/session.py", "read_text("),
        ("checker.py", "json.load("),  # it imports nothing of the package
        ("cli/output.py", "to_csv("),  # makes a text, which files/ writes
    }
    package, found = Path(nm.__file__).parent, set()
    for path in package.rglob("*.py"):
        own = str(path.relative_to(package))
        for line in path.read_text().splitlines():
            for word in words:
                method = f".{word}" in line or word in (
                    "np.load(",
                    "np.save",
                    "gzip.open",
                    "bz2.open",
                    "json.load(",
                )
                if word in line and method and not own.startswith("files/"):
                    found.add((own, word))
    allowed |= {("interrupts.py", "open(")}  # of the place where nothing is kept
    assert found <= allowed, found - allowed
