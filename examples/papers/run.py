"""Every table and figure of the five papers, re-run beside the original.

``python run.py --list`` names them all; ``python run.py kl_admm.table2`` runs one; ``python run.py --quick``
the small sets with two repetitions, ``--all`` everything. Each run is kept in ``--folder`` when it ends: a process
that is killed loses the runs that it is at, one a job, and the next start goes on; ``--fresh`` forgets them.
``--docs`` writes docs/lab/papers.md and a page for each paper from what is kept, and the runs behind them into
docs/lab/papers/runs, from which it writes them again; ``--extend`` adds to those runs.
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
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import bcdkl
import claims
import equations
import kl_admm
import kml
import simple_npkl
import thesis
from items import Item, Task, save

from npkl_models.data import datasets
from npkl_models.files.atomic import write_json, write_text
from npkl_models.files.gate import json_of
from npkl_models.show.machine import date, machine, versions
from npkl_models.task_cache import Failure, sweep

HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs"
LAB = DOCS / "lab"  # the measurements
RUNS = LAB / "papers" / "runs"  # what the pages were written from
PAPERS = (kl_admm, simple_npkl, thesis, bcdkl, kml)
ITEMS: dict[str, Item] = {item.name: item for paper in PAPERS for item in paper.ITEMS}


def kept_in(item: Item, folder: Path) -> Path:
    """Items that ask for the same runs share them; sets of a data folder are not those that are bundled."""
    source = "folder" if os.environ.get(datasets.FOLDER_VARIABLE) else "bundled"
    return folder / source / f"{item.name.split('.')[0]}.{getattr(item.cells, '__name__', 'none')}"


def results(item: Item, quick: bool, jobs: int, folder: Path, extend: str | None = None) -> dict[str, Any]:
    """The runs of an item, with a line of progress for each on a terminal.

    ``extend`` keeps the runs behind the pages, but those whose key has this text in it.
    """
    assert item.cells is not None
    began = time.perf_counter()

    def progress(key: str, done: int, count: int) -> None:
        if sys.stderr.isatty():
            rate = done / (time.perf_counter() - began)
            print(
                f"\r{item.name}: {done} of {count}, {rate:.2g} a second: {key:60.60}", end="", file=sys.stderr
            )

    tasks, before = item.cells(quick), archived(item)
    kept = {
        key: one for key, one in before["results"].items()
        if extend is not None and not (extend and extend in key and key in tasks)
    }  # fmt: skip
    found = sweep(
        {key: partial(counted, task) for key, task in tasks.items() if key not in kept}, jobs,
        kept_in(item, folder), progress, about=f"papers {item.name.split('.')[0]}",
    )  # fmt: skip
    for key, one in found.items():
        if isinstance(one, Failure):
            print(f"{item.name}, {key}: {one.error}", file=sys.stderr)
    new = {key: one for key, one in found.items() if not isinstance(one, Failure)}
    every = kept | {key: one["result"] for key, one in new.items()}
    how = f"{'--quick' if quick else '--all'}, {date()[:10]}, {_machine()}; {_versions()}"
    if kept and not new:
        how = before["how"]
    elif kept:
        how += f"; of {len(every)} runs {len(kept)} are earlier ones: {before['how']}"
    summary = kept_in(item, folder) / "shown" / f"{item.name}.json"
    summary.parent.mkdir(exist_ok=True)
    cpu = sum(one["cpu"] for one in new.values()) + (seconds_of(before) if kept else 0.0)
    ordered = {key: every[key] for key in (*tasks, *every) if key in every}
    write_json(summary, {"how": how, "cpu": cpu, "results": ordered})
    return ordered


def counted(task: Task) -> dict[str, Any]:
    """A result, and the CPU seconds of all that it took, programs that it started included."""
    began = _cpu()
    return {"result": task(), "cpu": _cpu() - began}


def _cpu() -> float:
    return time.process_time() + sum(os.times()[2:4])


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
    hours, partly = recorded_hours(folder)
    cut = [seconds for item in ITEMS.values() for seconds in cut_seconds(shown_of(item, folder))]
    head = HEAD.format(hours=hours, partly=partly, few=min(cut, default=0.0), most=max(cut, default=0.0))
    write_text(LAB / "papers.md", f"{head}\n{links}\n\n{toctree}\n")


def recorded(item: Item, folder: Path) -> dict[str, Any]:
    """What was shown last of an item, {"how", "results"}: from the folder, else from the repository."""
    place = kept_in(item, folder) / "shown" / f"{item.name}.json"
    return dict(json_of(place)) if place.is_file() else archived(item)


def archived(item: Item) -> dict[str, Any]:
    """What the repository has of an item."""
    place = RUNS / f"{item.name}.json.gz"
    return dict(json_of(place)) if place.is_file() else {"how": "", "results": {}}


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


def recorded_hours(folder: Path) -> tuple[float, float]:
    """CPU hours of all runs, and of those whose preparation was not counted; items that share their runs count once."""
    every = {str(kept_in(item, folder)): recorded(item, folder) for item in ITEMS.values() if not item.reason}
    partly = sum(seconds_of(one) for one in every.values() if "cpu" not in one)
    return sum(map(seconds_of, every.values())) / 3600, partly / 3600


def seconds_of(kept: Mapping[str, Any]) -> float:
    """CPU seconds of the runs of an item; of earlier runs those that their results speak of."""
    return float(kept.get("cpu", 0.0)) or _seconds(kept["results"])


def _seconds(found: Any) -> float:
    """The sum of all numbers called "seconds" in a tree of results; a list of seconds counts its last."""
    if not isinstance(found, dict):
        return 0.0
    own = found.get("seconds", 0.0)
    rest = sum(_seconds(part) for name, part in found.items() if name != "seconds")
    return rest + float((own[-1] if own else 0.0) if isinstance(own, list) else own or 0.0)


def cut_seconds(found: Mapping[str, Any]) -> list[float]:
    """CPU seconds of the tables' runs that ended at `common.LIMIT`, which those as printed by BCDKL do not have."""
    cut = [
        one for key, one in found.items()
        if isinstance(one, dict) and one.get("status") == "TIME_LIMIT" and "bcd, printed" not in key
    ]  # fmt: skip
    return [float(one["seconds"]) for one in cut if "accuracy" in one]


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
    add("--jobs", type=int, default=1, help="processes")
    add("--folder", type=Path, default=HERE / "results", help="where runs are kept")
    add("--extend", nargs="?", const="", metavar="TEXT",
        help="keep the runs behind the pages, but those with TEXT in their keys")  # fmt: skip
    add("--fresh", action="store_true", help="forget all runs of these items that are kept")
    options = parser.parse_args(arguments)
    if options.list:
        print(listing())
        return 0
    names = [
        name for name in ITEMS if any(name == one or name.startswith(f"{one}.") for one in options.names)
    ]
    wrong = [one for one in options.names if not any(n == one or n.startswith(f"{one}.") for n in ITEMS)]
    if wrong or not (names or options.all or options.quick or options.docs):
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
        found = results(item, options.quick, options.jobs, options.folder, options.extend)
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
    return 0


