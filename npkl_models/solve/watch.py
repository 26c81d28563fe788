"""The monitor of a run: clock, limits, history, log, callback, and probability of failure."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from typing import Any

import numpy as np

import npkl_models.interrupts as interrupts
from npkl_models import kernel
from npkl_models.answer.history import History, Iterate
from npkl_models.answer.solution import Status
from npkl_models.certificates.bounds import CertifyOptions
from npkl_models.certificates.certificate import Budget, Certificate, inward
from npkl_models.certificates.prove import prove
from npkl_models.kernel import Anchor
from npkl_models.linalg import Array
from npkl_models.linalg.compile import clock
from npkl_models.model.conjugates import projected
from npkl_models.model.multipliers import Multipliers
from npkl_models.model.statement import Statement
from npkl_models.model.units import Units, binary_units
from npkl_models.solve.cost import Allowance, certificate_seconds
from npkl_models.solve.options import Options

logger = logging.getLogger("npkl_models")
INTERRUPTED = "interrupted from the keyboard"
CLOCK = "iteration %d, %.0f s"
COLUMNS = ("objective %.10g", "bound %.10g", "residual %.1e", "rank %d")  # a log line has what is finite
LOG_EVERY = 1.0  # seconds
KEPT = 4  # the number of certificates that a watch remembers
LATE = 0.5  # if less than this share of a certificate's seconds is left, only a quick certificate is made
GRACE = 0.1  # a certificate may end this share of the limit too late; then Lanczos runs are cut
KEPT_BACK = 0.5  # at most this share of the limit is kept for a certificate whose seconds are only predicted
BROKEN = (np.linalg.LinAlgError, ArithmeticError)  # errors that numbers out of range cause


class Ended(Exception):
    """Signal that a run has ended with a status."""

    def __init__(self, status: Status) -> None:
        super().__init__(status.name)
        self.status = status


class RunMonitor:
    """Monitor of one run: the solver reports its iterates to the watch, and the watch tells it when to stop.

    Attributes
    ----------
    started : float
        Start of the run in seconds of `npkl_models.linalg.compile.clock`, which leaves compilation out.
    rows : list of Iterate
        The iterates so far.
    trouble : str
        The error that ended the run, or empty.
    """

    def __init__(
        self, options: Options, label: str = "solver", units: Units | None = None,
        allowance: Allowance | None = None,
    ) -> None:  # fmt: skip
        self.options, self.label = options, label
        self._units = None if units is None or units.same else units
        self.allowance = allowance
        self.work = 0.0  # counted work of the certificates
        self.started, self._begun = clock(), time.perf_counter()
        self.rows: list[Iterate] = []
        self.trouble = ""
        self._of_callback: Exception | None = None
        self.seed: int | None = getattr(options, "random_state", 0)
        self.rigour: str = getattr(options, "rigour", "probable")
        self._budget = Budget()
        self._inside: Anchor | None = None
        self._issued: list[tuple[Statement, Certificate, Certificate]] = []
        self._logged, self.pause = self.started, LOG_EVERY
        self._heeded = self._step = self._proof = 0.0  # clock at last `heed`; last step; longest certificate
        self._expected = 0.0  # predicted seconds of a certificate

    @property
    def seconds(self) -> float:
        """Seconds since the run began, without the compilation of loops."""
        return clock() - self.started

    @property
    def deadline(self) -> float:
        """The end of the time limit in seconds of `time.perf_counter`; compilation uses the limit up too."""
        limit = self.options.time_limit
        return np.inf if limit is None else self._begun + limit

    @property
    def left(self) -> float:
        """Seconds until the deadline; negative after the deadline."""
        return self.deadline - time.perf_counter()

    def affords(self, seconds: float) -> bool:
        """Whether the limit leaves time for these seconds and for the certificate at the end."""
        return seconds + self.proof_ahead <= self.left

    def expect(self, seconds: float, cut: bool = False) -> None:
        """Set the predicted seconds of a certificate, kept free at the end of the limit (at most half of it).

        A certificate that is ``cut`` when the limit has passed needs no more than what is kept.
        """
        limit = self.options.time_limit
        self._expected = seconds if limit is None or not cut else min(seconds, KEPT_BACK * limit)

    @property
    def proof_ahead(self) -> float:
        """Seconds that are kept for the certificate at the end."""
        limit = self.options.time_limit
        return max(self._proof, min(self._expected, 0.0 if limit is None else KEPT_BACK * limit))

    @property
    def late(self) -> bool:
        """Whether less than half of the seconds that a certificate needs are left."""
        return self.left < LATE * max(self._proof, self._expected)

    @property
    def history(self) -> History:
        """The history of all iterates so far."""
        return History.of(self.rows)

    def certify(
        self, problem: Statement, V: Any, y: Multipliers | None, *, method: str = "auto", quick: bool = False,
        kind: str = "factor", last: bool = False, restoring: bool = True,
    ) -> Certificate:  # fmt: skip
        """The certificate of a copy of the factor; those of a run share one probability of failure.

        A solver's point may be moved towards the constraints first, but not without ``restoring``.
        """
        y = None if y is None or not y.finite else y  # numbers out of range are no multipliers
        now, began = V.copy() if isinstance(V, np.ndarray) else V, self.seconds
        units = self._units if self._units is not None and problem is self._units.problem else None
        if units is not None:
            problem, now = units.whole, units.point(now)
            y = None if y is None else units.multipliers(y)
        asked = (method, self.options.tol, self._budget.next(), self.seed, quick, self._inside)
        until = self.deadline + GRACE * (self.options.time_limit or 0.0)
        demand = CertifyOptions(*asked, until, last, self.options.feasibility, restoring)
        found = prove(problem, now, y, kind, demand)
        self.work += certificate_seconds(problem)
        self._proof = max(self._proof, self.seconds - began)
        found = self._budget.stated(found)
        handed_out = replace(found) if units is None else inward(found, units)
        self._issued = [*self._issued[1 - KEPT :], (problem, handed_out, found)]
        return handed_out

    def issued(self, problem: Statement, certificate: Certificate | None) -> Certificate | None:
        """The certificate in the units of the statement; None unless this watch has recently made it."""
        own = (kept for of, out, kept in self._issued if out is certificate and of is problem)
        return next(own, None)

    def offer(self, problem: Statement, y: Multipliers) -> bool:
        """Offer a strictly feasible dual point for later certificates; return whether the watch keeps it."""
        if self._units is not None and problem is self._units.problem:
            problem, y = self._units.whole, self._units.multipliers(y)
        units = binary_units(problem)
        found = kernel.anchor(units.problem, projected(units.problem, units.inner_multipliers(y)))
        self._inside = self._inside if found is None else found
        return found is not None

    def suffices(self, found: Certificate) -> bool:
        """Whether the relative gap is at most the tolerance, with the rigour that the options require."""
        enough = self.rigour != "proved" or found.rigour == "proved"
        return enough and found.certifies(self.options.tol)

    def record(
        self, iteration: int, objective: float, bound: float, residual: float, rank: int, **more: float
    ) -> Iterate:
        """Append an iterate to the history, and log it if the last log line is at least a second old.

        ``more`` are further columns of the history, by name.
        """
        if self._units is not None:
            objective, bound = self._units.value(objective), self._units.value(bound)
        row = Iterate(iteration, self.seconds, objective, bound, residual, rank, more=more)
        self.rows.append(row)
        if self.started + row.seconds - self._logged >= self.pause:
            self._logged = self.started + row.seconds
            known = [(words, x) for words, x in zip(COLUMNS, row[2:6], strict=True) if np.isfinite(x)]
            self.log(", ".join([CLOCK, *(words for words, _ in known)]), *row[:2], *(x for _, x in known))
        return row

    def log(self, words: str, *numbers: Any) -> None:
        """Log a line of progress."""
        logger.info(f"{self.label}: {words}", *numbers)

    def heed(self, V: Array | None, work: float = 0.0) -> Status | None:
        """Ask callback, clock and allowance whether the run may go on; the status to stop with, or None.

        ``work`` is the counted work of the solver since its start, without certificates (`Engine.work`). The
        clock stops the run if the limit leaves no time for another step and the certificate at the end. The
        step is taken to be as long as the shorter of the last two.
        """
        interrupts.heed()
        now = self.seconds
        step, self._heeded = now - self._heeded, now
        ahead, self._step = min(step, self._step) + self.proof_ahead, step
        if self.options.callback is not None and self.rows and self._asked(self.options.callback, V):
            return Status.STOPPED
        if ahead > self.left:
            return Status.TIME_LIMIT
        if self.allowance is None or not self.rows:
            return None
        return Status.ITERATION_LIMIT if self.allowance.ends(work + self.work) else None

    def _asked(self, callback: Callable[[Iterate], bool | None], V: Array | None) -> bool:
        """Whether the callback stops the run; V is read-only, and the callback's error is remembered."""
        if V is not None and self._units is not None:
            V = self._units.point(V)
        shown = None if V is None else V.view()
        if shown is not None:
            shown.flags.writeable = False
        try:
            return bool(callback(self.rows[-1]._replace(V=shown, backend=self.label)))
        except Exception as error:
            self._of_callback = error
            raise

    def of_callback(self, error: Exception) -> bool:
        """Whether the callback has raised this error."""
        return error is self._of_callback

    def attempt(self, work: Callable[[], Status]) -> Status:
        """Do the work; the status with which it ends, is interrupted, or breaks down."""
        try:
            return work()
        except Ended as ended:
            return ended.status
        except KeyboardInterrupt:
            interrupts.answered()
            self.trouble = INTERRUPTED
            return Status.STOPPED
        except BROKEN as error:
            if self.of_callback(error):
                raise
            self.trouble = f"{type(error).__name__}: {error}"
            return Status.FAILED


def progress_log(verbose: bool) -> AbstractContextManager[None]:
    """Show INFO lines of this library while the block runs, if ``verbose``."""
    shown = verbose and not logger.isEnabledFor(logging.INFO)
    return listening(logging.StreamHandler()) if shown else nullcontext()


@contextmanager
def listening(handler: logging.Handler) -> Iterator[None]:
    """Hand INFO lines of this library to a handler while the block runs."""
    level = logger.level
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(level)


def quiet() -> np.errstate:
    """Switch off numpy's warnings of numbers out of range; the certificate reports the consequences."""
    return np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore")
