"""The presets fail as they say, and what helps helps."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.explore import answers
from npkl_models.explore.form import SHOWN, Form, with_mistakes
from npkl_models.explore.session import FAILURES, Session
from npkl_models.linalg.compile import Loop

BY_NAME = {one["name"]: one for one in FAILURES}


def answer(given):
    """The answer of a form, whose backends compile nothing: a preset answers within seconds on a busy machine."""
    session = Session()
    patch = pytest.MonkeyPatch()
    patch.setattr(Loop, "load", lambda loop: pytest.fail(f"{loop.name} is compiled"))
    try:
        job = session.jobs.get(session.start("run", {key: str(one) for key, one in given.items()})["key"])
        assert job.ended.wait(240)
        return job.answer, {event["kind"]: event for event in job.since(0)}
    finally:
        patch.undo()
        session.close()


@pytest.mark.parametrize("one", FAILURES, ids=lambda one: one["name"])
def test_what_helps_helps(one):
    found, _ = answer(one["cure"])
    assert found.solution.status.name == "OPTIMAL"
    assert found.solution.is_optimal(1e-6)


def test_the_rank_is_too_small():
    found, _ = answer(BY_NAME["rank"]["form"])
    assert found.solution.status.name == "LOCALLY_SOLVED"
    assert found.solution.certificate.relative_gap > 0.1
    assert found.solution.certificate.min_eigenvalue < -0.1
    assert found.solution.rank == 2
    best, _ = answer(BY_NAME["rank"]["cure"])
    assert best.solution.rank == 4


def test_without_a_shift_the_solver_crawls():
    found, _ = answer(BY_NAME["shift"]["form"])
    assert found.solution.status.name == "ITERATION_LIMIT"
    assert found.solution.certificate.relative_gap > 1e-3
    kinds = {one.kind for one in found.made.problem.diagnose()}
    assert kinds >= {"disconnection", "unboundedness"}
    cured, _ = answer(BY_NAME["shift"]["cure"])
    assert cured.made.problem.diagnose() == ()


def test_the_audit_finds_wrong_pairs():
    found, events = answer(BY_NAME["pairs"]["form"])
    assert found.solution.status.name == "OPTIMAL"
    audit = events["audit"]
    assert audit["wrong"] == round(0.1 * audit["pairs"])
    assert audit["found"] >= 0.6 * audit["wrong"]
    assert sum(row["wrong"] for row in audit["rows"]) >= 6


def test_the_hinge_stalls():
    found, events = answer(BY_NAME["hinge"]["form"])
    best, _ = answer(BY_NAME["hinge"]["cure"])
    assert found.solution.status.name != "OPTIMAL"
    assert found.solution.objective > 1.02 * best.solution.objective
    last = np.diff(events["answer"]["history"]["objective"][-3:])
    assert np.all(np.abs(last) < 0.01 * found.solution.objective)


def test_presets_are_fields_of_the_form_and_say_it_in_short_sentences():
    fields = {field.name for field in SHOWN}
    for one in FAILURES:
        assert set(one["form"]) | set(one["cure"]) <= fields
        for part in ("seen", "why", "helps"):
            sentences = [s for s in one[part].replace(": ", ". ").split(". ") if s]
            assert all(len(sentence.split()) <= 25 for sentence in sentences), one[part]


def test_wrong_pairs_are_a_share_and_the_code_has_them():
    pairs = nm.Pairs.from_labels([0, 0, 0, 1, 1, 1], 4, 4, random_state=0)
    turned = with_mistakes(pairs, 0.25, 3)
    before = set(map(tuple, pairs.must_link.tolist()))
    after = set(map(tuple, turned.must_link.tolist()))
    assert len(before ^ after) == 2
    sure = nm.Pairs(6, pairs.must_link, pairs.cannot_link, [np.inf] * 4 + [3.0] * 4)
    changed = with_mistakes(sure, 1.0)
    assert changed.must_link[changed.confidence[:8] == np.inf].tolist() == pairs.must_link.tolist()
    form = Form.of({"n": 30, "wrong": 0.2}, {})
    made, space = form.made(), {}
    exec(answers.solve_code(made, form), space)
    assert space["solution"].objective == pytest.approx(made.problem.solve().objective, rel=1e-5)
    assert "audit_pairs(solution)" in answers.solve_code(made, form)
    assert form.command().startswith("# npkl solve has no option for wrong")
    with pytest.raises(nm.ProblemError, match="drawn from classes"):
        Form({}, {"pairs": "x"}, wrong=0.1).made()
