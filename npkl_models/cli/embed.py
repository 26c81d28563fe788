"""``npkl embed``: coordinates of objects that are known from comparisons alone."""

from __future__ import annotations

import argparse
import warnings
from pathlib import Path

import npkl_models.show.plots as plots
from npkl_models.applications.estimators.noisy import WARNINGS
from npkl_models.applications.estimators.ordinal import OrdinalEmbedding
from npkl_models.cli import output
from npkl_models.cli.console import say
from npkl_models.data.comparisons import Comparisons, read_comparisons_csv
from npkl_models.errors import ProblemError
from npkl_models.files.atomic import write_text


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options.out, kinds=(".csv",))
    output.check_picture(options.plot)
    if options.components < 1:
        raise ProblemError(f"--components must be at least 1, got {options.components}")
    given = read_comparisons_csv(options.triplets)
    model = OrdinalEmbedding(
        options.components, loss=options.loss, tol=options.tol, random_state=options.seed,
        penalty="auto" if options.penalty is None else options.penalty,
        refine=None if options.refine == "none" else options.refine,
    )  # fmt: skip
    what = f"{len(given.rows)} comparisons of {len(given.names)} objects"
    with output.progress(what), warnings.catch_warnings():
        for kind in WARNINGS:  # the summary says it
            warnings.simplefilter("ignore", kind)
        model.fit(given.rows, n_points=max(len(given.names), 3))
    say(f"{options.triplets}: {what}; {given.header}")
    say(model.solution_.summary())
    say(_found(model, given))
    if options.out is not None:
        _write(options.out, model, given)
    if options.plot is not None:
        points = model.embedding_[: len(given.names)]
        output.write_picture(options.plot, plots.objects(points, given.names))
    return output.status_of(model.solution_)


def _found(model: OrdinalEmbedding, given: Comparisons) -> str:
    """What the embedding answers, in words."""
    refined = "the certified kernel" if model.refined_ is None else f"refined by {model.refined_}, locally"
    share = model.score(given.rows)
    return f"{refined}; penalty {model.penalty_:.3g}; {share:.1%} of the comparisons are answered as given"


def _write(path: Path, model: OrdinalEmbedding, given: Comparisons) -> None:
    head = ",".join(["object", *(f"x{k + 1}" for k in range(model.embedding_.shape[1]))])
    rows = zip(given.names, model.embedding_.tolist(), strict=False)
    lines = [",".join([output.cell(name), *map(repr, row)]) for name, row in rows]
    write_text(path, "\n".join([head, *lines]) + "\n")
