"""The one way out to disk: a part file in the same folder, fsync, and one step that puts it in its place."""

from __future__ import annotations

import contextlib
import itertools
import json
import math
import os
import re
import shutil
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from npkl_models.errors import WriteError

NAMED = 40  # characters of a file's name that its part repeats
AGAIN = 5.0  # seconds before a folder is looked through again for parts of dead processes
PART = re.compile(r"\..*\.(?P<host>[^.]*)-(?P<process>\d+)-\d+\.part")
HOST = re.sub(r"[^A-Za-z0-9_]", "_", socket.gethostname())[:40]
_count = itertools.count()
_looked: dict[Path, float] = {}


@contextmanager
def written(path: str | Path, binary: bool = False) -> Iterator[IO[Any]]:
    """A file to write to, which takes the place of ``path`` when the block has ended well, else never.

    Whatever happens in between, a crash or a full disk included, the old file is there as it was.

    Parameters
    ----------
    path : str or Path
    binary : bool
        Bytes; else text in UTF-8 with lines that end in a line feed.

    Raises
    ------
    WriteError
        If the file cannot be written; the text names it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from npkl_models.files.atomic import written
    >>> folder = Path(tempfile.mkdtemp())
    >>> with written(folder / "a.txt") as file:
    ...     _ = file.write("whole")
    >>> [path.name for path in folder.iterdir()], (folder / "a.txt").read_text()
    (['a.txt'], 'whole')
    """
    target = Path(os.path.realpath(path))
    how: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": "\n"}
    try:
        _check(target)
        if target.exists() and not target.is_file():  # a pipe or a device has no place to be taken
            with target.open("wb" if binary else "w", **how) as file:
                yield file
            return
        sweep_parts(target.parent)
        part = target.with_name(f".{target.name[:NAMED]}.{HOST}-{os.getpid()}-{next(_count)}.part")
        try:
            with part.open("xb" if binary else "x", **how) as file:
                yield file
                file.flush()
                os.fsync(file.fileno())
            if target.exists():
                shutil.copymode(target, part)
            os.replace(part, target)
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
        _keep_name(target.parent)
    except WriteError:
        raise
    except OSError as error:
        words = f"{error.strerror or error}; what was there is unchanged"
        raise WriteError(f"{path} must be a file that can be written, got {words}") from error


def write_text(path: str | Path, text: str) -> Path:
    """Text in UTF-8 to a file, as a whole or not at all."""
    with written(path) as file:
        file.write(text)
    return Path(path)


def write_bytes(path: str | Path, data: bytes) -> Path:
    """Bytes to a file, as a whole or not at all."""
    with written(path, binary=True) as file:
        file.write(data)
    return Path(path)


def write_json(path: str | Path, value: Any, indent: int | None = None) -> Path:
    """A value in JSON to a file, as a whole or not at all."""
    return write_text(path, json.dumps(value, indent=indent) + "\n")


def finite(value: Any) -> Any:
    """The value for JSON: None for a number that it has no word for."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def save_figure(figure: Any, path: str | Path, **how: Any) -> Path:
    """A figure of matplotlib to a file of the kind that its name ends with."""
    kind = Path(path).suffix.removeprefix(".") or "png"
    with written(path, binary=True) as file:
        figure.savefig(file, format=kind, **how)
    return Path(path)


def sweep_parts(folder: Path) -> None:
    """Delete the parts that processes of this machine left there which are dead."""
    now = time.monotonic()
    if now - _looked.get(folder, -AGAIN) < AGAIN:
        return
    _looked[folder] = now
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            found = PART.fullmatch(entry.name)
            if found and found["host"] == HOST and not _alive(int(found["process"])):
                with contextlib.suppress(OSError):
                    os.unlink(entry.path)


def _alive(process: int) -> bool:
    """Whether a process of that number may be running; where that cannot be asked safely, it may."""
    if os.name != "posix":
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


def _check(target: Path) -> None:
    if target.is_dir():
        raise WriteError(f"{target} must be a file, got a folder")
    if target.exists() and not os.access(target, os.W_OK):
        raise WriteError(f"{target} must be a file that can be written, got one that is protected")


def _keep_name(folder: Path) -> None:
    """Let the folder's own entry survive a crash, where the system has a way to ask for it."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
