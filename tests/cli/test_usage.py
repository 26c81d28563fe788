"""Bad usage ends with a sentence and exit status 2, before anything is computed."""

import subprocess
import sys

import pytest
import scs
from commands import status

import npkl_models as nm
from npkl_models.cli import path
from npkl_models.cli.main import main
from npkl_models.formulations import FORMULATIONS
from npkl_models.recipe.recipe import fields_of
from npkl_models.solve.watch import RunMonitor


@pytest.fixture
def saved(tmp_path):
    iris = nm.datasets.load("iris").subset(30)
    pairs = nm.Pairs.from_labels(iris.y, 15, 15, random_state=0)
    problem = nm.pcp(nm.laplacian(iris.X, n_neighbors=4, shift=0.1), pairs)
    return str(problem.save(tmp_path / "problem.npz"))


def refused(capsys, *arguments):
    """What is said, by the parser or by what it runs."""
    assert status(*arguments) == 2
    return " ".join(capsys.readouterr().err.split())


@pytest.mark.parametrize(
    ("arguments", "idle"),
    [
        (["--loss", "hinge"], "loss"),
        (["--row-norm", "1"], "row_norm"),
        (["--p", "3", "--trace-bound", "2"], "p, trace_bound"),
        (["--formulation", "hard_pcp", "--gamma", "3"], "gamma"),
        (["--formulation", "mvu", "--shift", "0.1"], "shift"),
        (["--formulation", "hard_pcp", "--n-basis", "5"], "n_basis"),
        (["--labels", "class"], "labels"),
    ],
)
@pytest.mark.parametrize("command", ["solve", "crosscheck", "explain", "path"])
def test_what_a_formulation_does_not_use_is_refused(command, arguments, idle, capsys):
    said = refused(capsys, command, *arguments)
    assert f"got {idle}" in said


@pytest.mark.parametrize("command", ["solve", "crosscheck", "explain", "path"])
def test_a_saved_problem_is_taken_as_it_is(command, saved, capsys):
    said = refused(capsys, command, "--data", saved, "--gamma", "3", "--n", "20")
    assert (
        "a saved problem, must be given only what it uses, got gamma, n; it uses data, seed, backend, tol"
        in said
    )


def test_seeds_are_not_negative(capsys):
    assert "seed must be an integer >= 0, got -1" in refused(capsys, "solve", "--seed", "-1")
    with pytest.raises(nm.ProblemError, match="random_state must be an integer >= 0"):
        nm.Pairs.from_labels([0, 0, 1, 1], 1, 1, random_state=-1)


def test_a_path_of_weights_needs_losses(capsys):
    assert "without losses" in refused(capsys, "path", "--formulation", "hard_pcp", "--values", "1,2")


