"""The commands of ``npkl`` as data: name, texts, arguments, and the function that runs each."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

from npkl_models.cli.parser.shared import jobs, names, reader
from npkl_models.recipe.fields import ESTIMATOR, FIELDS, PROBLEM, SOLVER
from npkl_models.recipe.names import BACKENDS, DATASETS, ESTIMATED, PATH_PARAMETERS, PRINTED

Argument = tuple[str, dict[str, Any]]


class Command(NamedTuple):
    """A command: what it does, examples, arguments in the order of the help, and NAME.FUNCTION that runs it.

    An argument is a name or option with the keywords of argparse, or the name of a field of the recipe, whose
    default is that of ``place``.
    """

    name: str
    summary: str
    description: str
    examples: str
    arguments: tuple[str | Argument, ...]
    run: str = ""
    place: str = ""
    plain: bool = False  # whether the help shows defaults only where its texts say them


def _option(name: str, words: str, **how: Any) -> Argument:
    return name, {"help": words, **how}


def _file(name: str, words: str, metavar: str | None = "FILE", **how: Any) -> Argument:
    return _option(name, words, type=Path, metavar=metavar, **how)


def _flag(name: str, words: str) -> Argument:
    return _option(name, words, action="store_true")


def _plot(what: str) -> Argument:
    return _file("--plot", f"draw {what}: .png, .svg or .pdf (needs the extra 'plot')")


def _field(name: str, words: str = "", default: Any = None) -> Argument:
    """A field of the recipe as an option that always has a value."""
    field = FIELDS[name]
    value = field.default if default is None else default
    return _option(field.option, words or field.words, type=reader(field), default=value)


GIVEN = _option(
    "problem", "a saved problem (.npz), or a semidefinite program in SDPA's sparse format (.dat-s, "
    ".dat-s.gz), instead of --data", nargs="?", metavar="FILE",
)  # fmt: skip
TABLE = _file("--out", "write the table as JSON (- for standard output)")
ANSWER = (
    _file("--out", "write the answer: .npz (everything), .json, or - for JSON"),
    _file("--json", "write the numbers of the answer as JSON (- for standard output)"),
)
COMPARED = (
    _option(
        "--backends", f"some of {', '.join(BACKENDS)}, sdp[SCS]; all by default; as printed: "
        f"{', '.join(PRINTED)}", type=names, metavar="A,B",
    ),
    "tol", "feasibility", _option("--jobs", "number of processes", type=jobs, default=1),
)  # fmt: skip
COMMANDS = (
    Command(
        "solve", "solve one problem and print what is proved",
        "Solve one problem and print what is proved. The exit status is 0 if the answer is certified "
        "optimal, 1 if not, and 2 on bad usage.",
        """
  npkl solve --data wine --gamma 10
  npkl solve --data my.csv --labels class --formulation npkl --loss hinge --out answer.npz
  npkl solve --data my.csv --pairs pairs.csv --backend interior --out answer.json
  npkl solve theta1.dat-s --backend interior --out answer.npz
  npkl solve theta1.dat-s --proof theta1.proof""",
        (
            GIVEN, *PROBLEM, *SOLVER, *ANSWER,
            _file("--proof", "write a proof of the status, which npkl check checks: .proof or .json"),
        ),
        run="problems.solve",
    ),
    Command(
        "check", "check a proof file",
        "Check a proof that npkl solve --proof wrote, with numpy alone. The exit status is 0 if the claim "
        "holds, 1 if not, and 2 for a file that is no proof.",
        """
  npkl solve --data iris --formulation npkl --loss hinge --proof iris.proof
  npkl check iris.proof""",
        (
            _file("proof", "the proof", metavar="FILE"),
            _flag("--exact", "factorise in whole numbers, up to order 60"),
        ),
        run="problems.check",
    ),
    Command(
        "cluster", "cluster the rows of a table by a kernel learnt from pairs",
        "Learn a kernel from points and pairs, find clusters and wrong pairs, and write the labels. The exit "
        "status is 0 if the kernel is certified optimal, 1 if not, and 2 on bad usage.",
        """
  npkl cluster my.csv --ids name --pairs pairs.csv --k 3 --out labels.csv
  npkl cluster my.csv --labels class --pairs pairs.csv --k 3 --formulation npkl --loss hinge --gamma 10
  npkl cluster wine --k 3""",
        (
            _option("data", f"a file (.csv, .npz or .libsvm), or a set: {', '.join(DATASETS)}",
                    metavar="FILE|NAME"),
            "labels", "ids", "data_home", "scaling", "n_neighbors", "shift", "seed",
            ("formulation", {"choices": ESTIMATED}), "loss", "gamma", *SOLVER,
            _option("--pairs", "csv of pairs with a header such as i,j,kind: two row numbers that begin at "
                    "0 (or names as --ids has them), then must or cannot; without pairs, the points "
                    "nearest to the centres of k-means are kept apart", dest="links", metavar="FILE"),
            _option("--k", "number of clusters", type=int, required=True, metavar="K"),
            _option("--noise", "rate of wrong pairs, below 0.5; auto (the default) estimates it; none "
                    "clusters by k-means on the kernel", default="auto", metavar="RATE"),
            _flag("--hard", "keep all pairs, or say which of them contradict each other"),
            _option("--size-min", "least number of rows of a cluster", type=int, default=0, metavar="N"),
            _option("--size-max", "largest number of rows of a cluster", type=int, metavar="N"),
            _file("--out", "write a row for each point: .csv with its name or number, cluster and the "
                  "probability of each cluster"),
            _file("--kernel", "write the factor of the kernel, and the names of its rows: .npz"),
            _file("--json", "write clusters, wrong pairs and the proof: .json, or - for standard output"),
            _plot("the clusters and the pairs"),
        ),
        place=ESTIMATOR,
    ),
    Command(
        "embed", "embed objects that are known from comparisons alone",
        "Learn a kernel from comparisons, and write coordinates. The exit status is 0 if the kernel is "
        "certified optimal, 1 if not, and 2 on bad usage.",
        """
  npkl embed --triplets answers.csv --components 3 --out map.csv""",
        (
            _file("--triplets", "csv of comparisons: three objects, of which the first is nearer to the "
                  "second than to the third; or four, of which the first two are nearer to each other than "
                  "the last two", required=True),
            _option("--components", "number of coordinates", type=int, default=2, metavar="N"),
            _option("--loss", "loss of a comparison", default="logistic",
                    choices=("logistic", "squared_hinge", "hinge")),
            _option("--penalty", "penalty of the trace; by default, held-out comparisons decide", type=float,
                    metavar="G"),
            _option("--refine", "local refinement of the coordinates; auto lets held-out comparisons decide",
                    default="auto", choices=("auto", "none", "t_ste", "ckl")),
            _file("--out", "write the objects and their coordinates: .csv"),
            _plot("the first two coordinates"),
            _field("tol", default=1e-4), _field("seed", "seed of the held-out parts"),
        ),
        run="locate.embed",
    ),
    Command(
        "locate", "locate sensors from measured distances",
        "Locate sensors by a certified relaxation, refined by least squares, and write their positions. "
        "The exit status is 0 if the relaxation is certified optimal, 1 if not, and 2 on bad usage.",
        """
  npkl locate distances.csv --anchors anchors.csv --out positions.csv --plot map.png
  npkl locate distances.csv --anchors anchors.csv --bounds bounds.csv --loss absolute""",
        (
            _file("distances", "csv of measured distances: two sensors, their distance, and perhaps a weight",
                  metavar="DISTANCES"),
            _file("--anchors", "csv of known positions: a sensor and its coordinates; without anchors, "
                  "positions are known up to a rotation and a reflection"),
            _file("--bounds", "csv of pairs without a measured distance: two sensors, the least and the "
                  "largest distance; an empty cell says nothing"),
            _option("--dimensions", "those of the anchors by default, else 2", type=int, metavar="D"),
            _option("--loss", "loss of the error of a squared distance", default="square",
                    choices=("square", "absolute", "huber")),
            _option("--spread", "how strongly the relaxation spreads the sensors out; 0 is the plain "
                    "relaxation", type=float, default=0.01, metavar="S"),
            _option("--error", "whether the error of a measured distance grows with the distance",
                    default="relative", choices=("relative", "absolute")),
            _flag("--quick", "do not assess which sensors are uniquely localisable, which takes two further "
                  "relaxations"),
            _file("--out", "write sensors, coordinates, standard deviations, and which are unique: .csv"),
            _plot("the first two coordinates"), _field("tol", default=1e-4),
            _field("seed", "seed of the random start of the relaxation"),
        ),
        run="locate.locate",
    ),
    Command(
        "crosscheck", "solve one problem with every backend and compare the answers",
        "Solve one problem with every backend that supports it, and compare the answers. The exit status "
        "is 0 if all agree, 1 if one does not, and 2 on bad usage.",
        """
  npkl crosscheck
  npkl crosscheck --data wine --formulation npkl --loss hinge --json table.json
  npkl crosscheck --data my.csv --labels class --report page.html
  npkl crosscheck theta1.dat-s --backends interior,sdp
  npkl crosscheck problem.npz --backends interior --point mine=kernel.npy""",
        (
            GIVEN, *PROBLEM, *COMPARED, ("--json", TABLE[1]),
            _option("--point", "judge an answer from elsewhere in the same table; may be given again",
                    metavar="NAME=FILE", action="append", default=[]),
            _file("--resume", "store each answer in this folder, and use stored answers", "DIR"),
            _file("--report", "write tables, pictures, versions and machine as one HTML page"),
        ),
    ),
    Command(
        "path", "solve for several values of a parameter",
        "Solve for several values of a parameter, or for all values of an interval. The exit status is 0 "
        "if all answers are certified, or if the gap is proved at every value of the interval; else it is 1.",
        """
  npkl path --data wine --values 0.01:100:20
  npkl path --data wine --values 0.01:100 --within 1e-3 --plot path.png
  npkl path --data iris --formulation simple_npkl --parameter bound --values 50,100,200 --out path.json""",
        (
            *PROBLEM, *SOLVER,
            _option("--parameter", "what changes along the path; weight multiplies all weights (gamma)",
                    default="weight", choices=PATH_PARAMETERS),
            _option("--values", "N values from A to B, evenly spaced in logarithms; or a list A,B,C; or an "
                    "interval A:B", default="0.01:100:9", metavar="A:B:N"),
            _option("--within", "the relative gap that is proved at every value of an interval A:B (default: "
                    "%(default)s)", type=float, default=1e-3, metavar="TOL"),
            _option("--jobs", "processes; each solves a part of the path", type=jobs, default=1),
            TABLE, ("--json", TABLE[1]), _plot("the path"),
        ),
    ),
    Command(
        "explain", "print a problem, its dual and its compiled forms",
        "Print the problem, its dual, the conditions of optimality and likely mistakes. Then print the "
        "cones and sizes that each backend makes of the problem.",
        """
  npkl explain --data wine --formulation npkl --loss hinge --row-norm 1
  npkl explain --data my.csv --pairs pairs.csv --page handout.html""",
        (
            GIVEN, *PROBLEM, _flag("--latex", "print the formulas as LaTeX"),
            _file("--page", "write the same with a solution as one HTML page"),
        ),
        run="problems.explain",
    ),
    Command(
        "explore", "explore formulations on a local page in the browser",
        "Open a page in the browser. You choose data, formulation and backend, watch a solver converge, "
        "see the kernel and its certificate, follow gamma, compare backends and copy the code. Only this "
        "machine (127.0.0.1) can reach the page, and only with the token in its address. Ctrl-C stops the "
        "server.",
        "\n  npkl explore\n  npkl explore --port 8000 --no-browser",
        (
            _option("--port", "port on 127.0.0.1; the default is a free port", type=int, default=0,
                    metavar="N"),
            _flag("--no-browser", "print the address and do not open a browser"),
            _option("--open", "the form to open, as copied by Copy link", default="", metavar="STATE"),
        ),
        run="explore.explore", plain=True,
    ),
    Command(
        "backends", "list the backends, or the options of one",
        "List the problems that each backend supports, or the options of one backend.",
        "\n  npkl backends\n  npkl backends bcd",
        (_option("name", f"show the options of this backend: {', '.join((*BACKENDS, *PRINTED))}",
                 nargs="?"),),
        run="lists.backends",
    ),
    Command(
        "datasets", "list the data sets", "List the data sets and where each comes from.",
        "\n  npkl datasets\n  npkl datasets --data-home ~/data",
        (_option("--data-home", FIELDS["data_home"].words, metavar="DIR"),),
        run="lists.datasets",
    ),
    Command(
        "export", "write a problem for other solvers",
        "Write a saved problem in SDPA's sparse format, or read one back. npkl certify judges their answers.",
        """
  npkl export problem.npz problem.dat-s            for CSDP, SDPA, DSDP, SDPLR, ...
  npkl export problem.dat-s problem.npz            back""",
        (
            _file("source", "the file to read: problem.npz or problem.dat-s", None),
            _file("target", "the file to write: problem.dat-s or problem.npz", None),
        ),
        run="problems.export",
    ),
    Command(
        "certify", "certify an answer to any problem",
        "Judge the answer of any solver to a problem as it is given: objective, proved bound, and what it "
        "misses of the constraints. The exit status is 0 if it is certified optimal, 1 if not, 2 on bad use.",
        """
  csdp problem.dat-s problem.sol
  npkl certify problem.dat-s problem.sol
  npkl certify problem.npz kernel.npy
  npkl certify problem.dat-s answer.npz --out judged.json""",
        (
            _file("source", "the problem: saved (.npz), or in SDPA's sparse format (.dat-s)", None),
            _file("answer", "saved (.npz), V or K (.npy, .csv), or from CSDP, DSDP, SDPA or SDPLR", None),
            _field("tol", "relative gap up to which a solution counts as optimal"),
            _field("feasibility", "violation up to which a solution counts as feasible"), *ANSWER,
        ),
        run="problems.judge",
    ),
    Command(
        "warm-up", "compile the fast loops now",
        "Compile the loops of the backends once on this machine, and print where the machine code is kept. "
        "Without this command, the first large problem compiles them.",
        "\n  npkl warm-up", (), run="lists.warm_up",
    ),
    Command(
        "version", "print the versions and the machine",
        "Print the versions and the machine, for a bug report.",
        "\n  npkl version\n  npkl version --json", (_flag("--json", "print JSON"),),
    ),
)  # fmt: skip
