"""The cross-check table, the command line, and the data sets behind it."""

import bz2
import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from conftest import KINDS, side_information

import npkl_models as nm
from npkl_models.cli.main import main
from npkl_models.crosscheck.table import COLUMNS, cells
from npkl_models.data import datasets, synthetic
from npkl_models.data.readers import read_csv
from npkl_models.solve.registry import backends

REGISTRY = backends()


@pytest.mark.parametrize("kind", ["pcp", "npkl:hinge", "row:linear", "B2:squared_hinge"])
def test_all_backends_agree(small, kind):
    table = nm.crosscheck(small(kind))
    assert [row.backend for row in table.rows] == list(REGISTRY)
    assert table.agrees
    assert table.bound <= table.objective
    for row in table.rows:
        reason = small(kind).compatible_backends()[row.backend]
        if reason is None:
            assert row.verdict == "agrees"
            assert row.relative_gap <= 1e-6
            assert row.kernel_distance <= 0.02
            assert row.seconds > 0
        else:
            assert row.verdict == f"not run: {reason}"
            assert not row.ran


def test_a_wrong_answer_is_caught(small, monkeypatch):
    """A backend with a worse point, one with an impossible bound, and one that breaks."""
    problem = small("pcp")
    good = problem.solve("bcd")
    worse = problem.solve("admm", rank=1, max_iter=50)
    table = nm.crosscheck(problem, ["bcd"])
    assert table.agrees
    import sys

    from npkl_models import crosscheck as _  # noqa: F401  # the function shadows the module

    module = sys.modules["npkl_models.crosscheck.run"]
    answers = {"bcd": good, "admm": worse, "sdp": "failed: broken", "sdp_dual": good}
    monkeypatch.setattr(module, "_solve", lambda problem, backend, options: answers[backend.name])
    table = module.crosscheck(problem, list(answers))
    verdicts = {row.backend: row.verdict for row in table.rows}
    assert verdicts["bcd"] == "agrees"
    assert verdicts["admm"].startswith("worse by")
    assert verdicts["sdp"] == "failed: broken"
    assert not table.agrees
    assert not module.crosscheck(problem, ["bcd", "sdp"]).agrees  # a break alone is a disagreement
    row = module._row("bcd", good, module._Scale(good.objective + 1, good.objective + 2, 1e-5, None))
    assert row.verdict == "outside the proved bracket"


def test_forms_of_the_table(small, tmp_path):
    table = nm.crosscheck(small("B2:hinge"), ["bcd", "sdp[SCS]", "sdp[CLARABEL]"], reference="sdp[SCS]")
    assert table.reference == "sdp[SCS]"
    data = json.loads(table.to_json())
    assert data["problem"]["n"] == 24
    assert data["versions"]["npkl_models"] == nm.__version__
    rows = {row["backend"]: row for row in data["rows"]}
    assert rows["bcd"]["objective"] is None
    assert {
        "backend",
        "status",
        "objective",
        "bound",
        "relative_gap",
        "rigour",
        "rank",
        "seconds",
        "verdict",
    } <= set(rows["sdp[SCS]"])
    markdown = table.to_markdown().splitlines()
    assert len(markdown) == 2 + 3
    assert all(line.count("|") == len(COLUMNS) + 1 + 2 * ("K ref" in line) for line in markdown)
    assert "optimum" in str(table)
    frame = table.to_frame()
    assert list(frame.index) == ["bcd", "sdp[SCS]", "sdp[CLARABEL]"]
    ax = table.plot()
    assert [t.get_text() for t in ax.get_yticklabels()] == ["sdp[SCS]", "sdp[CLARABEL]"]
    page = table.report(tmp_path / "page.html").read_text()
    assert "trace_power" in page
    assert page.count("<tr") == 4
    assert all(len(cells(row)) == len(COLUMNS) for row in table.rows)


def test_processes_give_the_same_table(small):
    alone = nm.crosscheck(small("npkl:square"), ["bcd", "admm"])
    together = nm.crosscheck(small("npkl:square"), ["bcd", "admm"], n_jobs=2)
    assert [r.objective for r in alone.rows] == [r.objective for r in together.rows]


@pytest.mark.parametrize(
    ("arguments", "error", "message"),
    [
        ({"backends": ["nope"]}, nm.UnsupportedError, "unknown backend 'nope'"),
        ({"backends": []}, nm.ProblemError, "at least one backend"),
        ({"backends": ["bcd[SCS]"]}, nm.ProblemError, "bcd takes no solver"),
        ({"backends": ["bcd"], "reference": "sdp"}, nm.UnsupportedError, "unknown reference"),
        ({"colour": 3}, nm.UnsupportedError, "unknown option 'colour'"),
        ({"tol": -1}, nm.UnsupportedError, "tol must be between"),
    ],
)
def test_bad_calls(small, arguments, error, message):
    with pytest.raises(error, match=message):
        nm.crosscheck(small("pcp"), **arguments)


# --------------------------------------------------------------------------------------- command line


