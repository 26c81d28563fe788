"""The cells of the papers' pages: draws counted, the same draws in a row, no spread of one draw."""

import gzip
import importlib
import json
import multiprocessing
import os
import re
import signal
import sys
from functools import partial
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
PAGES = [
    path for path in sorted((ROOT / "docs" / "lab" / "papers").glob("*.md"))
    if path.stem == "equations" or "number of draws in brackets" in path.read_text()
]  # fmt: skip
"""Those that say that a cell counts its draws, as `examples/papers/run.py --docs` writes them."""
MEASURED = re.compile(
    r"^[+-]?(?:none|[\d.,e+-]+)(?P<spread> ± [\d.e+-]+)? \((?P<draws>\d+)(?:, \d+ (?:cut|failed))*\)$"
)


@pytest.fixture
def scripts(monkeypatch):
    """The modules of the papers' folder by name; those of other folders have the same names."""
    folder = ROOT / "examples" / "papers"
    names = {path.stem for path in folder.glob("*.py")}
    others = {name: sys.modules.pop(name) for name in names & set(sys.modules)}
    monkeypatch.syspath_prepend(str(folder))
    yield importlib.import_module
    for name in [name for name in sys.modules if name.split(".")[0] in names | {"equations"}]:
        del sys.modules[name]
    sys.modules.update(others)


@pytest.fixture
def cells(scripts):
    return scripts("cells")


def runs(method, values, **more):
    return {f"iris, {method}, {seed}": {"x": value} | more for seed, value in enumerate(values)}


def test_a_row_has_the_draws_that_all_methods_have(cells):
    found = runs("one", [1.0, 2.0, 6.0]) | runs("two", [2.0, 2.0])
    notes = cells.Notes()
    row = cells.Row(
        found, {m: f"iris, {m}, " for m in ("one", "two", "three")}, notes, lambda m: f"{m} is slow"
    )
    assert row.cells("x") == ["1.5 ± 0.7 (2)", "2.0 ± 0.0 (2)", "- [a]"]
    assert notes.text() == "No run: [a] three is slow."
    assert row.difference("two", "one", "x") == "+0.5 ± 0.5 (2)"
    assert row.comparable("two", "x") == "best"
    assert row.comparable("one", "x") == "comparable"


def test_one_draw_has_no_spread_and_cuts_are_counted(cells):
    row = cells.Row(runs("one", [1.0], status="TIME_LIMIT"), {"one": "iris, one, "}, cells.Notes(), str)
    assert row.cells("x") == ["1.0 (1, 1 cut)"]
    assert cells.said([1.0, float("nan")]) == "1.0 (1, 1 failed)"
    assert cells.said([float("nan")]) == "none (1 failed)"
    assert cells.said(np.arange(3.0), 2) == "1.00 ± 1.00 (3)"


def test_results_of_a_method_are_not_those_of_one_with_a_longer_name(cells):
    found = {"iris, bcd, 0": {"a": 1}, "iris, bcd, printed, 0": {"a": 2}, "iris, bcd, 1": None}
    assert cells.draws(found, "iris, bcd, ") == {0: {"a": 1}}
    assert cells.draws(found, "iris, bcd, printed, ") == {0: {"a": 2}}


def tables(text):
    """Each table as its heads and its rows."""
    for block in re.findall(r"(?:^\|.*\|\n)+", text, re.M):
        lines = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        yield lines[0], lines[2:]


def wrong(heads, rows):
    """What a table says that a page must not say."""
    counts = {}
    for row in rows:
        for head, cell in zip(heads, row, strict=True):
            if "theirs" in head:
                continue
            found = MEASURED.match(cell)
            if "±" in cell and not found:
                yield f"{row[0]}, {head}: {cell!r} does not say its draws"
            if found and found["spread"] and int(found["draws"]) < 2:
                yield f"{row[0]}, {head}: {cell!r} is a spread of one draw"
            if cell in ("-", ""):
                yield f"{row[0]}, {head}: an empty cell without its reason"
            if found:
                counts.setdefault(row[0], set()).add(int(found["draws"]))
    yield from (
        f"{name}: rows of unequal draws {sorted(own)}" for name, own in counts.items() if len(own) > 1
    )


def test_the_reading_of_pages_finds_what_is_wrong():
    heads = ("set", "theirs", "ours")
    assert not list(wrong(heads, [("iris", "1±2", "1.0 ± 2.0 (3)"), ("iris", "-", "2.0 ± 1.0 (3, 1 cut)")]))
    for bad in ("1.0 ± 2.0", "1.0 ± 0.0 (1)", "-", "", "1.0 ± 1.0 (2)"):
        assert list(wrong(heads, [("iris", "", "1.0 ± 2.0 (3)"), ("iris", "", bad)])), bad
    assert unexplained("| iris | - [a] | - [b] |\n\nNo run: [a] it is slow.\n") == ["b"]


