"""Uploaded files, which are kept in a temporary folder until the page is closed."""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path

import numpy as np

from npkl_models.data.comparisons import read_comparisons_csv
from npkl_models.data.sensors import read_anchors_csv, read_distances_csv
from npkl_models.data.tables import read_pairs, read_points
from npkl_models.errors import NPKLError, ProblemError, chosen
from npkl_models.explore.requests import MOST_FILE
from npkl_models.files.atomic import write_bytes
from npkl_models.linalg.entries import MOST
from npkl_models.model.graph import unscaled
from npkl_models.recipe.fields import LONGEST, short

LONGEST_NAME = 120  # the largest number of bytes of a file's name


class Uploads:
    """The uploaded files by key."""

    def __init__(self) -> None:
        self.files: dict[str, Path] = {}
        self._count = itertools.count(1)

    @cached_property
    def folder(self) -> Path:
        """The temporary folder, which the first file makes: an explorer without files leaves none behind."""
        return Path(tempfile.mkdtemp(prefix="npkl_explore_"))

    def close(self) -> None:
        """Delete the files."""
        if "folder" in self.__dict__:
            shutil.rmtree(self.folder, ignore_errors=True)

    def keep(self, name: str, content: bytes, kind: str = "points", **columns: str) -> dict[str, str]:
        """Keep a file of one of `KINDS`, and check its content; ``columns`` are labels and ids of points."""
        if len(content) > MOST_FILE:
            raise ProblemError(f"a file must have at most {MOST_FILE >> 20} MiB, got {len(content) >> 20}")
        chosen("kind of file", kind[:LONGEST], KINDS)
        base = Path(name.replace("\\", "/")).name
        if not base.isprintable() or base.startswith(".") or not 0 < len(base.encode()) <= LONGEST_NAME:
            raise ProblemError(f"a file must have a name of 1 to {LONGEST_NAME} bytes, got {short(name)}")
        key = f"{next(self._count)}"
        path = self.folder / key / base
        path.parent.mkdir()
        try:
            write_bytes(path, content)
            about = KINDS[kind](path, **{name: one for name, one in columns.items() if one})
        except Exception as error:
            shutil.rmtree(path.parent, ignore_errors=True)
            if isinstance(error, NPKLError | OSError):
                raise ProblemError(self.words(error)) from error
            raise
        self.files[key] = path
        return {"key": key, "about": f"{base}: {about}"}

    def words(self, error: Exception) -> str:
        """The message of an error, with the names of uploaded files instead of their paths."""
        if "folder" not in self.__dict__:
            return str(error)
        return re.sub(rf"{re.escape(str(self.folder))}([/\\]\d+[/\\]|[/\\]?)", "", str(error))


def _points(path: Path, **columns: str) -> str:
    data = read_points(path, columns.get("labels"), columns.get("ids"))
    about = "; ".join(filter(None, (data.about, unscaled(data.X, data.columns or None))))
    classes = np.unique(data.y[data.y >= 0]).size
    return f"{data.n} points, {classes or 'no'} classes; {about or f'{data.X.shape[1]} features'}"


def _pairs(path: Path) -> str:
    pairs = read_pairs(path, MOST)  # its points are not known yet
    return f"{len(pairs.must_link)} must-links, {len(pairs.cannot_link)} cannot-links"


def _comparisons(path: Path) -> str:
    found = read_comparisons_csv(path)
    return f"{len(found.rows)} comparisons of {len(found.names)} objects"


def _distances(path: Path) -> str:
    found = read_distances_csv(path)
    return f"{found.d.size} distances of {len(found.names)} sensors"


def _anchors(path: Path) -> str:
    points, positions = read_anchors_csv(path)
    return f"{points.size} anchors in {positions.shape[1]} dimensions"


KINDS: dict[str, Callable[..., str]] = {
    one.__name__[1:]: one for one in (_points, _pairs, _comparisons, _distances, _anchors)
}
"""For each kind of file, what is said of it; reading checks it."""
