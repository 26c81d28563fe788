"""What `npkl cluster` and `npkl label` share: points, their graph, and a problem on it by pairs."""

from __future__ import annotations

import argparse
from typing import Any

from npkl_models.applications.estimators.base import FORMULATIONS
from npkl_models.cli.explicit import explicit
from npkl_models.data import datasets, tables
from npkl_models.data.datasets import Dataset
from npkl_models.errors import ProblemError
from npkl_models.linalg import Matrix
from npkl_models.model.graph import laplacian
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem
from npkl_models.routes import get_backend

IDLE = {"pcp": ("loss",), "hard_pcp": ("loss", "gamma"), "npkl": (), "simple_npkl": ()}
"""The noted options that a formulation has no use for."""


def points(options: argparse.Namespace) -> Dataset:
    """The points, once all that can be refused without them is."""
    if options.backend != "auto":
        get_backend(options.backend)
    idle = [f"--{name}" for name in explicit(options) if name in IDLE[options.formulation]]
    file = tables.is_file(options.data)
    useless = {"data_home"} if file else set()
    useless |= set() if tables.is_csv(options.data) else {"labels"}
    idle += [f"--{name.replace('_', '-')}" for name in explicit(options) if name in useless]
    if idle:
        raise ProblemError(
            f"{options.formulation} on {options.data} must be said without options that are idle there, "
            f"got {', '.join(idle)}"
        )
    if options.n_neighbors < 1:
        raise ProblemError(f"--n-neighbors must be an integer >= 1, got {options.n_neighbors}")
    if file:
        return tables.read_points(options.data, options.labels)
    return datasets.load(options.data, options.data_home)


def graph_of(options: argparse.Namespace, X: Any) -> Matrix:
    """The Laplacian of scaled points."""
    return laplacian(X, min(options.n_neighbors, X.shape[0] - 1), shift=options.delta)


def problem_by(options: argparse.Namespace, L: Matrix, pairs: Pairs) -> Problem:
    """The formulation that was asked for."""
    return FORMULATIONS[options.formulation](L, pairs, options.gamma, options.loss)
