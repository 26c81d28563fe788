"""Many tasks in parallel with stored results: a failure loses no other result, and no task runs twice."""

from __future__ import annotations

import contextlib
import json
import logging
import re
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import starmap
from pathlib import Path
from typing import Any

import npkl_models.interrupts as interrupts
from npkl_models.answer.solution import Solution, Status
from npkl_models.errors import NPKLError, ProblemError, WriteError
from npkl_models.files import saved
from npkl_models.files.atomic import write_json, write_text
from npkl_models.files.fields import text
from npkl_models.files.gate import gate, json_of
from npkl_models.model.storage import read
from npkl_models.problem import Problem
from npkl_models.solve.watch import INTERRUPTED
from npkl_models.workers import here, spread

logger = logging.getLogger("npkl_models")
SHORT = 16  # characters of a folder's name
TASK = "task"  # the field of a file with the fingerprint of its task

Task = Callable[[], Any]
MISSING = object()  # stands for a missing result, since None may be a result


@dataclass(frozen=True)
class Failure:
    """The failure of a task: its error in one line, and the traceback."""

    error: str
    trace: str


def sweep(
    tasks: Mapping[str, Task], n_jobs: int = 1, folder: str | Path | None = None,
    progress: Callable[[str, int, int], None] | None = None, about: str = "",
) -> dict[str, Any]:  # fmt: skip
    """Run tasks in processes, or on the cluster that joblib is configured for.

    Parameters
    ----------
    tasks : mapping of str to callable
        Functions without arguments by key, such as `functools.partial` objects. They must be picklable. Each
        returns a `Solution` or a value that JSON can hold.
    n_jobs : int
        Number of processes; -1 is one for each core. Inside ``joblib.parallel_config(backend="dask")``
        the tasks run on that cluster, whose scheduler restarts the tasks of a lost worker.
    folder : path, optional
        Folder of a cache, on a cluster a folder that all workers see. Each process writes its results there
        at once. A task with a stored result is not run again. A task is run again if it failed, or if its
        file is damaged or belongs to another task, key or problem. It is also run again if the numbers in the
        file do not prove the status in the file. A result that cannot be written is still returned, with a
        line in the log.
    progress : callable, optional
        Function that is called with (key, done, all) whenever a task has ended.
    about : str
        Description of the tasks beyond their keys and problems. A file with another description is not used.

    Returns
    -------
    dict
        The results by key, in the order of the tasks; a `Failure` for a task that raised an error.
    """
    names = {key: re.sub(r"[^\w+=,-]", "_", key) or "_" for key in tasks}
    if len(set(names.values())) < len(names):
        raise ProblemError("keys of tasks must differ in more than characters that file names cannot have")
    kept: dict[str, _Kept] = {}
    if folder is not None:
        Path(folder).mkdir(parents=True, exist_ok=True)
        for key, task in tasks.items():
            parts = [*_parts(task)]
            own = saved.checksum({"key": key, "about": about, "problems": _digests(parts)}, {})
            kept[key] = _Kept(Path(folder, names[key]), own, _tolerances(parts))
    found = {key: result for key, one in kept.items() if (result := one.read()) is not MISSING}
    calls = ((key, task, kept.get(key)) for key, task in tasks.items() if key not in found)
    for key, result in starmap(_run, calls) if here(n_jobs) else spread(_run, calls, n_jobs, in_order=False):
        found[key] = result
        if progress is not None:
            progress(key, len(found), len(tasks))
    return {key: found[key] for key in tasks}


def place_of(folder: str | Path | None, problem: Problem, **options: Any) -> Path | None:
    """The folder inside ``folder`` for one problem and its options, so that results are not mixed up.

    Raises
    ------
    ProblemError
        If the problem has parts that cannot be saved.
    """
    if folder is None:
        return None
    return Path(folder) / _digest(problem, options)[:SHORT]


def about(place: Path | None) -> str:
    """The description of tasks from the folder that `place_of` returns; empty without a folder."""
    return "" if place is None else place.name


def _digest(problem: Problem, options: Mapping[str, Any]) -> str:
    header, arrays = problem.pack()
    return saved.checksum(header | {"options": json.dumps(options, sort_keys=True, default=repr)}, arrays)


