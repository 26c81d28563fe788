"""The one table of fields: names, defaults, ranges and texts. The parser uses it without importing numpy."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from npkl_models.errors import ProblemError, unknown
from npkl_models.files.fields import LONGEST as LONGEST
from npkl_models.files.fields import short as short
from npkl_models.recipe.names import BACKENDS, BASIS, DATASETS, FOLDER_VARIABLE, FORMULATIONS, LOSSES, PRINTED

ESTIMATOR, PAGE = "estimator", "page"
"""The places with defaults of their own: `npkl cluster`; the page of `npkl explore`."""


@dataclass(frozen=True)
class Field:
    """A field of a recipe. The option of the command is made from its name in Python."""

    name: str
    kind: str  # type, as annotated
    default: Any
    words: str  # help text
    part: str  # "data", "pairs", "problem" or "solver"
    label: str = ""  # name on the page; the page does not show a field without a label
    empty: str = "none"  # text on the page for a missing value
    metavar: str | None = None
    of: tuple[str, ...] = ()  # parameters of a formulation that use it, or "csv" or "set" for such data
    choices: tuple[str, ...] = ()
    low: float = -math.inf  # lower bound; an integer may equal it, a float only if the field is closed
    high: float = math.inf  # a number must be below this bound, or may equal it if the field is closed
    closed: bool = False
    special: tuple[tuple[str, Any], ...] = ()  # defaults that hold in one place only

    @property
    def option(self) -> str:
        """The name of the option on the command line."""
        return f"--{self.name.replace('_', '-')}"

    @property
    def whole(self) -> bool:
        """Whether the field is an integer."""
        return self.kind.startswith("int")

    def default_in(self, place: str) -> Any:
        """The default in a place."""
        return dict(self.special).get(place, self.default)

    def read(self, value: Any) -> Any:
        """The value of the field's type, from text or JSON."""
        if "None" in self.kind and value in (None, ""):
            return None
        if self.whole or "float" in self.kind:
            number = _number(value)
            path = "str" in self.kind and isinstance(value, str) and value and number is None
            return value if path else self._in_range(value, math.nan if number is None else number)
        if not isinstance(value, str):
            raise ProblemError(f"{self.name} must be text, got {short(value)}")
        if self.choices and value not in self.choices:
            raise unknown(self.name, value[:LONGEST], self.choices)
        return value

    def _in_range(self, value: Any, number: float) -> int | float:
        if not math.isfinite(number) or (self.whole and number != int(number)):
            kind = "an integer" if self.whole else "a finite number"
            raise ProblemError(f"{self.name} must be {kind}, got {short(value)}")
        found = int(number) if self.whole else number
        above = found >= self.low if self.whole or self.closed else found > self.low
        if not (above and (found < self.high or (self.closed and found == self.high))):
            raise ProblemError(f"{self.name} must be {self.range}, got {found}")
        return found

    @property
    def range(self) -> str:
        """The allowed range in words."""
        if self.closed and math.isfinite(self.high):
            return f"from {self.low:g} to {self.high:g}"
        if self.whole or self.closed:
            return f"{'an integer' if self.whole else 'a finite number'} >= {self.low:g}"
        return "positive and finite" if math.isinf(self.high) else f"between {self.low:g} and {self.high:g}"


def _number(value: Any) -> float | None:
    try:
        return None if isinstance(value, bool) else float(value)
    except (TypeError, ValueError, OverflowError):
        return None


def _asked(default: Any, words: str, part: str, **more: Any) -> Any:
    """A field of `Fields`, with the attributes of its `Field`."""
    return dataclasses.field(default=default, metadata={"words": words, "part": part, **more})


