"""``npkl embed``: comparisons of names to coordinates, and the refusals."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from npkl_models.cli.main import main
from npkl_models.data.comparisons import read_comparisons_csv
from npkl_models.formulations.comparisons import answered, ordinal_answers

X = np.random.default_rng(0).normal(size=(12, 2))
NAMES = np.array([f"fruit {k}" for k in range(12)])


@pytest.fixture
def answers(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    asked = ordinal_answers(X, 400, random_state=0)
    lines = [",".join(row) for row in NAMES[asked]]
    (tmp_path / "answers.csv").write_text("\n".join(["anchor,near,far", *lines]) + "\n")
    return tmp_path


def test_names_become_points(answers, capsys):
    assert main(["embed", "--triplets", "answers.csv", "--out", "map.csv", "--plot", "map.png"]) == 0
    assert not plt.get_fignums()  # the command closes what it has drawn
    said = " ".join(capsys.readouterr().out.split())
    assert "400 comparisons of 12 objects" in said
    assert "OPTIMAL" in said
    lines = (answers / "map.csv").read_text().splitlines()
    assert lines[0] == "object,x1,x2"
    rows = {line.split(",")[0]: [float(cell) for cell in line.split(",")[1:]] for line in lines[1:]}
    Z = np.array([rows[name] for name in NAMES])
    assert answered(Z, ordinal_answers(X, 2_000, random_state=1)) > 0.85
    assert (answers / "map.png").stat().st_size > 1_000


def test_numbers_keep_their_order_and_headers_are_optional(answers):
    (answers / "numbers.csv").write_text("10,2,1\n2,10,1\n")
    found = read_comparisons_csv("numbers.csv")
    assert found.names == ("1", "2", "10")
    assert found.rows.tolist() == [[2, 1, 0], [1, 2, 0]]


@pytest.mark.parametrize(("text", "words"), [
    ("a,b\nb,a\n", "must be i,j,k or i,j,k,l, got 2 cells"),
    ("a,b,c\na,,c\n", "line 2, column 2: a comparison must name its objects"),
    ("i,j,k\n", "below its header"),
    ("a,b,b\na,b,c\n", "two distances of different points"),
])  # fmt: skip
def test_bad_files_are_named(answers, capsys, text, words):
    (answers / "bad.csv").write_text(text)
    assert main(["embed", "--triplets", "bad.csv", "--penalty", "1"]) == 2
    assert any(word in " ".join(capsys.readouterr().err.split()) for word in words.split("|"))


def test_bad_options_are_named(answers, capsys):
    assert main(["embed", "--triplets", "nowhere.csv"]) == 2
    assert "no such file" in " ".join(capsys.readouterr().err.split())
    assert main(["embed", "--triplets", "answers.csv", "--components", "0"]) == 2
    with pytest.raises(SystemExit):
        main(["embed", "--triplets", "answers.csv", "--refine", "tste"])
    assert "did you mean" in capsys.readouterr().err
