"""Tables that are made from the registry and from compiled problems, for the pages to include."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np

import npkl_models as nm
from npkl_models import Problem, backends, datasets
from npkl_models.show.tables import OPTION_COLUMNS, SUPPORT_COLUMNS, support_rows
from npkl_models.solve.options import describe_options

FOLDER = Path(__file__).parents[1] / "generated"


def setup(app: Any) -> dict[str, Any]:
    """Write them before the pages are read."""
    app.connect("builder-inited", lambda app: write())
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def write() -> None:
    """All of them, into ``docs/generated``."""
    FOLDER.mkdir(exist_ok=True)
    linked = [(f"[{row[0]}](../backends/{row[0]}.md)", *row[1:]) for row in support_rows()]
    summaries = [backend.summary for backend in backends().values()]
    rows = [(*row, summary) for row, summary in zip(linked, summaries, strict=True)]
    _write("support.md", markdown((*SUPPORT_COLUMNS, "what it is"), rows))
    for name, backend in (backends() | backends("printed")).items():
        rows = [(f"`{option}`", *rest) for option, *rest in describe_options(backend.options)]
        _write(f"options_{name}.md", markdown(OPTION_COLUMNS, rows))
    for name, problem in instances().items():
        _write(f"form_{name}.md", form(problem))
    for path in sorted((FOLDER.parent / "notebooks").glob("*.ipynb")):
        _write(f"notebook_{path.stem}.md", notebook(path))


def markdown(columns: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """A table in Markdown."""
    head = tuple(columns)
    lines = [head, tuple("---" for _ in head), *rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    return "\n".join(f"| {' | '.join(line)} |" for line in cells)


def _write(name: str, text: str) -> None:
    (FOLDER / name).write_text(text + "\n", encoding="utf-8")


def instances() -> dict[str, Problem]:
    """One of each formulation, as its page shows it."""
    from npkl_models.data.synthetic import swiss_roll
    from npkl_models.formulations.comparisons import ordinal_answers
    from npkl_models.formulations.completion import known_affinities
    from npkl_models.formulations.known_distances import radio_network

    iris, wine = datasets.load("iris"), datasets.load("wine")
    pairs = nm.Pairs.from_labels(iris.y, n_must=90, n_cannot=90, random_state=0)
    fewer = nm.Pairs.from_labels(iris.y, n_must=60, n_cannot=60, random_state=0)
    of_wine = nm.Pairs.from_labels(wine.y, n_must=100, n_cannot=100, random_state=0)
    L = nm.laplacian(iris.X, n_neighbors=5, shift=0.1)
    of_wine_X = (wine.X - wine.X.mean(axis=0)) / wine.X.std(axis=0)
    angle = np.linspace(1.5, 9.5, 60)
    network, sensors = radio_network(40, 4, radius=0.45, noise=0.05, random_state=0)
    return {
        "pcp": nm.pcp(L, pairs),
        "npkl": nm.npkl(L, pairs, loss="hinge"),
        "simple_npkl": nm.simple_npkl(nm.laplacian(iris.X, n_neighbors=5), pairs, p=2, trace_bound=150.0),
        "hard_pcp": nm.hard_pcp(L, fewer),
        "reg_pcp": nm.reg_pcp(nm.eigenbasis(nm.laplacian(wine.X, n_neighbors=8), 12), of_wine),
        "mvu": nm.mvu(np.column_stack([angle * np.cos(angle), angle * np.sin(angle)]), n_neighbors=2),
        "reg_mvu": nm.reg_mvu(swiss_roll(600, random_state=2)[0], n_neighbors=6, n_basis=12, nu=100.0),
        "kernel_completion": nm.kernel_completion(known_affinities(iris.X, 5), penalty=0.01),
        "distances": nm.distances(network, anchors=(range(40, 44), sensors[40:])),
        "ordinal": nm.ordinal(ordinal_answers(iris.X, 1_500, noise=0.1, random_state=0)),
        "locally_rigid": nm.locally_rigid(np.random.default_rng(0).uniform(size=(150, 2)), 8, 6),
        "conformal_eigenmaps": nm.conformal_eigenmaps(swiss_roll(150, random_state=2)[0], 6, 10),
        "psde": nm.psde(ring_of_views(40), C=50.0),
        "spe": nm.spe(nm.knn_affinity(swiss_roll(60, random_state=0)[0], 4, sigma="binary"), C=2.0),
        "mve": nm.mve(swiss_roll(80, random_state=0)[0], 2, n_neighbors=6, C=100.0),
        "colored_mvu": nm.colored_mvu(of_wine_X, wine.y, n_neighbors=5, trace_bound=float(wine.n)),
    }


def ring_of_views(n: int) -> nm.Pairs:
    """Neighbours on a ring are similar, points five steps apart are not."""
    i = np.arange(n)
    return nm.Pairs(n, np.stack([i, (i + 1) % n], axis=1), np.stack([i, (i + 5) % n], axis=1))


def form(problem: Problem) -> str:
    """A problem as `explain` and `dual` print it, in Markdown."""
    explained, dual = problem.explain(), problem.dual()
    means, conditions = (
        [(what, f"${latex}$") for what, latex in named] for named in (dual.definitions, dual.conditions)
    )
    rows = [(f"[{name}](../backends/{name}.md)", what) for name, _, what in explained.forms]
    return "\n\n".join([
        f"The instance above, `{problem!r}`, as `problem.explain()` has it:",
        f"$$\n{explained.latex}\n$$",
        "Its dual, `problem.dual()`, and the slack:",
        f"$$\n{dual.latex}\n$$",
        f"$$\n{dual.slack}\n$$",
        markdown(("letter", "here"), means),
        markdown(("condition of optimality", "here"), conditions),
        "What each backend compiles it to, or why it cannot take it:",
        markdown(("backend", "what it solves"), rows),
    ])  # fmt: skip


def notebook(path: Path) -> str:
    """A notebook without output, as Markdown."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    texts = [("".join(cell["source"]), cell["cell_type"]) for cell in cells]
    return "\n\n".join(text if kind == "markdown" else f"```python\n{text}\n```" for text, kind in texts)
