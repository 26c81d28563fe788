"""The lid: no change makes the project larger unless it says what it takes out in exchange (CONTRIBUTING.md)."""

import ast
from pathlib import Path

import pytest

import npkl_models as nm

ROOT = Path(__file__).parents[2]
PACKAGE, TESTS = sorted((ROOT / "npkl_models").rglob("*.py")), sorted((ROOT / "tests").rglob("*.py"))
LABORATORY = sorted((ROOT / "docs" / "lab").glob("*.md"))
BENCHMARKS = sorted((ROOT / "examples" / "benchmarks").glob("*.py"))


def lines(paths):
    return sum(len(path.read_text().splitlines()) for path in paths)


def words(paths):
    return sum(len(path.read_text().split()) for path in paths)


def numbers_at_the_top(tree):
    """Upper-case names of a module that are given a number, or an expression or tuple with one."""
    found = []
    for node in tree.body:
        targets = node.targets if isinstance(node, ast.Assign) else []
        targets = [node.target] if isinstance(node, ast.AnnAssign) and node.value else targets
        for target in targets:
            pairs = [(target, node.value)]
            if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
                pairs = zip(target.elts, node.value.elts, strict=False)
            found += [
                name.id for name, value in pairs if isinstance(name, ast.Name) and numeric(name.id, value)
            ]
    return found


def numeric(name, value):
    if not name.isupper() or isinstance(value, ast.Dict | ast.List | ast.Call):
        return False
    constants = (node.value for node in ast.walk(value) if isinstance(node, ast.Constant))
    return any(isinstance(one, int | float) and not isinstance(one, bool) for one in constants)


def constants(paths):
    return sum(len(numbers_at_the_top(ast.parse(path.read_text()))) for path in paths)


BUDGETS = {
    "lines of npkl_models": (lambda: lines(PACKAGE), 46_500),
    "lines of tests": (lambda: lines(TESTS), 34_500),
    "numeric constants at module level": (lambda: constants(PACKAGE), 630),
    "public names": (lambda: len(nm.__all__), 89),
    "words of the laboratory, papers apart": (lambda: words(LABORATORY), 20_400),
    "benchmark scripts": (lambda: len(BENCHMARKS), 26),
}
"""What is counted, and the most that it may be. A change that lowers a number lowers it here, too."""


@pytest.mark.parametrize("name", BUDGETS)
def test_nothing_exceeds_its_budget(name):
    count, most = BUDGETS[name]
    found = count()
    assert 0 < found <= most, f"{name} must be at most {most}, got {found}; CONTRIBUTING.md says how to trade"


def test_what_counts_as_a_constant():
    source = "A = 1\nB: float = 2e-3\nC, D = 4, 'd'\nE = (1, 2)\nF = {1: 2}\ng = 5\nH = True\nI = 3 * UNIT\nJ = f(1)"
    assert numbers_at_the_top(ast.parse(source)) == ["A", "B", "C", "E", "I"]
