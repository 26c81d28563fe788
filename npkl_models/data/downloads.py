"""Files from the LIBSVM page, with checksums."""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from npkl_models.errors import ProblemError
from npkl_models.files.atomic import write_text
from npkl_models.files.gate import text_of

LIBSVM_PAGE = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets"
CHECKSUMS = {
    "binary/a1a": "md5:b62d93d768db2423dd06fadb24ea0c1f",
    "binary/a2a": "md5:1328dfba5eee42f878af59e41fa414cf",
    "binary/a4a": "md5:ce53c338007a0ad8e7021186cc259b07",
    "binary/a5a": "md5:556ff24aafeb30297763c0dcb0feeb4f",
    "binary/a6a": "md5:02abf77023749b83eb5cfb1ad60969cc",
    "binary/a7a": "md5:3285a272a2f5c5e343c74c9394cbac6c",
    "binary/a8a": "md5:247737ca98b22d3186c0c0db33d5f006",
    "binary/a9a": "md5:fb3596510d780aaf76a06dc721d49662",
}
"""Of the files as the page has them. A file that is not listed is remembered by its first download."""
SHA256 = re.compile("[0-9a-f]{64}")


def fetch(path: str) -> Path:
    """The file of that path below the LIBSVM page, downloaded once and checked each time.

    Raises
    ------
    ValueError
        If the file is not the one of the checksum.
    OSError
        If it could not be downloaded.
    """
    import pooch

    folder = Path(pooch.os_cache("npkl_models"))
    name = path.replace("/", "_")
    seen = folder / f"{name}.sha256"
    known = CHECKSUMS.get(path)
    if known is None and seen.is_file():
        known = f"sha256:{_remembered(seen)}"
    file = Path(pooch.retrieve(f"{LIBSVM_PAGE}/{path}", known, fname=name, path=folder))
    if known is None:
        write_text(seen, hashlib.sha256(file.read_bytes()).hexdigest())
    return file


def _remembered(seen: Path) -> str:
    """The checksum of the first download."""
    said = text_of(seen).strip()
    if not SHA256.fullmatch(said):
        got = f"{said[:80]!r}; delete it to begin anew"
        raise ProblemError(f"{seen} must hold a checksum of 64 digits, got {got}")
    return said
