"""Progress is logged by time."""

import logging

from npkl_models.solve import watch


def test_verbose_shows_progress_without_a_print(caplog, small, monkeypatch):
    monkeypatch.setattr(watch, "LOG_EVERY", 0.0)
    with caplog.at_level(logging.INFO, logger="npkl_models"):
        small("npkl:hinge").solve("admm", tol=1e-12, max_iter=200)
    assert any("admm: iteration 100," in record.message for record in caplog.records)
