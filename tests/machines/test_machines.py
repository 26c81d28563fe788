"""A slice of `run.py`: what once hung on the last bits of a BLAS kernel."""

import pytest

from machines.run import SLICE, run, runnable


@pytest.mark.parametrize(
    "core",
    [
        *runnable(("Prescott",)),
        *(pytest.param(core, marks=pytest.mark.slow) for core in runnable(("SkylakeX",))),
    ],
)
def test_the_arithmetic_of_another_processor(core):
    found = run(core, 1, [f"tests/{name}" for name in SLICE[:2]], timeout=500)
    assert found.returncode == 0, found.stdout[-2_000:]
