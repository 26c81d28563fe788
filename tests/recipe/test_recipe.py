"""One value of which problem, code and command are made; each of them gives it back."""

import inspect
import shlex
from dataclasses import fields, replace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.estimators import NPKLClustering
from npkl_models.cli.main import parser
from npkl_models.cli.problems import said
from npkl_models.formulations import FORMULATIONS
from npkl_models.recipe.fields import ESTIMATOR, FIELDS, Fields
from npkl_models.recipe.recipe import Recipe, fields_of

RECIPES = [
    Recipe(gamma=2.5, n=30, shift=0.0, cannot=-0.5, scaling="minmax"),
    Recipe(formulation="npkl", loss="hinge", n_basis=8, n=30, backend="burer_monteiro", seed=4),
    Recipe(formulation="npkl", loss="linear", row_norm=1, n=30, rigour="proved"),
    Recipe(formulation="simple_npkl", loss="square", p=3, trace_bound=12, n=30, tol=1e-7, feasibility=1e-6),
    Recipe(formulation="simple_npkl", penalty=0.5, n=30, time_limit=30),
    Recipe(formulation="hard_pcp", seed=3, n=30),
    Recipe(formulation="reg_pcp", n_basis=6, pairs=1, n=30),
    Recipe(formulation="mvu", n_neighbors=4, data="swiss_roll", n=16),
    Recipe(formulation="reg_mvu", n_neighbors=6, data="swiss_roll", n=60, n_basis=5, nu=10),
    Recipe(formulation="colored_mvu", n_neighbors=6, n=20, data="two_gaussians"),
    Recipe(formulation="mve", n_neighbors=4, data="swiss_roll", n=16),
    Recipe(formulation="spe", n_neighbors=4, n=20),
    Recipe(formulation="kernel_completion", n_neighbors=4, penalty=0.1, n=20),
    Recipe(formulation="distances", loss="absolute", penalty=3.0, n_neighbors=4, n=20),
    Recipe(formulation="distances", loss="square", data="chessboard", anchors=5, n=20, n_neighbors=8),
    Recipe(formulation="ordinal", loss="logistic", penalty=3.0, n=20),
    Recipe(formulation="locally_rigid", n_neighbors=8, data="swiss_roll", n=60, n_basis=5),
    Recipe(formulation="conformal_eigenmaps", n_neighbors=6, data="swiss_roll", n=60, n_basis=5),
    Recipe(formulation="psde", loss="hinge", gamma=3, trace_bound=9, n=20),
]


def of(recipe):
    return recipe.formulation


@pytest.fixture
def own(tmp_path, monkeypatch):
    """A recipe of files with odd names."""
    monkeypatch.chdir(tmp_path)
    iris = nm.datasets.load("iris").subset(20)
    np.savetxt(
        "my 'own' $points.csv",
        np.column_stack([iris.X, iris.y]),
        delimiter=",",
        header="a,b,c,d,kind",
        comments="",
    )
    (tmp_path / "-pairs.csv").write_text("0,1,must\n2,19,cannot\n")
    return Recipe(data="my 'own' $points.csv", labels="-1", pairs="-pairs.csv")  # fmt: skip


def parsed(line):
    words = shlex.split(line)
    assert words[0] == "npkl"
    return Recipe.from_dict(said(parser().parse_args(words[1:])))


def agree(problem, other):
    V = np.random.default_rng(0).normal(size=(problem.n, 3))
    assert problem.name == other.name
    assert problem.objective_of_factor(V) == other.objective_of_factor(V)


@pytest.mark.parametrize("recipe", RECIPES, ids=of)
def test_there_and_back(recipe):
    assert parsed(recipe.command()) == recipe
    assert parsed(recipe.command("explain").replace("explain", "solve")) == recipe


@pytest.mark.parametrize("recipe", RECIPES, ids=of)
def test_the_code_makes_the_same_problem(recipe):
    code, space = recipe.made().script.code(), {}
    exec(code, space)
    agree(space["problem"], recipe.made().problem)


def test_files_go_there_and_back(own):
    assert parsed(own.command()) == own
    space = {}
    exec(own.made().script.code(), space)
    agree(space["problem"], own.made().problem)
    assert own.made().problem.terms[0].functional.size == 2


