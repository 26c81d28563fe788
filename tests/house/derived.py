"""What lists other code is made of it: ``python tests/house/derived.py`` writes it all; tests compare.

Written are the names that the command's parser knows without importing what they name, the types of options,
the imports of formulations and backends, the public names with their stub, their place in docs/api/builders.md, and the
map of the house. So a loss, a formulation, a backend or an option is written in its own file alone.
"""

from __future__ import annotations

import ast
import pprint
import re
import subprocess
import sys
import textwrap
from collections.abc import Iterable
from dataclasses import fields
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))  # the package of this checkout

from house.house_map import DOCUMENT, ROOT, with_map

PACKAGE, PAGES = ROOT / "npkl_models", ROOT / "docs" / "formulations"
WIDTH = 100  # of a list in an example
BACKEND_ROOMS = ("lowrank", "spectral", "interior", "conic", "printed")
BY = '"""{words}.\n\nWritten by ``python tests/house/derived.py``.\n"""\n\nfrom __future__ import annotations\n\n'


def module_of(path: Path) -> str:
    """The name by which a file is imported."""
    return ".".join(path.relative_to(ROOT).with_suffix("").parts)


def tuple_text(name: str, values: Iterable[str], words: str) -> str:
    """An assignment, its docstring, and lines that are full."""
    listed = textwrap.fill(" ".join(f'"{value}",' for value in values), 104)
    body = (
        f"({listed.rstrip(',')})"
        if len(listed) < 80
        else f"(\n{textwrap.indent(listed, '    ')}\n)  # fmt: skip"
    )
    return f'{name} = {body}\n"""{words}"""\n\n'


# ------------------------------------------------------------------------------------------ formulations


def builders() -> dict[str, list[str]]:
    """The modules of formulations, each with its functions that return a problem and have a page."""
    out = {}
    for path in sorted((PACKAGE / "formulations").glob("*.py")):
        found = [
            node.name
            for node in ast.parse(path.read_text()).body
            if isinstance(node, ast.FunctionDef) and isinstance(node.returns, ast.Name)
            and node.returns.id == "Problem" and (PAGES / f"{node.name}.md").exists()
        ]  # fmt: skip
        if found and path.name != "__init__.py":
            out[module_of(path)] = found
    return out


def formulations() -> str:
    """The room's own list."""
    old = (PACKAGE / "formulations" / "__init__.py").read_text()
    head = old[: old.index("from npkl_models.formulations.")]
    every = builders()
    names = [name for found in every.values() for name in found]
    imports = "".join(f"from {module} import {', '.join(sorted(found))}\n" for module, found in every.items())
    head = re.sub(r'>>> pprint.*?(?=""")', _example(names), head, flags=re.S)
    return (
        f"{head}{imports}from npkl_models.problem import Problem\n\n{_all(['FORMULATIONS', *sorted(names)])}\n"
        "FORMULATIONS: dict[str, Callable[..., Problem]] = {\n"
        f"    builder.__name__: builder\n    for builder in ({', '.join(names)})\n}}\n"
        '"""All formulations by name."""\n'
    )


def _all(names: list[str]) -> str:
    return "__all__ = [\n" + "".join(f'    "{name}",\n' for name in names) + "]\n"


def _example(names: list[str]) -> str:
    listed = pprint.pformat(sorted(names), width=WIDTH, compact=True)
    return f">>> pprint(sorted(nm.formulations.FORMULATIONS), width={WIDTH}, compact=True)\n{listed}\n"


def stub() -> str:
    """The public names: a formulation is one of them."""
    text = (PACKAGE / "__init__.pyi").read_text()
    names = sorted(name for found in builders().values() for name in found)
    before = re.search(r"from \.formulations import (\(.*?\)|.*?\n)", text, re.S)
    assert before
    gone = set(re.findall(r"\w+", before[1]))
    text = text.replace(before[0], f"from .formulations import ({', '.join(names)})\n")
    head, _, rest = text.partition("__all__ = [\n")
    kept = {name for name in re.findall(r'"(\w+)"', rest) if name not in gone} | set(names)
    return head + _all(sorted(kept, key=_order))


def _order(name: str) -> tuple[int, str]:
    """As ruff sorts them: constants, classes, then the others."""
    return (0 if name.isupper() else 1 if name[0].isupper() else 2), name


def api(text: str) -> str:
    """docs/api/builders.md with every formulation among the builders."""
    names = [name for found in builders().values() for name in found]
    missing = [name for name in names if not re.search(rf"^   {name}$", text, re.M)]
    return text.replace("   laplacian\n", "".join(f"   {name}\n" for name in missing) + "   laplacian\n", 1)


# ---------------------------------------------------------------------------------------------- backends


def backend_files() -> dict[str, str]:
    """Modules that end with a `Backend`, or several, and the expression that gives them."""
    out = {}
    for room in BACKEND_ROOMS:
        for path in sorted((PACKAGE / room).rglob("*.py")):
            for name in re.findall(r"^(BACKENDS?) ?[:=]", path.read_text(), re.M):
                out[module_of(path)] = (
                    f"*{path.stem}.BACKENDS" if name == "BACKENDS" else f"{path.stem}.BACKEND"
                )
    return out