def test_command_compares_and_writes(tmp_path, capsys):
    target, page = tmp_path / "table.json", tmp_path / "table.html"
    code = main(["crosscheck", "--n", "40", "--json", str(target), "--report", str(page)])
    shown = capsys.readouterr().out
    assert code == 0
    assert "all agree" in shown
    assert "bcd" in shown
    data = json.loads(target.read_text())
    ran = [row for row in data["rows"] if not row["verdict"].startswith("not run")]
    assert {row["verdict"] for row in ran} == {"agrees"}
    assert {row["backend"] for row in ran} >= {"bcd", "burer_monteiro", "hybrid", "admm", "sdp", "sdp_dual"}
    assert "<table>" in page.read_text()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--formulation", "hard_pcp", "--n", "30"],
        ["--formulation", "reg_pcp", "--n-basis", "6"],
        ["--formulation", "simple_npkl", "--n", "30", "--loss", "linear", "--bound", "20"],
        ["--formulation", "npkl", "--n", "30", "--n-basis", "6", "--loss", "square"],
        ["--formulation", "mvu", "--n", "12", "--data", "two_gaussians", "--n-neighbors", "3"],
        [
            "--formulation",
            "reg_mvu",
            "--data",
            "swiss_roll",
            "--n",
            "200",
            "--n-basis",
            "6",
            "--n-neighbors",
            "6",
        ],
    ],
    ids=lambda a: a[1],
)
def test_every_formulation_has_its_command(arguments, tmp_path, capsys):
    target = tmp_path / "table.json"
    code = main(["crosscheck", *arguments, "--json", str(target)])
    shown = capsys.readouterr().out
    assert "Not for this problem: " in shown
    data = json.loads(target.read_text())
    assert data["problem"]["name"] == arguments[1]
    if arguments[1] != "mvu":  # its cliques may leave no interior, and then solvers lose digits
        assert code == 0, shown
    ran = [row for row in data["rows"] if row["objective"] is not None]
    assert len(ran) >= 3


def test_default_command_adds_a_subset_for_the_interior_point(tmp_path, capsys):
    """iris, pcp, every backend: SCS at full size, Clarabel on 60 points."""
    target = tmp_path / "table.json"
    assert main(["crosscheck", "--json", str(target)]) == 0
    data = json.loads(target.read_text())
    assert data["problem"]["n"] == 150
    assert data["subset"]["problem"]["n"] == 60
    assert {row["backend"] for row in data["rows"]} == set(REGISTRY)
    assert data["agrees"]
    assert data["subset"]["agrees"]
    capsys.readouterr()


@pytest.mark.parametrize(
    "arguments",
    [
        ["--formulation", "npkl", "--loss", "hinge", "--n", "30"],
        ["--formulation", "npkl", "--loss", "linear", "--row-norm", "1", "--n", "30"],
        ["--formulation", "simple_npkl", "--loss", "square", "--n", "20"],
        ["--formulation", "simple_npkl", "--loss", "hinge", "--p", "4", "--penalty", "1", "--n", "20"],
        ["--data", "xor", "--backends", "bcd,sdp[SCS]"],
    ],
)
def test_command_on_other_problems(arguments, capsys):
    assert main(["crosscheck", *arguments]) == 0
    assert "agrees" in capsys.readouterr().out


def test_command_says_when_one_disagrees(capsys, monkeypatch):
    import sys

    module = sys.modules["npkl_models.crosscheck.run"]
    real = module._solve

    def hasty(problem, backend, options):
        return real(problem, backend, options | {"max_iter": 2} if backend.name == "admm" else options)

    monkeypatch.setattr(module, "_solve", hasty)
    assert main(["crosscheck", "--n", "40", "--backends", "bcd,admm"]) == 1
    assert "worse by" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--data", "irs"], "unknown data set 'irs'"),
        (["--backends", "bcd,foo"], "unknown backend 'foo'"),
        (["--formulation", "npkl", "--loss", "linear"], "row_norm"),
        (["--n", "1"], "--n must be between"),
        (["--n-neighbors", "500"], "n_neighbors must be"),
        (["--gamma", "-1"], "gamma must be positive"),
        (["--data", "glass", "--data-home", "/nowhere"], "data_home must be a folder"),
    ],
)
def test_bad_usage_is_status_2(arguments, message, capsys):
    assert main(["crosscheck", *arguments]) == 2
    assert message in capsys.readouterr().err.replace("\n", " ")


def test_unknown_arguments_are_status_2(capsys):
    with pytest.raises(SystemExit) as stop:
        main(["crosscheck", "--frobnicate"])
    assert stop.value.code == 2
    capsys.readouterr()


# ------------------------------------------------------------------------------------------ data sets


@pytest.mark.parametrize(
    ("name", "shape", "classes"),
    [
        ("iris", (150, 4), 3),
        ("wine", (178, 13), 3),
        ("breast_cancer", (569, 30), 2),
        ("digits", (1797, 64), 10),
    ],
)
def test_bundled_sets(name, shape, classes):
    data = datasets.load(name)
    assert data.X.shape == shape
    assert np.unique(data.y).tolist() == list(range(classes))
    assert data.origin == "scikit-learn"


