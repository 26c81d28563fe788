"""Progress on a terminal: one line, about once a second; silence elsewhere."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager

from rich.status import Status

from npkl_models.cli.console import printer
from npkl_models.solve.watch import listening


class _Line(logging.Handler):
    """Shows the last message of a run, with its rate."""

    def __init__(self, status: Status) -> None:
        super().__init__(logging.INFO)
        self.status = status

    def emit(self, record: logging.LogRecord) -> None:
        args, text = record.args, record.getMessage()
        if isinstance(args, tuple) and len(args) >= 2:
            iteration, seconds = args[0], args[1]
            if isinstance(iteration, int) and isinstance(seconds, float) and seconds > 0:
                text += f" ({iteration / seconds:.3g} a second)"
        self.status.update(text)


@contextmanager
def progress(what: str) -> Iterator[None]:
    """Say on standard error what is being done, if that is a terminal."""
    console = printer(stderr=True)
    if not console.is_terminal:
        yield
        return
    with console.status(what) as status, listening(_Line(status)):
        yield
