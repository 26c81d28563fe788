"""Every table and figure of the five papers, re-run beside the original.

``python run.py --list`` names them all; ``python run.py kl_admm.table2`` runs one; ``python run.py --quick``
the small sets with two repetitions, ``--all`` everything. Runs are kept in ``--folder`` as they end, and are
not begun again after a crash; ``--fresh`` forgets them. ``--docs`` writes docs/lab/papers.md and a page for each
paper from what is kept, and the runs behind them into docs/lab/papers/runs, from which it writes them again.
``--set-aside`` puts the runs of items that have not ended there, too, and any machine goes on from them.
"""

from __future__ import annotations

import one_thread  # noqa: F401  before numpy

# isort: split
import argparse
import gzip
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import Any

import bcdkl
import claims
import equations
import kl_admm
import kml
import simple_npkl
import thesis
from items import Item, save

from npkl_models.data import datasets
from npkl_models.files.atomic import write_json, write_text
from npkl_models.files.gate import json_of
from npkl_models.show.machine import date, machine, versions
from npkl_models.task_cache import Failure, sweep

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
LAB = DOCS / "lab"  # the laboratory's book
RUNS = LAB / "papers" / "runs"  # what the pages were written from
UNFINISHED = RUNS / "unfinished"  # where another machine goes on
PAPERS = (kl_admm, simple_npkl, thesis, bcdkl, kml)
ITEMS: dict[str, Item] = {item.name: item for paper in PAPERS for item in paper.ITEMS}


def kept_in(item: Item, folder: Path) -> Path:
    """Items that ask for the same runs share them; sets of a data folder are not those that are bundled."""
    source = "folder" if os.environ.get(datasets.FOLDER_VARIABLE) else "bundled"
    return folder / source / f"{item.name.split('.')[0]}.{getattr(item.cells, '__name__', 'none')}"


def results(item: Item, quick: bool, jobs: int, folder: Path) -> dict[str, Any]:
    """The runs of an item, with a line of progress for each on a terminal."""
    assert item.cells is not None
    take_up(item, folder)
    began = time.perf_counter()

    def progress(key: str, done: int, count: int) -> None:
        if sys.stderr.isatty():
            rate = done / (time.perf_counter() - began)
            print(
                f"\r{item.name}: {done} of {count}, {rate:.2g} a second: {key:60.60}", end="", file=sys.stderr
            )

    found = sweep(
        item.cells(quick), jobs, kept_in(item, folder), progress, about=f"papers {item.name.split('.')[0]}"
    )
    for key, one in found.items():
        if isinstance(one, Failure):
            print(f"{item.name}, {key}: {one.error}", file=sys.stderr)
    found = {key: one for key, one in found.items() if not isinstance(one, Failure)}
    how = f"{'--quick' if quick else '--all'}, {date()[:10]}, {_machine()}; {_versions()}"
    summary = kept_in(item, folder) / "shown" / f"{item.name}.json"
    summary.parent.mkdir(exist_ok=True)
    write_json(summary, {"how": how, "results": found})
    return found


def shown(item: Item, found: dict[str, Any]) -> str:
    """The item as Markdown."""
    assert item.show is not None
    return item.show(found) if found else "Nothing: no run has ended well, or its set is not here."


def listing() -> str:
    """All names, titles, and why not."""
    width = max(map(len, ITEMS))
    return "\n".join(
        f"{name:<{width}}  {item.title}" + (f" - not re-run: {item.reason}" if item.reason else "")
        for name, item in ITEMS.items()
    )


def write_docs(folder: Path) -> None:
    """A page for each paper with its pictures, from what was shown last; items that were not run are left out."""
    pages = LAB / "papers"
    archive(folder)
    for paper in PAPERS:
        write_text(pages / f"{paper.__name__}.md", page(paper, folder))
    titles = {paper.__name__: paper.SOURCE for paper in PAPERS}
    write_text(
        pages / "claims.md",
        claims.page(
            titles, lambda name: shown_of(ITEMS[name], folder), lambda name: whole(ITEMS[name], folder)
        ),
    )
    write_text(pages / "equations.md", equations.page())
    links = "\n".join(f"- [{paper.SOURCE}](papers/{paper.__name__}.md)" for paper in PAPERS)
    links += "\n- [What the papers claim, and what holds here](papers/claims.md)"
    links += "\n- [From equation to API](papers/equations.md)"
    names = "\n".join(f"papers/{name}" for name in (*titles, "claims", "equations"))
    toctree = f"```{{toctree}}\n:hidden:\n\n{names}\n```"
    head = HEAD.format(hours=recorded_hours(folder))
    write_text(LAB / "papers.md", f"{head}\n{links}\n\n{toctree}\n")


