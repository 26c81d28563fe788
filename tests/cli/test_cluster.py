"""``npkl cluster``: labels, the proof, and the refusals."""

import json

import numpy as np
import pandas as pd
import pytest
from commands import status

import npkl_models as nm
from npkl_models.cli.main import main

WINE = nm.datasets.load("wine")


@pytest.fixture
def files(tmp_path, monkeypatch):
    """my.csv with classes, plain.csv without, pairs.csv."""
    monkeypatch.chdir(tmp_path)
    names = ",".join(f"f{k}" for k in range(13))
    np.savetxt("plain.csv", WINE.X, delimiter=",", header=names, comments="", fmt="%g")
    table = np.column_stack([WINE.X, WINE.y])
    np.savetxt("my.csv", table, delimiter=",", header=f"{names},class", comments="", fmt="%g")
    pairs = nm.Pairs.from_labels(WINE.y, 60, 60, random_state=0)
    np.savetxt("pairs.csv", np.column_stack([pairs.i, pairs.j, pairs.sign]), delimiter=",", fmt="%d")
    return tmp_path


def shown(capsys, *arguments):
    return main(arguments), " ".join(capsys.readouterr().out.split())


def test_labels_are_written_and_the_proof_is_printed(files, capsys):
    code, text = shown(
        capsys, "cluster", "plain.csv", "--pairs", "pairs.csv", "--k", "3", "--out", "labels.csv"
    )
    assert code == 0
    assert "178 points, 60 must-links, 60 cannot-links" in text
    assert "OPTIMAL" in text
    assert "proved" in text
    table = pd.read_csv(files / "labels.csv")
    assert list(table.columns) == ["row", "cluster", "p0", "p1", "p2"]
    labels = table["cluster"].to_numpy()
    np.testing.assert_array_equal(table[["p0", "p1", "p2"]].to_numpy().argmax(axis=1), labels)
    assert table["row"].tolist() == list(range(178))
    assert nm.applications.clustering.cluster_accuracy(WINE.y, labels) > 0.95
    assert "Rand index" not in text


def test_the_kernel_and_a_document_are_written(files, capsys):
    asked = "plain.csv", "--pairs", "pairs.csv", "--k", "3", "--hard", "--size-min", "50", "--size-max", "66"
    assert main(("cluster", *asked, "--kernel", "K.npz", "--json", "-")) == 0
    told = capsys.readouterr()
    found = json.loads(told.out)
    assert "178 points" in told.err
    with np.load(files / "K.npz") as arrays:
        assert arrays["row"].tolist() == found["rows"] == list(range(178))
        assert arrays["factor"].shape == (178, found["kernel"]["rank"])
    assert found["kernel"]["status"] == "OPTIMAL"
    assert found["broken"] == []
    assert len(found["pairs"]) == 120
    assert {"i", "j", "kind", "wrong"} == found["pairs"][0].keys()
    assert 50 <= min(np.bincount(found["labels"])) <= max(np.bincount(found["labels"])) <= 66
    np.testing.assert_array_equal(np.argmax(found["probabilities"], axis=1), found["labels"])
    assert main(("cluster", *asked, "--noise", "none", "--json", "a.json")) == 0
    assert json.loads((files / "a.json").read_text())["probabilities"] is None


def test_rows_are_called_by_their_ids(files, capsys):
    pd.read_csv("plain.csv").assign(name=[f"w{k}" for k in range(178)]).to_csv("named.csv", index=False)
    pairs = nm.Pairs.from_labels(WINE.y, 60, 60, random_state=0)
    lines = [f"w{i},w{j},{int(sign)}\n" for i, j, sign in zip(pairs.i, pairs.j, pairs.sign, strict=True)]
    (files / "wrong.csv").write_text("".join([*lines, "w0,w1,1\nw1,w2,1\nw0,w2,-1\n"]))
    asked = ("cluster", "named.csv", "--ids", "name", "--k", "3", "--pairs")
    text = shown(capsys, *asked, "wrong.csv", "--json", "a.json")[1]
    found = json.loads((files / "a.json").read_text())
    assert "w0 - w2 the chain w0 - w1 - w2" in text
    assert "pairs: w0 - w2 (cannot)" in text
    assert ["w0", "w2", "cannot"] in found["broken"]
    assert found["pairs"][0]["i"] == "w0"
    assert "0.05): w0 - w2" in shown(capsys, *asked, "wrong.csv", "--noise", "0.05")[1]
    (files / "both.csv").write_text("w0,w1,1\nw1,w0,-1\n")
    assert status(*asked, "both.csv") == status(*asked, "wrong.csv", "--hard") == 2
    said = capsys.readouterr().err.replace("\n", " ")
    assert "got [('w0', 'w1')]" in said
    assert "the chain w0 - w1 - w2" in said


def test_classes_of_the_file_are_only_compared_with(files, capsys):
    code, text = shown(capsys, "cluster", "my.csv", "--pairs", "pairs.csv", "--k", "3")
    assert code == 0
    assert "Rand index with the classes" in text
    named = shown(capsys, "cluster", "my.csv", "--labels", "class", "--pairs", "pairs.csv", "--k", "3")
    assert named[1].split("Rand")[1] == text.split("Rand")[1]


def test_without_pairs_landmarks_are_kept_apart(capsys):
    code, text = shown(capsys, "cluster", "iris", "--k", "3")
    assert code == 0
    assert "no pairs are given; the model uses 3 cannot-links between landmarks" in text


