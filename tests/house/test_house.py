"""The structure of the project: import directions, circles, public names, documentation of everything."""

import ast
import dataclasses
import inspect
import re
from functools import cache
from pathlib import Path

import house_map
import pytest

import npkl_models as nm
from npkl_models.formulations import FORMULATIONS
from npkl_models.model.functionals import FUNCTIONALS, Functional

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "npkl_models"
MODULES = sorted(PACKAGE.rglob("*.py"))


LOOPS = {
    "npkl_models.lowrank.rows.compiled", "npkl_models.lowrank.rows.compiled_compare",
    "npkl_models.interior.compiled",
    "npkl_models.cvx.solver", "npkl_models.cvx.door",
}  # fmt: skip
"""Modules that import numba or CVXPY at their top, and so are imported by the function that runs one."""

HEAVY = {
    "cvxpy": (
        "conic/", "cvx/", "model/box_loss.py", "model/shared_slack.py", "model/logistic.py", "model/regularizer.py", "model/regularizers.py", "model/trace_power.py",
        "model/trace_cones.py", "printed/sqlp.py",
    ),
    "matplotlib": ("show/",),
    "pandas": ("crosscheck/table.py", "path.py", "applications/annotators.py", "applications/audit.py", "applications/estimators/", "data/cells.py", "cli/output.py"),
    "joblib": ("workers.py",),
    "networkx": ("applications/estimators/given.py",),
    "rich": ("cli/",),
    "sklearn": ("model/neighbors.py", "data/", "applications/"),
    "numba": ("linalg/compile.py", "lowrank/rows/compiled_parts.py"),
    "llvmlite": ("lowrank/rows/compiled_parts.py",),
    "scs": ("conic/chunks.py",),
    "threadpoolctl": ("linalg/threads.py",),
    "cvxopt": ("linalg/cholesky.py",),
    "pooch": ("data/",),
    "starlette": ("explore/",),
    "uvicorn": ("explore/",),
}  # fmt: skip
ESTIMATORS = ("applications/estimators/", "applications/metric/", "applications/unfolding.py")
TABLES = tuple(f"cli/{name}.py" for name in ("crosscheck", "lists", "output"))
ABOUT = {"cvxpy": ("cvx/",), "sklearn": ESTIMATORS, "rich": TABLES, "threadpoolctl": ("linalg/threads.py",)}
"""Where a heavy package may be imported at the top: what is there is about nothing else. Elsewhere it is
imported inside the functions that use it."""


@cache
def tree_of(path: Path) -> ast.Module:
    """Each module is parsed once."""
    return ast.parse(path.read_text())