def _digests(parts: Iterable[Any]) -> list[str]:
    """Digests of the problems of a task."""
    out = []
    for problem in (part for part in parts if isinstance(part, Problem)):
        try:
            out.append(_digest(problem, {}))
        except ProblemError:  # a user's loss, which no file can hold
            out.append(repr(problem))
    return out


def _parts(thing: Any) -> Iterator[Any]:
    """A task with its arguments, the parts of these, and the object of a method."""
    yield thing
    inside = getattr(thing, "__self__", ())
    if isinstance(thing, partial):
        inside = (thing.func, thing.args, thing.keywords)
    elif isinstance(thing, Mapping):
        inside = thing.values()
    elif isinstance(thing, list | tuple):
        inside = thing
    for part in inside if isinstance(inside, Iterable) else (inside,):
        yield from _parts(part)


def _tolerances(parts: Iterable[Any]) -> dict[str, float]:
    """The options of a task that decide whether its solution is OPTIMAL."""
    options = [part for part in parts if isinstance(part, Mapping)]
    names = ("tol", "feasibility")
    return {name: own[name] for own in options for name in names if own.get(name) is not None}


def _run(key: str, task: Task, kept: _Kept | None) -> tuple[str, Any]:
    """The key and the result of a task, which is stored at once; or a stored result.

    On a cluster, a worker may store a result and be lost before it returns the result.
    """
    if kept is not None and (found := kept.read()) is not MISSING:
        return key, found
    try:
        result = task()
        if kept is not None and not _stopped(result):
            result = kept.write(result)
    except Exception as error:
        failure = Failure(f"{type(error).__name__}: {error}", traceback.format_exc())
        if kept is not None:
            with contextlib.suppress(WriteError):
                write_text(kept.file(".failed.txt"), failure.trace)
        return key, failure
    interrupts.heed_all()
    if _stopped(result) and INTERRUPTED in result.message:
        raise KeyboardInterrupt
    if kept is not None:
        with contextlib.suppress(OSError):  # the traceback of an earlier failure
            kept.file(".failed.txt").unlink(missing_ok=True)
    return key, result


def _stopped(result: Any) -> bool:
    """Whether a solve was stopped from outside; such a solution is not stored."""
    return isinstance(result, Solution) and result.status is Status.STOPPED


@dataclass(frozen=True)
class _Kept:
    """The place of a stored result, the fingerprint of its task, and the tolerances of its status."""

    path: Path
    task: str
    tolerances: Mapping[str, float]

    def file(self, suffix: str) -> Path:
        return Path(f"{self.path}{suffix}")

    def write(self, result: Any) -> Any:
        """Store a result, completely or not at all; return it in the form that `read` returns."""
        plain = result if isinstance(result, Solution) else json.loads(json.dumps(result))
        try:
            if isinstance(result, Solution):
                header, arrays = result.pack()
                saved.write(self.file(".npz"), header | {TASK: self.task}, arrays)
            else:
                value = {"result": plain, TASK: self.task}
                write_json(self.file(".json"), value | {saved.CHECKSUM: saved.checksum(value, {})})
        except WriteError as error:
            logger.warning("%s was not kept: %s", self.path.name, error)
        return plain

    def read(self) -> Any:
        """The stored result; MISSING unless it is complete, belongs to this task, and proves its status."""
        path = next((path for path in map(self.file, (".npz", ".json")) if path.is_file()), None)
        try:
            if path is None:
                return MISSING
            with gate(path, "a result of this task"):
                header, arrays = read(path, TASK) if path.suffix == ".npz" else (json_of(path), None)
                if header[TASK] != self.task or saved.CHECKSUM not in header:
                    return MISSING
                if arrays is None:
                    whole = header[saved.CHECKSUM] == saved.checksum(header, {})
                    return header["result"] if whole else MISSING
                found = Solution.unpack(header, arrays, **self.tolerances)
                return found if found.status.name == text(header, "status") else MISSING
        except (NPKLError, OSError) as error:
            logger.info("%s runs again: %s", self.path.name, error)
            return MISSING
