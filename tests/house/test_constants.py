"""A constant that means the same to several modules of a room is written once, in its tolerances or where it belongs."""

import ast
from collections import defaultdict
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "npkl_models"


def constants(path):
    """(name, value) of each number, or tuple of numbers, in capitals at the top of a module."""
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
            continue
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            names = target.elts if isinstance(target, ast.Tuple) else [target]
            values = (
                node.value.elts
                if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
                else [node.value]
            )
            if len(names) != len(values):
                continue
            for name, value in zip(names, values, strict=True):
                written = isinstance(name, ast.Name) and name.id.isupper() and isinstance(value, ast.Constant)
                if written and type(value.value) in (int, float):
                    yield name.id, value.value


def doubled(package):
    found = defaultdict(set)
    for path in package.rglob("*.py"):
        room = path.relative_to(package).parts[0]
        for name, value in constants(path):
            found[room, name, value].add(path.name)
    return {key: sorted(paths) for key, paths in found.items() if len(paths) > 1}


def test_no_room_writes_a_constant_twice():
    assert doubled(PACKAGE) == {}


def test_one_that_is_written_twice_is_found(tmp_path):
    room = tmp_path / "room"
    room.mkdir()
    (room / "a.py").write_text("PATIENCE, SLOW = 100, 0.1\nLEAST: float = 0.5\n")
    (room / "b.py").write_text("PATIENCE = 100\nSLOW = 0.2\nLEAST = 0.5\n")
    assert doubled(tmp_path) == {
        ("room", "PATIENCE", 100): ["a.py", "b.py"],
        ("room", "LEAST", 0.5): ["a.py", "b.py"],
    }