def own(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


def room(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def checked_only(tree):
    """Nodes under TYPE_CHECKING, which do not run."""
    blocks = (n for n in ast.walk(tree) if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.unparse(n.test))
    return [node for block in blocks for node in ast.walk(block)]


def types_only(tree):
    """Packages that are imported under TYPE_CHECKING."""
    nodes = checked_only(tree)
    named = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    named += [node.module for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in named}


@cache
def imports(path: Path):
    """(module, whether at top level) of every import that runs, however late."""
    return tuple(_imports(path))


def _imports(path: Path):
    tree = tree_of(path)
    skipped, top = {id(node) for node in checked_only(tree)}, {id(node) for node in tree.body}
    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.ImportFrom) and node.module:
            yield node.module, id(node) in top
            for alias in node.names:
                yield f"{node.module}.{alias.name}", id(node) in top
        elif isinstance(node, ast.Import):
            for alias in node.names:
                yield alias.name, id(node) in top


def dotted(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


NAMES = {dotted(path): path for path in MODULES}


def graph():
    """Module -> modules of ours that it imports, at any time."""
    return {name: {m for m, _ in imports(path) if m in NAMES and m != name} for name, path in NAMES.items()}


def circles(edges):
    """Strongly connected components of more than one module (Tarjan 1972)."""
    index, low, stack, out = {}, {}, [], []

    def visit(v):
        index[v] = low[v] = len(index)
        stack.append(v)
        for w in edges[v]:
            if w not in index:
                visit(w)
                low[v] = min(low[v], low[w])
            elif w in stack:
                low[v] = min(low[v], index[w])
        if low[v] == index[v]:
            part = stack[stack.index(v) :]
            del stack[stack.index(v) :]
            if len(part) > 1:
                out.append(sorted(part))

    for v in edges:
        if v not in index:
            visit(v)
    return out


@pytest.mark.parametrize("room", ["certify", "conic", "interior", "lowrank", "spectral", "printed"])
def test_solvers_and_certificates_know_nothing_of_presolve(room):
    for path in (house_map.PACKAGE / room).rglob("*.py"):
        assert "npkl_models.presolve" not in path.read_text(), path


def test_no_circle_of_modules_late_imports_included():
    assert circles({"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}}) == [["a", "b", "c"]]
    assert circles(graph()) == []


def test_imports_for_types_only_are_of_heavy_packages():
    found = {own(p): types_only(tree_of(p)) for p in MODULES}
    assert not set().union(*found.values()) - set(HEAVY)


@pytest.mark.parametrize("path", MODULES, ids=own)
def test_imports_point_upwards_only(path):
    here = house_map.FLOORS[room(path)]
    for module, top in imports(path):
        if module in NAMES and module != "npkl_models":
            there = module.split(".")[1]
            assert there == room(path) or house_map.FLOORS[there] < here, f"{own(path)} imports {module}"
            loop = module in LOOPS or module.rpartition(".")[0] in LOOPS
            assert top or loop, f"{own(path)} imports {module} late; only optional or heavy packages may be"
            within = path.stem in {name.rpartition(".")[2] for name in LOOPS}
            assert within or not (top and module in LOOPS), (
                f"{own(path)} must import {module} inside the function"
            )


@pytest.mark.parametrize("path", MODULES, ids=own)
def test_heavy_packages_stay_where_they_are_used(path):
    for module, top in imports(path):
        package = module.split(".")[0]
        if package in HEAVY:
            assert own(path).startswith(HEAVY[package]), f"{own(path)} imports {module}"
            if not own(path).startswith(ABOUT.get(package, ())):
                assert not top, f"{own(path)} must import {module} inside the function"


def concrete(base):
    """The classes of this package that derive from it and can be made."""
    for cls in base.__subclasses__():
        yield from concrete(cls)
        if not inspect.isabstract(cls) and cls.__module__.startswith("npkl_models"):
            yield cls


def test_no_room_but_the_model_asks_for_a_concrete_loss_or_regulariser():
    """They are asked through their faces: row_radius, spectral, vacuous, trace_bound."""
    names = {cls.__name__ for base in (nm.Loss, nm.Regularizer) for cls in concrete(base)}
    found = []
    for path in MODULES:
        if room(path) == "model":
            continue
        for node in ast.walk(tree_of(path)):
            asked = isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance"
            compared = isinstance(node, ast.Compare) and "type(" in ast.unparse(node.left)
            if asked or compared:
                named = {n.id for n in ast.walk(node) if isinstance(n, ast.Name)}
                found += [(path.name, name) for name in named & names]
    assert found == []


def test_solvers_know_no_concrete_loss_or_regulariser():
    names = {cls.__name__ for base in (nm.Loss, nm.Regularizer) for cls in concrete(base)}
    for path in MODULES:
        if room(path) in ("conic", "interior", "lowrank", "spectral", "printed", "solve", "crosscheck"):
            used = {n.id for n in ast.walk(tree_of(path)) if isinstance(n, ast.Name)}
            assert not used & names, path.name


def test_a_status_is_named_by_the_judge_alone():
    """Solvers make claims; nobody but the judge (and `load`) builds a Solution."""
    makers = set()
    for path in MODULES:
        calls = (n for n in ast.walk(tree_of(path)) if isinstance(n, ast.Call))
        makers |= {own(path) for call in calls if getattr(call.func, "id", "") == "Solution"}
    assert makers == {"solve/judge.py", "answer/solution.py"}


def test_no_print_outside_the_command_line():
    for path in MODULES:
        calls = [n for n in ast.walk(tree_of(path)) if isinstance(n, ast.Call)]
        named = [c.func.id for c in calls if isinstance(c.func, ast.Name)]
        assert "print" not in named, path.name


PUBLIC = {name: getattr(home, name) for home in (nm, nm.extend) for name in home.__all__}


def test_public_names_exist_and_are_documented():
    for name, thing in PUBLIC.items():
        assert name in ("__version__", "LOSSES", "REGULARIZERS") or inspect.getdoc(thing), name


def test_every_public_name_has_a_page():
    """A line of an autosummary makes a page of its own; tables of names and rooms have words."""
    pages = [ROOT / "docs" / "api.md", *(ROOT / "docs" / "api").glob("*.md")]
    reference = "\n".join(page.read_text() for page in pages)
    listed = set(re.findall(r"^   (\w+)$", reference, re.M))
    rooms = ("applications", "datasets", "extend", "formulations")
    in_words = {name for name in ("LOSSES", "REGULARIZERS", *rooms) if f"``{name}" in reference}
    assert set(PUBLIC) - {"__version__"} == (listed & set(PUBLIC)) | in_words


def test_registries_hold_every_class():
    assert {type(loss) for loss in nm.LOSSES.values()} == set(concrete(nm.Loss))
    assert set(nm.REGULARIZERS.values()) == set(concrete(nm.Regularizer))
    assert set(FUNCTIONALS.values()) == set(concrete(Functional))
    assert set(FORMULATIONS) <= set(nm.__all__)


# ------------------------------------------------------------------------------------------- sizes

LONGEST_FILE, LONGEST_FUNCTION, MOST_BRANCHES, MOST_PARAMETERS = 320, 60, 15, 8
ALLOWED = {
    ("solve/outside.py", "certify"), ("crosscheck/run.py", "crosscheck"),
}  # fmt: skip
"""Public functions whose parameters are keywords, one for each thing that may be asked."""
LONG = {"kernel.py": 750}
"""One module proves, and a sceptic reads one file."""


def branches(function):
    """Cyclomatic complexity: one, and one for each place where the way parts."""
    total = 1
    for node in ast.walk(function):
        parts = (ast.If, ast.For, ast.While, ast.IfExp, ast.ExceptHandler, ast.comprehension)
        total += isinstance(node, parts) + (len(node.values) - 1 if isinstance(node, ast.BoolOp) else 0)
    return total


def parameters(function):
    given = function.args
    names = [a.arg for a in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    return len([name for name in names if name not in ("self", "cls")])


@pytest.mark.parametrize("path", MODULES, ids=own)
def test_files_and_functions_stay_small(path):
    text = path.read_text()
    assert len(text.splitlines()) <= LONG.get(own(path), LONGEST_FILE)
    for node in ast.walk(tree_of(path)):
        if isinstance(node, ast.FunctionDef):
            words = node.body[0].end_lineno - node.body[0].lineno + 1 if ast.get_docstring(node) else 0
            assert node.end_lineno - node.lineno - words < LONGEST_FUNCTION, node.name
            assert branches(node) <= MOST_BRANCHES, node.name
            assert parameters(node) <= MOST_PARAMETERS or (own(path), node.name) in ALLOWED, node.name


# ------------------------------------------------------------------------------------------- types


UNTYPED = {"Backend": {"plan"}}
"""Its second parameter is the backend's own kind of options, whatever that is."""


def public_classes():
    return [thing for thing in PUBLIC.values() if inspect.isclass(thing)]


@pytest.mark.parametrize("cls", public_classes(), ids=lambda cls: cls.__name__)
def test_public_fields_say_what_they_are(cls):
    """No Any in the fields of a public dataclass; matrices of scipy, which ships no types, have a name."""
    if dataclasses.is_dataclass(cls):
        untyped = [f.name for f in dataclasses.fields(cls) if re.search(r"\bAny\b", str(f.type))]
        assert set(untyped) == UNTYPED.get(cls.__name__, set())


def test_what_is_shown_of_a_value_is_one_short_line(small):
    problem = small("pcp")
    solution = problem.solve()
    shown = [
        problem, problem.terms[0], problem.terms[0].functional, solution, solution.history, solution.multipliers,
        solution.certificate, problem.compile("bcd"), nm.backends()["bcd"], nm.crosscheck(problem, ["bcd"]),
        nm.eigenbasis(problem.cost, 4), nm.Pairs(5, [(0, 1)], [(2, 3)]), nm.Constraint(nm.Entries(5, ([0], [0])), equal=1.0),
        nm.regularization_path(problem, "weight", [1.0]),
    ]  # fmt: skip
    for value in shown:
        text = repr(value)
        assert "\n" not in text, type(value)
        assert len(text) <= 300, (type(value), text)
        assert "array(" not in text, type(value)


def test_notebooks_show_tables_and_formulas(small):
    problem = small("pcp")
    solution, table = problem.solve(), nm.crosscheck(problem, ["bcd"])
    assert "<svg" in solution._repr_html_()
    assert "OPTIMAL" in solution._repr_html_()
    assert "<th>certified gap</th>" in table._repr_html_()
    assert "agrees" in table._repr_html_()
    assert problem._repr_latex_().startswith("$$")
    assert "&lt;" in table._repr_html_()  # of the bracket, escaped


KEPT = {"solve/registry.py": {"_REGISTRY"}}
"""State of a module: the backends by name."""


def _empties(tree):
    """Names of a module that begin as an empty container, which something may fill."""
    for node in tree.body:
        value = getattr(node, "value", None)
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or value is None:
            continue
        empty = isinstance(value, (ast.Dict, ast.List)) and not ast.unparse(value).strip("{}[]")
        made = isinstance(value, ast.Call) and not value.args and "Dict" in ast.unparse(value.func)
        made |= isinstance(value, ast.Call) and ast.unparse(value) in ("set()", "dict()", "list()")
        if empty or made:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            yield from (ast.unparse(target) for target in targets)


def test_no_module_keeps_what_grows():
    assert list(_empties(ast.parse("a = {}\nb: dict = WeakKeyDictionary()\nc = {1: 2}"))) == ["a", "b"]
    found = {own(path): set(_empties(tree_of(path))) for path in MODULES}
    assert {name: names for name, names in found.items() if names} == KEPT
    changed = {own(p) for p in MODULES if any(isinstance(n, ast.Global) for n in ast.walk(tree_of(p)))}
    assert changed <= {"interrupts.py", "linalg/threads.py"}


def test_every_file_says_what_it_is_in_a_sentence():
    for path in sorted((ROOT / "npkl_models").rglob("*.py")):
        assert len(house_map.summary(path)) > 10, path
