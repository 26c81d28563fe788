"""Named arrays in a .npz file; their sizes are compared with the file before memory is allocated."""

from __future__ import annotations

import math
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from npkl_models.errors import ProblemError
from npkl_models.files.gate import RATIO, content, gate, most_bytes, size_of

WHOLE = "a whole .npz file of plain arrays"
PLAIN = "biufcSU"  # kinds of numbers and texts that need no pickle
MOST_ENTRIES = 100_000
MAGIC = b"PK\x03\x04"
Arrays = dict[str, NDArray[Any]]


class Archive:
    """The arrays of an open .npz file; an array is read on first use.

    ``shapes`` are the shapes by name, which are known before. ``numbers`` is the number of all entries.
    """

    def __init__(self, file: IO[bytes], size: int, path: object) -> None:
        if file.read(len(MAGIC)) != MAGIC:  # zipfile would search for an archive after other bytes
            raise ProblemError(f"{path} must be {WHOLE}, got a file that begins in another way")
        self._zip, self._path = zipfile.ZipFile(file), path
        entries = self._zip.infolist()
        self._entries = {entry.filename.removesuffix(".npy"): entry for entry in entries}
        if len(self._entries) < len(entries) or len(entries) > MOST_ENTRIES:
            raise ProblemError(f"{path} must be {WHOLE}, got a name twice or {len(entries)} names")
        self._check_sizes(size)
        self.names = tuple(self._entries)
        self.shapes = {name: self._shape(name) for name in self.names}
        self.numbers = sum(math.prod(shape) for shape in self.shapes.values())

    def _check_sizes(self, size: int) -> None:
        """Raise an error if numpy does not write such entries, or if the file unpacks to too many bytes."""
        for name, entry in self._entries.items():
            odd = entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
            encrypted = entry.flag_bits & 1
            if odd or encrypted or not entry.filename.endswith(".npy"):
                raise ProblemError(f"{self._path} must be {WHOLE}, got the entry {name!r} of another kind")
        total, most = sum(entry.file_size for entry in self._entries.values()), most_bytes(size)
        if total > most:
            raise ProblemError(
                f"{self._path} must unpack to at most {RATIO} times its size ({most / 2**20:.4g} MiB), got "
                f"{total / 2**20:.4g} MiB; write it without packing (numpy.savez) if this is intended"
            )

    def _shape(self, name: str) -> tuple[int, ...]:
        """The shape of an array; an error unless its size is that in the archive."""
        entry = self._entries[name]
        with self._zip.open(entry) as file:
            version = npy.read_magic(file)
            reader = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}.get(version)
            if reader is None:
                raise ProblemError(f"an array must be of version 1.0 or 2.0 of the npy format, got {version}")
            shape, _, kind = reader(file)
            begun = file.tell()
        if kind.kind not in PLAIN or kind.hasobject:
            raise ProblemError(f"{self._path} must be {WHOLE}, got {name!r} of type {str(kind)[:60]}")
        if min(shape, default=0) < 0 or begun + math.prod(shape) * kind.itemsize != entry.file_size:
            raise ProblemError(
                f"{self._path} must be {WHOLE}, got {name!r} of shape {shape} in {entry.file_size} bytes"
            )
        return tuple(int(size) for size in shape)

    def __contains__(self, name: str) -> bool:
        return name in self._entries

    def __getitem__(self, name: str) -> NDArray[Any]:
        with self._zip.open(self._entries[name]) as file:
            found: NDArray[Any] = npy.read_array(file, allow_pickle=False)
        return found


@contextmanager
def opened(path: str | Path) -> Iterator[Archive]:
    """The arrays of a .npz file; the file may have another suffix."""
    with gate(path, WHOLE):
        size = size_of(Path(path))
        with Path(path).open("rb") as file:
            yield Archive(file, size, path)


def read_npy(path: str | Path) -> NDArray[Any]:
    """The array of a .npy file, of plain numbers or texts."""
    with gate(path, "an array in numpy's format (.npy)"):
        found: NDArray[Any] = npy.read_array(BytesIO(content(Path(path))), allow_pickle=False)
        return found


def write_arrays(file: IO[bytes], arrays: Mapping[str, Any]) -> None:
    """Write arrays to an open file, packed."""
    np.savez_compressed(file, **arrays)