def recorded(item: Item, folder: Path) -> dict[str, Any]:
    """What was shown last of an item, {"how", "results"}: from the folder, else from the repository."""
    for place in (kept_in(item, folder) / "shown" / f"{item.name}.json", RUNS / f"{item.name}.json.gz"):
        if place.is_file():
            return dict(json_of(place))
    return {"how": "", "results": {}}


def shown_of(item: Item, folder: Path) -> dict[str, Any]:
    """The results of an item that were shown last; none if it was not run."""
    return dict(recorded(item, folder)["results"])


def whole(item: Item, folder: Path) -> bool:
    """Whether the results that were shown last are those of --all."""
    return str(recorded(item, folder)["how"]).startswith("--all")


def archive(folder: Path) -> None:
    """The runs behind the pages go into the repository, so that another machine can write the pages, too."""
    RUNS.mkdir(parents=True, exist_ok=True)
    for item in (item for item in ITEMS.values() if recorded(item, folder)["results"]):
        text = json.dumps(recorded(item, folder), separators=(",", ":"))
        (RUNS / f"{item.name}.json.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


def set_aside(folder: Path) -> list[str]:
    """The kept runs of items that have not ended go into the repository; the names of the files that are written."""
    UNFINISHED.mkdir(parents=True, exist_ok=True)
    written: list[str] = []
    for place in {kept_in(item, folder): item for item in ITEMS.values()}:
        cells = {path.name: json_of(path) for path in sorted(place.glob("*.json"))}
        name = f"{place.parent.name}.{place.name}.json.gz"
        ended = any((place / "shown" / f"{item.name}.json").is_file() for item in ITEMS.values())
        (UNFINISHED / name).unlink(missing_ok=True)
        if cells and not ended:
            text = json.dumps(cells, separators=(",", ":"))
            (UNFINISHED / name).write_bytes(gzip.compress(text.encode(), mtime=0))
            written.append(name)
    return written


def take_up(item: Item, folder: Path) -> None:
    """Begin with the runs that another machine has set aside."""
    place = kept_in(item, folder)
    aside = UNFINISHED / f"{place.parent.name}.{place.name}.json.gz"
    if aside.is_file():
        place.mkdir(parents=True, exist_ok=True)
        for name, cell in json_of(aside).items():
            if not (place / name).is_file():
                write_json(place / name, cell)


def page(paper: Any, folder: Path) -> str:
    """The page of one paper."""
    lines: list[str] = [f"# {paper.SOURCE}, re-run"]
    ways: list[str] = []
    for item in paper.ITEMS:
        kept = recorded(item, folder)
        found, way = kept["results"], kept["how"]
        if item.reason or not way:
            continue
        ways += [way] if way not in ways else []
        how = f"`python examples/papers/run.py {item.name}` ({ways.index(way) + 1})"
        lines.append(f"## {item.title}\n\n{how}\n\n{shown(item, found)}")
        if item.draw is not None and found:
            save(item.draw, found, DOCS / "images" / "papers" / f"{item.name}.png")
            lines.append(f"![{item.title}](../../images/papers/{item.name}.png)")
    reasons = {
        item: item.reason or ("" if recorded(item, folder)["how"] else "its runs have not ended yet")
        for item in paper.ITEMS
    }
    left = [f"- {item.title}: {reason}" for item, reason in reasons.items() if reason]
    if left:
        lines.append("## Not re-run\n\n" + "\n".join(left))
    numbered = "\n".join(f"{k}. `{way}`" for k, way in enumerate(ways, 1))
    lines.insert(
        1,
        f"Part of [the papers, re-run](../papers.md). A cell has its number of draws in brackets. The number beside each command says how, when and where:\n\n{numbered}",
    )
    return "\n\n".join(lines) + "\n"


def recorded_hours(folder: Path) -> float:
    """CPU hours of all runs that record their seconds; items that share their runs count once."""
    different = {json.dumps(shown_of(item, folder), sort_keys=True) for item in ITEMS.values()}
    return sum(_seconds(json.loads(text)) for text in different) / 3600


def _seconds(found: Any) -> float:
    """The sum of all numbers called "seconds" in a tree of results; a list of seconds counts its last."""
    if not isinstance(found, dict):
        return 0.0
    own = found.get("seconds", 0.0)
    rest = sum(_seconds(part) for name, part in found.items() if name != "seconds")
    return rest + float((own[-1] if own else 0.0) if isinstance(own, list) else own or 0.0)


def _machine() -> str:
    return ", ".join(f"{name} {value}" for name, value in machine().items())


def _versions() -> str:
    return ", ".join(f"{name} {value}" for name, value in versions().items())


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("names", nargs="*", metavar="NAME", help="of --list; a paper's name for all of it")
    add("--list", action="store_true", help="name every table and figure")
    add("--quick", action="store_true", help="small sets, two repetitions")
    add("--all", action="store_true", help="all that can be re-run")
    add("--docs", action="store_true", help="write the pages of the papers from what is kept")
    add("--set-aside", action="store_true", help="keep unfinished runs in the repository")
    add("--jobs", type=int, default=1, help="processes")
    add("--folder", type=Path, default=HERE / "results", help="where runs are kept")
    add("--fresh", action="store_true", help="forget all runs of these items that are kept")
    options = parser.parse_args(arguments)
    if options.list:
        print(listing())
        return 0
    names = [
        name for name in ITEMS if any(name == one or name.startswith(f"{one}.") for one in options.names)
    ]
    wrong = [one for one in options.names if not any(n == one or n.startswith(f"{one}.") for n in ITEMS)]
    if wrong or not (names or options.all or options.quick or options.docs or options.set_aside):
        parser.error(f"a NAME must be one of --list, got {', '.join(wrong) or 'none'}")
    chosen = names or (list(ITEMS) if options.all or options.quick else [])
    for name in chosen:
        item = ITEMS[name]
        if item.reason:
            if names:
                print(f"{name}: {item.title} - not re-run: {item.reason}")
            continue
        if options.fresh:
            shutil.rmtree(kept_in(item, options.folder), ignore_errors=True)
        began = time.perf_counter()
        found = results(item, options.quick, options.jobs, options.folder)
        print(
            f"\n{name}: {item.title} ({time.perf_counter() - began:.0f} s)\n\n{shown(item, found)}",
            flush=True,
        )
        if item.draw is not None and found:
            picture = options.folder / f"{name}.svg"
            save(item.draw, found, picture)
            print(f"\nthe picture is {picture}")
    if options.docs:
        write_docs(options.folder)
    if options.set_aside:
        print("\n".join(set_aside(options.folder)))
    return 0


HEAD = """# The papers, re-run

For a user: the tables of the papers can be made again. Fewer than half of the claims hold in every case.

`python examples/papers/run.py --docs` writes these pages from runs of `--quick` (small sets, two draws; ten minutes on two cores with `--jobs 2`) and of `--all` (all sets; here on two machines and never in one piece). The runs that record their CPU seconds add up to {hours:.1f} hours of one core. The tables of KML, the pictures and the preparation of the runs record none, so the time of the whole on two cores has not been measured.
The number beside a command says which of the two kinds its runs are. **Runs of --quick are a first look**: two draws decide little. A table that is not run in whole yet says --quick.

The runs behind the pages are kept in `docs/lab/papers/runs`; any machine writes the same pages from them.
The machine had other work during the runs. Compare CPU seconds within a table only, and ignore a factor of two between tables.
One machine set runs aside and another went on: most cells of KL-ADMM's Table 2 come from a machine that is slower than the one that its command names. Its methods had the same machine on each set, except on a5a: there KL-ADMM had the slower one.

A cell gives its number of draws in brackets. The papers have 20 draws, KML 10. All methods of a row have the same draws.
The sign ± gives a standard deviation. For a difference taken draw by draw it gives a standard error. One draw has neither. "cut" counts runs that ended at a time limit.

With NPKL_DATA_HOME iris is UCI's, without it scikit-learn's (they differ in rows 34 and 37). The page [as printed](printed.md) says where the defaults depart from the papers.

Each paper has a page:
"""

if __name__ == "__main__":
    sys.exit(main())
