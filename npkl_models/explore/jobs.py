"""Jobs that run in a thread, one at a time, and report to the page by events."""

from __future__ import annotations

import logging
import secrets
import threading
import time
from collections.abc import Callable
from typing import Any

from npkl_models.answer.history import Iterate
from npkl_models.errors import NPKLError, ProblemError

EVERY = 0.2  # seconds between two events of a running solver
KEPT = 8  # number of jobs whose answers are kept for figures
logger = logging.getLogger("npkl_models")

Event = dict[str, Any]


class Stopped(Exception):
    """Signal that the user has stopped the job."""


class Job:
    """A job with its events so far, and its ``answer``, which is None until there is one.

    ``owner`` is the tab that has started the job, and ``form`` is its form. The next job stops a
    ``yielding`` job. A job that was asked to end is ``stopping``, until its current iteration has ended.
    """

    def __init__(self, kind: str, owner: str = "", form: Event | None = None, yielding: bool = False) -> None:
        self.key, self.kind = secrets.token_hex(6), kind
        self.owner, self.form, self.yielding = owner, form or {}, yielding
        self.answer: Any = None
        self.ended, self._stop = threading.Event(), threading.Event()
        self._events: list[Event] = []  # only ever appended to
        self._last = 0.0

    def tell(self, kind: str, **content: Any) -> None:
        self._events.append({"kind": kind, **content})

    def since(self, count: int) -> list[Event]:
        """The events after the first ``count`` events."""
        return self._events[count:]

    def stop(self) -> None:
        self._stop.set()

    @property
    def stopping(self) -> bool:
        return self._stop.is_set()

    def due(self) -> bool:
        """Whether it is time for another event."""
        now = time.perf_counter()
        late = now - self._last >= EVERY
        self._last = now if late else self._last
        return late

    def watch(self, row: Iterate) -> bool:
        """A solver's callback that sends an iterate now and then; True stops the run."""
        if self.due():
            self.tell("iterate", **row._replace(V=None, more={})._asdict())
        return self.stopping

    def check(self) -> None:
        """Raise `Stopped` if the job was asked to end."""
        if self.stopping:
            raise Stopped


class Jobs:
    """The running job, and the last few jobs that have ended."""

    def __init__(self) -> None:
        self._known: dict[str, Job] = {}
        self._lock = threading.Lock()

    @property
    def running(self) -> Job | None:
        """The job that has not ended; if there are two, the job that waits for the other one."""
        return next((job for job in reversed(self._known.values()) if not job.ended.is_set()), None)

    def get(self, key: str) -> Job:
        """The job with a key; a `ProblemError` if the job is not among the last few."""
        if key not in self._known:
            raise ProblemError(f"the answer {key!r} is no longer kept; run it again")
        return self._known[key]

    def begin(self, kind: str, work: Callable[[Job], None], **of: Any) -> Job:
        """Start a job in a thread; a `ProblemError` if another job still runs and does not yield."""
        with self._lock:
            running = self.running
            if running is not None and not running.yielding:
                raise ProblemError(f"one thing at a time: a {running.kind} is still running; stop it first")
            self.stop()
            job = Job(kind, **of)
            self._known = dict([*self._known.items()][1 - KEPT :]) | {job.key: job}
        threading.Thread(target=_run, args=(job, work, running), daemon=True).start()
        return job

    def stop(self, key: str | None = None) -> bool:
        """Ask the running job to end if it has this key; return whether it was asked."""
        running = self.running
        if running is None or key not in (None, running.key):
            return False
        running.stop()
        return True


def _run(job: Job, work: Callable[[Job], None], before: Job | None = None) -> None:
    if before is not None:
        before.ended.wait()  # its imports and compiled loops are then ready
    try:
        work(job)
    except Exception as error:  # perhaps of a user's backend or formulation; the page goes on
        if job.stopping:
            job.tell("stopped", text=f"the {job.kind} was stopped before it had an answer")
        elif isinstance(error, (NPKLError, OSError)):
            job.tell("error", text=str(error))
        else:
            logger.exception("explore: a %s broke down", job.kind)
            job.tell("error", text=f"{type(error).__name__}: {error}")
    finally:
        job.tell("end")
        job.ended.set()
