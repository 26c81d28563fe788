"""What commands say of tables and pairs is so: columns, classes, names of rows, broken pairs, scales, triangles."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.cli.main import main
from npkl_models.model.graph import UnscaledWarning

IRIS = nm.datasets.load("iris").subset(45)
POINTS = ("solve", "explain", "crosscheck")


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """points.csv: rows with names, a count, four features, and classes of which two in three are unknown."""
    monkeypatch.chdir(tmp_path)
    rows = [
        f"{k},plant {k:02},{','.join(map(repr, x))},{['', '-1', f'{y}.0'][k % 3]}"
        for k, (x, y) in enumerate(zip(IRIS.X.tolist(), IRIS.y.tolist(), strict=True))
    ]
    (tmp_path / "points.csv").write_text("\n".join(["Unnamed: 0,name,a,b,c,d,class", *rows]))
    lines = [
        f"plant {i:02},plant {j:02},{'same' if IRIS.y[i] == IRIS.y[j] else 'different'}" for i, j in PAIRS
    ]
    (tmp_path / "pairs.csv").write_text("\n".join(["id1,id2,kind", *lines]))
    return tmp_path


PAIRS = [(k, (7 * k + 11) % 45) for k in range(0, 45, 2)]


def said(capsys, *words, code=0):
    assert main(words) == code
    return " ".join("".join(capsys.readouterr()).split())


@pytest.mark.parametrize("command", ["solve", "explain", "cluster"])
def test_a_command_says_what_it_uses(folder, capsys, command):
    words = (
        ["cluster", "points.csv", "--k", "3"] if command == "cluster" else [command, "--data", "points.csv"]
    )
    text = said(capsys, *words, "--ids", "name", "--pairs", "pairs.csv")
    assert (
        "4 features: a, b, c, d; classes from 'class', of 15 of 45 rows; names of rows from 'name'; 1 column left "
        "out: 'Unnamed: 0' (counts the rows)"
    ) in text


def test_pairs_by_name_are_those_by_number(folder, capsys):
    lines = [f"{i},{j},{int(IRIS.y[i] == IRIS.y[j])}" for i, j in PAIRS]
    (folder / "numbers.csv").write_text("\n".join(lines))
    rows = [line.split(",") for line in (folder / "points.csv").read_text().splitlines()]
    (folder / "plain.csv").write_text("\n".join(",".join([row[0], *row[2:]]) for row in rows))
    said(capsys, "solve", "--data", "points.csv", "--ids", "name", "--pairs", "pairs.csv", "--out", "a.npz")
    said(capsys, "solve", "--data", "plain.csv", "--pairs", "numbers.csv", "--out", "b.npz")
    one, two = (nm.Solution.load(out) for out in ("a.npz", "b.npz"))
    assert one.objective == two.objective
    words = said(
        capsys, "cluster", "points.csv", "--ids", "name", "--k", "3", "--pairs", "numbers.csv", code=2
    )
    assert "must be the name of a row" in words  # numbers are no names


def test_labels_are_written_by_name_and_scored_where_a_class_is_known(folder, capsys):
    text = said(
        capsys, "cluster", "points.csv", "--ids", "name", "--pairs", "pairs.csv", "--k", "3", "--out", "l.csv"
    )
    rows = [line.split(",") for line in (folder / "l.csv").read_text().split("\n")[:-1]]
    assert rows[0] == ["row", "cluster", "p0", "p1", "p2"]
    assert [row[0] for row in rows[1:]] == [f"plant {k:02}" for k in range(45)]
    labels = np.array([int(row[1]) for row in rows[1:]])[2::3]
    right = nm.applications.clustering.cluster_accuracy(IRIS.y[2::3], labels)
    assert f"Rand index with the classes of 15 rows {right:.3f}" in text


def test_pairs_are_drawn_among_rows_of_known_class(folder, capsys):
    said(capsys, "solve", "--data", "points.csv", "--ids", "name", "--pairs", "0.4", "--out", "a.npz")
    i, j = nm.Solution.load("a.npz").problem.terms[0].functional.indices
    assert ((i % 3 == 2) & (j % 3 == 2)).all()
    assert "-1 is no label" in said(
        capsys, "solve", "--data", "points.csv", "--ids", "name", "--pairs", "0.9", code=2
    )


@pytest.mark.parametrize(
    ("lines", "k", "words"),
    [
        (
            ["0,1,must", "1,2,must", "0,2,cannot"],
            2,
            "contradiction: cannot-links contradict must-links: 0-2 the chain 0-1-2",
        ),
        (
            ["0,20,no", "20,40,no", "0,40,no"],
            2,
            "clusters: 2 clusters cannot keep the 3 cannot-links: 0-20, 0-40, 20-40 are all apart",
        ),
        (["0,9,no", "9,20,no", "20,30,no", "30,40,no", "40,0,no"], 2, "are an odd cycle"),
        (
            ["0,9,no", "9,20,no", "20,30,no", "30,0,no"],
            2,
            "none of the 4 pairs contradicts the others or the graph",
        ),
    ],
)
def test_what_is_said_of_pairs_is_so(folder, capsys, lines, k, words):
    (folder / "own.csv").write_text("\n".join(lines))
    text = said(capsys, "cluster", "iris", "--k", f"{k}", "--pairs", "own.csv")
    assert words in text
    broken = "the labels do not keep" in text
    assert broken or "none of the 4 pairs" in text


def test_unlike_scales_are_said_by_every_command(folder, capsys):
    X = np.column_stack([IRIS.X[:, 0], 20_000 * IRIS.X[:, 2] ** 2])
    np.savetxt(
        "money.csv", np.column_stack([X, IRIS.y]), delimiter=",", header="age,income,class", comments=""
    )
    assert "'income' makes 100.0% of the squared distances" in said(capsys, "solve", "--data", "money.csv")
    words = ["cluster", "money.csv", "--k", "3"]
    assert "unlike scales" not in said(capsys, *words)
    assert "unlike scales" in said(capsys, *words, "--scaling", "raw")
    with pytest.warns(UnscaledWarning, match="feature 1 makes 100.0%"):
        nm.laplacian(X)
    nm.laplacian(IRIS.X)  # no warning


def test_a_violated_triangle_is_named_with_its_numbers(folder, capsys):
    (folder / "d.csv").write_text("u,v,1\nv,w,1\nu,w,2.5\nu,x,1.2\nv,x,1.1\nw,x,1\n")
    text = said(capsys, "locate", "d.csv", "--quick")
    assert "triangles violate the triangle inequality" in text
    assert "u and w are 2.5 apart, but the path through v is shorter by 0.5 (20.0%): 2" in text
    (folder / "a.csv").write_text("name,x,y\nA,0,0\nB,10,0\nC,0,10\n")
    (folder / "d.csv").write_text("tag,A,3\ntag,B,4\ntag,C,9\n")
    assert "A and B are 10 apart, but the path through tag is shorter by 3 (30.0%): 7" in said(
        capsys, "locate", "d.csv", "--anchors", "a.csv", "--quick"
    )


@pytest.mark.parametrize("command", POINTS)
@pytest.mark.parametrize("form", ["distances", "ordinal"])
def test_an_option_that_is_not_said_is_not_refused(folder, capsys, command, form):
    (folder / "d.csv").write_text("tag,A,3\ntag,B,7.4\ntag,C,7.5\n")
    (folder / "a.csv").write_text("name,x,y\nA,0,0\nB,10,0\nC,0,10\n")
    (folder / "c.csv").write_text("anchor,near,far\nu,v,w\nv,u,w\nw,v,u\n")
    files = (
        ["--distances", "d.csv", "--anchors", "a.csv"] if form == "distances" else ["--comparisons", "c.csv"]
    )
    said(capsys, command, "--formulation", form, *files)
    if form == "distances":
        text = said(capsys, command, "--formulation", form, *files, "--loss", "hinge", code=2)
        assert "loss must be" in text or "unknown loss" in text
