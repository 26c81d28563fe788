"""Comparisons and distances on the page: generated, or from files of the user."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.explore import answers
from npkl_models.explore.answers import SENSORS, Answer
from npkl_models.explore.form import Form, formulations
from npkl_models.formulations.comparisons import ordinal_answers
from npkl_models.formulations.distances import KINDS
from npkl_models.formulations.known_distances import radio_network

matplotlib = pytest.importorskip("matplotlib")

(I, J, D), Z = radio_network(14, 4, 0.7, noise=0.02, random_state=0)
ANSWERS = "\n".join(f"o{i},o{j},o{k}" for i, j, k in ordinal_answers(Z, 150, random_state=0))
DISTANCES = "\n".join(f"s{i},s{j},{d}" for i, j, d in zip(I, J, D, strict=True))
ANCHORS = "\n".join(f"s{k},{Z[k, 0]},{Z[k, 1]}" for k in range(14, 18))
PAGE = {"data": "iris", "n": "60", "n_neighbors": "5"}  # what the page sends of a set beside a file


def sent(session, **files):
    """The form with uploaded files, and what is said of each."""
    kept = {kind: session.uploads.keep(f"{kind}.csv", text.encode(), kind) for kind, text in files.items()}
    return {f"{kind}_file": one["key"] for kind, one in kept.items()}, [one["about"] for one in kept.values()]


def answered(session, form):
    """The answer of a form, as a run of the page gives it."""
    key = session.start("run", form)["key"]
    job = session.jobs.get(key)
    assert job.ended.wait(60)
    assert isinstance(job.answer, Answer), key
    return key, job.answer


@pytest.mark.parametrize("given", [
    {"formulation": "ordinal", "loss": "logistic", "data": "chessboard", "n": 20},
    {"formulation": "distances", "loss": "square", "data": "chessboard", "n": 20, "n_neighbors": 8, "anchors": 4},
    {"formulation": "distances", "loss": "huber", "data": "chessboard", "n": 20, "penalty": 0.1},
], ids=lambda given: f"{given['formulation']}-{given['loss']}")  # fmt: skip
def test_generated_ones_are_answered_drawn_and_written_as_code(session, given):
    told = session.describe(given)
    assert told["command"].startswith("npkl solve --data chessboard")
    key, answer = answered(session, given)
    assert answer.solution.is_optimal(1e-5)
    assert "<svg" in session.figure(key, "embedding", 0, {})
    assert len(answer.clusters) == answer.made.problem.n
    space = {}
    exec(told["code"], space)
    assert space["solution"].objective == pytest.approx(answer.solution.objective, rel=1e-4, abs=1e-6)


def test_a_file_of_comparisons_takes_the_place_of_a_set(session, tmp_path, monkeypatch):
    files, about = sent(session, comparisons=ANSWERS)
    assert about == ["comparisons.csv: 150 comparisons of 18 objects"]
    form = PAGE | {"formulation": "ordinal", "loss": "hinge"} | files
    told = session.describe(form)
    assert told["title"] == "comparisons, 18 objects (uploaded)"
    assert told["n"] == 18
    assert "npkl solve --comparisons comparisons.csv --formulation ordinal --loss hinge" in told["command"]
    key, answer = answered(session, form)
    assert answer.solution.is_optimal(1e-5)
    assert answer.made.problem.n_pairs == len(np.unique(ANSWERS.splitlines()))
    assert "<svg" in session.figure(key, "embedding", 0, {})
    (tmp_path / "comparisons.csv").write_text(ANSWERS)
    monkeypatch.chdir(tmp_path)
    space = {}
    exec(told["code"], space)
    assert space["solution"].objective == pytest.approx(answer.solution.objective, rel=1e-4)


def test_files_of_distances_and_anchors_take_the_place_of_a_set(session, tmp_path, monkeypatch):
    files, about = sent(session, distances=DISTANCES, anchors=ANCHORS)
    assert about == [
        f"distances.csv: {D.size} distances of 18 sensors",
        "anchors.csv: 4 anchors in 2 dimensions",
    ]
    form = PAGE | {"formulation": "distances", "loss": "square", "penalty": "0.01", "anchors": ""} | files
    told = session.describe(form)
    assert told["title"] == "distances, 18 sensors (uploaded)"
    assert "--distances distances.csv --anchors anchors.csv --formulation distances" in told["command"]
    _, answer = answered(session, form)
    assert answer.solution.is_optimal(1e-5)
    assert [part.name for part in answer.made.problem.constraints] == ["anchors"]
    for name, text in (("distances.csv", DISTANCES), ("anchors.csv", ANCHORS)):
        (tmp_path / name).write_text(text)
    monkeypatch.chdir(tmp_path)
    space = {}
    exec(told["code"], space)
    assert space["solution"].objective == pytest.approx(answer.solution.objective, rel=1e-5)
    assert str(tmp_path) not in answers.solve_code(answer.made, answer.form)


def test_sensors_are_drawn_in_the_frame_of_the_anchors(session):
    files, _ = sent(session, distances=DISTANCES, anchors=ANCHORS)
    form = PAGE | {"formulation": "distances", "loss": "square", "penalty": "0.01", "anchors": ""} | files
    key, answer = answered(session, form)
    place = np.array([int(name[1:]) for name in answer.made.names])  # names are sorted as text
    fixed = answer.made.anchors.points
    assert sorted(place[fixed]) == [14, 15, 16, 17]
    np.testing.assert_array_equal(answer.located[fixed], Z[place[fixed]])
    assert np.abs(answer.located - Z[place]).max() < 0.1  # nothing is turned or moved
    svg = session.figure(key, "embedding", 0, {})
    assert SENSORS in svg
    assert all(f">{word}</text>" in svg for word in ("sensor", "anchor", "s3"))
    ax = matplotlib.figure.Figure().add_subplot()
    answer.network(None, ax)
    assert ax.get_aspect() == 1.0
    np.testing.assert_array_equal(ax.collections[-1].get_offsets(), Z[place[fixed]])
    lines = {tuple(sorted(zip(*line.get_data(), strict=True))) for line in ax.lines}
    assert len(lines) == answer.made.problem.terms[0].functional.size == D.size


def test_steps_are_shown_in_the_frame_of_the_anchors(session):
    files, _ = sent(session, distances=DISTANCES, anchors=ANCHORS)
    form = PAGE | {"formulation": "distances", "loss": "square", "penalty": "0.01", "anchors": ""} | files
    job = session.jobs.get(session.start("step", form | {"backend": "burer_monteiro"})["key"])
    assert job.ended.wait(60)
    (found,) = [one for one in job.since(0) if one["kind"] == "steps"]
    assert sum(found["anchors"]) == 4
    own = np.array(found["places"])[:, np.array(found["anchors"])]
    assert np.abs(own - own[-1]).max() == 0  # anchors stay where they are
    last = np.array(found["places"][-1])
    answer = answered(session, form)[1]
    wanted = answer.located - answer.made.anchors.centre
    ratio = np.linalg.norm(wanted) / np.linalg.norm(last)
    assert np.abs(ratio * last - wanted).max() < 0.01


def test_generated_anchors_are_squares_and_classes_keep_their_colours(session):
    given = {"formulation": "distances", "loss": "square", "data": "chessboard", "n": 20, "n_neighbors": 8}
    key, answer = answered(session, given | {"anchors": 4})
    assert np.array_equal(answer.located[answer.made.anchors.points], answer.made.anchors.positions)
    svg = session.figure(key, "embedding", 0, {"by": "classes"})
    assert all(f">{word}</text>" in svg for word in ("0", "1", "anchor"))
    key, answer = answered(session, given)
    assert answer.made.anchors is None
    assert SENSORS not in session.figure(key, "embedding", 0, {})
    with pytest.raises(nm.ProblemError, match="need anchors"):
        answer.located  # noqa: B018


def test_findings_are_in_the_words_of_the_problem(session):
    files, _ = sent(session, comparisons=ANSWERS + "\nx,y,z\n")
    told = session.describe({"formulation": "ordinal", "loss": "hinge"} | files)
    assert any("fall into 2 groups of points" in one for one in told["findings"])
    few = "\n".join([DISTANCES, "new,s0,0.1"])
    files, _ = sent(session, distances=few, anchors=ANCHORS)
    told = session.describe({"formulation": "distances", "loss": "square"} | files)
    assert any("fewer than 3 distances at" in one for one in told["findings"])


@pytest.mark.parametrize(("kind", "text", "words"), [
    ("comparisons", "a,b\nc,d\n", "comparisons.csv, line 1: a header must name the columns of a csv of comparisons, got the unknown column 'a'"),
    ("distances", "a,b,-1\n", "distances.csv, line 1, column 3: a distance must be a number of at least 0"),
    ("anchors", "a,0,x\n", "anchors.csv, line 1, column 3: a coordinate must be a number"),
    ("triples", "a,b,c\n", "unknown kind of file 'triples'"),
])  # fmt: skip
def test_bad_files_are_refused_at_once(session, kind, text, words):
    with pytest.raises(nm.NPKLError) as error:
        session.uploads.keep(f"{kind}.csv", text.encode(), kind)
    assert words in str(error.value)
    assert session.uploads.files == {}


def test_only_uploaded_files_are_read(tmp_path):
    for name in ("comparisons", "distances"):
        with pytest.raises(nm.UnsupportedError, match=f"unknown field '{name}'"):
            Form.of({"formulation": "ordinal", name: "/etc/hostname"}, {})
    with pytest.raises(nm.ProblemError, match="anchors must be an integer"):
        Form.of({"formulation": "distances", "loss": "square", "anchors": "/etc/hostname"}, {})
    with pytest.raises(nm.ProblemError, match="no longer here"):
        Form.of({"formulation": "ordinal", "comparisons_file": "7"}, {})


def test_anchors_of_a_file_need_the_distances_of_a_file(session):
    files, _ = sent(session, anchors=ANCHORS)
    with pytest.raises(nm.ProblemError, match="without a file of distances, got a file"):
        session.describe({"formulation": "distances", "loss": "square", "data": "chessboard"} | files)


def test_the_page_knows_the_losses_of_distances():
    told = formulations()
    assert told["distances"]["losses"] == list(KINDS)
    assert {name for name, about in told.items() if about["losses"]} == {"distances"}
    assert {"comparisons", "seed"} <= set(told["ordinal"]["fields"])
    assert {"distances", "anchors", "n_neighbors"} <= set(told["distances"]["fields"])
