"""Tasks that are kept when they end, and run on a cluster that loses a worker."""

import json
import os
import shutil
import time
from functools import partial

import numpy as np
import pytest
import sklearn
from files.test_saved import changed
from joblib import parallel_config
from sklearn.model_selection import cross_val_score

import npkl_models as nm
from npkl_models.task_cache import Failure, sweep


def square(k, log=None, fail=False):
    """k², with a line in a log for each time that it is computed."""
    if log is not None:
        with open(log, "a") as file:
            file.write(f"{k}\n")
    if fail:
        raise ValueError(f"no square of {k}")
    return k * k


def slow_square(k, folder, seconds=0.2):
    """k², computed slowly by a process that leaves its number."""
    (folder / f"{k}.{os.getpid()}").touch()
    time.sleep(seconds)
    return k * k


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_results_come_back_in_order_and_failures_are_kept(tmp_path, n_jobs):
    log = tmp_path / "log"
    tasks = {f"k={k}": partial(square, k, log, fail=k == 2) for k in range(4)}
    told = []
    found = sweep(tasks, n_jobs, tmp_path / "kept", lambda *what: told.append(what))
    assert list(found) == list(tasks)
    assert [found[f"k={k}"] for k in (0, 1, 3)] == [0, 1, 9]
    failure = found["k=2"]
    assert isinstance(failure, Failure)
    assert "no square of 2" in failure.error
    assert "Traceback" in (tmp_path / "kept" / "k=2.failed.txt").read_text()
    assert sorted(done for _, done, _ in told) == [1, 2, 3, 4]


def test_what_has_ended_is_not_run_again_and_what_failed_is(tmp_path):
    log, kept = tmp_path / "log", tmp_path / "kept"
    sweep({str(k): partial(square, k, log, fail=k == 1) for k in range(3)}, folder=kept)
    again = sweep({str(k): partial(square, k, log) for k in range(4)}, folder=kept)
    assert list(again.values()) == [0, 1, 4, 9]
    assert sorted(log.read_text().split()) == ["0", "1", "1", "2", "3"]
    assert not list(kept.glob("*.failed.txt"))
    assert json.loads((kept / "3.json").read_text())["result"] == 9


def test_keys_must_make_different_files():
    with pytest.raises(nm.ProblemError, match="keys of tasks must differ"):
        sweep({"a/b": partial(square, 1), "a_b": partial(square, 2)})


def test_solutions_are_kept_whole(tmp_path, small):
    task = partial(small("pcp").solve, "bcd")
    first = sweep({"bcd": task}, folder=tmp_path)["bcd"]
    second = sweep({"bcd": task}, folder=tmp_path)["bcd"]
    np.testing.assert_array_equal(first.V, second.V)
    assert second.certificate.certifies(1e-6)


