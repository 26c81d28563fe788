"""What the page can ask for, without a word about the web: dictionaries in, dictionaries out."""

from __future__ import annotations

import itertools
import re
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path as File
from typing import Any, cast

import numpy as np

from npkl_models._version import __version__
from npkl_models.crosscheck.run import crosscheck
from npkl_models.data.tables import read_pairs, read_points
from npkl_models.errors import NPKLError, ProblemError, chosen
from npkl_models.explore import answers
from npkl_models.explore.answers import Answer
from npkl_models.explore.form import Form, controls, formulations, number_of
from npkl_models.explore.jobs import Job, Jobs
from npkl_models.explore.requests import MOST_FILE
from npkl_models.files.atomic import write_bytes
from npkl_models.path import regularization_path
from npkl_models.problem import Problem
from npkl_models.recipe.fields import LONGEST, short
from npkl_models.recipe.made import Made
from npkl_models.routes import backends as known_backends
from npkl_models.solve.choice import choose_backend

KINDS = ("points", "pairs")  # of files
FEWER = 5  # restarts of k-means along a path
LONGEST_NAME = 120  # bytes of a file's name
MOST_POINTS = 2**31  # that a file of pairs may name before its points are known
MOST_VALUES = 60  # along a path


class Session:
    """One reader's session: uploads, the problem asked for last, and jobs."""

    def __init__(self) -> None:
        self.jobs = Jobs()
        self._folder = File(tempfile.mkdtemp(prefix="npkl_explore_"))
        self._uploads: dict[str, File] = {}
        self._count = itertools.count(1)
        self._last: tuple[Any, Made] | None = None

    def close(self) -> None:
        """Stop what runs, and delete the uploads."""
        self.jobs.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    def choices(self) -> dict[str, Any]:
        """All that can be chosen, and the form as it is at first."""
        running = self.jobs.running
        return {
            "version": __version__, "fields": controls(), "formulations": formulations(),
            "backends": {name: backend.summary for name, backend in known_backends().items()},
            "figures": {name: words for name, (words, _) in answers.FIGURES.items()},
            "running": None if running is None else running.kind,
        }  # fmt: skip

    def upload(self, name: str, content: bytes, kind: str = "points") -> dict[str, Any]:
        """Keep a file of points, which is read at once, or of pairs, which is read with the points."""
        if len(content) > MOST_FILE:
            raise ProblemError(f"a file must have at most {MOST_FILE >> 20} MiB, got {len(content) >> 20}")
        chosen("kind of file", kind[:LONGEST], KINDS)
        base = File(name.replace("\\", "/")).name
        if not base.isprintable() or base.startswith(".") or not 0 < len(base.encode()) <= LONGEST_NAME:
            raise ProblemError(f"a file must have a name of 1 to {LONGEST_NAME} bytes, got {short(name)}")
        key = f"{next(self._count)}"
        path = self._folder / key / base
        path.parent.mkdir()
        try:
            write_bytes(path, content)
            about = _about_pairs(path) if kind == "pairs" else _about_points(path)
        except Exception as error:
            shutil.rmtree(path.parent, ignore_errors=True)
            if isinstance(error, NPKLError | OSError):
                raise ProblemError(self.words(error)) from error
            raise
        self._uploads[key] = path
        return {"key": key, "about": f"{base}: {about}"}

    def describe(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """The problem in words and code, which backends take it, and which one "auto" would choose."""
        form = Form.of(given, self._uploads)
        made = self._made(form)
        explained = made.problem.explain()
        declined = {name: reason for name, reason in made.problem.compatible_backends().items() if reason}
        try:
            auto = choose_backend(made.problem)[0]
        except NPKLError as error:
            auto = str(error)
        return {
            "title": made.title, "text": explained.text, "latex": explained.latex, "n": made.problem.n,
            "declined": declined, "auto": auto, "code": answers.solve_code(made, form),
            "command": f"{form.recipe.command()}\n",
            "weighted": bool(made.problem.terms), "findings": [str(one) for one in made.problem.diagnose()],
        }  # fmt: skip

    def run(self, given: Mapping[str, Any]) -> dict[str, Any]:
        """Begin to solve."""
        form = Form.of(given, self._uploads)

        def work(job: Job) -> None:
            made = self._made(form)
            job.tell("problem", title=made.title, text=made.problem.explain().text)
            recipe = form.recipe
            solution = made.problem.solve(recipe.backend, callback=job.watch, **recipe.solving())
            job.answer = Answer(made, form, solution)
            job.tell("answer", **job.answer.numbers(), code=answers.solve_code(made, form))

        return {"key": self.jobs.begin("run", work).key}

    def follow(self, given: Mapping[str, Any], low: Any, high: Any, count: Any) -> dict[str, Any]:
        """Begin to follow gamma from ``low`` to ``high`` in ``count`` steps of one factor."""
        form = Form.of(given, self._uploads)
        low, high = number_of("the first gamma", low), number_of("the last gamma", high)
        count = number_of("the number of values", count, whole=True)
        if not (0 < low < high and 2 <= count <= MOST_VALUES):
            raise ProblemError(
                f"a path must go from a positive gamma to a larger one in 2 to {MOST_VALUES} values, "
                f"got {low:g} to {high:g} in {count}"
            )

        def work(job: Job) -> None:
            made = self._made(form)
            if not made.problem.terms:
                raise ProblemError(f"{made.problem.name} has no losses whose weight could be changed")

            def watch(row: Any) -> bool:
                job.check()
                return job.watch(row)

            recipe, gammas = form.recipe, np.geomspace(low, high, count)
            path = regularization_path(
                made.problem, "weight", (gammas / recipe.gamma).tolist(), recipe.backend, callback=watch,
                **recipe.solving(),
            )  # fmt: skip
            problems = [cast(Problem, one.problem) for one in path.solutions]
            made_of = [replace(made, problem=problem) for problem in problems]
            found = [Answer(own, form, one, FEWER) for own, one in zip(made_of, path.solutions, strict=True)]
            numbers = answers.path_numbers(path, found, recipe.gamma)
            job.answer = found
            job.tell("path", **numbers, code=answers.path_code(made, form, (low, high, count)))

        return {"key": self.jobs.begin("path", work).key}

    def compare(self, given: Mapping[str, Any], backends: Sequence[str]) -> dict[str, Any]:
        """Begin a cross-check."""
        form = Form.of(given, self._uploads)

        def work(job: Job) -> None:
            made = self._made(form)

            def progress(label: str) -> None:
                job.check()
                job.tell("progress", text=f"{label} is running")

            how = form.recipe.solving(*backends)
            check = crosscheck(made.problem, list(backends), progress=progress, callback=job.watch, **how)
            job.answer = check
            job.tell("table", **answers.table(check), code=answers.compare_code(made, form, backends))

        return {"key": self.jobs.begin("comparison", work).key}

    def figure(self, key: str, name: str, index: int, how: Mapping[str, Any]) -> str:
        """A figure of a run, of one answer of a path, or of a comparison."""
        found = self.jobs.get(key).answer
        if isinstance(found, list) and 0 <= index < len(found):
            found = found[index]
        if not isinstance(found, Answer):
            raise ProblemError("there is no answer yet to be drawn")
        width = number_of("width", how.get("width", 480), whole=True)
        return found.figure(name, how.get("by", "classes"), width, how.get("dark") == "1")

    def _made(self, form: Form) -> Made:
        """The problem of the form, which is kept until another one is asked for."""
        asked = form.problem_alone
        last = self._last  # of whichever thread has set it
        if last is None or last[0] != asked:
            try:
                last = asked, form.recipe.made(form.files)
            except ProblemError as error:
                raise ProblemError(self.words(error)) from error
            self._last = last
        return last[1]

    def words(self, error: Exception) -> str:
        """What an error says, files by their names only."""
        return re.sub(rf"{re.escape(str(self._folder))}([/\\]\d+[/\\]|[/\\]?)", "", str(error))


def _about_points(path: File) -> str:
    data = read_points(path)
    return f"{data.n} points, {data.X.shape[1]} features, {np.unique(data.y).size or 'no'} classes"


def _about_pairs(path: File) -> str:
    pairs = read_pairs(path, MOST_POINTS)
    return f"{len(pairs.must_link)} must-links, {len(pairs.cannot_link)} cannot-links"
