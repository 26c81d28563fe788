"""A newcomer's first hour, as a protocol: every task in a process of its own, from a clean clone and environment.

``python tests/newcomer/protocol.py`` clones the repository, makes an environment with what README and the pages ask
for, does the tasks one after the other, and writes docs/lab/newcomer.md: what was done, seconds, what was seen.
"""

import os
import re
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "lab" / "newcomer.md"
EXTRAS = ".[plot,explore,frame]"
SEEN = 110  # characters of a line that is shown
FIELD = "{bin}"  # the environment's programs


@dataclass(frozen=True)
class Task:
    """What a newcomer wants, the command, what must be seen, and the exit status that belongs to it."""

    wish: str
    command: str
    see: str
    status: int = 0


def page(name: str) -> str:
    """Run the blocks of a page of the documentation, as somebody would who pastes them."""
    return f"{FIELD}/python {{clone}}/tests/newcomer/paste.py {{clone}}/docs/{name}.md"


NPKL = f"{FIELD}/npkl"
SAVE = (
    "import npkl_models as nm; data = nm.datasets.load('iris'); "
    "problem = nm.hard_pcp(nm.laplacian(data.X, 5, shift=0.1), nm.Pairs.from_labels(data.y, 60, 60)); "
    "problem.save('problem.npz'); print(problem)"
)
TASKS = [
    Task("the README's program", f"{FIELD}/python {{clone}}/examples/quickstart.py", "exact SDP"),
    Task("the main job", f"{NPKL} crosscheck", "all agree"),
    Task("README: a csv of my own, and every backend on it", f"{FIELD}/python {{clone}}/tests/newcomer/paste.py {{clone}}/README.md", "all agree"),
    Task("a tour in ten minutes", page("tour"), "all agree"),
    Task("cluster a csv", page("how_to/cluster"), "rows in each cluster"),
    Task("a kernel for a classifier", page("how_to/classify"), "learnt kernel"),
    Task("embed points", page("how_to/embed"), "optimum"),
    Task("a metric from pairs", page("how_to/metric"), "J of the points"),
    Task("find wrong pairs", page("how_to/wrong_pairs"), "of 20 turned pairs"),
    Task("judge by held-out pairs", page("how_to/evaluate"), "folds"),
    Task("verify a solver", page("how_to/verify"), "worse by"),
    Task("choose a backend", page("how_to/choose"), "burer_monteiro"),
    Task("teach a class", page("how_to/teach"), "maximise over"),
    Task("certificates by example", page("certificates_by_example"), "LOCALLY_SOLVED"),
    Task("the hinge stall", page("hinge_stall"), "stuck at 5"),
    Task("what commands are there?", f"{NPKL} --help", "crosscheck"),
    Task("what is installed?", f"{NPKL} version", "npkl_models"),
    Task("which backends?", f"{NPKL} backends", "bcd"),
    Task("options of one backend", f"{NPKL} backends bcd", "time_limit"),
    Task("which data sets?", f"{NPKL} datasets", "iris"),
    Task("solve iris", f"{NPKL} solve --data iris", "In plain words"),
    Task("a name that does not exist", f"{NPKL} solve --data irsi", "iris", 2),
    Task("an option that does not exist", f"{NPKL} solve --gama 3", "--gamma", 2),
    Task("pcp with another loss", f"{NPKL} solve --formulation pcp --loss hinge", "npkl", 2),
    Task("a csv with a column of text", f"{NPKL} solve --data {{clone}}/tests/newcomer/text.csv --labels kind", "text", 2),
    Task("along gamma", f"{NPKL} path --data iris --values 0.1:10:3", "OPTIMAL"),
    Task("a page for a lecture", f"{NPKL} explain --data iris --page handout.html", "handout.html"),
    Task("a report to send", f"{NPKL} report --data iris report.html", "report.html"),
    Task("clusters in a terminal", f"{NPKL} cluster wine --k 3 --out labels.csv", "3 clusters of"),
    Task("keep an answer", f"{NPKL} solve --data iris --out answer.npz", "In plain words"),
    Task("keep a problem", f"{FIELD}/python -c \"{SAVE}\"", "hard_pcp"),
    Task("a problem for other solvers", f"{NPKL} export problem.npz problem.dat-s", "problem.dat-s"),
    Task("compile the loops now", f"{NPKL} warm-up", ""),
    Task("the explorer in the browser", f"{sys.executable} {{clone}}/tests/newcomer/look.py {NPKL}", "first answer"),
]  # fmt: skip


def main() -> int:
    """Do all tasks, write the page; the exit status says whether all were done."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        rows = [_installed(place)]
        for task in TASKS:
            rows.append(_done(task, place))
            print(*rows[-1], sep="  ", flush=True)
    failed = [row for row in rows if row[-1] != "yes"]
    head = (
        "# A newcomer's protocol\n\n"
        "`python tests/newcomer/protocol.py` writes this page. It clones the repository, makes an environment with "
        f"`pip install '{EXTRAS}'`, and does each task in a process of its own, with an empty cache at the beginning.\n\n"
        f"{len(rows)} tasks, {len(rows) - len(failed)} done; the longest after the installation took "
        f"{max(float(row[1]) for row in rows[1:]):.0f} s.\n\n"
        "| task | seconds | CPU seconds | what was seen | done |\n|---|---|---|---|---|\n"
    )
    PAGE.write_text(head + "\n".join(f"| {' | '.join(row)} |" for row in rows) + "\n", encoding="utf-8")
    return 1 if failed else 0


def _installed(place: Path) -> tuple[str, ...]:
    command = f"git clone -q {ROOT} clone && {sys.executable} -m venv env && env/bin/pip install -q './clone[plot,explore,frame]'"
    return _timed("install", command, place, lambda ran: ran.returncode == 0, "a clone and an environment")


def _done(task: Task, place: Path) -> tuple[str, ...]:
    work = place / "work"
    work.mkdir(exist_ok=True)
    command = task.command.format(bin=place / "env" / "bin", clone=place / "clone")
    return _timed(task.wish, command, work, lambda ran: ran.returncode == task.status, task.see)


def _timed(wish, command, folder, right, see):
    environment = {key: value for key, value in os.environ.items() if not key.startswith(("NPKL", "PYTHON"))}
    environment |= {"MPLBACKEND": "Agg", "NUMBA_CACHE_DIR": str(folder.parent / "cache"), "COLUMNS": "110"}
    before, cpu = time.perf_counter(), os.times()
    ran = subprocess.run(
        command, shell=True, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    seconds, now = time.perf_counter() - before, os.times()
    spent = now.children_user + now.children_system - cpu.children_user - cpu.children_system
    lines = [re.sub(r"\x1b\[[0-9;?]*\w", "", line).strip() for line in (ran.stdout + ran.stderr).splitlines()]
    hits = [line for line in lines if see in line and line]
    seen = (
        hits[-1][:SEEN].replace("|", "/")
        if hits
        else (see if wish == "install" else (lines or ["nothing"])[-1][:SEEN])
    )
    fine = right(ran) and (bool(hits) or not see or wish == "install")
    return wish, f"{seconds:.1f}", f"{spent:.1f}", seen, "yes" if fine else "NO"


if __name__ == "__main__":
    sys.exit(main())
