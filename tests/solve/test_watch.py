"""Progress is logged by time."""

import logging

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.solve import engine_plan, watch
from npkl_models.solve.cost import certificate_seconds, last_seconds
from npkl_models.solve.engine_plan import Run
from npkl_models.solve.options import Options


def test_verbose_shows_progress_without_a_print(caplog, small, monkeypatch):
    monkeypatch.setattr(watch, "LOG_EVERY", 0.0)
    with caplog.at_level(logging.INFO, logger="npkl_models"):
        small("npkl:hinge").solve("admm", tol=1e-12, max_iter=200)
    assert any("admm: iteration 100," in record.message for record in caplog.records)


def test_one_slow_step_does_not_end_a_run_but_two_do(monkeypatch):
    """Compiling makes a first step slow: the clock looks ahead by the quicker of the last two."""
    now = [0.0]
    monkeypatch.setattr(watch.time, "perf_counter", lambda: now[0])
    clock = watch.RunMonitor(Options(time_limit=10.0))
    for at, wanted in ((6.0, None), (6.1, None), (8.0, None), (9.9, nm.Status.TIME_LIMIT)):
        now[0] = at
        assert clock.heed(None) is wanted


def test_a_certificate_that_is_only_predicted_is_kept_time_for_up_to_half_of_the_limit(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(watch.time, "perf_counter", lambda: now[0])
    clock = watch.RunMonitor(Options(time_limit=10.0))
    assert clock.affords(10.0)
    clock.expect(3.0)
    assert clock.proof_ahead == 3.0
    assert clock.affords(7.0)
    assert not clock.affords(7.5)
    now[0] = 6.9
    assert clock.heed(None) is None
    now[0] = 7.1
    assert clock.heed(None) is nm.Status.TIME_LIMIT
    assert not clock.late  # what was kept for the proof is used for it
    now[0] = 8.6
    assert clock.late
    clock.expect(100.0)
    assert clock.proof_ahead == 5.0
    now[0] = 11.0
    assert clock.left == -1.0


@pytest.mark.parametrize("n", [300, 9_000, 12_000, 100_000])
def test_time_is_kept_for_the_last_certificate_at_every_size(n):
    """Above the order of dense factorisations nothing was kept, and a run ended long after its limit."""
    path = sp.diags_array([np.ones(n - 1), np.ones(n - 1)], offsets=[-1, 1])
    pairs = nm.Pairs(n, must_link=[(0, 2)], cannot_link=[(0, n - 1)])
    question = nm.pcp(nm.laplacian(sp.csr_array(path), shift=0.1), pairs)
    assert last_seconds(question) > 0
    assert n < 12_000 or last_seconds(question) >= certificate_seconds(question)


def test_a_line_of_progress_has_only_what_is_known(small, caplog, monkeypatch):
    monkeypatch.setattr(watch, "LOG_EVERY", -1.0)
    with caplog.at_level("INFO", logger="npkl_models"):
        small("pcp").solve("bcd", max_iter=3)
    lines = [record.getMessage() for record in caplog.records if "iteration" in record.getMessage()]
    assert lines
    assert not [line for line in lines if "nan" in line]


def test_a_search_for_a_direction_states_no_bound(monkeypatch):
    """Its eigenvalue is an estimate, so the history has bounds of certificates alone."""
    made = []
    whole = Run._certificate

    def watched(run, quick, last=False, method="auto"):
        made.append((method, whole(run, quick, last, method)))
        return made[-1][1]

    monkeypatch.setattr(Run, "_certificate", watched)
    monkeypatch.setattr(engine_plan, "certificate_seconds", lambda problem: 0.0)
    rng = np.random.default_rng(0)
    y = np.arange(450) % 3
    L = nm.laplacian(rng.standard_normal((450, 2)) + 0.6 * y[:, None])
    found = nm.pcp(L, nm.Pairs.from_labels(y, 250, 250, 0), gamma=10.0).solve("bcd", random_state=0)
    searched = [one.bound for method, one in made if method == "ritz"]
    assert searched
    assert not np.isfinite(searched).any()
    assert found.is_optimal()