def test_beside_must_links_alone_landmarks_are_kept_apart(files, capsys):
    ends = nm.Pairs.from_labels(WINE.y, 20, 1, random_state=0).must_link
    (files / "must.csv").write_text("".join(f"{i},{j},must\n" for i, j in ends.tolist()))
    code, text = shown(capsys, "cluster", "my.csv", "--pairs", "must.csv", "--k", "3")
    assert code == 0
    assert "20 must-links, 0 cannot-links; cannot-links between landmarks are added" in text
    assert float(text.split("Rand index with the classes ")[1].split()[0]) > 0.9


def test_what_is_not_certified_ends_with_one_and_writes_its_labels(files, capsys):
    code, text = shown(
        capsys, "cluster", "plain.csv", "--pairs", "pairs.csv", "--k", "3", "--out", "labels.csv",
        "--backend", "admm", "--time-limit", "1e-9",
    )  # fmt: skip
    assert code == 1
    assert "TIME_LIMIT" in text
    assert len((files / "labels.csv").read_text().split()) == 179


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["nowhere.csv", "--k", "3"], "no such file"),
        (["plain.csv", "--k", "0"], "--k must be between 1 and n = 178, got 0"),
        (["plain.csv", "--k", "900"], "--k must be"),
        (["plain.csv", "--k", "3", "--pairs", "nowhere.csv"], "no such file"),
        (["plain.csv", "--k", "3", "--out", "labels.txt"], "--out must end with .csv"),
        (["plain.csv", "--k", "3", "--out", "nowhere/labels.csv"], "folder"),
        (["plain.csv", "--k", "3", "--kernel", "K.txt"], "--kernel must end with .npz"),
        (["plain.csv", "--k", "3", "--json", "K.txt"], "--json must end with .json"),
        (["plain.csv", "--k", "3", "--size-min", "60"], "size_min and size_max must allow 178 points in 3"),
        (["plain.csv", "--k", "3", "--plot", "a.txt"], "--plot must end with .png or .svg or .pdf"),
        (["plain.csv", "--k", "3", "--plot", "nowhere/a.png"], "folder"),
        (["plain.csv", "--k", "3", "--loss", "hinge"], "got loss"),
        (["plain.csv", "--k", "3", "--formulation", "hard_pcp", "--gamma", "3"], "got gamma"),
        (["plain.csv", "--k", "3", "--data-home", "."], "got data_home"),
        (["iris", "--k", "3", "--labels", "class"], "got labels"),
        (["plain.csv", "--k", "3", "--n-neighbors", "0"], "n_neighbors must be"),
        (["plain.csv", "--k", "3", "--backend", "bcq"], "unknown backend"),
        (["plain.csv", "--k", "3", "--gamma", "-1"], "gamma must be positive"),
        (["plain.csv", "--k", "3", "--shift", "-1"], "shift must be"),
        (["my.csv", "--k", "3", "--labels", "kind"], "unknown column"),
    ],
)
def test_bad_usage_is_refused_before_anything_is_solved(files, capsys, monkeypatch, arguments, words):
    monkeypatch.setattr(nm.Problem, "solve", lambda *a, **k: pytest.fail("solved"))
    assert status("cluster", *arguments) == 2
    assert words in " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize("name", ["a.png", "a.svg", "a.pdf"])
def test_a_picture_shows_the_clusters_and_the_pairs(files, capsys, name):
    assert shown(capsys, "cluster", "plain.csv", "--pairs", "pairs.csv", "--k", "3", "--plot", name)[0] == 0
    data = (files / name).read_bytes()
    assert data.startswith({"a.png": b"\x89PNG", "a.svg": b"<?xml", "a.pdf": b"%PDF"}[name])
    assert len(data) > 5_000


def test_a_fourth_column_names_the_annotators(files, capsys):
    rng, y = np.random.default_rng(0), WINE.y
    pairs = nm.Pairs.from_labels(y, 60, 60, random_state=0)
    lines = ["i,j,kind,annotator"]
    for i, j in zip(pairs.i.tolist(), pairs.j.tolist(), strict=True):
        for name, rate in [("ann", 0.02), ("bob", 0.02), ("mallory", 0.45)]:
            same = (y[i] == y[j]) != (rng.random() < rate)
            lines.append(f"{i},{j},{'must' if same else 'cannot'},{name}")
    (files / "crowd.csv").write_text("\n".join(lines))
    code, text = shown(capsys, "cluster", "my.csv", "--pairs", "crowd.csv", "--k", "3")
    assert code == 0
    assert "3 annotators, with the estimated rates of wrong answers: mallory 0." in text
    assert "estimated rate of wrong answers: " in text  # a pair has three, so it is no rate of wrong pairs
    assert float(text.split("Rand index with the classes ")[1].split()[0]) > 0.93


def test_a_remedy_is_spelt_as_an_option(files, capsys):
    (files / "named.csv").write_text("name,h,kind\nnorth,1,oak\nsouth,2,elm\neast,3,elm\n")
    (files / "links.csv").write_text("0,north,must\n")
    assert main(["cluster", "named.csv", "--k", "2"]) == 2
    assert main(["cluster", "named.csv", "--ids", "name", "--k", "2"]) == 2
    assert main(["cluster", "plain.csv", "--pairs", "links.csv", "--k", "2"]) == 2
    told = capsys.readouterr().err
    assert all(words in told for words in ("give --ids name, ", "give --labels kind, ", "if --ids says "))
