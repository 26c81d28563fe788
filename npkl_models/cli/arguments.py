"""The arguments that say which data and which problem, and the problem that they say."""

from __future__ import annotations

import argparse
import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from npkl_models.cli import names
from npkl_models.cli.explicit import refuse
from npkl_models.data import datasets, tables
from npkl_models.errors import ProblemError, unknown
from npkl_models.explore.form import fields_of
from npkl_models.files import saved
from npkl_models.files.gate import is_there
from npkl_models.formulations import FORMULATIONS
from npkl_models.linalg import Array, Index, Matrix
from npkl_models.linalg.seeds import generator
from npkl_models.model.basis import Basis
from npkl_models.model.eigenbasis import eigenbasis
from npkl_models.model.graph import knn_affinity, laplacian
from npkl_models.model.pairs import Pairs
from npkl_models.problem import Problem
from npkl_models.routes import get_backend


def solver_options(options: argparse.Namespace) -> dict[str, Any]:
    """What was said of the solve, as the keywords of `Problem.solve`."""
    given = {"tol": options.tol, "time_limit": options.time_limit, "rigour": options.rigour}
    out = {key: value for key, value in given.items() if value is not None}
    known = None if options.backend == "auto" else get_backend(options.backend).option_names
    if known is None or "random_state" in known:
        out |= {} if known is None else {"random_state": options.seed}
    return out


def problem_of(options: argparse.Namespace) -> tuple[Problem, str]:
    """The problem that was asked for, and its title; a saved one is taken as it is."""
    if is_saved(options.data):
        refuse(options, ("data",), f"{options.data}, a saved problem,")
        return Problem.load(options.data), options.data
    given = load(options)
    return given.problem(), given.title


def is_saved(name: str) -> bool:
    """Whether a file is a problem (or an answer) that was saved, not points."""
    if not (name.endswith(".npz") and is_there(Path(name))):
        return False
    return saved.is_saved(name)


def load(options: argparse.Namespace) -> Given:
    """The data that were asked for, as many points as were asked for."""
    _refuse_idle(options)
    if tables.is_file(options.data):
        data = tables.read_points(options.data, options.labels)
    else:
        data = datasets.load(options.data, options.data_home)
    given = Given(data.X, data.y, options, f"{data.name} ({data.origin})")
    return given if options.n is None else given.subset(options.n)


def _refuse_idle(options: argparse.Namespace) -> None:
    """Raise an error for options that the data or the formulation have no use for."""
    file = tables.is_file(options.data)
    table = file and tables.is_csv(options.data)
    about_data = ("data", "n", "labels") if table else ("data", "n") if file else ("data", "n", "data_home")
    used = (*about_data, "formulation", *fields_of(options.formulation))
    refuse(options, used, f"{options.formulation} on {options.data}")


@dataclass(frozen=True)
class Given:
    """Points, classes and arguments, from which whatever a formulation asks for is made."""

    X: Array
    y: Index
    options: argparse.Namespace
    title: str

    def subset(self, n: int) -> Given:
        """``n`` of the points, drawn at random."""
        if not 2 <= n <= self.n:
            raise ProblemError(f"--n must be between 2 and {self.n}, got {n}")
        if self.share is None:
            raise ProblemError("--n draws some of the points, but the pairs of a file are of all of them")
        chosen = np.sort(generator(self.options.seed).permutation(self.n)[:n])
        y = self.y[chosen] if self.y.size else self.y
        return Given(self.X[chosen], y, self.options, self.title)

    @property
    def n(self) -> int:
        """Number of points."""
        return len(self.X)

    @property
    def share(self) -> float | None:
        """Pairs for each point, drawn from the classes; None where they come from a file."""
        try:
            share = float(self.options.pairs)
        except ValueError:
            return None
        if not 0 < share < self.n:
            raise ProblemError(f"--pairs must be a positive share of the points or a file, got {share:g}")
        return share

    @cached_property
    def L(self) -> Matrix:
        """The Laplacian."""
        return laplacian(self.X, self.options.n_neighbors, shift=self.options.delta)

    @property
    def graph(self) -> Matrix:
        """The neighbours of the points, all weights one."""
        return knn_affinity(self.X, self.options.n_neighbors, sigma="binary")

    @cached_property
    def pairs(self) -> Pairs:
        """Pairs of the file, or drawn from the classes."""
        if self.share is None:
            return tables.read_pairs(self.options.pairs, self.n)
        if not self.y.size:
            raise ProblemError(
                f"pairs must be given for {self.title}, which has no classes to draw them from; "
                "use --pairs FILE, or name the column with --labels"
            )
        count = round(self.share * self.n)
        return Pairs.from_labels(self.y, count, count, self.options.seed)

    @property
    def labels(self) -> Index:
        """The classes of the points."""
        if not self.y.size:
            raise ProblemError(f"classes must be given for {self.title}; name the column with --labels")
        return self.y

    @property
    def basis(self) -> Basis:
        """Eigenvectors of the Laplacian."""
        return eigenbasis(self.L, self.n_basis)

    @property
    def n_basis(self) -> int:
        """Size of the basis of a formulation that needs one."""
        given: int | None = self.options.n_basis
        return min(names.BASIS, self.n - 2) if given is None else given

    def bound(self) -> float | None:
        """B, or n where neither B nor G was given."""
        return self.n if self.options.bound is None and self.options.penalty is None else self.options.bound

    def problem(self) -> Problem:
        """The problem by the formulation's name, each of its parameters by what `PARAMETERS` says."""
        name = self.options.formulation
        if name not in FORMULATIONS:
            raise unknown("formulation", name, FORMULATIONS)
        wanted = inspect.signature(FORMULATIONS[name]).parameters
        missing = [
            key
            for key, one in wanted.items()
            if key not in PARAMETERS and one.default is inspect.Parameter.empty
        ]
        if missing:
            raise ProblemError(
                f"the command cannot give {name} its {', '.join(missing)}; call it from Python"
            )
        problem = FORMULATIONS[name](**{key: PARAMETERS[key](self) for key in wanted if key in PARAMETERS})
        if problem.basis is not None or self.options.n_basis is None:
            return problem
        return problem.with_basis(self.basis)


PARAMETERS: dict[str, Callable[[Given], Any]] = {
    "X": lambda given: given.X,
    "L": lambda given: given.L,
    "pairs": lambda given: given.pairs,
    "basis": lambda given: given.basis,
    "loss": lambda given: given.options.loss,
    "gamma": lambda given: given.options.gamma,
    "C": lambda given: given.options.gamma,
    "row_norm": lambda given: given.options.row_norm,
    "p": lambda given: given.options.p,
    "bound": lambda given: given.bound(),
    "penalty": lambda given: given.options.penalty,
    "n_neighbors": lambda given: given.options.n_neighbors,
    "n_basis": lambda given: given.n_basis,
    "nu": lambda given: given.options.nu,
    "labels_or_kernel": lambda given: given.labels,
    "W": lambda given: given.graph,
}
"""What a formulation's parameter is given, by its name."""