def routes() -> str:
    """The list of backends, with those that are not in it yet at its end, or at that of the printed ones."""
    text = (PACKAGE / "routes.py").read_text()
    imported = {
        f"{node.module}.{alias.name}"
        for node in ast.parse(text).body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for module, entry in backend_files().items():
        if module not in imported:
            room, _, name = module.rpartition(".")
            text = text.replace("\n\nfrom npkl_models", f"\n\nfrom {room} import {name}\nfrom npkl_models", 1)
            last = '\n)\n"""The papers' if ".printed." in module else '\n)\n"""The backends'
            text = text.replace(last, f"\n    {entry},{last}", 1)
    return text


def keywords() -> str:
    """The options of all backends as one type."""
    import npkl_models as nm
    from npkl_models.solve.options import describe_options

    kinds: dict[str, str] = {}
    for backend in (nm.backends() | nm.backends("printed")).values():
        words = {one.name: one.kind for one in describe_options(backend.options)}
        for one in fields(backend.options):
            kinds.setdefault(one.name, _typed(getattr(one.type, "__name__", str(one.type)), words[one.name]))
    body = "".join(f"    {name}: {kind}\n" for name, kind in kinds.items())
    return (
        BY.format(words="The options of the backends as a type, for editors and type checkers")
        + "from collections.abc import Callable\nfrom typing import Any, Literal, TypedDict\n\n"
        "from npkl_models.answer.history import Iterate\nfrom npkl_models.answer.solution import Solution\n"
        "from npkl_models.linalg import Array\n\n\nclass AnyKeywords(TypedDict, total=False):\n"
        f'    """All options of all backends. `compile` checks whether the backend knows the given ones."""\n\n{body}'
    )


def _typed(annotation: str, words: str) -> str:
    """The annotation, with the choices that the words give to a text, and without what only we hand in."""
    choices = re.findall(r'"\w+"', words)
    annotation = annotation.replace(" | Start", "")
    return re.sub(r"\bstr\b", f"Literal[{', '.join(choices)}]", annotation) if choices else annotation


# ------------------------------------------------------------------------------------- names, and all of it


def names() -> str:
    """The names that fields of a recipe offer."""
    import npkl_models as nm
    from npkl_models import path
    from npkl_models.applications.estimators import base as estimators
    from npkl_models.data import datasets

    every = sorted(name for found in builders().values() for name in found)
    return (
        BY.format(words="The choices of the fields as plain names: the parser needs no heavy import")
        + tuple_text("DATASETS", datasets.names(), "The names of `npkl_models.data.datasets`, in its order.")
        + f'FOLDER_VARIABLE = {datasets.FOLDER_VARIABLE!r}\n"""The variable that names the data folder."""\n\n'
        + tuple_text("FORMULATIONS", every, "The names in `npkl_models.formulations`, sorted.")
        + tuple_text("ESTIMATED", sorted(estimators.FORMULATIONS), "The formulations of the estimators.")
        + tuple_text("LOSSES", sorted(nm.LOSSES), "The names in `npkl_models.LOSSES`, sorted.")
        + tuple_text("BACKENDS", nm.backends(), "The names in `npkl_models.routes`, by preference.")
        + tuple_text("PRINTED", nm.backends("printed"), "The papers' algorithms, which run only if named.")
        + tuple_text("PATH_PARAMETERS", path.PARAMETERS, "The parameters of `regularization_path`.")
        + 'BASIS = 20\n"""Size of the basis of a formulation that needs one."""\n'
    )


def written() -> dict[Path, str]:
    """Each file as it should be, as ruff formats it."""
    made = {
        PACKAGE / "formulations" / "__init__.py": formulations(),
        PACKAGE / "routes.py": routes(),
        PACKAGE / "__init__.pyi": stub(),
        PACKAGE / "solve" / "keywords.py": keywords(),
        PACKAGE / "recipe" / "names.py": names(),
    }
    out = {path: _formatted(text, path) for path, text in made.items()}
    reference = ROOT / "docs" / "api" / "builders.md"
    out[reference] = api(reference.read_text())
    return out | {ROOT / DOCUMENT: with_map((ROOT / DOCUMENT).read_text())}


def _formatted(text: str, path: Path) -> str:
    ruff, name = [sys.executable, "-m", "ruff"], ["--stdin-filename", str(path), "-"]
    for step in (["check", "-q", "--select", "I", "--fix", *name], ["format", "-q", *name]):
        text = subprocess.run([*ruff, *step], input=text, capture_output=True, text=True, check=True).stdout
    return text


if __name__ == "__main__":
    for _ in range(2):  # a backend is registered by the first turn, and named by the second
        changed = {path: text for path, text in written().items() if path.read_text() != text}
        for path, text in changed.items():
            path.write_text(text)
            print(path.relative_to(ROOT))
        for module in [name for name in sys.modules if name.split(".")[0] == "npkl_models"]:
            del sys.modules[module]
