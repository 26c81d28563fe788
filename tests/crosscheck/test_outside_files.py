"""Answers of other solvers to any file in SDPA's sparse format."""

import numpy as np
import pandas as pd
import pytest

import npkl_models as nm
from npkl_models.cli.main import main
from npkl_models.crosscheck.outside import judge_file

# Maximise 2 K_12 - x with K_11 = 1, K_22 = 4 and x + y = 3 over x, y >= 0: 4 at K_12 = 2, x = 0 and y = 3.
FILE = """3
2
2 -2
1.0 4.0 3.0
0 1 1 2 1.0
0 2 1 1 -1.0
1 1 1 1 1.0
2 1 2 2 1.0
3 2 1 1 1.0
3 2 2 2 1.0
"""
# x = (2, 1/2, 0): x_1 F_1 + x_2 F_2 - F_0 = [[2, -1], [-1, 1/2]]; the dual matrix is K.
ANSWER = """2.0 0.5 0.0
1 1 1 1 2.0
1 1 1 2 -1.0
2 1 1 1 1.0
2 1 1 2 2.0
2 1 2 2 4.0
2 2 2 2 3.0
"""
OF_SDPA = """objValPrimal = +4.0
xVec =
{+2.0e+00,+5.0e-01,+0.0e+00}
xMat =
{
{ {+2.0e+00,-1.0e+00}, {-1.0e+00,+5.0e-01} }
{+1.0e+00,+0.0e+00}
}
yMat =
{
{ {+1.0e+00,+2.0e+00}, {+2.0e+00,+4.0e+00} }
{+0.0e+00,+3.0e+00}
}
    main loop time = 0.01
"""
OF_SDPLR = """dual variable 3
2.0
0.5
0.0
primal variable 1 s 2 2 1
1.0
2.0
primal variable 2 d 2 1 1
0.0
1.7320508075688772
special majiter 3
"""


@pytest.fixture
def files(tmp_path):
    source, answer = tmp_path / "p.dat-s", tmp_path / "p.sol"
    source.write_text(FILE)
    answer.write_text(ANSWER)
    return source, answer


def test_blocks_and_multipliers_are_read(files):
    found = judge_file(*files)
    assert found.objective == pytest.approx(-4.0)
    assert found.certificate.bound == pytest.approx(-4.0, abs=1e-6)
    assert found.status is nm.Status.OPTIMAL


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("2 1 1 1 1.0", "2 1 1 1 1.01", nm.Status.INFEASIBLE_POINT),
        ("2 1 1 2 2.0", "2 1 1 2 1.9", nm.Status.FEASIBLE_POINT),
        ("2 1 1 2 2.0", "2 1 1 2 2.1", nm.Status.INFEASIBLE_POINT),
        ("2.0 0.5 0.0", "2.5 0.5 0.0", nm.Status.OPTIMAL),  # other multipliers are recovered from the kernel
    ],
)
def test_an_answer_is_judged_as_it_is(files, old, new, status):
    source, answer = files
    answer.write_text(ANSWER.replace(old, new))
    assert judge_file(source, answer).status is status


def test_the_multipliers_of_a_sum_that_is_zero_find_their_constraint(tmp_path):
    source = tmp_path / "g.dat-s"
    ones = "".join(f"1 1 {i} {j} 3.0\n" for i in (1, 2) for j in range(i, 3))
    source.write_text(f"2\n1\n2\n0 2\n0 1 1 2 -1\n{ones}2 1 1 1 1\n2 1 2 2 1\n")
    answer = tmp_path / "g.sol"
    answer.write_text("0.0 1.0\n2 1 1 1 1.0\n2 1 1 2 -1.0\n2 1 2 2 1.0\n")
    found = judge_file(source, answer)
    assert found.status is nm.Status.OPTIMAL, found.summary()
    assert found.objective == pytest.approx(-2.0)


def test_an_answer_to_another_problem_is_refused(files):
    source, answer = files
    answer.write_text(ANSWER.replace("2.0 0.5 0.0", "2.0 0.5"))
    with pytest.raises(nm.ProblemError, match="line 1: must have the 3 numbers"):
        judge_file(source, answer)
    answer.write_text(ANSWER + "2 1 3 3 1.0\n")
    with pytest.raises(nm.ProblemError, match="line 8: must have a row and a column"):
        judge_file(source, answer)


