"""The work of each kind of job on the problem of a form, and the events that it sends."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np

from npkl_models.answer.history import Iterate
from npkl_models.crosscheck.run import crosscheck
from npkl_models.crosscheck.table import COLUMNS, cells
from npkl_models.errors import ProblemError
from npkl_models.explore import answers, optimality, steps
from npkl_models.explore.answers import Answer
from npkl_models.explore.form import Form, audited
from npkl_models.explore.jobs import Job
from npkl_models.path import regularization_path
from npkl_models.problem import Problem
from npkl_models.recipe.made import Made

FEWER = 5  # restarts of k-means along a path
FACTOR = "burer_monteiro"  # shows the factor at each iteration, and has no loop to compile
PAUSE = 0.5  # seconds between two such evaluations


def run(job: Job, form: Form, made: Made) -> None:
    """Solve; send iterates, now and then with the conditions; then certificate, conditions, clusters."""
    job.tell("problem", title=made.title, text=made.problem.explain().text)
    last = time.perf_counter()

    def watch(row: Iterate) -> bool:
        nonlocal last
        small = row.V is not None and len(row.V) == made.problem.n <= steps.MOST_POINTS
        if small and time.perf_counter() - last >= PAUSE:
            last = time.perf_counter()
            numbers = optimality.numbers(made.problem, cast(np.ndarray, row.V))
            job.tell("conditions", numbers=numbers, live=True, iteration=row.iteration)
        return job.watch(row)

    solution = made.problem.solve(form.recipe.backend, callback=watch, **form.solving())
    job.answer = Answer(made, form, solution)
    job.tell("answer", **job.answer.numbers(), code=answers.solve_code(made, form))
    if solution.V is None:
        return
    if numbers := job.answer.optimality():
        job.tell("conditions", numbers=numbers, live=False)
    if form.wrong and made.labels is not None:
        job.tell("audit", **audited(solution, made.labels))
    sizes = np.bincount(job.answer.clusters).tolist()  # k-means may take longer than a quick solve
    job.tell("clusters", sizes=sizes, accuracy=job.answer.accuracy)


def follow(job: Job, form: Form, made: Made, span: tuple[float, float, int]) -> None:
    """Solve along gamma; send the solutions, and the bounds between their weights."""
    if not made.problem.losses:
        raise ProblemError(f"{made.problem.name} has no losses whose weight could be changed")

    def watch(row: Iterate) -> bool:
        job.check()
        return job.watch(row)

    weights = (np.geomspace(*span) / form.recipe.gamma).tolist()
    path = regularization_path(
        made.problem, "weight", weights, form.recipe.backend, callback=watch, **form.solving()
    )
    found = [
        Answer(replace(made, problem=cast(Problem, one.problem)), form, one, FEWER) for one in path.solutions
    ]
    job.answer = found
    numbers = answers.path_numbers(path, found, form.recipe.gamma)
    job.tell("path", **numbers, code=answers.program("path", made, form, span=span))


def compare(job: Job, form: Form, made: Made, backends: Sequence[str]) -> None:
    """Cross-check the backends; send the table."""

    def progress(label: str) -> None:
        job.check()
        job.tell("progress", text=f"{label} is running")

    how = form.solving(*backends)
    check = crosscheck(made.problem, list(backends), progress=progress, callback=job.watch, **how)
    job.answer = check
    rows = [{"cells": cells(one), "ran": one.ran, "good": one.verdict == "agrees"} for one in check.rows]
    about = {"columns": COLUMNS, "rows": rows, "headline": check.headline(), "agrees": check.agrees}
    job.tell("table", **about, code=answers.program("compare", made, form, backends))


def step(job: Job, form: Form, made: Made) -> None:
    """Solve and keep the iterates; send the certificate of each shown iterate."""
    recorder = steps.Recorder(made.problem, job.watch, made.anchors)
    free = form.recipe.backend == "auto" and made.problem.compatible_backends()[FACTOR] is None
    name = FACTOR if free else form.recipe.backend
    solution = made.problem.solve(name, callback=recorder, **form.solving(name))

    def progress(k: int, count: int) -> None:
        job.check()
        if k % 10 == 1:
            job.tell("progress", text=f"step {k} of {count} is judged")

    found = steps.numbers(recorder.judged(solution.V, progress), made.labels, made.anchors)
    about = {"status": solution.status.name, "seen": len(recorder.rows)}
    job.tell("steps", **found, **about, code=answers.program("step", made, form, [name]))


def compete(job: Job, form: Form, made: Made, backends: Sequence[str]) -> None:
    """Solve with two backends, one after the other; send both curves and the result."""
    if len(backends) != 2 or backends[0] == backends[1]:
        raise ProblemError(f"a race must be of two backends, got {', '.join(backends) or 'none'}")
    if made.problem.n > steps.MOST_RACING:
        most = f"at most {steps.MOST_RACING} points"
        raise ProblemError(f"a race must be on {most}, got {made.problem.n}")
    lanes = [steps.Lane(name) for name in backends]
    for lane in lanes:
        job.check()
        job.tell("progress", text=f"{lane.name} is running")
        lane.run(made.problem, form.solving(*backends), job)
    words = steps.winner(lanes[0], lanes[1], form.recipe.tol)
    told = {"lanes": [lane.numbers() for lane in lanes], "words": words}
    job.tell("race", **told, code=answers.program("race", made, form, backends))
