"""The one way to write files: a part file in the same folder, fsync, and one step that renames it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import secrets
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

from npkl_models.errors import WriteError

NAMED = 40  # characters of a file's name in the name of its part


@contextmanager
def written(path: str | Path, binary: bool = False) -> Iterator[IO[Any]]:
    """Open a file for writing that replaces ``path`` only if the block ends without an error.

    If anything goes wrong, even a crash or a full disk, the old file stays as it was. A killed process may
    leave its part, which is hidden: ``.NAME.*.part``.
    """
    target = Path(os.path.realpath(path))
    how: dict[str, Any] = {} if binary else {"encoding": "utf-8", "newline": "\n"}
    try:
        _check(target)
        if target.exists() and not target.is_file():  # a pipe or a device cannot be replaced
            with target.open("wb" if binary else "w", **how) as file:
                yield file
            return
        part = target.with_name(f".{target.name[:NAMED]}.{secrets.token_hex(8)}.part")
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


def plain(value: Any) -> Any:
    """A value for JSON: arrays and tuples become lists, NaN and infinity become None."""
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, Mapping):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def save_figure(figure: Any, path: str | Path, **how: Any) -> Path:
    """Write a figure of matplotlib to a file in the format of the file's suffix."""
    kind = Path(path).suffix.removeprefix(".") or "png"
    with written(path, binary=True) as file:
        figure.savefig(file, format=kind, **how)
    return Path(path)


def _check(target: Path) -> None:
    if target.is_dir():
        raise WriteError(f"{target} must be a file, got a folder")
    if target.exists() and not os.access(target, os.W_OK):
        raise WriteError(f"{target} must be a file that can be written, got one that is protected")


def _keep_name(folder: Path) -> None:
    """Sync the folder, so that the new name survives a crash; a system that cannot raises an OSError."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