def test_the_commands_take_the_file(files, tmp_path, capsys):
    source, answer = map(str, files)
    saved = str(tmp_path / "mine.npz")
    assert main(["solve", source, "--out", saved]) == 0
    assert main(["certify", source, answer]) == 0
    assert main(["certify", source, saved]) == 0
    assert main(["crosscheck", source, "--backends", "interior,sdp"]) == 0
    assert main(["explain", source]) == 0
    assert main(["certify", source, answer, "--tol", "1e-15"]) == 1
    capsys.readouterr()
    for words in (["solve", source, "--data", "iris"], ["solve", "points.csv"]):
        assert main(words) == 2
    assert "points are --data FILE" in capsys.readouterr().err
    np.testing.assert_allclose(nm.Solution.load(saved).K[0, 1], 2.0, atol=1e-4)


@pytest.mark.parametrize("text", [OF_SDPA, OF_SDPLR])
def test_answers_of_sdpa_and_sdplr(files, text):
    source, answer = files
    answer.write_text(text)
    found = judge_file(source, answer)
    assert found.status is nm.Status.OPTIMAL
    assert found.objective == pytest.approx(-4.0)


@pytest.mark.parametrize(
    ("text", "old", "new", "words"),
    [
        (OF_SDPA, "{+0.0e+00,+3.0e+00}", "{+3.0e+00}", "yMat must be 6 finite numbers, got 5"),
        (OF_SDPA, "yMat", "zMat", "must have a part yMat"),
        (OF_SDPA, "+4.0e+00}", "nan}", "yMat must be 6 finite numbers, got nan"),
        (OF_SDPLR, "variable 3", "variable 2", "must have dual variable 3"),
        (OF_SDPLR, "s 2 2 1", "s 3 2 1", "primal variable 1 s 2"),
        (OF_SDPLR, "s 2 2 1", "s 2 2 7", "must be from 0 to 2"),
        (OF_SDPLR, "primal variable 2 d 2 1 1\n0.0\n1.7320508075688772", "", "primal variable 2 d 2"),
    ],
)
def test_a_damaged_answer_is_named(files, text, old, new, words):
    source, answer = files
    assert old in text
    answer.write_text(text.replace(old, new))
    with pytest.raises(nm.ProblemError, match=words):
        judge_file(source, answer)


def test_any_problem_and_any_answer(tmp_path, capsys):
    pairs = nm.Pairs(4, [(0, 1)], [(2, 3)])
    problem = nm.npkl(4.1 * np.eye(4) - 1.0, pairs, loss="hinge")
    solution = problem.solve("interior", tol=1e-9)
    source = problem.save(tmp_path / "p.npz")
    K, V = np.asarray(solution.K), np.asarray(solution.V)
    named = pd.DataFrame(K, index=list("abcd"), columns=list("abcd"))
    np.save(tmp_path / "k.npy", K)
    np.savez(tmp_path / "v.npz", V=V)
    named.to_csv(tmp_path / "named.csv")
    pd.DataFrame(V).to_csv(tmp_path / "plain.csv", header=False, index=False)
    saved = solution.save(tmp_path / "s.npz")
    for answer in ("k.npy", "v.npz", "named.csv", "plain.csv", saved):
        assert main(["certify", str(source), str(tmp_path / answer)]) == 0, answer
    np.save(tmp_path / "worse.npy", K + 0.1 * np.eye(4))
    assert main(["certify", str(source), str(tmp_path / "worse.npy")]) == 1
    point = f"--point=mine={tmp_path / 'k.npy'}"
    assert main(["crosscheck", str(source), "--backends", "interior", point]) == 0
    assert "mine" in capsys.readouterr().out
    for wrong in (["--point", "k.npy"], ["--point", f"mine={tmp_path / 'none.npy'}"]):
        assert main(["crosscheck", str(source), "--backends", "interior", *wrong]) == 2
    np.save(tmp_path / "small.npy", K[:3, :3])
    for wrong in ("small.npy", "none.npy", "p.sol"):
        assert main(["certify", str(source), str(tmp_path / wrong)]) == 2
