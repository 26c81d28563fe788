"""The command line."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest
from commands import status

import npkl_models as nm
from npkl_models.cli.main import main

REGISTRY = nm.backends()
COMMANDS = [
    "solve", "cluster", "crosscheck", "path", "explain", "backends", "datasets", "export",
    "version", "warm-up",
]  # fmt: skip


def test_command_compares_and_writes(tmp_path, capsys):
    target, page = tmp_path / "table.json", tmp_path / "table.html"
    code = main(["crosscheck", "--n", "24", "--json", str(target), "--report", str(page)])
    shown = capsys.readouterr().out
    assert code == 0
    assert "all agree" in shown
    assert "bcd" in shown
    assert "Not for this problem: " in shown
    data = json.loads(target.read_text())
    ran = [row for row in data["rows"] if not row["verdict"].startswith("not run")]
    assert {row["verdict"] for row in ran} == {"agrees"}
    assert {row["backend"] for row in ran} >= {"bcd", "burer_monteiro", "hybrid", "admm", "sdp", "sdp_dual"}
    assert "<table>" in page.read_text()


def test_the_default_command_takes_every_backend(tmp_path, capsys):
    """Iris and pcp."""
    target = tmp_path / "table.json"
    assert main(["crosscheck", "--json", str(target)]) == 0
    data = json.loads(target.read_text())
    assert data["problem"]["n"] == 150
    assert {row["backend"] for row in data["rows"]} == set(REGISTRY)
    assert data["agrees"]
    capsys.readouterr()


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
        (["--n", "151"], "n must be between 2 and 150"),
        (["--n-neighbors", "500"], "n_neighbors must be"),
        (["--gamma", "-1"], "gamma must be positive"),
        (["--data", "glass", "--data-home", "/nowhere"], "data_home must be a folder"),
    ],
)
def test_bad_usage_is_status_2(arguments, message, capsys):
    assert status("crosscheck", *arguments) == 2
    assert message in capsys.readouterr().err.replace("\n", " ")


POINTS = """a,b,kind
0,0,x
0.1,0.2,x
0.2,0.1,x
0.1,0.1,x
5,5,z
5.1,5.2,z
5.2,5.1,z
5.3,5.2,z
"""
PAIRS = """i,j,kind
0,1,must
4,5,must
0,4,cannot
2,6,-1
"""


@pytest.fixture
def files(tmp_path):
    (tmp_path / "my.csv").write_text(POINTS)
    (tmp_path / "pairs.csv").write_text(PAIRS)
    return [
        "--data", str(tmp_path / "my.csv"), "--labels", "kind", "--pairs", str(tmp_path / "pairs.csv"),
        "--n-neighbors", "3",
    ]  # fmt: skip


def test_solve_prints_and_writes(files, tmp_path, capsys):
    for name in ("answer.npz", "answer.json"):
        assert main(["solve", *files, "--out", str(tmp_path / name)]) == 0
    assert "OPTIMAL" in capsys.readouterr().out
    described = json.loads((tmp_path / "answer.json").read_text())
    kept = nm.Solution.load(tmp_path / "answer.npz")
    assert described["objective"] == pytest.approx(kept.objective)
    assert described["bound"] <= described["objective"] <= described["upper"]
    assert described["violation"] == 0.0
    assert described["missed"] == ""
    assert described["feasibility"] == 1e-7
    assert kept.certificate.certifies(1e-6)
    assert kept.problem.n == 8
    assert kept.problem.terms[0].functional.size == 4
    assert main(["solve", "--data", str(tmp_path / "answer.npz"), "--backend", "interior"]) == 0


def test_solve_that_is_not_certified_says_so(files, capsys):
    assert main(["solve", *files, "--backend", "bcd", "--time-limit", "1e-9"]) == 1
    assert "TIME_LIMIT" in capsys.readouterr().out


def test_path_prints_a_row_for_each_value(files, tmp_path, capsys):
    out, picture = tmp_path / "path.json", tmp_path / "path.png"
    arguments = ["path", *files, "--values", "0.1:10:3", "--out", str(out), "--plot", str(picture)]
    assert main(arguments) == 0
    rows = json.loads(out.read_text())
    assert [row["weight"] for row in rows] == pytest.approx([0.1, 1, 10])
    assert all(row["status"] == "OPTIMAL" for row in rows)
    assert picture.stat().st_size > 1000


def test_path_over_an_interval_says_what_it_proves(files, tmp_path, capsys):
    out, picture = tmp_path / "path.json", tmp_path / "path.png"
    within = ["--values", "0.1:10", "--within", "1e-2", "--out", str(out), "--plot", str(picture)]
    assert main(["path", *files, *within]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    assert "everywhere, proved)" in shown
    rows = json.loads(out.read_text())
    assert (rows[0]["weight"], rows[-1]["weight"]) == (0.1, 10.0)
    assert len(rows) > 2
    assert picture.stat().st_size > 1000
    assert main(["path", *files, "--values", "10:0.1"]) == 2
    assert "0 < low < high" in capsys.readouterr().err


def test_explain_prints_the_dual_and_the_forms(files, capsys):
    assert main(["explain", *files, "--formulation", "npkl", "--loss", "hinge", "--row-norm", "1"]) == 0
    shown = capsys.readouterr().out
    for words in (
        "maximise over 4 multipliers y of pairs, 8 multipliers nu of row norms",
        "PSD cone of order 8",
        "bcd",
    ):
        assert words in shown
    assert main(["explain", *files, "--latex"]) == 0
    assert r"\max_{" in capsys.readouterr().out


def test_datasets_say_where_they_come_from(tmp_path, capsys, monkeypatch):
    (tmp_path / "glass.csv").write_text("a,b,y\n1,2,0\n3,4,1\n")
    assert main(["datasets", "--data-home", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert "scikit-learn" in shown
    assert "generated" in shown
    assert "glass.csv" in "".join(shown.split())


def test_report_is_one_page(files, tmp_path, capsys):
    page = tmp_path / "report.html"
    assert main(["crosscheck", *files, "--backends", "burer_monteiro,interior", "--report", str(page)]) == 0
    text = page.read_text()
    assert "<svg" in text
    assert "http://" not in text.replace("http://www.w3.org", "")
    code = html.unescape(re.search("<h2>How it was made</h2><pre>(.*?)</pre>", text, re.S)[1])
    space = {}
    exec(code, space)
    assert space["problem"].n == 8
    assert space["problem"].terms[0].functional.size == 4


def test_version_names_what_an_answer_depends_on(capsys):
    assert main(["version", "--json"]) == 0
    assert {"npkl_models", "numpy", "scipy"} <= set(json.loads(capsys.readouterr().out))


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_completion_knows_every_command(shell, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--print-completion", shell])
    assert ended.value.code == 0
    script = capsys.readouterr().out
    assert all(command in script for command in COMMANDS)


@pytest.mark.parametrize("command", COMMANDS)
def test_every_help_has_examples(command, capsys):
    with pytest.raises(SystemExit) as ended:
        main([command, "--help"])
    assert ended.value.code == 0
    assert f"npkl {command}" in capsys.readouterr().out.split("examples:")[1]


def test_export_goes_there_and_back(files, tmp_path):
    source, middle, back = (str(tmp_path / name) for name in ("p.npz", "p.dat-s", "q.npz"))
    assert main(["solve", *files, "--out", source]) == 0
    assert main(["export", source, middle]) == 0
    assert main(["export", middle, back]) == 0
    one, other = nm.Problem.load(source), nm.Problem.load(back)
    assert (one.cost != other.cost).nnz == 0
    V = np.random.default_rng(0).normal(size=(8, 3))
    assert one.objective_of_factor(V) == other.objective_of_factor(V)
    (tmp_path / "foreign.dat-s").write_text('"a file of others\n1\n1\n2\n1.0\n1 1 1 1 1.0\n')
    assert main(["export", str(tmp_path / "foreign.dat-s"), back]) == 0
    assert isinstance(nm.Problem.load(back).constraints[0].functional, nm.SparseMatrices)


@pytest.mark.skipif(shutil.which("csdp") is None, reason="csdp (Debian's coinor-csdp) is not installed")
@pytest.mark.parametrize("formulation", ["pcp", "npkl", "hard_pcp"])
def test_csdp_solves_what_is_exported_and_is_judged(formulation, tmp_path, capsys):
    source, middle, answer = tmp_path / "p.npz", tmp_path / "p.dat-s", tmp_path / "p.sol"
    arguments = ["--n", "40", "--formulation", formulation]
    arguments += ["--loss", "hinge"] if formulation == "npkl" else []
    assert main(["solve", *arguments, "--out", str(source)]) == 0
    assert main(["export", str(source), str(middle)]) == 0
    subprocess.run(["csdp", str(middle), str(answer)], check=True, capture_output=True, cwd=tmp_path)
    assert main(["certify", str(middle), str(answer), "--out", str(tmp_path / "a.json")]) == 0
    found = json.loads((tmp_path / "a.json").read_text())
    assert found["status"] == "OPTIMAL"
    own = nm.Solution.load(source).objective
    assert found["objective"] == pytest.approx(own, rel=1e-5)
    answer.write_text("1.0 2.0\n2 1 1 1 1.0\n")
    assert main(["certify", str(middle), str(answer)]) == 2


def test_a_file_of_another_kind_is_refused_before_the_work(files, tmp_path, capsys):
    assert main(["solve", *files, "--out", str(tmp_path / "a.txt")]) == 2
    assert "--out must end with" in capsys.readouterr().err


def test_colons_in_messages_stay_colons(capsys):
    assert main(["path", "--values", "a"]) == 2
    assert "A:B:N" in capsys.readouterr().err