def test_a_crosscheck_takes_up_what_is_there(tmp_path, small, monkeypatch):
    problem = small("pcp")
    nm.crosscheck(problem, ["bcd", "interior"], folder=tmp_path)
    monkeypatch.setattr(type(nm.backends()["bcd"]), "compile", None)
    again = nm.crosscheck(problem, ["bcd", "interior"], folder=tmp_path)
    assert again.agrees
    other = nm.crosscheck(
        small("B2:hinge"), ["bcd", "simple_npkl"], folder=tmp_path
    )  # another problem: nothing there
    assert not other.agrees


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_a_path_in_chunks_is_the_same_path(tmp_path, small, n_jobs):
    grid = [0.1, 0.5, 1.0, 2.0, 8.0]
    found = nm.regularization_path(
        small("pcp"), "weight", grid, "bcd", n_jobs=n_jobs, folder=tmp_path, tol=1e-8
    )
    alone = nm.regularization_path(small("pcp"), "weight", grid, "bcd", tol=1e-8)
    np.testing.assert_allclose(found.objective, alone.objective, rtol=1e-6)
    assert len(list(tmp_path.glob("*/weight=*.npz"))) == 5
    assert np.all(found.relative_gap <= 1e-8)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_a_cluster_that_loses_a_worker_ends_all_its_work(tmp_path):
    """A local Dask cluster; one of its workers is killed while it works. Its answers are those of this process."""
    distributed = pytest.importorskip("distributed")
    marks, kept = tmp_path / "marks", tmp_path / "kept"
    marks.mkdir()
    far = np.repeat([0.0, 90.0], 40)[:, None]  # two parts
    X, y = np.random.default_rng(0).normal(size=(80, 2)) + far, np.arange(80) % 2 + 2 * (far[:, 0] > 0)
    must = nm.Pairs.from_labels(y, 40, 0, 0).must_link
    problem = nm.pcp(nm.laplacian(X, 5, shift=0.1), nm.Pairs(80, must, [(0, 1), (40, 41)]))

    def folds():
        model, given = nm.NPKLKernel(n_neighbors=5), {"pairs": nm.Pairs.from_labels(y, 30, 30, 0)}
        with sklearn.config_context(enable_metadata_routing=True):
            return cross_val_score(model, X, cv=nm.PairFolds(3), params=given, n_jobs=2)

    def works():
        table = nm.crosscheck(problem, ["bcd", "interior"])
        path = nm.regularization_path(problem, "weight", [0.1, 1.0, 10.0])
        return problem.solve(), folds(), [row.bound for row in table.rows], path.objective

    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, dashboard_address=None, host="127.0.0.1"
    )
    with cluster, distributed.Client(cluster) as client:
        client.run_on_scheduler(lambda dask_scheduler: setattr(dask_scheduler, "allowed_failures", 10))
        killed = []

        def kill_one(key, done, total):
            if done == 2 and not killed:
                killed.append(int(next(marks.iterdir()).suffix[1:]))  # one that has worked
                os.kill(killed[0], 9)

        tasks = {f"k={k}": partial(slow_square, k, marks) for k in range(6)}
        with parallel_config(backend="dask"):
            found = sweep(tasks, n_jobs=2, folder=kept, progress=kill_one)
            there = works()
    assert killed
    assert found == {f"k={k}": k * k for k in range(6)}
    assert len(list(kept.glob("*.json"))) == 6
    assert len({path.suffix for path in marks.iterdir()}) >= 2
    here = works()
    assert "2 independent parts" in here[0].message
    np.testing.assert_array_equal(there[0].V, here[0].V)
    assert there[0].certificate.bound == here[0].certificate.bound
    for one, other in zip(there[1:], here[1:], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-5)


def test_what_was_cut_off_is_not_kept_and_ends_the_sweep(tmp_path, small):
    def interrupt(row):
        raise KeyboardInterrupt

    problem = small("pcp")
    with pytest.raises(KeyboardInterrupt):
        nm.crosscheck(problem, ["bcd", "interior"], folder=tmp_path, callback=interrupt)
    assert not list(tmp_path.glob("*/*.npz"))
    stopped = sweep({"x": partial(problem.solve, "bcd", callback=lambda row: True)}, folder=tmp_path)
    assert stopped["x"].status is nm.Status.STOPPED
    assert not list(tmp_path.glob("x.npz"))


def test_a_torn_file_is_as_if_it_were_not_there(tmp_path, small):
    task = partial(small("pcp").solve, "bcd")
    sweep({"x": task}, folder=tmp_path)
    kept = tmp_path / "x.npz"
    kept.write_bytes(kept.read_bytes()[:500])
    assert sweep({"x": task}, folder=tmp_path)["x"].status is nm.Status.OPTIMAL


def test_a_result_that_cannot_be_kept_is_a_failure_of_its_own(tmp_path):
    found = sweep({"a": partial(np.int64, 3), "b": partial(square, 2)}, folder=tmp_path)
    assert isinstance(found["a"], Failure)
    assert found["b"] == 4


