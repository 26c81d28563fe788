"""The arguments of the commands about points and comparisons: ``npkl cluster`` and ``npkl embed``."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from npkl_models.cli.parser.shared import add_fields, parser_of, reader
from npkl_models.recipe.fields import ESTIMATOR, FIELDS, SOLVER
from npkl_models.recipe.names import DATASETS, ESTIMATED

CLUSTER_EXAMPLES = """examples:
  npkl cluster my.csv --pairs pairs.csv --k 3 --out labels.csv
  npkl cluster my.csv --labels class --pairs pairs.csv --k 3 --formulation npkl --loss hinge --gamma 10
  npkl cluster wine --k 3"""

EMBED_EXAMPLES = """examples:
  npkl embed --triplets answers.csv --out map.csv
  npkl embed --triplets answers.csv --components 3 --loss hinge --refine none"""
SCALINGS = ("minmax", "raw", "standard")
ORDERED = ("logistic", "squared_hinge", "hinge")
REFINEMENTS = ("auto", "none", "t_ste", "ckl", "ste", "gnmds")


def add_embed(commands: Any) -> None:
    """Add ``npkl embed``."""
    parser = parser_of(
        commands,
        "embed",
        "embed objects that are known from comparisons alone",
        "Learn a kernel from comparisons, and write coordinates. The exit status is 0 if the kernel is "
        "certified optimal, 1 if not, and 2 on bad usage.",
        EMBED_EXAMPLES,
    )
    add = parser.add_argument
    add(
        "--triplets", type=Path, required=True, metavar="FILE",
        help="csv of comparisons: three objects, of which the first is nearer to the second than to the "
        "third; or four, of which the first two are nearer to each other than the last two",
    )  # fmt: skip
    add("--components", type=int, default=2, metavar="N", help="number of coordinates")
    add("--loss", default="logistic", choices=ORDERED, help="loss of a comparison")
    add(
        "--penalty",
        type=float,
        metavar="G",
        help="penalty of the trace; by default, held-out comparisons decide",
    )
    add(
        "--refine", default="auto", choices=REFINEMENTS,
        help="local refinement of the coordinates; auto lets held-out comparisons decide",
    )  # fmt: skip
    add("--out", type=Path, metavar="FILE", help="write the objects and their coordinates: .csv")
    add(
        "--plot", type=Path, metavar="FILE",
        help="draw the first two coordinates: .png, .svg or .pdf (needs the extra 'plot')",
    )  # fmt: skip
    tol, seed = FIELDS["tol"], FIELDS["seed"]
    add("--tol", type=reader(tol), default=1e-4, help=tol.words)
    add("--seed", type=reader(seed), default=seed.default, help="seed of the held-out parts")


def add_cluster(commands: Any) -> None:
    """Add ``npkl cluster``."""
    parser = parser_of(
        commands,
        "cluster",
        "cluster the rows of a table by a kernel learnt from pairs",
        "Learn a kernel from points and pairs, find clusters and wrong pairs, and write the labels. "
        "The exit status is 0 if the kernel is certified optimal, 1 if not, and 2 on bad usage.",
        CLUSTER_EXAMPLES,
    )
    _add_points(parser)
    parser.add_argument(
        "--pairs",
        dest="links",
        metavar="FILE",
        help="csv of pairs with a header such as i,j,kind: two row numbers that begin at 0 (or names as "
        "--ids has them), then must or cannot; without pairs, the "
        "points nearest to the centres of k-means are kept apart",
    )
    parser.add_argument("--k", type=int, required=True, metavar="K", help="number of clusters")
    parser.add_argument(
        "--noise",
        default="auto",
        metavar="RATE",
        help="rate of wrong pairs, below 0.5; auto (the default) estimates it; none clusters by k-means on "
        "the kernel",
    )
    parser.add_argument("--out", type=Path, metavar="FILE", help="write the labels: .csv, one in each line")
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="FILE",
        help="draw the clusters and the pairs: .png, .svg or .pdf (needs the extra 'plot')",
    )


def _add_points(parser: argparse.ArgumentParser) -> None:
    """Add the points, their scaling, and the fields of the estimators' problem and its solve."""
    data = f"a file (.csv, .npz or .libsvm), or a set: {', '.join(DATASETS)}"
    parser.add_argument("data", metavar="FILE|NAME", help=data)
    parser.add_argument(
        "--scaling",
        default="standard",
        choices=SCALINGS,
        help="how the columns are scaled before the graph is made",
    )
    add_fields(parser, "labels", "ids", "data_home", "n_neighbors", "shift", "seed", place=ESTIMATOR)
    add_fields(parser, "formulation", choices=ESTIMATED, place=ESTIMATOR)
    add_fields(parser, "loss", "gamma", *SOLVER, place=ESTIMATOR)
