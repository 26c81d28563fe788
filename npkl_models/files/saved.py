"""Files that `save` writes: a header in JSON and arrays, with a checksum over both."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.errors import ProblemError
from npkl_models.files.arrays import WHOLE, Archive, Arrays, opened, write_arrays
from npkl_models.files.atomic import write_bytes
from npkl_models.files.gate import gate, is_there

FORMAT = 4
HEADER, CHECKSUM = "header", "checksum"
SAVED = "a file written by save"
Header = dict[str, Any]
Check = Callable[[Header, Archive], None]


def write(path: str | Path, header: Header, arrays: Mapping[str, Any]) -> Path:
    """Write header and arrays to one file, completely or not at all; the path with the suffix .npz."""
    return write_bytes(with_suffix(path), to_bytes(header, arrays))


def to_bytes(header: Header, arrays: Mapping[str, Any]) -> bytes:
    """The bytes that `write` writes."""
    plain = {name: np.asarray(value) for name, value in arrays.items()}
    header = {**header, "format": FORMAT}
    header[CHECKSUM] = checksum(header, plain)
    out = io.BytesIO()
    write_arrays(out, {HEADER: np.array(json.dumps(header)), **plain})
    return out.getvalue()


def read(path: str | Path, what: str, check: Check) -> tuple[Header, Arrays]:
    """Header and arrays of a file, named with or without its suffix; the header must have the key ``what``.

    ``check`` receives the header and the shapes of the arrays. It raises an error for an array that does not
    belong to the header or is too large, before that array is read. A `ProblemError` is raised if the file
    does not exist or is not as written.
    """
    found = next((p for p in (Path(path), with_suffix(path)) if is_there(p)), None)
    if found is None:
        raise ProblemError(f"a saved file must be named, got {path}: there is no file of that name")
    with opened(found) as archive:
        return _unpacked(archive, path, what, check)


def read_from(data: bytes, path: object, what: str, check: Check) -> tuple[Header, Arrays]:
    """Header and arrays from bytes; ``path`` names their origin in errors."""
    with gate(path, WHOLE):
        return _unpacked(Archive(io.BytesIO(data), len(data), path), path, what, check)


def is_saved(path: str | Path) -> bool:
    """Whether a .npz file has a header as `save` writes it."""
    with opened(path) as archive:
        return HEADER in archive


def checksum(header: Header, arrays: Mapping[str, Any]) -> str:
    """The checksum of header and arrays, with names, types and shapes."""
    own = {key: value for key, value in header.items() if key != CHECKSUM}
    digest = hashlib.blake2b(json.dumps(own, sort_keys=True).encode(), digest_size=16)
    for name in sorted(arrays):
        array = np.ascontiguousarray(arrays[name])
        digest.update(f"|{name}|{array.dtype.str}|{np.shape(arrays[name])}|".encode())
        digest.update(array.data.cast("B") if array.size else b"")
    return digest.hexdigest()


def _unpacked(archive: Archive, path: object, what: str, check: Check) -> tuple[Header, Arrays]:
    header = _header(archive, path)
    if what not in header:
        raise ProblemError(f"{path} must be {SAVED}, got one without {what!r} in its header")
    kind = header.get("format")
    if kind != FORMAT or isinstance(kind, float):
        raise ProblemError(f"{path}: file format must be {FORMAT}, got {kind!r:.60}")
    check(header, archive)
    arrays = {name: archive[name] for name in archive.names if name != HEADER}
    if header.get(CHECKSUM) != checksum(header, arrays):
        raise ProblemError(f"{path} must be as save wrote it, got one that was altered (checksum differs)")
    return header, arrays


def _header(archive: Archive, path: object) -> Header:
    shape = archive.shapes.get(HEADER)
    if shape is None:
        raise ProblemError(f"{path} must be {SAVED}, got one without a header")
    text = archive[HEADER]
    if shape != () or text.dtype.kind != "U":
        raise ProblemError(f"{path} must be {SAVED}, got a header that is no text")
    header = json.loads(str(text))
    if not isinstance(header, dict):
        raise ProblemError(f"{path} must be {SAVED}, got a header that is no JSON object")
    return header


def with_suffix(path: str | Path) -> Path:
    """The path with .npz at its end, whatever dots the name has."""
    text = str(path)
    return Path(text if text.endswith(".npz") else f"{text}.npz")
