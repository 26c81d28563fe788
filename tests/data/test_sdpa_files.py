"""Any file in SDPA's sparse format: what the format allows is read, and what it does not is named with its line."""

import gzip

import numpy as np
import pytest

import npkl_models as nm

FILE = """"A title
* a comment
 2=mDIM
 3 = nBLOCK
 {2, -2, 1} = bLOCKsTRUCT
{1.0, +2.5D0}
0 1 1 1 -1.0
0 1 2 2 -1
0,2,1,1,-2.0
0 3 1 1 -1e0
1 1 1 2 0.5
1 2 1 1 1.0
1 2 2 2 0.0

2 1 1 1 1.0
2 1 2 2 1.0
2 3 1 1 1.0
"""


def read(tmp_path, text, name="p.dat-s"):
    path = tmp_path / name
    if name.endswith("gz"):
        path.write_bytes(gzip.compress(text.encode()))
    else:
        path.write_text(text)
    return nm.Problem.from_sdpa(path)


@pytest.mark.parametrize("name", ["p.dat-s", "p.dat-s.gz"])
def test_what_the_format_allows_is_read(tmp_path, name):
    problem = read(tmp_path, FILE, name)
    assert problem.name == "p"
    assert problem.n == 5
    assert np.array_equal(problem.cost.toarray(), np.diag([1.0, 1.0, 2.0, 0.0, 1.0]))
    (part,) = problem.constraints
    assert part.value.tolist() == [1.0, 2.5]
    first = np.zeros((5, 5))
    first[0, 1] = first[1, 0] = 0.5
    first[2, 2] = 1.0
    assert np.array_equal(part.functional.matrix(0).toarray(), first)
    assert np.array_equal(part.functional.matrix(1).toarray(), np.diag([1.0, 1.0, 0, 0, 1.0]))


def test_the_optimum_of_a_file_is_minus_the_optimum_of_the_problem(tmp_path):
    """Maximise <F_0, K> = -tr K with K_12 + x = 1 and K_11 + K_22 + z = 2.5: -2.5 at K_12 = 1."""
    found = read(tmp_path, FILE).solve("interior")
    assert found.status is nm.Status.OPTIMAL
    assert found.objective == pytest.approx(2.5, abs=1e-5)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (" 2=mDIM", " two", "line 3: must begin with the number of constraints"),
        ("{2, -2, 1}", "{2, -2}", "line 5"),
        ("{1.0, +2.5D0}", "{1.0, inf}", "line 6"),
        ("0 1 2 2 -1", "0 1 2 2", "line 8: must be five numbers"),
        ("0 1 2 2 -1", "0 1 3 2 -1", "line 8: must have a row and a column of its block"),
        ("0,2,1,1,-2.0", "0 2 1 2 -2.0", "line 9: must lie on the diagonal"),
        ("1 2 1 1 1.0", "1 1 2 1 1.0", "line 12: must be stated once"),
        ("2 3 1 1 1.0", "3 3 1 1 1.0", "line 17: must have a matrix from 0 to 2"),
        ("2 3 1 1 1.0", "2 3 1 1 nan", "line 17"),
        (" 2=mDIM", " 99999999999", "at most"),
        ("{1.0, +2.5D0}\n", "", "line 6: must have 2 numbers"),
        ("{1.0, +2.5D0}", "{1.0, +2.5D0, 3}", "line 6: must have 2 numbers"),
    ],
)
def test_a_wrong_line_is_named(tmp_path, old, new, words):
    assert old in FILE
    with pytest.raises(nm.ProblemError, match=words):
        read(tmp_path, FILE.replace(old, new))


def test_a_sum_of_all_entries_that_is_zero_gives_a_face(tmp_path):
    entries = "".join(f"1 1 {i} {j} 2.0\n" for i in range(1, 4) for j in range(i, 4))
    text = f"2\n1\n3\n0 1\n0 1 1 2 1.0\n{entries}2 1 1 1 1\n2 1 2 2 1\n2 1 3 3 1\n"
    problem = read(tmp_path, text)
    found = problem.solve("interior")
    assert found.status is nm.Status.OPTIMAL
    np.testing.assert_allclose(found.K.sum(axis=0), 0.0, atol=1e-6)
