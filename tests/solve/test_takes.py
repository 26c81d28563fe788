"""What each backend takes: the table cell by cell, and the reasons for every no."""

from dataclasses import replace

import numpy as np
import pytest
from problems import KINDS, NONNEGATIVE, SEPARABLE, SHARED

import npkl_models as nm


def test_what_a_backend_cannot_take_is_said(small):
    entries = small("npkl:hinge").with_basis(nm.eigenbasis(small("pcp").cost, 5))
    reasons = entries.compatible_backends()
    assert reasons["sqlp"] == "needs square or linear losses, got hinge"
    assert reasons["mfpc"] == "needs smooth losses, got hinge"
    assert "needs a basis" in small("pcp").compatible_backends()["qsdp"]
    assert "needs a basis" in small("pcp").compatible_backends()["mfpc"]
    rows = small("row:square").with_basis(nm.eigenbasis(small("pcp").cost, 5))
    assert rows.compatible_backends()["sqlp"] is None
    assert rows.compatible_backends()["mfpc"] == "supports no constraints, got row norms"
    powers = small("B1.5:hinge").compatible_backends()
    assert powers["bcd"] == "takes no regulariser, got tr K^1.5"


# ----------------------------------------------------------------------------------- the table, cell by cell

ENTRIES = {"pcp", *(f"npkl:{name}" for name in NONNEGATIVE)}
ROWS = {f"row:{name}" for name in SEPARABLE}
IN_BASIS = {"basis:pcp", "basis:npkl:hinge", "basis:npkl:squared_hinge", "basis:B2:square", "basis:G2:linear"}
INTEGER = {f"{form}{p}:{name}" for form in "BG" for p in (1, 2, 4) for name in SEPARABLE} | {
    "B3:square",
    "G3:linear",
}
FRACTION = {"B1.5:hinge", "G1.5:squared_hinge"}
POWERS = INTEGER | FRACTION
FACTOR = ENTRIES | ROWS | POWERS | IN_BASIS
QUADRATIC = {"basis:pcp", "basis:B2:square", "basis:G2:linear"}
SUPPORTED = {
    "bcd": ENTRIES | ROWS,
    "burer_monteiro": FACTOR,
    "hybrid": FACTOR,
    "admm": ENTRIES | {kind for kind in INTEGER if kind[1] == "2"},
    "simple_npkl": {kind for kind in POWERS if kind[:3] != "G1:"}
    | {"basis:B2:square", "basis:G2:linear"}
    | {kind for kind in SHARED if ":shared" in kind and not kind.startswith(("npkl", "row", "B1:"))},
    "closed_form": {kind for kind in POWERS if "linear" in kind and kind != "G1:linear"}
    | {"basis:G2:linear"},
    "mfpc": {"basis:pcp", "basis:npkl:squared_hinge"},
    "interior": ENTRIES
    | ROWS
    | {kind for kind in INTEGER if kind[1] == "1"}
    | (IN_BASIS - {"basis:B2:square", "basis:G2:linear"}),
    "sqlp": QUADRATIC,
    "qsdp": QUADRATIC,
    "scsdp": QUADRATIC,
    "sdp": set(KINDS),
    "sdp_dual": set(KINDS),
}
"""The problems on 24 points that each backend takes, of every loss with every regulariser."""


@pytest.mark.parametrize("name", nm.backends())
def test_the_support_matrix_is_pinned(small, name):
    assert {kind for kind in KINDS if small(kind).compatible_backends()[name] is None} == SUPPORTED[name]


BOTH, CONIC = {"burer_monteiro", "hybrid", "interior", "sdp", "sdp_dual"}, {"sqlp", "qsdp", "scsdp"}


def test_equalities_and_distances_are_pinned(small):
    L = small("pcp").cost
    unit = nm.Constraint(nm.Entries(24, (np.arange(24), np.arange(24))), equal=1.0)
    hard = nm.Problem(L, (unit,))
    far = nm.Problem(L, nm.LossTerm(nm.SquaredDistances(24, ([0, 1], [2, 3])), "square", 1.0))
    basis = nm.eigenbasis(L, 8)
    sets = {
        "equalities": BOTH,
        "distances": BOTH | {"bcd"},
        "equalities in a basis": BOTH | CONIC,
        "distances in a basis": BOTH | CONIC | {"mfpc"},
    }
    problems = zip(sets, (hard, far, hard.with_basis(basis), far.with_basis(basis)), strict=True)
    for name, problem in problems:
        able = {backend for backend, reason in problem.compatible_backends().items() if reason is None}
        assert able == sets[name], name


def test_every_refusal_has_its_reason(small):
    for kind in KINDS:
        for name, reason in small(kind).compatible_backends().items():
            assert reason is None or reason.startswith(
                ("needs ", "takes ", "supports ", "has ", "works ", "tr K")
            ), (name, reason)


def test_what_is_not_listed_is_refused(small):
    assert nm.extend.Takes().refusal(small("pcp")) == "needs no losses, got square"
    some = nm.extend.Takes(losses=("square",), regularizers=("none",))
    assert some.refusal(small("pcp")) is None
    assert some.refusal(small("npkl:hinge")) == "needs square losses, got hinge"
    assert some.refusal(small("row:square")) == "supports no constraints, got row norms"
    only = nm.extend.Takes(losses=("square",), regularizers=("none",), constraints="row norms")
    assert only.refusal(small("row:square")) is None
    both = replace(
        small("row:square"), terms=(*small("row:square").terms, nm.Constraint(nm.Trace(24), upper=9))
    )
    assert only.refusal(both) == "supports only one upper bound on all K_ii, got row norms"
    assert some.refusal(small("basis:pcp")) == "works on the rows of V, not in a basis"
