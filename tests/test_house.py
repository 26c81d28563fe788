"""The structure of the project: import directions, public names, documentation of everything."""

import ast
import inspect
from pathlib import Path

import pytest

import npkl_models as nm
from npkl_models.model.formulations import FORMULATIONS
from npkl_models.model.functionals import FUNCTIONALS
from npkl_models.model.regularizers import REGULARIZERS
from npkl_models.solve.registry import backends

REGISTRY = backends()

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "npkl_models"
MODULES = sorted(PACKAGE.rglob("*.py"))

FLOORS = {
    "_version": 0, "errors": 0, "linalg": 1, "threads": 2, "proof": 3, "model": 4, "data": 5, "certify": 5, "answer": 6, "conic": 7,
    "lowrank": 7, "spectral": 7, "table": 8, "prediction": 8, "backends": 9, "crosscheck": 10, "path": 10,
    "applications": 11, "__init__": 12, "cli": 13, "__main__": 14,
}  # fmt: skip
"""Imports may only point to a lower floor, or stay in the same room."""

UPWARD = {("model/problem.py", "npkl_models.solve.choice"), ("model/problem.py", "npkl_models.conic.sdp")}
"""Problem.solve, compile and to_cvxpy, from inside the method."""

HEAVY = {
    "cvxpy": (
        "conic/",
        "model/losses.py",
        "model/regularizer.py",
        "model/regularizers.py",
        "model/trace_power.py",
        "model/trace_cones.py",
    ),
    "matplotlib": ("table.py",),
    "pandas": ("table.py", "path.py"),
    "joblib": ("crosscheck.py",),
    "rich": ("cli.py", "model/neighbors.py"),
    "sklearn": ("model/neighbors.py", "data/", "applications/"),
    "numba": ("lowrank/compiled.py",),
    "llvmlite": ("lowrank/compiled.py",),
    "threadpoolctl": ("threads.py",),
}


def _room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def _imports(path: Path):
    """(module, whether at top level) of every import, TYPE_CHECKING blocks left out."""
    tree = ast.parse(path.read_text())
    skipped = {
        id(node)
        for block in ast.walk(tree)
        if isinstance(block, ast.If) and ast.unparse(block.test) == "TYPE_CHECKING"
        for node in ast.walk(block)
    }
    top = {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, id(node) in top
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_point_upwards_only(path):
    here, own = FLOORS[_room(path)], str(path.relative_to(PACKAGE))
    for module, top in _imports(path):
        parts = module.split(".")
        if parts[0] != "npkl_models":
            continue
        room = parts[1] if len(parts) > 1 else "__init__"
        if not top and (own, module) in UPWARD:
            continue
        same_room = room == _room(path)
        if room not in FLOORS:  # a name of the package itself
            room = "__init__"
        assert same_room or FLOORS[room] < here, f"{own} imports {module}"


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(PACKAGE)))
def test_heavy_packages_stay_where_they_are_used(path):
    own = str(path.relative_to(PACKAGE))
    for module, top in _imports(path):
        allowed = HEAVY.get(module.split(".")[0])
        if allowed is not None:
            assert own.startswith(allowed), f"{own} imports {module}"
            if module.split(".")[0] in ("cvxpy", "matplotlib", "pandas", "joblib") and "conic" not in own:
                assert not top, f"{own} must import {module} inside the function"


@pytest.mark.parametrize("room", ["lowrank", "spectral"])
def test_solvers_know_no_concrete_loss(room):
    concrete = {type(loss).__name__ for loss in nm.LOSSES.values()}
    for path in (PACKAGE / room).glob("*.py"):
        names = {n.id for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Name)}
        assert not names & concrete, path.name


def test_no_print_outside_the_command_line():
    for path in MODULES:
        calls = [n for n in ast.walk(ast.parse(path.read_text())) if isinstance(n, ast.Call)]
        named = [c.func.id for c in calls if isinstance(c.func, ast.Name)]
        assert "print" not in named, path.name


def test_public_names_exist_and_are_documented():
    for name in nm.__all__:
        thing = getattr(nm, name)
        assert name == "__version__" or name == "LOSSES" or inspect.getdoc(thing), name


def test_every_public_name_is_in_the_api_reference():
    reference = (ROOT / "docs" / "api.md").read_text()
    missing = [name for name in nm.__all__ if name != "__version__" and name not in reference]
    assert not missing


@pytest.mark.parametrize("name", REGISTRY)
def test_every_backend_has_its_page_and_states_its_options(name):
    page = (ROOT / "docs" / "backends" / f"{name}.md").read_text()
    for option in REGISTRY[name].option_names:
        assert f"`{option}`" in page, f"docs/backends/{name}.md does not name {option}"


def test_registries_hold_every_class():
    def concrete(base):
        for cls in base.__subclasses__():
            yield from concrete(cls)
            if not inspect.isabstract(cls):
                yield cls

    assert {type(loss) for loss in nm.LOSSES.values()} == set(concrete(nm.Loss))
    assert set(REGULARIZERS.values()) == set(concrete(nm.TracePower.__mro__[1]))
    assert set(FUNCTIONALS.values()) == set(concrete(nm.Entries.__mro__[1]))
    assert set(FORMULATIONS) <= set(nm.__all__)


def test_files_stay_small():
    lengths = {str(p.relative_to(ROOT)): len(p.read_text().splitlines()) for p in MODULES}
    assert {name: n for name, n in lengths.items() if n > 320} == {}


def test_no_room_but_the_model_asks_for_a_concrete_loss_or_regulariser():
    """They are asked through their faces: row_radius, spectral, vacuous, trace_bound."""
    concrete = {cls.__name__ for cls in REGULARIZERS.values()} | {
        type(x).__name__ for x in nm.LOSSES.values()
    }
    found = []
    for path in MODULES:
        if _room(path) == "model":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            asked = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance"
            compared = isinstance(node, ast.Compare) and "type(" in ast.unparse(node.left)
            if asked or compared:
                names = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                found += [(path.name, name) for name in names & concrete]
    assert found == []
