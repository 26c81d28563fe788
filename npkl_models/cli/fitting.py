"""The progress line of an estimator that a command fits."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from npkl_models.applications.estimators.noisy import WARNINGS
from npkl_models.cli.output import progress


@contextmanager
def fitting(what: str) -> Iterator[None]:
    """Show the progress of an estimator, whose warnings the summary says in words."""
    with progress(what), warnings.catch_warnings():
        for kind in WARNINGS:
            warnings.simplefilter("ignore", kind)
        yield