HEAD = """# The papers, re-run

For a user: the tables of the papers can be made again. Fewer than half of the claims hold in every case.

`python examples/papers/run.py --all --docs` runs everything and writes these pages. It is one run that goes on where it was killed: each cell is kept when it ends. The runs behind the pages took {hours:.1f} CPU hours of one core.
{partly:.1f} hours of them are of runs that recorded their solves alone, without data, graphs and k-means. `--quick` takes small sets and two draws.

The number beside a command says when, where and with which versions it ran, and how many of its runs are earlier ones: these pages were not made in one piece.
The runs are kept in `docs/lab/papers/runs`; any machine writes the same pages from them.
The machine had other work during the runs. Compare CPU seconds within a table only, and ignore a factor of two between tables.
Most cells of KL-ADMM's Table 2 come from a slower machine than its command names. Its methods had the same machine on each set but a5a, where KL-ADMM had the slower one.

A cell gives its number of draws in brackets. The papers have 20 draws, KML 10. All methods of a row have the same draws.
The sign ± gives a standard deviation. For a difference taken draw by draw it gives a standard error. One draw has neither.
"cut" counts runs that ended at a time limit. The limit is each solve's, by the clock (`time_limit`). The seconds in the tables are the processor's.
A cut run has fewer of them where the machine had other work, and more where a step or a certificate had begun: in the tables {few:.0f} to {most:.0f} at 120 s by the clock.

With NPKL_DATA_HOME iris is UCI's, without it scikit-learn's (they differ in rows 34 and 37). The page [as printed](printed.md) says where the defaults depart from the papers.

Each paper has a page:
"""

if __name__ == "__main__":
    sys.exit(main())
