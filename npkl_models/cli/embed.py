"""``npkl embed``: coordinates of objects that are known from comparisons alone."""

from __future__ import annotations

import argparse

import npkl_models.show.plots as plots
from npkl_models.applications.estimators.ordinal import OrdinalEmbedding
from npkl_models.cli import output
from npkl_models.cli.console import say
from npkl_models.cli.fitting import fitting
from npkl_models.data.comparisons import read_comparisons_csv
from npkl_models.errors import ProblemError


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options, out=output.CSV, plot=output.PICTURE)
    if options.components < 1:
        raise ProblemError(f"--components must be at least 1, got {options.components}")
    given = read_comparisons_csv(options.triplets)
    model = OrdinalEmbedding(
        options.components, loss=options.loss, tol=options.tol, random_state=options.seed,
        penalty="auto" if options.penalty is None else options.penalty,
        refine=None if options.refine == "none" else options.refine,
    )  # fmt: skip
    what = f"{len(given.rows)} comparisons of {len(given.names)} objects"
    with fitting(what):
        model.fit(given.rows, n_points=max(len(given.names), 3))
    say(f"{options.triplets}: {what}; {given.header}")
    say(model.solution_.summary())
    refined = "the certified kernel" if model.refined_ is None else f"refined by {model.refined_}, locally"
    answered = f"{model.score(given.rows):.1%} of the comparisons hold in the embedding"
    say(f"{refined}; penalty {model.penalty_:.3g}; {answered}")
    points = model.embedding_[: len(given.names)]
    if options.out is not None:
        coordinates = {f"x{k}": column for k, column in enumerate(points.T, 1)}
        output.write_csv(options.out, {"object": given.names} | coordinates)
    if options.plot is not None:
        output.write_picture(options.plot, plots.objects(points, given.names))
    return output.status_of(model.solution_)
