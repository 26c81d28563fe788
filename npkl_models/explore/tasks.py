"""The work of each kind of job, and the events that it sends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from npkl_models.answer.history import Iterate
from npkl_models.crosscheck.run import crosscheck
from npkl_models.errors import ProblemError
from npkl_models.explore import answers, codes, mistakes, optimality, race, steps
from npkl_models.explore.answers import Answer
from npkl_models.explore.form import Form
from npkl_models.explore.jobs import EVERY, Job
from npkl_models.path import regularization_path
from npkl_models.problem import Problem
from npkl_models.recipe.made import Made

FEWER = 5  # restarts of k-means along a path
LIVE = 300  # the largest number of points for which the conditions are evaluated during a run
PAUSE = 0.5  # seconds between two such evaluations


@dataclass(frozen=True)
class Tasks:
    """The jobs for one form; ``made_of`` makes the problem of the form."""

    form: Form
    made_of: Callable[[Form], Made]

    def run(self, job: Job) -> None:
        """Solve; send the certificate, then the conditions, then the clusters."""
        form, made = self.form, self.made_of(self.form)
        job.tell("problem", title=made.title, text=made.problem.explain().text)
        watch = _Live(job, made.problem)
        solution = made.problem.solve(form.recipe.backend, callback=watch, **form.solving())
        job.answer = Answer(made, form, solution)
        job.tell("answer", **job.answer.numbers(), code=codes.solve_code(made, form))
        if solution.V is None:
            return
        if numbers := job.answer.optimality():
            job.tell("conditions", numbers=numbers, live=False)
        if form.wrong and made.labels is not None:
            job.tell("audit", **mistakes.audited(solution, made.labels))
        job.tell("clusters", **job.answer.clustered())

    def follow(self, job: Job, span: tuple[float, float, int]) -> None:
        """Solve along gamma; send the solutions, and the bounds between their weights."""
        form, made = self.form, self.made_of(self.form)
        low, high, count = span
        if not made.problem.losses:
            raise ProblemError(f"{made.problem.name} has no losses whose weight could be changed")

        def watch(row: Iterate) -> bool:
            job.check()
            return job.watch(row)

        gammas = np.geomspace(low, high, count)
        weights = (gammas / form.recipe.gamma).tolist()
        path = regularization_path(
            made.problem, "weight", weights, form.recipe.backend, callback=watch, **form.solving()
        )
        problems = [cast(Problem, one.problem) for one in path.solutions]
        made_of = [replace(made, problem=problem) for problem in problems]
        found = [Answer(own, form, one, FEWER) for own, one in zip(made_of, path.solutions, strict=True)]
        numbers = answers.path_numbers(path, found, form.recipe.gamma)
        between = answers.between_numbers(path, form.recipe.gamma)
        job.answer = found
        job.tell("path", **numbers, between=between, code=codes.path_code(made, form, span))

    def compare(self, job: Job, backends: Sequence[str]) -> None:
        """Cross-check the backends; send the table."""
        form, made = self.form, self.made_of(self.form)

        def progress(label: str) -> None:
            job.check()
            job.tell("progress", text=f"{label} is running")

        how = form.solving(*backends)
        check = crosscheck(made.problem, list(backends), progress=progress, callback=job.watch, **how)
        job.answer = check
        job.tell("table", **answers.table(check), code=codes.compare_code(made, form, backends))

    def step(self, job: Job) -> None:
        """Solve and keep the iterates; send the certificate of each shown iterate."""
        form, made = self.form, self.made_of(self.form)
        steps.refuse_large(made.problem)
        recorder = steps.Recorder(made.problem, job.watch, made.anchors)
        shown = {"rank": "auto"} if form.recipe.backend == "auto" else {}  # of those that show a factor
        solution = made.problem.solve(form.recipe.backend, callback=recorder, **form.solving() | shown)

        def progress(k: int, count: int) -> None:
            job.check()
            if k % 10 == 1:
                job.tell("progress", text=f"step {k} of {count} is judged")

        found = steps.numbers(recorder.judged(solution.V, progress), made.labels, made.anchors)
        job.tell(
            "steps", **found, status=solution.status.name, seen=len(recorder.rows),
            code=codes.steps_code(made, form),
        )  # fmt: skip

    def race(self, job: Job, backends: Sequence[str]) -> None:
        """Solve with two backends, one after the other; send both curves and the result."""
        form, made = self.form, self.made_of(self.form)
        race.refuse(made.problem, list(backends))
        lanes = [race.Lane(name) for name in backends]
        for lane in lanes:
            job.check()
            job.tell("progress", text=f"{lane.name} is running")

            def ask(row: Iterate, seconds: float, name: str = lane.name) -> bool:
                if job.due():
                    job.tell(
                        "lap", name=name, seconds=seconds, objective=row.objective, bound=row.bound,
                        iteration=row.iteration,
                    )  # fmt: skip
                return job.stopping

            race.run(made.problem, lane, form.solving(*backends), ask)
        words = race.winner(lanes[0], lanes[1], form.recipe.tol)
        code = codes.race_code(made, form, backends)
        job.tell("race", lanes=[lane.numbers() for lane in lanes], words=words, code=code)


class _Live:
    """A solver's callback that sends iterates, and now and then the conditions of optimality."""

    def __init__(self, job: Job, problem: Problem) -> None:
        self.job, self.problem, self._last = job, problem, time.perf_counter()

    def __call__(self, row: Iterate) -> bool:
        now = time.perf_counter()
        small = row.V is not None and len(row.V) == self.problem.n <= LIVE
        if small and now - self._last >= max(PAUSE, EVERY):
            self._last = now
            numbers = optimality.live(self.problem, cast(np.ndarray, row.V))
            self.job.tell("conditions", numbers=numbers, live=True, iteration=row.iteration)
        return self.job.watch(row)
