"""The gate for bytes that come in: whatever they are, what leaves it is a value or a `ProblemError`."""

from __future__ import annotations

import bz2
import gzip
import json
import stat
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from npkl_models.errors import NPKLError, ProblemError

FLOOR = 16 * 2**20  # bytes that any file may unpack to
RATIO = 100  # beyond: how many times larger than the file what it unpacks to may be
LONGEST = 200  # characters of somebody else's error that are repeated
PACKED: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".bz2": bz2.open}
UTF16 = (b"\xff\xfe", b"\xfe\xff")


@contextmanager
def gate(path: object, expected: str) -> Iterator[None]:
    """Let nothing out of the block but errors of ours that name the file and what it must be.

    Parameters
    ----------
    path : object
        What the file is called in the error.
    expected : str
        What the file must be, as in "a whole .npz file".

    Raises
    ------
    ProblemError
        For whatever goes wrong inside; an error of ours that names the file already is left as it is.

    Examples
    --------
    >>> from npkl_models.files.gate import gate
    >>> with gate("table.csv", "a table of numbers"):
    ...     float("one")
    Traceback (most recent call last):
        ...
    npkl_models.errors.ProblemError: table.csv must be a table of numbers, got one that is not: could not ...
    """
    try:
        yield
    except NPKLError as error:
        if str(path) in str(error):
            raise
        raise ProblemError(f"{path} must be {expected}: {error}") from error
    except FileNotFoundError:
        raise ProblemError(f"{path} must be {expected}, got nothing: there is no file of that name") from None
    except Exception as error:  # a parser of somebody else's may raise anything
        raise ProblemError(f"{path} must be {expected}, got one that is not: {_words(error)}") from error


def content(path: Path, unpacked: bool = True) -> bytes:
    """The bytes of a file, of .gz and .bz2 what they unpack to.

    A `ProblemError` if it is no regular file, or unpacks to more than a file of its size may.
    """
    size = size_of(path)
    opener = PACKED.get(path.suffix) if unpacked else None
    if opener is None:
        return path.read_bytes()
    most = most_bytes(size)
    with opener(path, "rb") as file:
        out: bytes = file.read(most + 1)
    if len(out) > most:
        raise ProblemError(
            f"{path} must unpack to at most {RATIO} times its size, got more than {_mebibytes(most)} from "
            f"{size} bytes; unpack it first if that is meant"
        )
    return out


def is_there(path: Path) -> bool:
    """Whether there is a file of that name; none can have a name that the system refuses."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def size_of(path: Path) -> int:
    """Bytes of a regular file."""
    found = path.stat()
    if not stat.S_ISREG(found.st_mode):
        raise ProblemError(f"{path} must be a file, got a folder or a device")
    return found.st_size


def most_bytes(size: int) -> int:
    """How many bytes a file of that size may unpack to."""
    return max(FLOOR, RATIO * size)


def text_of(path: Path) -> str:
    """A text file in UTF-8, with or without a mark at its beginning, packed or not.

    A `ProblemError` names the line that is no text, or says that the file is torn.
    """
    with gate(path, "a text file in UTF-8"):
        raw = content(path)
        if raw[:2] in UTF16:
            raise ProblemError(f"{path} must be a text file in UTF-8, got UTF-16: save it as UTF-8")
        zero = raw.find(b"\0")
        if zero >= 0:
            raise ProblemError(f"{path}, line {_line(raw, zero)}: must be text, got a zero byte")
        try:
            return raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            raise ProblemError(
                f"{path}, line {_line(raw, error.start)}: must be text in UTF-8, got the byte "
                f"0x{raw[error.start]:02x}: save the file as UTF-8"
            ) from None


def json_of(path: Path) -> Any:
    """What a file in JSON says."""
    with gate(path, "a file in JSON"):
        return json.loads(text_of(path))


def _line(raw: bytes, place: int) -> int:
    """The line that a byte is in, from 1."""
    return raw.count(b"\n", 0, place) + 1


def _mebibytes(size: int) -> str:
    return f"{size / 2**20:.4g} MiB"


def _words(error: Exception) -> str:
    """An error of somebody else's in a line."""
    kinds = {MemoryError: "it asks for more memory than there is", RecursionError: "it is nested too deeply"}
    kinds |= {EOFError: "it ends too early", zlib.error: "its packed bytes are damaged"}
    known = next((words for kind, words in kinds.items() if isinstance(error, kind)), None)
    if known is not None:
        return known
    said = " ".join(str(error).split()) or type(error).__name__
    if isinstance(error, KeyError):
        said = f"it has no {said}"
    return said if len(said) <= LONGEST else f"{said[:LONGEST]} ..."
