"""Points of the command on estimators, which import scikit-learn (a second)."""

from __future__ import annotations

import argparse

from npkl_models.applications.selection import SCALINGS
from npkl_models.cli.arguments import said
from npkl_models.cli.console import say
from npkl_models.data import datasets, tables
from npkl_models.data.datasets import Dataset
from npkl_models.linalg import Array
from npkl_models.model.scales import unscaled
from npkl_models.recipe.fields import ESTIMATOR
from npkl_models.recipe.recipe import Recipe


def points(options: argparse.Namespace) -> tuple[Dataset, Array, Recipe]:
    """The points of `npkl cluster`, also scaled, and a recipe with the estimators' defaults.

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
