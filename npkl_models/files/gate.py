"""The gate for bytes from files: whatever the bytes are, the result is a value or a `ProblemError`."""

from __future__ import annotations

import bz2
import codecs
import gzip
import json
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from npkl_models.errors import NPKLError, ProblemError
from npkl_models.files.fields import cut

FLOOR = 16 * 2**20  # every file may unpack to at most this many bytes
RATIO = 100  # a file may unpack to more bytes if they are at most this many times its size
PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
UTF16 = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def gate(path: object, expected: str) -> Iterator[None]:
    """Turn every error in the block into a `ProblemError` that names the file and its expected content."""
    try:
        yield
    except NPKLError as error:
        if str(path) in str(error):
            raise
        raise ProblemError(f"{path} must be {expected}: {error}") from error
    except FileNotFoundError:
        raise ProblemError(f"{path} must be {expected}, got nothing: there is no file of that name") from None
    except Exception as error:  # a foreign parser may raise any error
        raise ProblemError(f"{path} must be {expected}, got one that is not: {_words(error)}") from error


def content(path: Path) -> bytes:
    """The bytes of a file; a .gz or .bz2 file is unpacked."""
    size = size_of(path)
    opener = PACKED.get(path.suffix)
    if opener is None:
        return path.read_bytes()
    most = most_bytes(size)
    with opener(path, "rb") as file:
        out: bytes = file.read(most + 1)
    if len(out) > most:
        raise ProblemError(
            f"{path} must unpack to at most {RATIO} times its size, got more than {most / 2**20:.4g} MiB "
            f"from {size} bytes; unpack it first if this is intended"
        )
    return out


def is_there(path: Path) -> bool:
    """Whether there is a file of this name; False for a name that the system refuses."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def size_of(path: Path) -> int:
    """The size of a regular file in bytes; a ProblemError for a folder or a device."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ProblemError(f"{path} must be a file, got a folder or a device")
    return found.st_size


def most_bytes(size: int) -> int:
    """The number of bytes to which a file of this size may unpack."""
    return max(FLOOR, RATIO * size)


def text_of(path: Path) -> str:
    """The text of a file in UTF-8, with or without a byte order mark, packed or not."""
    return plain_bytes(path).decode()


def plain_bytes(path: Path) -> bytes:
    """The bytes of a text in UTF-8, packed or not, without a byte order mark.

    A `ProblemError` names the line that is no text, or the damage of the packed file.
    """
    with gate(path, "a text file in UTF-8"):
        raw = content(path)
        if raw[:2] in UTF16:
            raise ProblemError(f"{path} must be a text file in UTF-8, got UTF-16: save it as UTF-8")
        zero = raw.find(b"\0")
        if zero >= 0:
            raise ProblemError(f"{path}, line {_line(raw, zero)}: must be text, got a zero byte")
        raw = raw.removeprefix(codecs.BOM_UTF8)
        try:
            raw.isascii() or raw.decode()
        except UnicodeDecodeError as error:
            raise ProblemError(
                f"{path}, line {_line(raw, error.start)}: must be text in UTF-8, got the byte "
                f"0x{raw[error.start]:02x}: save the file as UTF-8"
            ) from None
        return raw


def json_of(path: Path) -> Any:
    """The value in a JSON file."""
    with gate(path, "a file in JSON"):
        return json.loads(text_of(path))


def _line(raw: bytes, place: int) -> int:
    """The line of a byte, counted from 1."""
    return raw.count(b"\n", 0, place) + 1


def _words(error: Exception) -> str:
    """A foreign error in one line."""
    kinds = {MemoryError: "it asks for more memory than there is", RecursionError: "it is nested too deeply"}
    kinds |= {EOFError: "it ends too early", zlib.error: "its packed bytes are damaged"}
    known = next((words for kind, words in kinds.items() if isinstance(error, kind)), None)
    if known is not None:
        return known
    said = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        said = f"it has no {said}"
    return cut(said)
