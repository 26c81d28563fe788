"""A slice of the differential test, and that its judge sees a lie."""

from types import SimpleNamespace

import numpy as np
import pytest

import npkl_models as nm
from differential.models import Numbers, contradictory
from differential.run import KINDS, _verdict, compare
from differential.told import draw_sensors, factorised_by, our_sensors
from npkl_models.linalg import cholesky


@pytest.mark.parametrize("seed", [*range(20_000, 20_010), 725, 928])
def test_the_default_and_a_model_from_the_formulas_agree(seed):
    assert compare(seed)[0]["verdict"] in (
        "agrees",
        "proved alone",
        "neither",
        "not proved",
        "contradictory by rounding",
    )


@pytest.mark.parametrize("kind", ["comparisons", "sensors"])
def test_comparisons_and_sensors_agree_whoever_solves_them(kind):
    rows = [row for seed in range(6) for row in compare(seed, kind)]
    assert len(rows) == 6 * len(KINDS[kind][3])
    assert {row["verdict"] for row in rows} <= {
        "agrees",
        "proved alone",
        "theirs is worse",
        "not proved by one",
    }
    assert sum(row["verdict"] == "agrees" for row in rows) > 0.7 * len(rows)
    if kind == "comparisons":
        assert sum(row["backend"] == "bcd" for row in rows) >= 6


def test_both_libraries_factorise_the_sensors(monkeypatch):
    seen = []
    at = cholesky.SymmetricFactors.at

    def watched(self, *given, **how):
        factor = at(self, *given, **how)
        seen.append(type(factor).__name__)
        return factor

    monkeypatch.setattr(cholesky.SymmetricFactors, "at", watched)
    problem = our_sensors(draw_sensors(np.random.default_rng(0)))
    for library, name in (("CHOLMOD", "_Cholesky"), ("SuperLU", "SuperLU")):
        seen.clear()
        with factorised_by(library):
            assert problem.solve("burer_monteiro").is_optimal()
        assert name in seen
        assert library == "CHOLMOD" or "_Cholesky" not in seen


def equalities(*values):
    """d_01 - d_02, d_12 - d_10 and d_12 - d_02, which is their sum."""
    ends = (np.array([0, 1, 2]), np.array([1, 2, 1]), np.array([2, 0, 0]))
    return Numbers(np.eye(3), equalities=[("differences", ends, np.array(values))])


def test_a_contradiction_by_one_unit_is_one():
    assert not contradictory(equalities(1.0, 2.0, 3.0))
    assert contradictory(equalities(1.0, 2.0, np.nextafter(3.0, 4.0)))
    assert contradictory(Numbers(np.eye(2), equalities=[("total", (), 1.0), ("total", (), 2.0)]))
    entry = (np.array([0]), np.array([1]))
    assert not contradictory(Numbers(np.eye(2), equalities=[("entries", entry, 1.0), ("total", (), 2.0)]))


@pytest.mark.parametrize(
    ("status", "objective", "theirs", "value", "verdict"),
    [
        ("OPTIMAL", 1.0, "optimal", 1.0, "agrees"),
        ("OPTIMAL", 1.1, "optimal", 1.0, "false claim"),
        ("OPTIMAL", 1.0, "optimal", 1.1, "theirs is worse"),
        ("OPTIMAL", 1.0, "infeasible", None, "false claim"),
        ("INFEASIBLE", np.nan, "optimal", 1.0, "false claim"),
        ("UNBOUNDED", np.nan, "optimal", 1.0, "false claim"),
        ("UNBOUNDED", np.nan, "unbounded", None, "agrees"),
        ("INACCURATE", 1.0, "optimal", 1.0, "not proved"),
        ("INACCURATE", 1.0, "error", None, "neither"),
    ],
)
def test_the_judge_sees_a_lie(status, objective, theirs, value, verdict):
    problem = nm.Problem(np.eye(3), nm.LossTerm(nm.Entries(3, ([0], [1])), "square", 1.0))
    said = SimpleNamespace(
        status=nm.Status[status], objective=objective, certificate=SimpleNamespace(bound=objective)
    )
    assert _verdict(Numbers(np.eye(3)), problem, said, theirs, value) == verdict
