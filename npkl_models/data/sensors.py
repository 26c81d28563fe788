"""Measured distances of named sensors, with anchors and bounds, from csv files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from npkl_models.data.named import FIRST, SECOND, Role, in_order, read_named
from npkl_models.files.gate import gate
from npkl_models.linalg import Array, Index

PAIR = (Role("i", FIRST), Role("j", SECOND))
LENGTH = (Role("distance", "d|.*(dist|length|range).*"), Role("weight", "weights|confidence", False))
SENSOR = (
    Role("sensor", "anchor|name|id|i|node|tag|point|station|beacon"),
    Role("x", r"[xyz]|x_?\d+|.*(east|north|lon|lat|coord|height|elev|alt).*"),
)  # fmt: skip
RANGE = (Role("lower", "l|.*(low|least|min).*"), Role("upper", "u|.*(upper|most|max|large).*"))


@dataclass(frozen=True, eq=False)
class Distances:
    """Each measured distance once, by the positions of its sensors in ``names``."""

    names: tuple[str, ...]  # the sensors, sorted: as numbers if all are whole numbers, else as text
    i: Index  # (m,)
    j: Index
    d: Array  # the distances (m,)
    weight: Array | None  # their weights, if the file has a fourth column (m,)
    repeated: int  # number of lines that say again what another line says
    header: str = ""  # what the first line was taken for, in words


def read_distances_csv(path: str | Path) -> Distances:
    """Read distances: a line has two sensors, their distance, and perhaps a weight.

    Sensors are names or numbers. A first line such as i,j,distance,weight is a header. A pair may come twice,
    in either order, if both lines say the same.
    """
    what = "a csv of distances: two sensors, their distance, and perhaps a weight"
    plain = (("i", "j", "distance"), ("i", "j", "distance", "weight"))
    found = read_named(path, what, (*PAIR, *LENGTH), plain)
    with gate(path, what):
        names = in_order(found.texts["i"] + found.texts["j"])
        ends = found.ends(names, "a sensor")
        number = found.numbers("distance", "a distance must be a number of at least 0")
        weight = found.weights()
        said = np.stack([number, np.zeros(number.size) if weight is None else weight], axis=1)
        first = found.once(ends, said, "distance", "distance")
        kept = None if weight is None else weight[first]
        i, j = ends[first].T
        return Distances(names, i, j, number[first], kept, len(ends) - first.size, found.header)


def read_anchors_csv(path: str | Path, names: tuple[str, ...] | None = None) -> tuple[Index, Array]:
    """Read anchors: a line has a sensor of ``names`` and its coordinates; their positions in ``names``.

    A first line such as sensor,x,y is a header. By default, ``names`` are those of the file.
    """
    what = "a csv of anchors: a sensor and its coordinates"
    found = read_named(path, what, SENSOR, (("sensor", "x"),), names or ())
    with gate(path, what):
        own = found.texts["sensor"]
        points = found.positions("sensor", names or in_order(own), "a sensor that has a distance")
        first = {name: at for at, name in reversed([*enumerate(own)])}
        again = next((at for at, name in enumerate(own) if first[name] < at), None)
        if again is not None:
            line = found.cells.lines[first[own[again]]]
            found.refuse(again, "sensor", f"an anchor must come once, and is in line {line}, too")
        return points, found.numbers("x", "a coordinate must be a number", -np.inf)


def read_bounds_csv(path: str | Path, names: tuple[str, ...]) -> tuple[Index, Index, Array, Array]:
    """Read bounds: a line has two sensors of ``names``, and the least and the largest distance.

    An empty cell says nothing: only "farther than" or only "nearer than" is known. A first line such as
    i,j,lower,upper is a header.
    """
    what = "a csv of bounds: two sensors, the least and the largest distance"
    found = read_named(path, what, (*PAIR, *RANGE), (("i", "j", "lower", "upper"),), names)
    with gate(path, what):
        ends = found.ends(names, "a sensor that has a distance")
        rule = "a bound must be a number of at least 0, or empty"
        lower, upper = found.numbers("lower", rule, 0.0, 0.0), found.numbers("upper", rule, 0.0, np.inf)
        wrong = np.flatnonzero(lower > upper)
        if wrong.size:
            found.refuse(int(wrong[0]), "upper", f"must be at least the lower bound {lower[wrong[0]]:g}")
        first = found.once(ends, np.stack([lower, upper], axis=1), "bound", "lower")
        i, j = ends[first].T
        return i, j, lower[first], upper[first]