@pytest.fixture
def told(tmp_path, monkeypatch):
    """Recipes of a file of comparisons, and of files of distances and anchors."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "-answers.csv").write_text("anchor,near,far\nfig,pear,nut\npear,fig,nut\nnut,pear,fig\n")
    (tmp_path / "d.csv").write_text("a,b,1,2\nb,c,2,1\nc,d,1,1\nd,a,2,1\na,c,2.2,1\nd,b,2.3,1\n")
    (tmp_path / "a.csv").write_text("a,0,0\nb,1,0\nc,1,2\n")
    return [
        Recipe(formulation="ordinal", comparisons="-answers.csv", loss="hinge", penalty=0.5),
        Recipe(formulation="distances", distances="d.csv", loss="square", penalty=0.1),
        Recipe(formulation="distances", distances="d.csv", anchors="a.csv", loss="absolute"),
    ]


def test_files_that_are_no_points_go_there_and_back(told):
    for recipe in told:
        assert parsed(recipe.command()) == recipe
        space = {}
        exec(recipe.made().script.code(), space)
        agree(space["problem"], recipe.made().problem)
    assert [recipe.made().problem.n for recipe in told] == [3, 4, 4]
    assert told[0].made().title == "-answers, 3 objects"
    assert sorted(told[1].made().problem.terms[0].weight) == [1, 1, 1, 1, 1, 2]
    assert [part.name for part in told[2].made().problem.constraints] == ["anchors"]


def test_files_that_are_no_points_take_no_fields_of_points(told):
    with pytest.raises(
        nm.ProblemError, match="ordinal on -answers.csv must be given only what it uses, got n;"
    ):
        replace(told[0], n=20)
    with pytest.raises(nm.ProblemError, match="got data, n_neighbors"):
        replace(told[1], data="wine", n_neighbors=3)
    with pytest.raises(nm.ProblemError, match="a file with a file of distances, got 3"):
        replace(told[2], anchors=3).made()
    with pytest.raises(nm.ProblemError, match="without a file of distances, got a file"):
        Recipe(formulation="distances", anchors="a.csv", loss="square", n=20).made()
    with pytest.raises(nm.ProblemError, match="at most the 20 points, got 30"):
        Recipe(formulation="distances", anchors=30, loss="square", n=20).made()


def test_every_formulation_is_in_a_round_trip():
    assert {recipe.formulation for recipe in RECIPES} == set(FORMULATIONS)
    differing = {name for recipe in RECIPES for name in recipe.differing}
    assert differing >= set(FIELDS) - {"labels", "ids", "data_home", "comparisons", "distances"}


def test_the_parameters_of_every_formulation_are_known():
    """A parameter has a default of its own, or is made of the data, or of a field."""
    known = {
        "X",
        "labels_or_kernel",
        "comparisons",
        *FIELDS,
        *(key for field in FIELDS.values() for key in field.of),
    }
    for name, builder in FORMULATIONS.items():
        for key, one in inspect.signature(builder).parameters.items():
            assert key in known or one.default is not inspect.Parameter.empty, (name, key)


def test_a_formulation_that_needs_more_says_what(monkeypatch):
    def exotic(L, pairs, altitude):
        raise AssertionError

    monkeypatch.setitem(FORMULATIONS, "pcp", exotic)
    with pytest.raises(nm.ProblemError, match="got altitude of pcp"):
        Recipe(n=20).made()


# ------------------------------------------------------------------------------------------- defaults


BUILDERS = {
    "gamma": nm.pcp, "p": nm.simple_npkl, "trace_bound": nm.simple_npkl, "penalty": nm.simple_npkl, "row_norm": nm.npkl,
    "cannot": nm.pcp, "nu": nm.reg_mvu, "n_neighbors": nm.knn_affinity,
}  # fmt: skip


def default_of(function, name):
    return inspect.signature(function).parameters[name].default


@pytest.mark.parametrize("name", BUILDERS)
def test_defaults_are_those_of_the_library(name):
    assert FIELDS[name].default == default_of(BUILDERS[name], name)


def test_defaults_of_one_place_are_those_of_the_estimators():
    special = {(name, place) for name, field in FIELDS.items() for place, _ in field.special}
    assert special == {
        ("gamma", "estimator"),
        ("n_neighbors", "estimator"),
        ("scaling", "estimator"),
        ("time_limit", "page"),
        ("n", "page"),
    }
    for name in ("gamma", "n_neighbors", "shift", "tol", "backend", "formulation", "loss"):
        assert FIELDS[name].default_in(ESTIMATOR) == default_of(NPKLClustering, name), name
    given = Recipe.from_dict({"formulation": "hard_pcp"}, ESTIMATOR)
    assert (given.n_neighbors, given.gamma) == (10, 1.0)  # a weight has no use there
    assert Recipe.from_dict({"gamma": 3}, ESTIMATOR).gamma == 3


def test_the_table_has_the_fields_of_the_recipe():
    assert list(FIELDS) == [one.name for one in fields(Fields)] == [one.name for one in fields(Recipe)]
    used = {name for formulation in FORMULATIONS for name in fields_of(formulation, "my.csv")}
    assert used | {"data_home"} == set(FIELDS)


@pytest.mark.parametrize(
    "given", [{"loss": "square"}, {"formulation": "mvu", "shift": 0.1}, {"labels": "kind"}]
)
def test_idle_fields_are_refused(given):
    """Whether or not the value is the default."""
    with pytest.raises(nm.ProblemError, match=f"must be given only what it uses, got {[*given][-1]};"):
        Recipe.from_dict(given)


def test_an_idle_field_is_refused_from_python():
    with pytest.raises(
        nm.ProblemError, match="pcp on iris must be given only what it uses, got loss, p; it uses"
    ):
        Recipe(loss="hinge", p=3)
    with pytest.raises(nm.ProblemError, match="got loss"):
        Recipe(loss="squared_hinge")


@pytest.mark.parametrize("name", FORMULATIONS)
def test_an_option_that_is_not_said_is_never_refused(name):
    """Each formulation takes its own defaults; nothing but its name and small data are said."""
    data = (
        {"data": "swiss_roll", "n": 60}
        if name in ("locally_rigid", "conformal_eigenmaps", "reg_mvu")
        else {"n": 20}
    )
    recipe = Recipe(formulation=name, **data)
    assert recipe.made().problem.n == data["n"]
    assert "loss=" not in recipe.made().script.code()
