"""``npkl cluster``: clusters of the rows of a table, by a kernel learnt from pairs."""

from __future__ import annotations

import argparse

import numpy as np

import npkl_models.show.plots as plots
from npkl_models.applications.clustering import cluster_accuracy, kernel_kmeans
from npkl_models.applications.estimators.side import landmark_pairs
from npkl_models.applications.selection import SCALINGS
from npkl_models.cli import output
from npkl_models.cli.console import say
from npkl_models.cli.estimated import builder, points
from npkl_models.data import tables
from npkl_models.data.datasets import Dataset
from npkl_models.errors import ProblemError, optional
from npkl_models.files.atomic import save_figure
from npkl_models.linalg import Index
from npkl_models.model.pairs import Pairs


def run(options: argparse.Namespace) -> int:
    """Run the command; returns its exit status."""
    output.check(options.out, kinds=(".csv",))
    output.check(options.plot, "--plot", output.PICTURE)
    if options.plot is not None:
        optional("matplotlib", "plot", "plot").use("Agg")
    data, recipe = points(options)
    if not 1 <= options.k <= data.n:
        raise ProblemError(f"--k must be between 1 and n = {data.n}, got {options.k}")
    X = SCALINGS[options.scaling](data.X)
    given, k, seed = options.links, options.k, recipe.seed
    pairs = landmark_pairs(X, k, seed) if given is None else tables.read_pairs(given, data.n)
    problem = builder(recipe, X)(pairs)
    with output.progress(f"{problem.name}, n = {problem.n}"):
        solution = problem.solve(recipe.backend, **recipe.solving())
    say(f"{data.name}: {data.n} points, {_said_of(pairs, options)}")
    say(solution.summary())
    if solution.V is not None:
        labels = kernel_kmeans(solution, options.k, random_state=recipe.seed)
        say(_found(labels, data, options.k))
        if options.out is not None:
            output.write_labels(options.out, labels)
        if options.plot is not None:
            save_figure(plots.clusters(solution, labels, pairs).figure, options.plot)
    return output.status_of(solution)


def _said_of(pairs: Pairs, options: argparse.Namespace) -> str:
    count = f"{len(pairs.must_link)} must-links, {len(pairs.cannot_link)} cannot-links"
    return count if options.links else f"no pairs given: {len(pairs)} cannot-links between landmarks"


def _found(labels: Index, data: Dataset, k: int) -> str:
    """The sizes of the clusters in words, and their Rand index with the classes, if there are any."""
    sizes = ", ".join(map(str, np.bincount(labels, minlength=k).tolist()))
    line = f"{k} clusters of {sizes} points"
    if data.y.size != labels.size or data.n < 2:
        return line
    return f"{line}; Rand index with the classes {cluster_accuracy(data.y, labels):.3f}"
