"""Only the kernel proves: no other module writes a rigour or a bound, or knows what rounding costs a proof."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "npkl_models"
PROVERS = ("kernel.py", "cvx/kernel.py", "proof/")
ROUNDING = {"UNIT", "gamma"}
SEARCHERS = ("repairs", "slater", "recover", "rays", "bounds", "prove")


def own(path):
    return path.relative_to(PACKAGE).as_posix()


MODULES = [path for path in sorted(PACKAGE.rglob("*.py")) if not own(path).startswith(PROVERS)]


def written(tree):
    """The lines in which "proved" is a value: not compared, not a key of words, and not part of a type or text."""
    harmless = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare):
            harmless |= {id(part) for part in ast.walk(node)}
        elif isinstance(node, ast.Dict):
            harmless |= {id(key) for key in node.keys}
        elif (
            isinstance(node, ast.Subscript)
            and isinstance(node.value, ast.Name)
            and node.value.id == "Literal"
        ):
            harmless |= {id(part) for part in ast.walk(node)}
    return sorted(
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value == "proved" and id(node) not in harmless
    )


def bounds_with_a_rigour(tree):
    """The lines in which a Bound of the kernel is made with a rigour that is written there."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    named = [c for c in calls if getattr(c.func, "id", getattr(c.func, "attr", "")) == "Bound"]
    return [
        c.lineno
        for c in named
        if any(
            isinstance(a, ast.Constant) and isinstance(a.value, str)
            for a in (*c.args, *(k.value for k in c.keywords))
        )
    ]


ALLOWED = {"path.py": "the least rigour of several certificates", "recipe/fields.py": "a choice of the user"}
"""Modules that write the word though they prove nothing, and why."""


@pytest.mark.parametrize("path", MODULES, ids=own)
def test_no_other_module_writes_a_rigour(path):
    tree = ast.parse(path.read_text())
    assert not written(tree) or own(path) in ALLOWED
    assert not bounds_with_a_rigour(tree)


@pytest.mark.parametrize("name", SEARCHERS)
def test_margins_of_rounding_stand_in_the_kernel_alone(name):
    tree = ast.parse((PACKAGE / "certificates" / f"{name}.py").read_text())
    imported = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom | ast.Import)
        for alias in node.names
    }
    assert not imported & ROUNDING


def test_what_counts_as_written():
    source = """
x = f(rigour="proved")
y = "proved" if a else "none"
if r == "proved" or r in ("proved", "probable"): pass
z = {"proved": "This is proved"}
k: Literal["proved"]
b = kernel.Bound(1.0, "proved")
c = Bound(1.0, own.rigour)
"""
    assert written(ast.parse(source)) == [2, 3, 7]
    assert bounds_with_a_rigour(ast.parse(source)) == [7]
