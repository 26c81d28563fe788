"""Many tasks at once, each kept when it ends: none is lost by another's failure or run twice."""

from __future__ import annotations

import hashlib
import json
import os
import traceback
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.answer.solution import Solution, Status
from npkl_models.errors import ProblemError
from npkl_models.model.problem import Problem
from npkl_models.solve.watch import INTERRUPTED

SHORT = 16  # letters of a folder's name


Task = Callable[[], Any]
MISSING = object()  # no result, where None may be one


@dataclass(frozen=True)
class Failure:
    """A task that raised an error: the error in a line, and where it was raised."""

    error: str
    trace: str


def sweep(
    tasks: Mapping[str, Task], n_jobs: int = 1, folder: str | Path | None = None,
    progress: Callable[[str, int, int], None] | None = None,
) -> dict[str, Any]:  # fmt: skip
    """Run tasks, in processes or on whatever cluster joblib is configured for.

    Parameters
    ----------
    tasks : mapping of str to callable
        Functions without arguments, such as `functools.partial`; they must be picklable. Each returns a
        `Solution` or what JSON can hold.
    n_jobs : int
        Processes; -1 for all cores. Inside ``joblib.parallel_config(backend="dask")`` (or "ray", ...) the
        tasks run on that cluster, whose scheduler begins those of a lost worker anew.
    folder : path, optional
        Where every result is written as soon as there is one, by the process that has it (on a cluster, a
        folder that all workers see). A task whose result is there is not run again; one that failed is.
    progress : callable, optional
        Told (key, done, all) whenever a task has ended.

    Returns
    -------
    dict
        The results by key, in the order of the tasks; a `Failure` for a task that raised an error.

    Examples
    --------
    >>> from functools import partial
    >>> from npkl_models.sweep import sweep
    >>> found = sweep({"nine": partial(pow, 3, 2), "none": partial(pow, 0, -1)})
    >>> found["nine"], type(found["none"]).__name__
    (9, 'Failure')
    """
    place = None if folder is None else Path(folder)
    if place is not None:
        place.mkdir(parents=True, exist_ok=True)
    names = {key: _file_name(key) for key in tasks}
    if len(set(names.values())) < len(names):
        raise ProblemError("keys of tasks must differ in more than characters that file names cannot have")
    found: dict[str, Any] = {}
    if place is not None:
        found = {key: kept for key in tasks if (kept := _read(place, names[key])) is not MISSING}
    left = {key: task for key, task in tasks.items() if key not in found}
    for key, result in _run(left, n_jobs, place, names):
        found[key] = result
        if progress is not None:
            progress(key, len(found), len(tasks))
    return {key: found[key] for key in tasks}


def place_of(folder: str | Path | None, problem: Problem, **options: Any) -> Path | None:
    """A folder of a problem's and its options' own inside another: no answer is taken for one of another.

    Raises
    ------
    ProblemError
        If the problem has parts that cannot be saved.
    """
    if folder is None:
        return None
    header, arrays = problem.pack()
    digest = hashlib.blake2b(json.dumps([header, options], sort_keys=True, default=repr).encode())
    for name in sorted(arrays):
        digest.update(np.ascontiguousarray(arrays[name]).tobytes())
    return Path(folder) / digest.hexdigest()[:SHORT]


def _run(
    tasks: Mapping[str, Task], n_jobs: int, place: Path | None, names: Mapping[str, str]
) -> Iterator[tuple[str, Any]]:
    if n_jobs == 1 and not _configured():
        yield from ((key, _one(task, place, names[key])) for key, task in tasks.items())
        return
    from joblib import Parallel, delayed

    parallel = Parallel(n_jobs=n_jobs, return_as="generator_unordered", batch_size=1)
    yield from parallel(delayed(_keyed)(key, task, place, names[key]) for key, task in tasks.items())


def _configured() -> bool:
    """Whether joblib was told to use a backend of its user's."""
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return type(backend).__name__ not in ("LokyBackend", "SequentialBackend")


def _keyed(key: str, task: Task, place: Path | None, name: str) -> tuple[str, Any]:
    return key, _one(task, place, name)


def _one(task: Task, place: Path | None, name: str) -> Any:
    """The result, written down at once; or the one that a worker wrote which was lost too late."""
    if place is not None and (kept := _read(place, name)) is not MISSING:
        return kept
    try:
        result = task()
        if place is not None and not _stopped(result):
            result = _write(place, name, result)
    except Exception as error:
        failure = Failure(f"{type(error).__name__}: {error}", traceback.format_exc())
        if place is not None:
            (place / f"{name}.failed.txt").write_text(failure.trace, encoding="utf-8")
        return failure
    if _stopped(result) and INTERRUPTED in result.message:
        raise KeyboardInterrupt
    if place is not None:
        (place / f"{name}.failed.txt").unlink(missing_ok=True)
    return result


def _stopped(result: Any) -> bool:
    """Whether an answer was cut off from outside: it is none to keep, nor a reason to go on."""
    return isinstance(result, Solution) and result.status is Status.STOPPED


def _write(place: Path, name: str, result: Any) -> Any:
    """As a whole or not at all: a file that is there is complete. Returns what will be read from it."""
    if isinstance(result, Solution):
        begun = result.save(place / f"{name}.{os.getpid()}.npz")
        begun.replace(place / f"{name}.npz")
        return result
    text = json.dumps({"result": result})
    begun = place / f"{name}.{os.getpid()}.part"
    begun.write_text(text, encoding="utf-8")
    begun.replace(place / f"{name}.json")
    return json.loads(text)["result"]


def _read(place: Path, name: str) -> Any:
    try:
        if (place / f"{name}.npz").is_file():
            return Solution.load(place / f"{name}.npz")
        path = place / f"{name}.json"
        return json.loads(path.read_text(encoding="utf-8"))["result"] if path.is_file() else MISSING
    except (
        OSError,
        ValueError,
        KeyError,
        zipfile.BadZipFile,
    ):  # torn by something else: as if it were not there
        return MISSING


def _file_name(key: str) -> str:
    return "".join(letter if letter.isalnum() or letter in "-_+=," else "_" for letter in key) or "_"