def test_the_file_of_another_problem_or_task_is_done_again(tmp_path, small):
    one, other = small("pcp"), small("row:hinge")
    sweep({"bcd": partial(one.solve, "bcd"), "9": partial(square, 9)}, folder=tmp_path / "one")
    sweep({"bcd": partial(other.solve, "bcd"), "8": partial(square, 8)}, folder=tmp_path / "other")
    shutil.copy(tmp_path / "one" / "bcd.npz", tmp_path / "other" / "bcd.npz")
    shutil.copy(tmp_path / "one" / "9.json", tmp_path / "other" / "8.json")
    again = sweep({"bcd": partial(other.solve, "bcd"), "8": partial(square, 8)}, folder=tmp_path / "other")
    assert again["bcd"].problem.regularizer == other.regularizer
    assert again["8"] == 64


def test_a_crosscheck_does_not_take_another_problems_file(tmp_path, small):
    for kind in ("pcp", "row:hinge"):
        nm.crosscheck(small(kind), ["bcd"], folder=tmp_path / kind.replace(":", "_"))
    mine, foreign = (next((tmp_path / kind).glob("*/bcd.npz")) for kind in ("pcp", "row_hinge"))
    objective = nm.Solution.load(mine).objective
    shutil.copy(foreign, mine)
    assert nm.crosscheck(small("pcp"), ["bcd"], folder=tmp_path / "pcp").rows[0].objective == pytest.approx(
        objective
    )


@pytest.mark.parametrize("text", ["[]", "null", "{}", "3", '{"result": 3}', "[" * 100_000, "", "\0", "NaN"])
def test_whatever_a_resume_file_says_the_task_is_done_again(tmp_path, text):
    (tmp_path / "k.json").write_text(text)
    assert sweep({"k": partial(square, 5)}, folder=tmp_path) == {"k": 25}
    assert json.loads((tmp_path / "k.json").read_text())["result"] == 25


def test_an_answer_that_is_not_what_its_file_says_is_done_again(tmp_path, small):
    task = partial(small("pcp").solve, "bcd")
    first = sweep({"x": task}, folder=tmp_path)["x"]
    changed(tmp_path / "x.npz", tmp_path / "x.npz", V=2 * first.V)
    assert nm.Solution.load(tmp_path / "x.npz").status is nm.Status.INACCURATE
    again = sweep({"x": task}, folder=tmp_path)["x"]
    assert again.status is nm.Status.OPTIMAL
    assert again.objective == pytest.approx(first.objective)


def counted(calls, problem, options):
    """A solve that leaves a mark, with options in a mapping as a cross-check has them."""
    calls.append(1)
    return problem.solve("bcd", **options)


@pytest.mark.parametrize("feasibility", [None, 1e-4])
def test_a_coarse_answer_is_found_by_the_task_that_made_it(tmp_path, small, feasibility):
    """Its gap is far above the usual tolerance, at which another task would do it again."""
    calls, problem, options = [], small("pcp"), {"tol": 1e-2, "feasibility": feasibility}
    options = {key: value for key, value in options.items() if value is not None}
    task = partial(counted, calls, problem, options)
    first = sweep({"x": task}, folder=tmp_path)["x"]
    assert first.certificate.relative_gap > 1e-5
    again = sweep({"x": task}, folder=tmp_path)["x"]
    assert len(calls) == 1
    assert again.status is nm.Status.OPTIMAL
    sweep({"x": partial(counted, calls, problem, {"tol": 1e-6})}, folder=tmp_path)
    assert len(calls) == 2


def test_a_sweep_goes_on_where_nothing_can_be_kept(tmp_path, small, monkeypatch, caplog):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    tasks = {"x": partial(small("pcp").solve, "bcd"), "y": partial(square, 4)}
    found = sweep(tasks, folder=tmp_path)
    assert found["x"].status is nm.Status.OPTIMAL
    assert found["y"] == 16
    assert "x was not kept" in caplog.text
    assert "No space left" in caplog.text
    assert not list(tmp_path.iterdir())
