"""The command line."""

import json

import pytest

from npkl_models.cli.main import main
from npkl_models.solve.registry import backends

REGISTRY = backends()


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
