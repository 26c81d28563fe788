"""Sweeps over all rows of V, one colour at a time or compiled row by row."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np
import scipy.sparse as sp

from npkl_models.errors import MissingDependencyError, UnsupportedError
from npkl_models.linalg import Array, Index, Matrix, without_diagonal
from npkl_models.linalg.compile import Loop, available, worth
from npkl_models.linalg.owned import frozen
from npkl_models.lowrank.comparisons import compares, on_ramps
from npkl_models.lowrank.cost import ROW_COMPILED, apart_cost, compared_cost, factor_cost
from npkl_models.lowrank.edges import EdgeModel
from npkl_models.lowrank.factor.rank import auto_rank
from npkl_models.lowrank.rows.extrapolation import MEMORY
from npkl_models.lowrank.rows.layout import PairTables, Table, color_classes, color_graph
from npkl_models.lowrank.rows.minimise import RowProblem, measure, minimise_rows
from npkl_models.lowrank.structure import Structure
from npkl_models.model.conjugates import quadratic_conjugates
from npkl_models.model.facts import row_bound
from npkl_models.model.functionals import SquaredDistances
from npkl_models.model.statement import Statement
from npkl_models.solve.cost import Cost, product_entries

SWEEP = Loop("npkl_models.lowrank.rows.compiled", "sweep", 8.0)
SWEEP_COMPARED = Loop("npkl_models.lowrank.rows.compiled_compare", "sweep_compared", 3.0)
USUAL_SWEEPS = 60  # until a certificate
IN_NUMPY = 30.0  # time in numpy over the predicted compiled time: the median of iris, wine and digits
IN_NUMPY_COMPARED = 4.0  # the same for comparisons: 150 to 1,000 points with 10 and 50 comparisons for each
VAST = 40_000_000  # numbers of a factor from which on a certificate needs the memory of the last iterates
FACTORS, MATRICES = 9, 4  # arrays of the size of a vast factor, and of the cost, that are held at once
VECTORS = 6e9  # bytes of the vectors of a certificate: the Lanczos basis, and Ritz vectors three times
COLOURED = 2_000  # up to this number of points, compiled sweeps follow the colours and give numpy's result


class Sweeper:
    """A sweep over all rows: the order of the points, and the kernel that minimises over their rows."""

    def __init__(
        self, problem: Statement, pairs: Structure, model: EdgeModel, compiled: bool,
        random_state: int | None, cost: Matrix | None = None,
    ) -> None:  # fmt: skip
        self.pairs, self.model = pairs, model
        self.radius = radius_of(problem)
        cost = problem.cost if cost is None else cost
        self.mu0 = 2 * (cost.diagonal() + pairs.linear)
        self.whole = cost
        self.compiled = compiled
        self.order: Index = np.arange(problem.n)
        self.classes: list[list[tuple[Table, Matrix]]] = []
        self.left = 0  # number of rows of the last sweep that compiled code did not solve
        self.begin(random_state)

    @cached_property
    def incidence(self) -> PairTables:
        """The pairs of each point."""
        return PairTables(self.pairs)

    @cached_property
    def off(self) -> Matrix:
        """The cost without its diagonal; compiled sweeps hardly ever need this copy."""
        return without_diagonal(self.whole)

    def begin(self, random_state: int | None) -> None:
        """Set the order of the points: colour after colour.

        A compiled sweep over many rows keeps the order of the points, which uses the cache better.
        """
        if self.compiled and self.order.size > COLOURED:
            return
        classes = color_classes(color_graph(self.interactions(), random_state))
        if self.compiled:
            self.order = np.concatenate(classes)
        else:
            self.lay_out(classes)

    def interactions(self) -> Matrix:
        """The graph of the points that share an entry of the cost or a pair."""
        return sp.csr_array(abs(self.off) + self.pairs.incidence.pattern())

    def lay_out(self, classes: list[Index]) -> None:
        """Make the tables for classes of points that do not interact."""
        self.order = np.concatenate([np.zeros(0, dtype=np.intp), *classes])
        self.classes = []
        for points in classes:
            tables = self.incidence.tables(points)
            self.classes.append([(table, self.off[table.points]) for table in tables])

    def __str__(self) -> str:
        return "rows compiled" if self.compiled else f"{len(self.classes)} colours in numpy"

    def run(self, V: Array) -> tuple[float, float]:
        """Sweep once, in place; the smooth model of the objective never rises.

        Returns
        -------
        tuple of (float, float)
            The fall of the smooth model, and the norm of the rows' gradients just before their updates.
        """
        if self.compiled:
            return self._run_compiled(V)
        measured = np.zeros(2)
        for tables in self.classes:
            for table, C_off in tables:
                measured += self.update_rows(V, table, C_off, self.mu0, np.zeros(0))
        return float(measured[0]), float(np.sqrt(measured[1]))

    def _run_compiled(self, V: Array) -> tuple[float, float]:
        measured, self.left = np.zeros(2), 0
        self.sweep_compiled(V, self.order, self.mu0, np.zeros((0, V.shape[1])), measured)
        return float(measured[0]), float(np.sqrt(measured[1]))

    def sweep_compiled(self, V: Array, order: Index, mu0: Array, fixed: Array, measured: Array) -> None:
        """Update rows by compiled code, those that it leaves by numpy; ``fixed`` adds to gradients."""
        held, radius = self.incidence, 0.0 if self.radius is None else float(self.radius)
        ramps = (part[held.pair] for part in self.model.ramps())
        pairs = np.append(held.start, held.neighbor.size), frozen(held.neighbor.astype(np.int32)), *ramps
        rows = mu0, self.pairs.quadratic, radius, fixed
        kinds = self.pairs.apart is not None, not self.model.quadratic
        most, r = int(held.degree.max(initial=0)), V.shape[1]
        width = max(most, r) + 2
        work = tuple(map(np.empty, ((6, r), (most, r), (width, width), (width, width), (2, most))))
        while (at := SWEEP(order, V, self.compiled_cost(), pairs, rows, kinds, work, measured)) >= 0:
            self.left += 1
            point, order = order[at : at + 1], order[at + 1 :]
            measured += self.update_rows(V, held.tables(point)[0], self.off[point], mu0, fixed)

    def compiled_cost(self) -> tuple[Index, Array, Array]:
        """The arrays of the cost, as compiled sweeps take them: read-only."""
        C = self.whole
        indptr, indices = C.indptr.astype(np.intp, copy=False), C.indices.astype(np.int32, copy=False)
        return frozen(indptr.view()), frozen(indices.view()), frozen(C.data.view())

    def update_rows(
        self, V: Array, table: Table, C_off: Matrix, mu0: Array, fixed: Array
    ) -> tuple[float, float]:
        """Update the rows of a table in numpy; the fall of the model, and the squared gradients."""
        points, apart = table.points, self.pairs.apart
        g = 2 * (C_off @ V)
        rows = RowProblem(
            mu0[points], self.pairs.quadratic[points], g + fixed[points] if fixed.size else g,
            V[table.neighbor], table.pair, table.valid, self.radius,
            None if apart is None else apart[table.pair] & table.valid,
        )  # fmt: skip
        old = V[points]
        new = V[points] = self.minimise(rows, old)
        return measure(rows, self.model, old, new)

    def minimise(self, rows: RowProblem, v: Array) -> Array:
        """The minimisers of row problems, started at the rows v (b x r)."""
        return minimise_rows(rows, self.model, v)


def radius_of(problem: Statement) -> float | None:
    """The largest norm of a row; None without a bound."""
    bound = row_bound(problem)
    return None if bound is None else float(np.sqrt(bound))


def loop_of(problem: Statement) -> Loop | None:
    """The compiled sweep that supports the losses of the problem, or None."""
    if compares(problem):
        return SWEEP_COMPARED if on_ramps(problem) else None
    if quadratic_conjugates(problem.losses) is not None:
        return None
    straight = all(term.loss.quadratic for term in problem.losses)
    apart = [isinstance(term.functional, SquaredDistances) for term in problem.losses]
    if any(apart):
        return SWEEP if straight and all(apart) else None
    return SWEEP


def compilable(problem: Statement) -> bool:
    """Whether compiled code supports the losses."""
    return loop_of(problem) is not None


def check_kernel(kernel: str, able: bool) -> None:
    """Refuse compiled code that does not support the losses (``able`` is False) or is not installed."""
    if kernel == "numba" and not able:
        raise UnsupportedError(
            "kernel='numba' takes losses with slopes linear between two ends; a problem with squared "
            "distances must have no entries, and only square or linear losses; use 'auto'"
        )
    if kernel == "numba" and not available():
        raise MissingDependencyError("kernel='numba' needs numba; install it with: pip install numba")


def choose_kernel(problem: Statement, kernel: str, spent: float = 0.0) -> bool:
    """Whether compiled code updates the rows: it must support the losses, and the work must be worth it.

    ``spent`` is the counted work of numpy so far; a run that takes longer than predicted changes to compiled
    code, after the same number of sweeps wherever it runs.
    """
    loop = loop_of(problem)
    if kernel == "numpy" or loop is None:
        return False
    return kernel == "numba" or worth(max(numpy_seconds(problem), spent))


def numpy_seconds(problem: Statement) -> float:
    """The predicted seconds of sweeps in numpy."""
    if compares(problem):
        return IN_NUMPY_COMPARED * compared_cost(problem).seconds
    return IN_NUMPY * sweeping(problem, ROW_COMPILED).seconds


def sweeping(problem: Statement, row: float) -> Cost:
    """The predicted cost of block coordinate descent; ``row`` are the seconds for a row of a sweep."""
    if compares(problem):
        found = compared_cost(problem)
        return found if row == ROW_COMPILED else replace(found, seconds=numpy_seconds(problem))
    if any(isinstance(term.functional, SquaredDistances) for term in problem.losses):
        return apart_cost(problem, row)
    found = factor_cost(problem, USUAL_SWEEPS, kinked=2.0, row=row)
    numbers = float(problem.n) * auto_rank(problem)
    if numbers <= VAST:
        return found
    iterates = 8.0 * (MEMORY + 1) * numbers  # these and the vectors of a certificate are not held together
    held = 8.0 * (FACTORS * numbers + MATRICES * product_entries(problem)) + max(iterates, VECTORS)
    return replace(found, bytes=held)