@pytest.mark.parametrize("name", [n for n, s in datasets.SOURCES.items() if s.generate])
def test_synthetic_sets_are_reproducible_and_balanced(name):
    first, second = (datasets.load(name, n=200, random_state=3) for _ in range(2))
    np.testing.assert_array_equal(first.X, second.X)
    assert first.X.shape[0] == first.y.size == 200
    counts = np.bincount(first.y)
    assert counts.min() >= 0.3 * 200 / counts.size
    assert not np.array_equal(first.X, datasets.load(name, n=200, random_state=4).X)


def test_two_gaussians_are_the_papers():
    X, y = synthetic.two_gaussians(20_000, 10, 0)
    np.testing.assert_allclose(X[y == 0].mean(axis=0), 1, atol=0.05)
    np.testing.assert_allclose(X[y == 1].mean(axis=0), -1, atol=0.05)
    np.testing.assert_allclose(np.cov(X[y == 0].T), np.eye(10), atol=0.06)


def test_a_data_folder_comes_first(tmp_path, monkeypatch):
    with gzip.open(tmp_path / "iris.csv.gz", "wt") as file:
        file.write("f0,f1,label\n1,2,0\n3,4,1\n")
    with gzip.open(tmp_path / "a1a.libsvm.gz", "wt") as file:
        file.write("-1 3:1 11:1\n+1 5:1\n")
    data = datasets.load("iris", tmp_path)
    assert data.X.tolist() == [[1, 2], [3, 4]]
    assert data.origin.endswith("iris.csv.gz")
    monkeypatch.setenv(datasets.FOLDER_VARIABLE, str(tmp_path))
    adult = datasets.load("a1a")
    assert adult.X.shape == (2, 123)
    assert adult.y.tolist() == [0, 1]
    assert adult.X[0, 2] == adult.X[0, 10] == adult.X[1, 4] == 1


def test_offline_says_where_was_looked(monkeypatch, tmp_path):
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)

    def offline(*arguments, **options):
        raise OSError("no network")

    monkeypatch.setattr("pooch.retrieve", offline)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", offline)
    for name in ("glass", "a3a", "usps"):
        with pytest.raises(datasets.DatasetUnavailableError, match="no network.*looked in no folder"):
            datasets.load(name)
    with pytest.raises(datasets.DatasetUnavailableError, match="protein.*no public download"):
        datasets.load("protein", tmp_path)


@pytest.fixture
def page(monkeypatch, tmp_path):
    """The LIBSVM page, as a folder whose files can be changed, and an empty cache."""
    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "cache")
    files = {"usps.bz2": bz2.compress(b"1 1:0.5 3:2\n2 2:1\n"), "a1a": b"+1 1:1\n-1 2:1\n"}

    def copy(url, output_file, pooch):
        Path(output_file).write_bytes(files[url.split("/")[-1]])

    monkeypatch.setattr("pooch.core.choose_downloader", lambda *a, **k: copy)
    return files


def test_downloads_are_read_and_kept(page):
    usps = datasets.load("usps")
    assert usps.X.tolist() == [[0.5, 0, 2], [0, 1, 0]]
    assert usps.origin == "LIBSVM"
    page.clear()
    assert datasets.load("usps").X.tolist() == usps.X.tolist()


def test_a_download_that_is_not_what_it_was_is_refused(page, tmp_path):
    datasets.load("usps")
    (tmp_path / "cache" / "multiclass_usps.bz2").write_bytes(b"other")
    page["usps.bz2"] = b"other still"
    with pytest.raises(datasets.DatasetUnavailableError, match="(?i)hash"):
        datasets.load("usps")
    with pytest.raises(datasets.DatasetUnavailableError, match="(?i)hash"):  # a made-up a1a
        datasets.load("a1a")


def test_openml_is_read(monkeypatch):
    class Bunch:
        data, target = np.eye(3), np.array(["b", "a", "b"])

    monkeypatch.delenv(datasets.FOLDER_VARIABLE, raising=False)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda *a, **k: Bunch())
    glass = datasets.load("glass")
    assert glass.y.tolist() == [1, 0, 1]
    assert glass.origin == "OpenML"


def test_bad_data_calls(tmp_path):
    with pytest.raises(nm.UnsupportedError, match="unknown data set 'mars'; known are: a1a"):
        datasets.load("mars")
    with pytest.raises(nm.ProblemError, match="not a synthetic set"):
        datasets.load("iris", n=3)
    (tmp_path / "bad.csv").write_text("a,b,label\n1,2\n")
    with pytest.raises((nm.ProblemError, ValueError)):
        read_csv(tmp_path / "bad.csv")


# --------------------------------------------------------------------------- the papers' sets, in full


def test_kinds_cover_every_loss_and_regulariser():
    assert {k.split(":")[-1] for k in KINDS if ":" in k} - {"pcp"} == set(nm.LOSSES)
    L, pairs = side_information("iris", 12)
    from conftest import build

    from npkl_models.model.regularizers import REGULARIZERS

    assert {build(k, L, pairs).regularizer.name for k in KINDS} == set(REGULARIZERS)
