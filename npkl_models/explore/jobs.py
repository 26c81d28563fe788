"""Work that goes on while the page looks on: one at a time, in a thread, told by events."""

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
KEPT = 8  # jobs whose answers are kept for figures
logger = logging.getLogger("npkl_models")

Event = dict[str, Any]


class Stopped(Exception):
    """The reader of the page has asked for an end."""


class Job:
    """One piece of work: its events so far, and the ``answer`` that it leaves, None until then.

    ``owner`` is the tab that has begun it, ``form`` what it was begun with. The next job ends a
    ``yielding`` one.
    """

    def __init__(self, kind: str, owner: str = "", form: Event | None = None, yielding: bool = False) -> None:
        self.key, self.kind = secrets.token_hex(6), kind
        self.owner, self.form, self.yielding = owner, form or {}, yielding
        self.answer: Any = None
        self.ended = threading.Event()
        self._stop = threading.Event()
        self._events: list[Event] = []
        self._lock = threading.Lock()
        self._last = 0.0

    def tell(self, kind: str, **content: Any) -> None:
        """Add an event."""
        with self._lock:
            self._events.append({"kind": kind, **content})

    def since(self, count: int) -> list[Event]:
        """The events after the first so many."""
        with self._lock:
            return self._events[count:]

    def stop(self) -> None:
        """Ask the work to end after its present iteration."""
        self._stop.set()

    @property
    def stopping(self) -> bool:
        """Whether it has been asked to end."""
        return self._stop.is_set()

    def due(self) -> bool:
        """Whether it is time to tell something again."""
        now = time.perf_counter()
        if now - self._last < EVERY:
            return False
        self._last = now
        return True

    def watch(self, row: Iterate) -> bool:
        """A solver's callback: tell of an iterate now and then; True stops the run."""
        if self.due():
            self.tell("iterate", **row._replace(V=None, more={})._asdict())
        return self._stop.is_set()

    def check(self) -> None:
        """Raise `Stopped` if the job is to end."""
        if self._stop.is_set():
            raise Stopped


class Jobs:
    """The job that runs, and the last few that have ended."""

    def __init__(self) -> None:
        self._known: dict[str, Job] = {}
        self._lock = threading.Lock()

    @property
    def running(self) -> Job | None:
        """The one that has not ended; of two, the one that waits for the other."""
        every = [job for job in self._known.values() if not job.ended.is_set()]
        return every[-1] if every else None

    def get(self, key: str) -> Job:
        """A job by its key; a `ProblemError` if it is not among the last few."""
        if key not in self._known:
            raise ProblemError(f"the answer {key!r} is no longer kept; run it again")
        return self._known[key]

    def begin(
        self, kind: str, work: Callable[[Job], None], owner: str = "", form: Event | None = None,
        yielding: bool = False,
    ) -> Job:  # fmt: skip
        """Start work in a thread of its own; a `ProblemError` if another job has not ended."""
        with self._lock:
            running = self.running
            if running is not None and not running.yielding:
                raise ProblemError(f"one thing at a time: a {running.kind} is still running; stop it first")
            if running is not None:
                running.stop()
            job = Job(kind, owner, form, yielding)
            self._known = dict([*self._known.items()][1 - KEPT :]) | {job.key: job}
        threading.Thread(target=_run, args=(job, work, running), daemon=True).start()
        return job

    def stop(self, key: str | None = None) -> bool:
        """Ask the running job to end, if it is the one of that key; whether there was one."""
        running = self.running
        if running is None or key not in (None, running.key):
            return False
        running.stop()
        return True


def _run(job: Job, work: Callable[[Job], None], before: Job | None = None) -> None:
    if before is not None:
        before.ended.wait()  # what it has imported and compiled is there then
    try:
        work(job)
    except Exception as error:  # of a backend or formulation from elsewhere too; the page goes on
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
