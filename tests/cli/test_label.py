"""``npkl label``: asked in the terminal, written after each answer, left and resumed."""

import io
import os
import re
import sys

import numpy as np
import pytest
from commands import status

import npkl_models as nm
from npkl_models.data import tables
from npkl_models.solve.looks import Run

WINE = nm.datasets.load("wine")
ROWS = re.compile(r"row (\d+) +row (\d+)")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """my.csv with classes."""
    monkeypatch.chdir(tmp_path)
    names = ",".join(f"f{k}" for k in range(13))
    table = np.column_stack([WINE.X, WINE.y])
    np.savetxt("my.csv", table, delimiter=",", header=f"{names},class", comments="", fmt="%g")
    return tmp_path


class Person(io.StringIO):
    """Reads the rows that are shown, and answers by the classes; then leaves, or as the script says."""

    def __init__(self, capsys, count, script=()):
        super().__init__()
        self.capsys, self.count, self.script, self.said = capsys, count, list(script), ""
        self.asked = []

    def readline(self, *_):
        self.said += self.capsys.readouterr().out
        if self.script:
            words = self.script.pop(0)
            if isinstance(words, BaseException):
                raise words
            return words
        if len(self.asked) == self.count:
            return "q\n"
        i, j = map(int, ROWS.findall(self.said)[-1])
        self.asked.append((i, j))
        return "y\n" if WINE.y[i] == WINE.y[j] else "n\n"


@pytest.fixture
def sitting(capsys, monkeypatch):
    """Run the command with a person in front of it: (exit status, person, all that was printed)."""

    def run(count, *arguments, script=()):
        person = Person(capsys, count, script)
        monkeypatch.setattr(sys, "stdin", person)
        code = status("label", *arguments)
        end = capsys.readouterr()
        return code, person, " ".join((person.said + end.out).split()), end.err

    return run


def test_answers_are_written_and_the_kernels_certified(folder, sitting):
    code, person, text, _ = sitting(12, "my.csv", "--pairs", "pairs.csv", "--every", "4")
    assert code == 0
    assert "178 points, 0 must-links, 0 cannot-links" in text
    assert "row" in text
    assert "f12" in text or "f0" in text
    assert "class " not in text.replace("class?", "")
    assert [int(k) for k in re.findall(r"(\d+) pairs: OPTIMAL", text)] == [4, 8, 12]
    assert text.count("from the beginning") == 1
    assert text.count("from the last kernel") == 2
    pairs = tables.read_pairs("pairs.csv", 178)
    assert len(pairs) == 12
    assert {tuple(sorted(pair)) for pair in person.asked} == set(
        zip(pairs.i.tolist(), pairs.j.tolist(), strict=True)
    )
    same = WINE.y[pairs.i] == WINE.y[pairs.j]
    assert ((pairs.sign > 0) == same).all()
    assert not list(folder.glob(".pairs*"))


def test_it_goes_on_where_it_was_left(folder, sitting):
    sitting(5, "my.csv", "--pairs", "pairs.csv")
    before = (folder / "pairs.csv").read_text()
    code, person, text, _ = sitting(3, "my.csv", "--pairs", "pairs.csv", "--every", "3")
    assert code == 0
    assert "5 pairs: OPTIMAL" in text
    assert "8 pairs: OPTIMAL" in text
    after = (folder / "pairs.csv").read_text()
    assert set(before.split()) <= set(after.split())
    assert not {f"{min(p)},{max(p)}" for p in person.asked} & {
        line.rsplit(",", 1)[0] for line in before.split()
    }


def test_files_of_others_are_read(folder, sitting):
    """Two columns, or signs: what `npkl cluster` takes; then it is written in our columns."""
    (folder / "pairs.csv").write_text("0,1\n1,2\n")
    assert sitting(1, "my.csv", "--pairs", "pairs.csv")[0] == 0
    lines = (folder / "pairs.csv").read_text().split()
    assert lines[:3] == ["i,j,kind", "0,1,must", "1,2,must"]
    assert len(lines) == 4
    for blank in ("", "\n", "i,j,kind\n"):
        (folder / "pairs.csv").write_text(blank)
        assert sitting(1, "my.csv", "--pairs", "pairs.csv")[0] == 0
        assert len((folder / "pairs.csv").read_text().split()) == 2


def test_ctrl_c_and_the_end_of_input_keep_every_answer(folder, sitting):
    code, _, _, err = sitting(9, "my.csv", "--pairs", "pairs.csv", script=["y\n", "n\n", KeyboardInterrupt()])
    assert code == 130
    assert "interrupted" in err
    assert len(tables.read_pairs("pairs.csv", 178)) == 2
    code, _, text, _ = sitting(9, "my.csv", "--pairs", "pairs.csv", script=["y\n", ""])
    assert code == 0
    assert "pairs.csv has 2 must-links, 1 cannot-links" in text


