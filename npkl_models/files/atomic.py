"""The one way to write files: a part file in the same folder, fsync, and one step that renames it."""

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

NAMED = 40  # characters of a file's and of a machine's name in the name of a part file
AGAIN = 5.0  # seconds between two searches of a folder for parts of dead processes
PART = re.compile(r"\..*\.(?P<host>[^.]*)-(?P<process>\d+)-\d+\.part")
HOST = re.sub(r"[^A-Za-z0-9_]", "_", socket.gethostname())[:NAMED]
_count = itertools.count()
_looked: dict[Path, float] = {}


@contextmanager
def written(path: str | Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing that replaces ``path`` only if the block ends without an error.

    If anything goes wrong, even a crash or a full disk, the old file stays as it was.
    """
    target = Path(os.path.realpath(path))
    how: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": "\n"}
    try:
        _check(target)
        if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
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
    """Write text in UTF-8 to a file, completely or not at all."""
    with written(path) as file:
        file.write(text)
    return Path(path)


def write_bytes(path: str | Path, data: bytes) -> Path:
    """Write bytes to a file, completely or not at all."""
    with written(path, binary=True) as file:
        file.write(data)
    return Path(path)


def write_json(path: str | Path, value: Any, indent: int | None = None) -> Path:
    """Write a value in JSON to a file, completely or not at all."""
    return write_text(path, json.dumps(value, indent=indent) + "\n")


def finite(value: Any) -> Any:
    """The value for JSON: None for NaN and infinity."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def save_figure(figure: Any, path: str | Path, **how: Any) -> Path:
    """Write a figure of matplotlib to a file in the format of the file's suffix."""
    kind = Path(path).suffix.removeprefix(".") or "png"
    with written(path, binary=True) as file:
        figure.savefig(file, format=kind, **how)
    return Path(path)


def sweep_parts(folder: Path) -> None:
    """Delete the part files that dead processes of this machine have left in a folder."""
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
    """Whether a process may be running; True if the system offers no safe way to ask."""
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
    """Sync the folder, so that the new name survives a crash (POSIX only)."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
