"""A slice of the fuzzer; its own command tries as many files as it is told: ``python tests/fuzz/run.py``."""

import re

import numpy as np
import pytest

import npkl_models as nm
from fuzz import mutations, oracles, run
from fuzz.targets import Target, of_originals


@pytest.mark.parametrize("seed", [11, 12])
def test_altered_files_are_refused_or_read_as_what_they_are(seed, record_property):
    tally = run.attack(400, seed)
    record_property("tried", tally.total("files"))
    assert tally.total("files") == 400
    assert tally.total("refused") >= 200
    assert tally.total("right") >= 20
    assert tally.clean, str(tally)


def test_the_fuzzer_sees_what_it_looks_for(tmp_path):
    """Readers that raise, lie, hang or do not say which file are found out."""

    def careless(path):
        data = path.read_bytes()
        return {b"K": lambda: {}[1], b"L": lambda: 7, b"N": lambda: nm.Pairs(3, [(0, 0)], [])}.get(
            data[:1], lambda: data
        )()

    target = Target("careless", "a.bin", "csv", [b"right"], careless, of_originals)
    tally = run.Tally()
    for data in (b"K", b"L", b"N", b"right"):
        run._try(target, data, tmp_path, [b"right"], tally)
    count = tally.counts["careless"]
    assert [count[kind] for kind in ("raw error", "silent", "unnamed", "right")] == [1, 1, 1, 1]
    assert not tally.clean
    assert re.search(r"careless +4 +0 +1 +1 +1 +1 +0", str(tally))


def test_oracles_read_what_the_readers_read():
    X, y = oracles.libsvm(b"+1 2:3\n-1 1:1\n")
    np.testing.assert_array_equal(X, [[0, 3], [1, 0]])
    assert y.tolist() == [1, 0]
    assert oracles.libsvm(b"+1 2:3 1:1\n") is None
    assert oracles.pairs(b"i,j\n0,1\n") == {(0, 1, 1)}
    assert oracles.csdp(b"1 2\n2 1 3 1 5\n", 2) is None
    assert mutations.cells(b"1,2\n3,4\n", mutations.Random(1)) != b"1,2\n3,4\n"
