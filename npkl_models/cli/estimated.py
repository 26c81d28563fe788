"""Points and problems of the commands on estimators, which import scikit-learn (a second)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from npkl_models.applications.estimators.base import FORMULATIONS
from npkl_models.cli.arguments import said
from npkl_models.data import datasets, tables
from npkl_models.data.datasets import Dataset
from npkl_models.model.graph import laplacian
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem
from npkl_models.recipe.fields import ESTIMATOR
from npkl_models.recipe.recipe import Recipe


def points(options: argparse.Namespace) -> tuple[Dataset, Recipe]:
    """The points of `npkl cluster` or `npkl label`, and a recipe with the defaults of the estimators."""
    recipe = Recipe.from_dict(said(options), ESTIMATOR)
    if tables.is_file(recipe.data):
        return tables.read_points(recipe.data, recipe.labels), recipe
    return datasets.load(recipe.data, recipe.data_home), recipe


def builder(recipe: Recipe, X: Any) -> Callable[[Pairs], Problem]:
    """A function that makes the estimators' problem from pairs, on the graph of the scaled points.

    A point has all other points as neighbours if there are fewer than ``n_neighbors``.
    """
    L = laplacian(X, min(recipe.n_neighbors, X.shape[0] - 1), shift=recipe.shift)
    return lambda pairs: FORMULATIONS[recipe.formulation](L, pairs, recipe.gamma, recipe.loss, 0.0)
