"""Points and problems of the commands on estimators, which import scikit-learn (a second)."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import Any

from npkl_models.applications.estimators.base import FORMULATIONS
from npkl_models.applications.selection import SCALINGS
from npkl_models.cli.arguments import said
from npkl_models.cli.console import say
from npkl_models.data import datasets, tables
from npkl_models.data.datasets import Dataset
from npkl_models.linalg import Array
from npkl_models.model.pairs import Pairs
from npkl_models.model.scales import unscaled
from npkl_models.problem import Problem
from npkl_models.recipe.fields import ESTIMATOR
from npkl_models.recipe.made import quiet_laplacian
from npkl_models.recipe.recipe import Recipe


def points(options: argparse.Namespace) -> tuple[Dataset, Array, Recipe]:
    """The points of `npkl cluster` or `npkl label`, also scaled, and a recipe with the estimators' defaults.

    What of a table is used is printed.
    """
    recipe = Recipe.from_dict(said(options), ESTIMATOR)
    if tables.is_file(recipe.data):
        data = tables.read_points(recipe.data, recipe.labels, recipe.ids)
    else:
        data = datasets.load(recipe.data, recipe.data_home)
    X = SCALINGS[options.scaling](data.X)
    for words in (data.about, unscaled(X, data.columns or None)):
        if words:
            say(f"{data.name}: {words}")
    return data, X, recipe


def builder(recipe: Recipe, X: Any) -> Callable[[Pairs], Problem]:
    """A function that makes the estimators' problem from pairs, on the graph of the scaled points.

    A point has all other points as neighbours if there are fewer than ``n_neighbors``.
    """
    L = quiet_laplacian(X, min(recipe.n_neighbors, X.shape[0] - 1), recipe.shift)
    said = {} if recipe.loss is None else {"loss": recipe.loss}
    return lambda pairs: FORMULATIONS[recipe.formulation](L, pairs, recipe.gamma, **said)
