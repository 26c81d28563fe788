"""Calls in parallel processes, which end when their parent process dies, even if it is killed."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import npkl_models.interrupts as interrupts

LOOK = 0.3  # seconds between two checks of the parent process
_tied = threading.Event()


def spread(
    function: Callable[..., Any], given: Iterable[tuple[Any, ...]], n_jobs: int = -1, in_order: bool = True
) -> Iterator[Any]:
    """The results of calls, in their order or in that in which they end, from processes or joblib's cluster.

    ``function`` and the arguments of each call must be picklable; ``n_jobs`` -1 means all cores.
    """
    from joblib import Parallel, delayed

    begun_by = None if clustered() else os.getpid()
    how = "generator" if in_order else "generator_unordered"
    parallel = Parallel(n_jobs=n_jobs, return_as=how, batch_size=1)
    with interrupts.held():
        if begun_by is not None:
            _begin_trackers()
        with _deaf():
            results = parallel(delayed(_call)(begun_by, function, *one) for one in given)
    yield from results


def processors(n_jobs: int) -> int:
    """The number of processes that ``n_jobs`` stands for, or of the processors of joblib's cluster."""
    from joblib import effective_n_jobs

    return int(effective_n_jobs(-1 if clustered() else n_jobs))


def here(n_jobs: int = 1) -> bool:
    """Whether calls run in this process, one after the other."""
    return n_jobs == 1 and not clustered()


def clustered() -> bool:
    """Whether the user has set a backend of joblib that is not joblib's own, as for a cluster of Dask.

    Within a worker, joblib sets one of its own, so that tasks which run there spread no further.
    """
    from joblib.parallel import get_active_backend

    backend, _ = get_active_backend()
    return type(backend).__module__ != "joblib._parallel_backends" and backend.supports_return_generator


def _begin_trackers() -> None:
    """Start the processes that remove semaphores and files when all other processes have ended.

    They get no terminal, since they report each file as leaked. They start before the signal is blocked,
    since their start unblocks the signal.
    """
    if not hasattr(signal, "pthread_sigmask"):
        return
    from multiprocessing import resource_tracker

    with interrupts.silent():
        resource_tracker.ensure_running()
        with contextlib.suppress(ImportError):  # another joblib has loky in another place
            from joblib.externals.loky.backend.resource_tracker import ensure_running

            ensure_running()


@contextmanager
def _deaf() -> Iterator[None]:
    """Block Ctrl-C in processes that start in the block; only this process answers it."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _call(begun_by: int | None, function: Callable[..., Any], *given: Any) -> Any:
    if begun_by is not None and begun_by != os.getpid() and os.name == "posix" and not _tied.is_set():
        _tied.set()
        threading.Thread(target=_tie, args=(begun_by,), daemon=True).start()
    return function(*given)


def _tie(begun_by: int) -> None:
    """End this process when its parent process has died."""
    while os.getppid() == begun_by:
        time.sleep(LOOK)
    os._exit(1)
