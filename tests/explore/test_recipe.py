"""What the page asks for, as a problem and as the code that makes the same problem."""

import inspect

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.explore import answers
from npkl_models.explore.form import Form, fields_of
from npkl_models.explore.recipe import make
from npkl_models.formulations import FORMULATIONS

ASKED = [
    {"formulation": "pcp", "gamma": "2.5"},
    {"formulation": "npkl", "loss": "hinge", "n_basis": 8},
    {"formulation": "npkl", "loss": "linear", "row_norm": 1},
    {"formulation": "simple_npkl", "loss": "square", "p": 3, "bound": "12"},
    {"formulation": "simple_npkl", "loss": "squared_hinge", "penalty": 0.5},
    {"formulation": "hard_pcp", "seed": 3},
    {"formulation": "reg_pcp", "n_basis": 6, "pairs": 1},
    {"formulation": "mvu", "n_neighbors": 4, "data": "swiss_roll", "n": 16},
    {"formulation": "reg_mvu", "n_neighbors": 6, "data": "swiss_roll", "n": 60, "n_basis": 5},
]


def form_of(given):
    return Form.of({"n": 30, **given})


@pytest.mark.parametrize("given", ASKED, ids=lambda g: f"{g['formulation']}-{g.get('loss', '')}")
def test_the_code_runs_and_gives_the_same_objective(given):
    form = form_of(given)
    made = make(form, {})
    solution = made.problem.solve(form.backend, tol=form.tol, time_limit=form.time_limit)
    code, space = answers.solve_code(made, form), {}
    exec(code, space)
    assert space["solution"].objective == pytest.approx(solution.objective, rel=1e-6, abs=1e-6)
    assert repr(space["problem"]) == repr(made.problem)
    assert space["clusters"].shape == (made.problem.n,)


def test_the_code_of_a_path_and_of_a_comparison_runs():
    form = form_of({"formulation": "npkl", "gamma": 2, "backend": "burer_monteiro"})
    made = make(form, {})
    space = {}
    exec(answers.path_code(made, form, (0.5, 2.0, 3)), space)
    np.testing.assert_allclose(space["path"].values * form.gamma, [0.5, 1.0, 2.0])
    last = space["path"].solutions[-1].objective
    assert last == pytest.approx(made.problem.solve("interior").objective, rel=1e-5)
    exec(answers.compare_code(made, form, ["bcd", "interior"]), space)
    assert space["check"].agrees


def test_files_are_named_in_the_code_as_the_reader_has_them(tmp_path, monkeypatch):
    points, pairs = tmp_path / "mine.csv", tmp_path / "links.csv"
    rng = np.random.default_rng(0)
    points.write_text("a,b\n" + "\n".join(f"{x},{y}" for x, y in rng.normal(size=(20, 2))))
    pairs.write_text("0,1,must\n2,3,must\n0,4,cannot\n")
    form = Form.of({"data_file": "1", "pairs_file": "2", "formulation": "npkl"})
    made = make(form, {"1": points, "2": pairs})
    code = answers.solve_code(made, form)
    assert "tables.read_points('mine.csv')" in code
    assert "tables.read_pairs('links.csv', data.n)" in code
    assert "cluster_accuracy" not in code
    monkeypatch.chdir(tmp_path)
    space = {}
    exec(code, space)
    assert space["problem"].n_pairs == 3
    assert made.known_labels is None
    assert str(tmp_path) not in made.title
    with pytest.raises(nm.ProblemError, match="pairs must be given for mine"):
        make(Form.of({"data_file": "1"}), {"1": points})
    with pytest.raises(nm.ProblemError, match="no longer here"):
        make(form, {})


def test_every_formulation_can_be_asked_for_and_a_strange_one_says_what_it_lacks(monkeypatch):
    for name, builder in FORMULATIONS.items():
        wanted = inspect.signature(builder).parameters
        lacking = [k for k, one in wanted.items() if one.default is inspect.Parameter.empty]
        assert fields_of(name) or lacking == ["X"]

    def exotic(L, pairs, altitude):
        raise AssertionError

    monkeypatch.setitem(FORMULATIONS, "exotic", exotic)
    with pytest.raises(nm.ProblemError, match="cannot give exotic its altitude"):
        make(form_of({"formulation": "exotic"}), {})


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"gamma": "much"}, nm.ProblemError, "gamma must be a finite number, got 'much'"),
        ({"gamma": "nan"}, nm.ProblemError, "gamma must be a finite number"),
        ({"n": "2.5"}, nm.ProblemError, "n must be an integer, got '2.5'"),
        ({"n_neighbors": ""}, nm.ProblemError, "n_neighbors must be an integer"),
        ({"data": 3}, nm.ProblemError, "data must be text"),
        ({"colour": "red"}, nm.UnsupportedError, "unknown field 'colour'; known are"),
        ({"formulation": "pcq"}, nm.UnsupportedError, "unknown formulation 'pcq'"),
        ({"loss": "hing"}, nm.UnsupportedError, "unknown loss 'hing'"),
        ({"data": "irs"}, nm.UnsupportedError, "unknown data set 'irs'"),
        ({"gamma": -1}, nm.ProblemError, "gamma must be positive"),
        ({"n": 1}, nm.ProblemError, "n must be between 2 and 150"),
        ({"data": "__import__('os')"}, nm.UnsupportedError, "unknown data set"),
    ],
)
def test_bad_fields(given, error, message):
    with pytest.raises(error, match=message):
        make(Form.of(given), {})
