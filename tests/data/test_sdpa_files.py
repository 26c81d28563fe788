"""Any file in SDPA's sparse format: what the format allows is read, and what it does not is named with its line."""

import gzip

import numpy as np
import pytest
from commands import status

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


WHOLE = "2\n2\n2 -1\n1.0 3.0\n0 1 1 2 -0.7\n1 1 1 1 1.0\n2 1 2 2 1.0\n2 2 1 1 1.0\n"


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        ("*INTEGER\n*2\n", "whole numbers"),
        ("*INTEGER\r\n* 1\r\n*2", "whole numbers"),
        ("*RANK1\n*1\n", "rank 1"),
    ],
)
def test_what_asks_for_more_than_a_program_is_refused_by_every_door(tmp_path, capsys, lines, words):
    """Comments of SCIP-SDP: whole numbers are no part of the format, and would be left out in silence."""
    path, answer, own = (tmp_path / name for name in ("whole.dat-s", "whole.sol", "own.dat-s"))
    path.write_text(WHOLE + lines, newline="")
    own.write_text(
        nm.Problem(np.eye(2), nm.Constraint(nm.Trace(2), equal=1.0)).to_sdpa(own).read_text() + lines
    )
    answer.write_text("1.0 1.0\n2 1 1 1 1.0\n")
    for source in (path, own):
        line = len(source.read_text().splitlines()) - lines.count("*") + 1
        with pytest.raises(nm.ProblemError, match=f"line {line}: must ask for no .*{words}, got '\\*"):
            nm.Problem.from_sdpa(source)
    commands = ["certify", path, answer], ["crosscheck", path], ["solve", path]
    for command in (*commands, ["export", path, tmp_path / "o.npz"]):
        assert status(*map(str, command)) == 2
        assert words in capsys.readouterr().err
    path.write_text(WHOLE + "*INTEGER is a word\n* 2 of 3\n")
    assert nm.Problem.from_sdpa(path).n == 3


@pytest.mark.parametrize("block", ["1", "-1"])
def test_a_file_of_order_one_is_read_solved_certified_and_written(tmp_path, capsys, block):
    """Minimise 3 x with x - 2 >= 0."""
    path, answer = tmp_path / "one.dat-s", tmp_path / "one.sol"
    path.write_text(f"1\n1\n{block}\n3.0\n0 1 1 1 2.0\n1 1 1 1 1.0\n")
    problem = nm.Problem.from_sdpa(path)
    for backend in [None, *(key for key, why in problem.compatible_backends().items() if why is None)]:
        found = problem.solve(backend or "auto")
        assert (found.status, found.objective) == (nm.Status.OPTIMAL, pytest.approx(-6.0))
    assert nm.Problem.from_sdpa(problem.to_sdpa(tmp_path / "again.dat-s")).solve().objective == pytest.approx(
        -6.0
    )
    problem.save(tmp_path / "one.npz")
    assert nm.Problem.load(tmp_path / "one.npz").n == 1
    answer.write_text("2.0\n1 1 1 1 1e-9\n2 1 1 1 3.0\n")
    assert status("certify", str(path), str(answer)) == 0
    assert "OPTIMAL" in capsys.readouterr().out