@pytest.mark.parametrize(
    "arguments",
    [
        ["solve", "--out", "nowhere/answer.npz"],
        ["path", "--out", "nowhere/path.json"],
        ["path", "--plot", "path.txt"],
        ["crosscheck", "--json", "nowhere/t.json"],
        ["crosscheck", "--report", "page.pdf"],
        ["explain", "--page", "nowhere/page.html"],
        ["export", "problem.npz", "out.txt"],
        ["export", "my.csv", "out.dat-s"],
    ],
)
def test_files_that_cannot_be_written_are_refused_at_once(arguments, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert "must" in refused(capsys, *arguments)
    assert not list(tmp_path.iterdir())


def test_a_picture_without_matplotlib_is_refused_before_anything_is_solved(monkeypatch, capsys):
    monkeypatch.setattr(path, "regularization_path", lambda *a, **k: pytest.fail("solved"))
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    assert "needs matplotlib" in refused(capsys, "path", "--n", "12", "--plot", "path.png")


def test_torn_files_are_named(saved, tmp_path, capsys):
    middle = tmp_path / "p.dat-s"
    assert main(["export", saved, str(middle)]) == 0
    text = middle.read_text().splitlines()
    torn = tmp_path / "torn.dat-s"
    torn.write_text("\n".join(text[:2]) + "\n*###\n" + "\n".join(text[3:]))
    assert "torn" in refused(capsys, "export", str(torn), str(tmp_path / "back.npz"))
    half = tmp_path / "half.npz"
    with open(saved, "rb") as file:
        half.write_bytes(file.read()[:500])
    for command in (["solve", "--data"], ["export"]):
        more = [str(tmp_path / "o.dat-s")] if command == ["export"] else []
        assert "whole .npz file" in refused(capsys, *command, str(half), *more)


def test_tables_of_a_saved_problem_are_whole_where_there_is_no_terminal(saved, capsys):
    assert main(["path", "--data", saved, "--values", "1,10"]) == 0
    shown = capsys.readouterr().out
    assert "status" in shown
    assert "…" not in shown


def test_an_interrupt_that_scs_has_caught_ends_a_solve_with_130(monkeypatch, capsys):
    """SCS catches the signal itself and says so in its status."""
    solve = scs.SCS.solve

    def interrupted(worker, **start):
        found = solve(worker, **start)
        return {**found, "info": {**found["info"], "status_val": -5}}

    monkeypatch.setattr(scs.SCS, "solve", interrupted)
    assert main(["solve", "--n", "100", "--backend", "sdp"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_an_interrupt_ends_a_solve_with_130(monkeypatch, capsys):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(RunMonitor, "heed", interrupt)
    assert main(["solve", "--n", "40", "--backend", "admm"]) == 130
    assert "interrupted" in capsys.readouterr().err


def test_processes_are_at_least_one(capsys):
    for command in ("path", "crosscheck"):
        with pytest.raises(SystemExit, match="2"):
            main([command, "--jobs", "0"])
    assert "at least 1" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["solv"], "did you mean 'solve'?"),
        (["solve", "--gama", "3"], "did you mean '--gamma'?"),
        (["solve", "--formulation", "pcd"], "did you mean 'pcp'?"),
        (["solve", "--data", "irsi"], "did you mean 'iris'?"),
        (["backends", "burer-monteir"], "did you mean 'burer_monteiro'?"),
    ],
)
def test_what_was_meant_is_said(words, hint, capsys):
    try:
        status = main(words)
    except SystemExit as left:
        status = left.code
    assert status == 2
    assert hint in capsys.readouterr().err.replace("\n", " ")


def test_a_field_without_a_use_names_those_that_have_one(capsys):
    said = refused(capsys, "solve", "--formulation", "pcp", "--loss", "hinge")
    assert "pcp on iris must be given only what it uses, got loss; it uses data, " in said


def test_every_field_of_every_formulation_is_taken(capsys):
    """None that the formulation uses is refused: its own default, given."""
    given = {
        "n_neighbors": "5", "shift": "0.1", "pairs": "0.5", "loss": "square", "gamma": "2", "row_norm": "1",
        "p": "2", "trace_bound": "30", "n_basis": "6", "nu": "10", "n": "30",
    }  # fmt: skip
    for name in FORMULATIONS:
        used = [key for key in fields_of(name, "iris") if key in given]
        own = given | ({"loss": "hinge"} if name == "psde" else {})
        words = [word for key in used for word in (f"--{key.replace('_', '-')}", own[key])]
        if name in ("conformal_eigenmaps", "locally_rigid", "mvu", "reg_mvu"):
            words += ["--data", "swiss_roll"]
        assert main(["explain", "--formulation", name, *words]) == 0, capsys.readouterr().err


@pytest.mark.parametrize(
    ("arguments", "other"),
    [("version", "numpy"), ("export my.csv out.npz", "sklearn"), ("explore --port -1", "sklearn")],
)
def test_a_command_does_not_wait_for_what_others_import(arguments, other):
    code = (
        "import sys; from npkl_models.cli.main import main\n"
        f"main({arguments.split()}); sys.exit({other!r} in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True).returncode == 0
