"""The functions behind the page, independent of the web, and uploads; they take and return dictionaries."""

from __future__ import annotations

import itertools
import json
import re
import shutil
import tempfile
from collections.abc import Callable, Mapping
from functools import cached_property, partial
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models._version import __version__
from npkl_models.data.comparisons import read_comparisons_csv
from npkl_models.data.sensors import read_anchors_csv, read_distances_csv
from npkl_models.data.tables import read_pairs, read_points
from npkl_models.errors import NPKLError, ProblemError, chosen
from npkl_models.explore import answers, optimality, tasks
from npkl_models.explore.answers import Answer
from npkl_models.explore.form import Form, controls, formulations, number_of
from npkl_models.explore.jobs import Event, Job, Jobs
from npkl_models.explore.requests import MOST_FILE, field_of, names_of
from npkl_models.files.atomic import write_bytes
from npkl_models.linalg.entries import MOST
from npkl_models.model.graph import unscaled
from npkl_models.recipe.fields import LONGEST, short
from npkl_models.recipe.made import Made
from npkl_models.routes import backends
from npkl_models.solve.choice import choose_backend

GRACE = 2.0  # seconds in which a job may end when the page is closed
MOST_VALUES = 60  # the largest number of values of a path
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


FAILURES: list[dict[str, Any]] = json.loads(
    files("npkl_models.explore").joinpath("failures.json").read_text(encoding="utf-8")
)
"""Problems that fail: name, title, fields, what is seen, why, what helps, fields of the cure, and figure."""


class Session:
    """The session of a server: uploads, the last problem, and jobs."""

    def __init__(self) -> None:
        self.jobs, self.uploads = Jobs(), Uploads()
        self.opening: str | None = None
        self._last: tuple[Any, Made] | None = None

    def close(self) -> None:
        """Stop the running job, wait for its end a little, and delete the uploads."""
        running = self.jobs.running
        if running is not None:
            running.stop()
            running.ended.wait(GRACE)  # a process that ends in compiled code aborts
        self.uploads.close()

    def begin(self) -> None:
        """Begin the run that a page shows first if it has no state; any other job stops this run."""
        work = partial(self._work, tasks.run, Form.of({}, {}), ())
        self.opening = self.jobs.begin("run", work, yielding=True).key

    def choices(self) -> Event:
        """All choices of the page, and the first form."""
        return {
            "version": __version__, "fields": controls(), "formulations": formulations(),
            "backends": {name: backend.summary for name, backend in backends().items()},
            "printed": {name: backend.summary for name, backend in backends("printed").items()},
            "figures": {name: words for name, (words, _) in answers.FIGURES.items()},
            "failures": FAILURES, "opening": self.opening, **self.state(),
        }  # fmt: skip

    def state(self) -> Event:
        """The running job, and the tab that has started the job."""
        running = self.jobs.running
        if running is None or running.yielding:
            return {"running": None, "key": None, "owner": None}
        return {"running": running.kind, "key": running.key, "owner": running.owner}

    def job(self, key: str) -> Event:
        """The kind, the form and the end of a job, for a page that is loaded again."""
        found = self.jobs.get(key)
        return {"kind": found.kind, "form": found.form, "ended": found.ended.is_set()}

    def describe(self, given: Mapping[str, Any]) -> Event:
        """The problem in words and code, the backends that support it, and the choice of "auto"."""
        form = Form.of(given, self.uploads.files)
        made = self._made(form)
        explained = made.problem.explain()
        declined = {name: why for name, why in made.problem.compatible_backends().items() if why}
        try:
            auto = choose_backend(made.problem)[0]
        except NPKLError as error:
            auto = str(error)
        return {
            "title": made.title, "text": explained.text, "latex": explained.latex, "n": made.problem.n,
            "formulas": optimality.formulas(made.problem), "declined": declined, "auto": auto,
            "code": answers.solve_code(made, form), "command": f"{form.command()}\n",
            "least": made.problem.size(), "findings": [
                *([made.scales] if made.scales else []), *map(str, made.problem.diagnose())
            ],
        }  # fmt: skip

    def start(self, action: str, form: Mapping[str, Any], given: Mapping[str, Any] | None = None) -> Event:
        """Begin one of `JOBS`; ``given`` is the request, which may have an owner; returns the job's key."""
        (kind, work, read), given = JOBS[action], given or {}
        work = partial(self._work, work, Form.of(form, self.uploads.files), read(given))
        owner = given.get("owner", "")
        owner = owner[:LONGEST] if isinstance(owner, str) else ""
        return {"key": self.jobs.begin(kind, work, owner=owner, form=dict(form)).key}

    def figure(self, key: str, name: str, index: int, how: Mapping[str, Any]) -> str:
        """A figure of a run, of one answer of a path, or of a comparison."""
        found = self.jobs.get(key).answer
        if isinstance(found, list) and 0 <= index < len(found):
            found = found[index]
        if not isinstance(found, Answer):
            raise ProblemError("there is no answer to draw yet")
        width = number_of("width", how.get("width", 480), whole=True)
        return found.figure(name, how.get("by", "classes"), width, how.get("dark") == "1")

    def _work(self, work: Callable[..., None], form: Form, more: tuple[Any, ...], job: Job) -> None:
        work(job, form, self._made(form), *more)

    def _made(self, form: Form) -> Made:
        """The problem of a form; the last problem is kept."""
        asked = form.problem_alone
        last = self._last  # any thread may have set it
        if last is None or last[0] != asked:
            try:
                last = asked, form.made()
            except ProblemError as error:
                raise ProblemError(self.uploads.words(error)) from error
            self._last = last
        return last[1]


def span_of(given: Mapping[str, Any]) -> tuple[tuple[float, float, int]]:
    """The first gamma of a path, the last one, and the number of values."""
    low = number_of("the first gamma", field_of(given, "low"))
    high = number_of("the last gamma", field_of(given, "high"))
    count = number_of("the number of values", field_of(given, "count"), whole=True)
    if not (0 < low < high and 2 <= count <= MOST_VALUES):
        must = f"from a positive gamma to a larger one in 2 to {MOST_VALUES} values"
        raise ProblemError(f"a path must go {must}, got {low:g} to {high:g} in {count}")
    return ((low, high, count),)


JOBS: dict[str, tuple[str, Callable[..., None], Callable[[Mapping[str, Any]], tuple[Any, ...]]]] = {
    "run": ("run", tasks.run, lambda given: ()),
    "step": ("step-through", tasks.step, lambda given: ()),
    "path": ("path", tasks.follow, span_of),
    "compare": ("comparison", tasks.compare, lambda given: (names_of(given, "backends"),)),
    "race": ("race", tasks.compete, lambda given: (names_of(given, "backends"),)),
}
"""The kind of each job, its work, and what is read from its request."""
