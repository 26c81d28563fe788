"""The arguments of ``npkl locate``."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from npkl_models.cli.parser.shared import parser_of, reader
from npkl_models.recipe.fields import FIELDS

EXAMPLES = """examples:
  npkl locate distances.csv --anchors anchors.csv --out positions.csv --plot map.png
  npkl locate distances.csv --anchors anchors.csv --bounds bounds.csv --loss absolute
  npkl locate distances.csv --dimensions 3 --out positions.csv"""
LOSSES = ("square", "absolute", "huber")
ERRORS = ("relative", "absolute")


def add_locate(commands: Any) -> None:
    """Add ``npkl locate``."""
    parser = parser_of(
        commands,
        "locate",
        "locate sensors from measured distances",
        "Locate sensors by a certified relaxation, refined by least squares, and write their positions. The "
        "exit status is 0 if the relaxation is certified optimal, 1 if not, and 2 on bad usage.",
        EXAMPLES,
    )
    add = parser.add_argument
    add(
        "distances", type=Path, metavar="DISTANCES",
        help="csv of measured distances: two sensors, their distance, and perhaps a weight",
    )  # fmt: skip
    add(
        "--anchors", type=Path, metavar="FILE",
        help="csv of known positions: a sensor and its coordinates; without anchors, positions are known up "
        "to a rotation and a reflection",
    )  # fmt: skip
    add(
        "--bounds", type=Path, metavar="FILE",
        help="csv of pairs without a measured distance: two sensors, the least and the largest distance; an "
        "empty cell says nothing",
    )  # fmt: skip
    add("--dimensions", type=int, metavar="D", help="those of the anchors by default, else 2")
    add("--loss", default="square", choices=LOSSES, help="loss of the error of a squared distance")
    add(
        "--spread", type=float, default=0.01, metavar="S",
        help="how strongly the relaxation spreads the sensors out; 0 is the plain relaxation",
    )  # fmt: skip
    add(
        "--error", default="relative", choices=ERRORS,
        help="whether the error of a measured distance grows with the distance",
    )  # fmt: skip
    add(
        "--quick", action="store_true",
        help="do not assess which sensors are uniquely localisable, which takes two further relaxations",
    )  # fmt: skip
    add(
        "--out", type=Path, metavar="FILE",
        help="write sensors, coordinates, standard deviations, and which are unique: .csv",
    )  # fmt: skip
    add(
        "--plot", type=Path, metavar="FILE",
        help="draw the first two coordinates: .png, .svg or .pdf (needs the extra 'plot')",
    )  # fmt: skip
    tol, seed = FIELDS["tol"], FIELDS["seed"]
    add("--tol", type=reader(tol), default=1e-4, help=tol.words)
    add("--seed", type=reader(seed), default=seed.default, help="seed of the random start of the relaxation")
