"""The changes that a mutation run makes are changes, of programs, and none of words or types."""

import ast
import os
import random
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

from mutation.mutants import mutants_of

ROOT = Path(__file__).parents[2]
ROOMS = ("certify", "feasibility", "proof", "interior")
all_of = cache(mutants_of)


@pytest.mark.parametrize("room", ROOMS)
def test_every_change_is_another_program(room):
    kept, left = all_of(ROOT, room)
    lines = sum(len(p.read_bytes().splitlines()) for p in (ROOT / "npkl_models" / room).glob("*.py"))
    assert len(kept) > lines / 5
    assert all(reason for reason in left)
    assert len({m.path for m in kept}) >= len(list((ROOT / "npkl_models" / room).glob("*.py"))) - 2
    for mutant in random.Random(0).sample(kept, 60):
        source = (ROOT / mutant.path).read_bytes()
        assert ast.dump(ast.parse(mutant.applied(source))) != ast.dump(ast.parse(source)), mutant.name
        assert source[mutant.start : mutant.stop].decode() == mutant.before


def test_the_change_that_readers_found_is_among_them():
    kept, _ = all_of(ROOT, "interior")
    assert any(m.before == "self.best[-1]" and m.after == "(self.best[0])" for m in kept)


def test_a_slot_can_be_warmed(tmp_path):
    """Every compiled loop is called by its name: a run that cannot begin counts nothing."""
    (tmp_path / "npkl_models").symlink_to(ROOT / "npkl_models")
    code = f"from pathlib import Path; from mutation.processes import warm; import sys; warm(Path({str(tmp_path)!r})); sys.exit(0)"
    environment = os.environ | {"PYTHONPATH": str(ROOT / "tests")}
    found = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert found.returncode == 0, found.stderr + (tmp_path / "output").read_text()