@dataclass(frozen=True)
class Fields:
    """The values of a recipe. Each field is defined here and nowhere else."""

    data: str = _asked(
        "iris", f"a set ({', '.join(DATASETS)}), a file (.csv, .npz or .libsvm) or a saved problem", "data",
        label="Set", metavar="NAME|FILE",
    )  # fmt: skip
    labels: str | None = _asked(
        None, "the column of a csv that holds the classes: its name, its number, or none", "data",
        label="Column of classes", empty="found by its name", metavar="COLUMN", of=("csv",),
    )  # fmt: skip
    ids: str | None = _asked(
        None, "the column of a csv that names the rows, as a file of pairs then does", "data",
        label="Column of names", metavar="COLUMN", of=("csv",),
    )  # fmt: skip
    data_home: str | None = _asked(
        None, f"the folder of data sets; the default is ${FOLDER_VARIABLE}", "data", metavar="DIR",
        of=("set",),
    )  # fmt: skip
    n: int | None = _asked(
        None, "use only N points, drawn at random", "data", label="Points", empty="all", metavar="N", low=2,
        special=((PAGE, 60),),  # solved at once
    )  # fmt: skip
    scaling: str = _asked(
        "raw", "how the columns are scaled before the graph is made", "data", label="Scaling",
        choices=("raw", "standard", "minmax"), of=("X", "L", "basis", "W", "observed", "comparisons"),
        special=((ESTIMATOR, "standard"),),  # a column of large numbers would decide the clusters
    )  # fmt: skip
    n_neighbors: int = _asked(
        5, "neighbours of each point in the graph", "data", label="Neighbours", metavar="N", low=1,
        of=("L", "basis", "W", "observed", "n_neighbors"),
        special=((ESTIMATOR, 10),),  # the default of NPKLClustering, chosen for clusters
    )  # fmt: skip
    shift: float = _asked(
        0.1, "number that is added to the Laplacian's diagonal", "data", label="Shift δ", low=0, closed=True,
        of=("L", "basis"),
    )  # fmt: skip
    pairs: float | str = _asked(
        0.6, "SHARE: draw SHARE times n must-links, and as many cannot-links, from the classes; FILE: a csv "
        "of pairs: two row numbers that begin at 0, or names as --ids has them, then must or cannot", "pairs",
        label="Pairs of each kind, share of n", metavar="SHARE|FILE", low=0, of=("pairs",),
    )  # fmt: skip
    comparisons: str | None = _asked(
        None, "FILE: a csv of comparisons, as for npkl embed, in place of a set of which ten a point are "
        "drawn", "pairs", metavar="FILE", of=("comparisons",),
    )  # fmt: skip
    distances: str | None = _asked(
        None, "FILE: a csv of measured distances, as for npkl locate, in place of those of neighbours in a "
        "set", "pairs", metavar="FILE", of=("anchors",),
    )  # fmt: skip
    anchors: int | str | None = _asked(
        None, "COUNT: so many points of the set, drawn at random, have known positions; FILE: a csv of known "
        "positions, beside a file of distances", "data", label="Anchors", empty="none",
        metavar="COUNT|FILE", low=2, of=("anchors",),
    )  # fmt: skip
    seed: int = _asked(0, "seed of all draws: pairs, points, starts", "pairs", label="Seed", low=0)
    formulation: str = _asked(
        "pcp", "the problem to solve", "problem", label="Formulation", choices=FORMULATIONS
    )
    loss: str | None = _asked(
        None, "loss, for a formulation with a choice; the formulation's own by default", "problem",
        label="Loss", empty="its own", choices=LOSSES, of=("loss",),
    )  # fmt: skip
    gamma: float = _asked(
        1.0, "weight of the pairs (C of simple_npkl)", "problem", label="Weight γ (or C)", low=0,
        of=("gamma", "C"),
        special=((ESTIMATOR, 100.0),),  # the default of NPKLClustering, chosen for clusters
    )  # fmt: skip
    cannot: float = _asked(
        0.0, "target of the cannot-links, for pcp and reg_pcp: 0, or -1/(k-1) for k clusters", "problem",
        label="Target of cannot-links", metavar="T", low=-1, high=0, closed=True, of=("cannot",),
    )  # fmt: skip
    row_norm: float | None = _asked(
        None, "bound on the row norms, for npkl", "problem", label="Row norm b", metavar="b", low=0,
        of=("row_norm",),
    )  # fmt: skip
    p: float = _asked(
        2.0, "power p of the regulariser tr K^p", "problem", label="Power p", low=1, closed=True, of=("p",)
    )
    trace_bound: float | None = _asked(
        None, "bound B of tr K^p <= B; n if neither a bound nor a penalty is given", "problem",
        label="Bound B", empty="n", metavar="B", low=0, of=("trace_bound",),
    )  # fmt: skip
    penalty: float | None = _asked(
        None, "penalty G: add G/p tr K^p instead of a bound", "problem", label="or penalty G", metavar="G",
        low=0, of=("penalty",),
    )  # fmt: skip
    nu: float = _asked(
        1.0, "weight of the distances, for reg_mvu", "problem", label="Weight ν", low=0, of=("nu",)
    )
    n_basis: int | None = _asked(
        None, f"restrict K = QUQ' to S eigenvectors; {BASIS} for a formulation that needs a basis", "problem",
        label="Basis size", metavar="S", low=1, of=("basis", "n_basis"),
    )  # fmt: skip
    backend: str = _asked(
        "auto", f"the solver: auto, {', '.join((*BACKENDS, *PRINTED))}", "solver", label="Backend",
        metavar="NAME",
    )  # fmt: skip
    tol: float = _asked(
        1e-6, "stop when the proved relative gap is below TOL", "solver", label="Relative gap", low=0, high=1
    )
    feasibility: float | None = _asked(
        None, "largest violation of the constraints, relative to their data, of an optimal point (1e-7)",
        "solver", metavar="X", low=0, high=1,
    )  # fmt: skip
    time_limit: float | None = _asked(
        None, "seconds that the solver may take", "solver", label="Seconds at most", metavar="S", low=0,
        special=((PAGE, 60.0),),  # the user of the page waits for the solution
    )  # fmt: skip
    rigour: str | None = _asked(
        None, "require a proved bound, or accept one with a stated failure probability", "solver",
        choices=("proved", "probable"),
    )  # fmt: skip

    def __post_init__(self) -> None:
        for name, field in FIELDS.items():
            object.__setattr__(self, name, field.read(getattr(self, name)))


FIELDS = MappingProxyType({
    one.name: Field(one.name, str(one.type), one.default, **one.metadata)
    for one in dataclasses.fields(Fields)
})  # fmt: skip
"""All fields by name, in the order of the help and the page."""


SOLVER = tuple(name for name, field in FIELDS.items() if field.part == "solver")
"""The names of the fields of the solve."""

PROBLEM = tuple(name for name in FIELDS if name not in SOLVER)
"""The names of the fields of the problem, its data and its pairs."""