def test_an_interrupted_solve_is_an_interruption(folder, sitting, monkeypatch):
    (folder / "pairs.csv").write_text("0,1,must\n0,100,cannot\n")

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Run, "until", interrupted)
    code, person, text, _ = sitting(9, "my.csv", "--pairs", "pairs.csv", "--backend", "bcd")
    assert code == 130
    assert "STOPPED" in text
    assert not person.asked


def test_a_torn_file_is_named_and_left_alone(folder, sitting):
    (folder / "pairs.csv").write_text("i,j,kind\n0,1,must\n0,17")
    code, person, _, err = sitting(3, "my.csv", "--pairs", "pairs.csv")
    assert code == 2
    assert "pairs.csv must have rows of one length" in " ".join(err.split())
    assert (folder / "pairs.csv").read_text() == "i,j,kind\n0,1,must\n0,17"
    assert not person.asked
    (folder / "pairs.csv").write_text("i,j,kind\n0,1,must\n0,17,ca")
    assert "line 3" in sitting(3, "my.csv", "--pairs", "pairs.csv")[3]


def test_a_write_that_fails_leaves_the_last_answers_whole(folder, sitting, monkeypatch):
    sitting(3, "my.csv", "--pairs", "pairs.csv")
    before = (folder / "pairs.csv").read_text()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", full)
    code, _, _, err = sitting(3, "my.csv", "--pairs", "pairs.csv")
    assert code == 2
    assert "No space left" in err
    assert (folder / "pairs.csv").read_text() == before
    assert not list(folder.glob(".pairs*"))


def test_answers_that_contradict_are_refused_and_asked_again(folder, sitting):
    (folder / "pairs.csv").write_text("0,1,must\n1,2,must\n2,100,cannot\n")
    script = ["maybe\n", "0 2 n\n", "0 100 y\n", "1 0 n\n", "7 7 y\n", "0 150 n\n", "\n"]
    code, person, text, _ = sitting(1, "my.csv", "--pairs", "pairs.csv", script=script)
    assert code == 0
    assert "an answer must be y, n, s, q or such as 3 17 y, got 'maybe'" in text
    assert "0 - 2 must not be a cannot-link: must-links join 0 - 1 - 2" in text
    assert "0 - 100 must not be a must-link" in text
    assert "0 - 1 must not be on both lists" in text
    assert "two different points" in text
    assert len(person.asked) == 1
    assert text.count("row 0") == 0
    lines = (folder / "pairs.csv").read_text().split()
    assert "0,150,cannot" in lines
    assert len(lines) == 6


def test_skipped_pairs_are_not_written_nor_asked_again(folder, sitting):
    (folder / "pairs.csv").write_text("0,1,must\n2,100,cannot\n")
    _, person, text, _ = sitting(6, "my.csv", "--pairs", "pairs.csv", "--every", "2", script=["s\n"] * 4)
    shown = ROWS.findall(person.said)
    assert len(shown) == len(set(shown))
    assert len(tables.read_pairs("pairs.csv", 178)) == 8
    assert re.findall(r"(\d+) pairs: OPTIMAL", text) == ["2", "4", "6", "8"]


def test_it_ends_when_all_is_known(folder, sitting):
    np.savetxt("few.csv", [[0.0], [1.0], [9.0], [10.0]], delimiter=",")
    code, _, text, _ = sitting(0, "few.csv", "--pairs", "few_pairs.csv", script=["y\n", "n\n"] * 9)
    assert code == 0
    assert "no pair is left to ask about" in text


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv", "--pairs", "p.csv"], "no such file"),
        (["my.csv", "--pairs", "p.txt"], "--pairs must end with .csv"),
        (["my.csv", "--pairs", "nowhere/p.csv"], "folder"),
        (["my.csv", "--pairs", "p.csv", "--every", "0"], "--every must be"),
        (["my.csv", "--pairs", "p.csv", "--loss", "hinge"], "got loss"),
        (["my.csv", "--pairs", "p.csv", "--data-home", "."], "got data_home"),
        (["iris", "--pairs", "p.csv", "--labels", "class"], "got labels"),
        (["my.csv", "--pairs", "p.csv", "--labels", "kind"], "unknown column"),
        (["my.csv", "--pairs", "p.csv", "--backend", "bcq"], "unknown backend"),
        (["my.csv", "--pairs", "p.csv", "--gamma", "-1"], "gamma must be positive"),
        (["my.csv", "--pairs", "against.csv"], "must not contradict each other"),
    ],
)
def test_bad_usage_is_refused_before_anything_is_asked(folder, sitting, monkeypatch, arguments, words):
    (folder / "against.csv").write_text("0,1,must\n1,2,must\n0,2,cannot\n")
    monkeypatch.setattr(nm.Problem, "solve", lambda *a, **k: pytest.fail("solved"))
    code, person, _, err = sitting(3, *arguments)
    assert code == 2
    assert words in " ".join(err.split())
    assert not person.asked
