"""What may be changed in a module: one expression or statement at a time, found in its syntax tree."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path

from mutation.left_out import CALLS, CONSTANTS, FUNCTIONS, KEYWORDS, LINES, SQUARE, WIDER

SWAPPED: dict[type[ast.AST], type[ast.AST]] = {
    ast.Lt: ast.Gt, ast.Gt: ast.Lt, ast.LtE: ast.GtE, ast.GtE: ast.LtE, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In, ast.Add: ast.Sub,
    ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd, ast.And: ast.Or, ast.Or: ast.And,
}  # fmt: skip
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum", "any": "all", "all": "any"}
NAMES |= {"argmin": "argmax", "argmax": "argmin", "zeros": "ones", "ones": "zeros", "floor": "ceil"}


@dataclass(frozen=True)
class Mutant:
    """Bytes of a file (``start`` to ``stop``) and what takes their place."""

    room: str
    path: str
    line: int
    last: int
    start: int
    stop: int
    before: str
    after: str

    @property
    def name(self) -> str:
        """Where it is and what it changes; the same in every run on the same source."""
        return f"{self.path}:{self.line}: {self.before} -> {self.after}"

    def applied(self, source: bytes) -> bytes:
        """The source with the change."""
        return source[: self.start] + self.after.encode() + source[self.stop :]


def mutants_of(root: Path, room: str) -> tuple[list[Mutant], dict[str, int]]:
    """All mutants of a room, in the order of the source; and how many are left out, by reason."""
    kept: list[Mutant] = []
    left: dict[str, int] = {}
    for path in sorted((root / "npkl_models" / room).glob("*.py")):
        name, source = str(path.relative_to(root)), path.read_bytes()
        lines = source.splitlines(keepends=True)
        starts = [0]
        for line in lines:
            starts.append(starts[-1] + len(line))
        for node, new, reason in _changes(ast.parse(source)):
            start = starts[node.lineno - 1] + node.col_offset
            stop = starts[node.end_lineno - 1] + node.end_col_offset
            before = source[start:stop].decode()
            whole = " ".join(b"".join(lines[node.lineno - 1 : node.end_lineno]).decode().split())
            reason = (
                reason or LINES.get((path.name, whole, new), "") or LINES.get((path.name, whole, "*"), "")
            )
            if reason:
                left[reason] = left.get(reason, 0) + 1
                continue
            kept.append(Mutant(room, name, node.lineno, node.end_lineno, start, stop, before, new))
    return kept, left


def _changes(tree: ast.Module) -> Iterator[tuple[ast.AST, str, str]]:
    """Nodes with the text that takes their place, and why that is left out, if it is."""
    for node, reason, returns in _walk(tree, "", ""):
        for new in _replacements(node, returns):
            statement = isinstance(node, ast.stmt)
            text = ast.unparse(ast.fix_missing_locations(new))
            yield node, text if statement or isinstance(new, ast.keyword) else f"({text})", reason
        if isinstance(node, ast.Call):
            for k in range(len(node.keywords)):
                new = deepcopy(node)
                dropped = new.keywords.pop(k).arg or "**"
                yield node, f"({ast.unparse(new)})", reason or KEYWORDS.get(dropped, "")


def _walk(node: ast.AST, reason: str, returns: str) -> Iterator[tuple[ast.AST, str, str]]:
    """Every node below, without what nothing can depend on, why it is left out, and what its function returns."""
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list", "bases") or isinstance(node, ast.JoinedStr):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, (ast.expr_context, ast.arguments)):
                continue
            if isinstance(child, ast.Expr) and isinstance(child.value, ast.Constant):
                continue
            why, given = reason, returns
            if isinstance(child, ast.FunctionDef):
                given = ast.unparse(child.returns) if child.returns else ""
                why = why or FUNCTIONS.get(child.name, "")
            elif isinstance(child, (ast.Assign, ast.AnnAssign)) and isinstance(node, ast.Module):
                names = [ast.unparse(t) for t in getattr(child, "targets", [getattr(child, "target", None)])]
                why = (
                    why or CONSTANTS.get(names[0], "") or ("types" if "Literal" in ast.unparse(child) else "")
                )
            elif isinstance(child, ast.Raise):
                why = why or ("the words of an error" if child.exc else "")
            elif isinstance(child, ast.Call):
                why = why or CALLS.get(ast.unparse(child.func), "")
            elif isinstance(child, ast.Constant) and _of_margin(node):
                why = why or WIDER
            elif isinstance(child, ast.Constant) and isinstance(node, ast.keyword):
                why = why or KEYWORDS.get(
                    node.arg or "**", ""
                )  # the other truth value: as if it were dropped
            elif isinstance(node, ast.Subscript) and field == "slice" and ast.unparse(child) in ("0", "-1"):
                continue  # the subscript itself is changed
            elif isinstance(child, ast.Subscript) and ast.unparse(child) in SQUARE:
                why = why or "a square matrix has two equal sides"
            yield child, why, given
            yield from _walk(child, why, given)


def _of_margin(node: ast.AST) -> bool:
    """Whether a number stands beside units of roundoff: one unit more is a wider margin, and claims stay true."""
    inner = ast.walk(node) if isinstance(node, ast.BinOp) else ()
    return any(isinstance(part, ast.Name) and part.id in ("UNIT", "LONG", "gamma") for part in inner)


def _replacements(node: ast.AST, returns: str) -> Iterator[ast.AST]:
    """What may stand there instead."""
    new = deepcopy(node)
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        new.ops = [SWAPPED[type(node.ops[0])]()]
        yield new
    elif isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in SWAPPED:
        new.op = SWAPPED[type(node.op)]()
        yield new
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not, ast.Invert)):
        yield node.operand
    elif isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float)):
        yield ast.Constant(not node.value if isinstance(node.value, bool) else node.value + 1)
    elif isinstance(node, ast.Subscript):
        index = ast.unparse(node.slice)
        if index in ("0", "-1"):
            new.slice = ast.Constant(-1 if index == "0" else 0)
            yield new
    elif isinstance(node, ast.Call):
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if name in NAMES:
            other = NAMES[name]
            new.func = ast.Attribute(node.func.value, other, ast.Load()) if isinstance(
                node.func, ast.Attribute) else ast.Name(other, ast.Load())  # fmt: skip
            yield new
    elif isinstance(node, (ast.Continue, ast.Break)):
        yield ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None and ast.unparse(node.value) != "None":
        if returns.endswith("None"):
            yield ast.Return(ast.Constant(None))
        elif returns == "bool":
            yield ast.Return(ast.UnaryOp(ast.Not(), node.value))
    if isinstance(node, (ast.IfExp,)):
        new.test = ast.UnaryOp(ast.Not(), node.test)
        yield new
    if isinstance(node, ast.AugAssign) or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Call)):
        yield ast.Pass()
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], (ast.Attribute, ast.Subscript)):
        yield ast.Pass()