def unexplained(section):
    """Letters of empty cells that the words below do not explain."""
    said = "".join(re.findall(r"^No run: .*$", section, re.M))
    return sorted(set(re.findall(r"\| - \[(\w)\]", section)) - set(re.findall(r"\[(\w)\] ", said)))


@pytest.mark.parametrize("page", PAGES, ids=lambda path: path.stem)
def test_no_cell_without_its_draws(page):
    text = page.read_text()
    assert [word for table in tables(text) for word in wrong(*table)] == []
    assert [found for section in text.split("\n## ") if (found := unexplained(section))] == []


def test_there_is_a_verdict_for_each_of_forty_claims(scripts):
    claims, run, Verdict = scripts("claims"), scripts("run"), scripts("claim").Verdict
    every = [claim for own in claims.CLAIMS.values() for claim in own]
    assert len(every) >= 40
    assert {claim.item for claim in every} <= set(run.ITEMS)
    assert all(claims.judged(claim, {}) is None for claim in every)
    words = [(Verdict(held, 4, "").word(), Verdict(held, 4, "").word(often=True)) for held in range(5)]
    assert [strict for strict, _ in words] == ["no", "no", "in part", "in part", "yes"]
    assert [often for _, often in words] == ["no", "no", "in part", "yes", "yes"]


@pytest.mark.parametrize(("higher", "held"), [("bcd", 1), ("simple_npkl", 0)])
def test_a_claim_is_judged_by_the_figures(scripts, higher, held):
    """Accuracies of two methods on the same draws: the claim holds where its method is above."""
    values = {"bcd": [90.0, 80.0], "simple_npkl": [90.0, 80.0]}
    values[higher] = [91.0, 84.0]
    found = {
        f"iris, squared_hinge, {method}, {seed}": {"accuracy": value}
        for method, of in values.items() for seed, value in enumerate(of)
    }  # fmt: skip
    verdict = scripts("claims_bcdkl").losses3(found, "bcd", "simple_npkl", "accuracy", ["squared_hinge"])
    assert (verdict.held, verdict.cases) == (held, 1)
    assert ("not iris (squared_hinge)" in verdict.figure) == (not held)


@pytest.mark.parametrize(("objective", "word"), [([3.0, 2.0, 2.0], "yes"), ([3.0, 2.0, 2.1], "no")])
def test_a_rise_of_the_printed_descent_is_seen(scripts, objective, word):
    run = {"objective": objective, "iteration": [0, 1, 2], "final": objective[-1]}
    found = {"iris, pcp": {"bcd, printed": run}}
    assert scripts("claims_bcdkl").monotone(found).word() == word


def cell(log, name, dies):
    """A run that says that it began; the process of one that dies is killed the first time."""
    first = name not in log.read_text().split()
    log.write_text(f"{log.read_text()}{name}\n")
    if dies and first:
        os.kill(os.getpid(), signal.SIGKILL)
    return {"accuracy": 1.0}


def cells_of(quick, name, log):
    return {f"{name}{k}": partial(cell, log, f"{name}{k}", (name, k) == ("b", 1)) for k in range(3)}


@pytest.fixture
def reduced(scripts, tmp_path, monkeypatch):
    """The command with two items of three runs, the log of these, and the folder of results."""
    run, log = scripts("run"), tmp_path / "log"
    log.write_text("")
    items = {
        f"{name}.t": run.Item(f"{name}.t", "T", partial(cells_of, name=name, log=log), str) for name in "ab"
    }
    monkeypatch.setattr(run, "ITEMS", items)
    monkeypatch.setattr(run, "RUNS", tmp_path)
    return run, log, tmp_path / "results"


def test_all_goes_on_where_it_was_killed(reduced):
    """One run is lost, no other is begun again, and every run's CPU time is counted."""
    run, log, folder = reduced
    command = ["--all", "--folder", str(folder)]
    child = multiprocessing.get_context("fork").Process(target=run.main, args=(command,))
    child.start()
    child.join()
    assert child.exitcode == -signal.SIGKILL
    assert log.read_text().split() == ["a0", "a1", "a2", "b0", "b1"]
    assert run.main(command) == 0
    assert log.read_text().split() == ["a0", "a1", "a2", "b0", "b1", "b1", "b2"]
    hours, partly = run.recorded_hours(folder)
    assert hours > 0 == partly


def test_runs_behind_the_pages_are_kept_or_run_again(reduced):
    run, log, folder = reduced
    item, kept = run.ITEMS["a.t"], {"a0": {"accuracy": 5.0, "seconds": 60.0}, "a1": {"accuracy": 6.0}}
    (run.RUNS / "a.t.json.gz").write_bytes(
        gzip.compress(json.dumps({"how": "then", "results": kept}).encode())
    )
    found = run.results(item, False, 1, folder, "a1")
    assert [one["accuracy"] for one in found.values()] == [5.0, 1.0, 1.0]
    assert log.read_text().split() == ["a1", "a2"]
    assert run.recorded(item, folder)["how"].endswith("of 3 runs 1 are earlier ones: then")
    assert run.recorded(item, folder)["cpu"] > 60
