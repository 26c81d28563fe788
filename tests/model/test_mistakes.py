"""What may be wrong with comparisons and with measured distances, in the words of these problems."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.formulations.comparisons import ordinal_answers
from npkl_models.formulations.known_distances import radio_network
from npkl_models.model import mistakes

X = np.random.default_rng(0).normal(size=(12, 2))
ASKED = ordinal_answers(X, 200, random_state=0)
KNOWN, Z = radio_network(30, 4, 0.6, random_state=0)
ANCHORS = (np.arange(30, 34), Z[30:])


def told(problem, kind):
    return [finding.message for finding in problem.diagnose() if finding.kind == kind]


@pytest.mark.parametrize("loss", ["logistic", "hinge", "squared_hinge"])
def test_right_answers_are_healthy(loss):
    assert nm.ordinal(ASKED, loss=loss).diagnose() == ()
    four = np.column_stack([ASKED[:, 0], ASKED[:, 1], ASKED[:, 2], ASKED[:, 0]])
    assert nm.ordinal(four, loss=loss).diagnose() == ()


@pytest.mark.parametrize("penalty", [None, 0.1, -0.01])
@pytest.mark.parametrize("anchors", [None, ANCHORS])
def test_exact_distances_are_healthy(anchors, penalty):
    assert nm.distances(KNOWN, anchors=anchors, penalty=penalty).diagnose() == ()


def test_points_in_no_comparison_are_named():
    (words,) = told(nm.ordinal(ASKED, 17), "isolation")
    assert words.startswith("no comparison names 5 of 17 points: 12, 13, 14 and 2 more;")
    assert told(nm.ordinal(ASKED, 17), "disconnection") == []


@pytest.mark.parametrize("columns", [3, 4])
def test_groups_that_no_comparison_joins_are_counted(columns):
    rows = np.array([[0, 1, 2], [1, 3, 0], [4, 5, 6], [7, 8, 9], [2, 3, 0]])
    if columns == 4:
        rows = np.column_stack([rows[:, :2], rows[:, 2], rows[:, 0]])
    (words,) = told(nm.ordinal(rows), "disconnection")
    assert "fall into 3 groups of points, of 4, 3, 3 points, that no comparison joins" in words


def test_quadruplets_join_their_four_points():
    assert told(nm.ordinal([[0, 1, 2, 3]]), "disconnection") == []


@pytest.mark.parametrize("columns", [3, 4])
def test_opposite_answers_are_counted_and_bound_every_kernel(columns):
    rows = np.array([[0, 1, 2], [0, 1, 2], [0, 1, 2], [0, 2, 1], [1, 3, 0], [2, 3, 0]])
    if columns == 4:
        rows = np.column_stack([rows[:, :2], rows[:, 2], rows[:, 0]])
    first, *others = told(nm.ordinal(rows), "contradiction")
    assert first.startswith("2 of 4 different comparisons (50.0%) are contradicted by their opposite")
    assert "0 and 1 are nearer to each other than 0 and 2" in first
    assert "at least 16.7% of the weight wrongly" in first  # one of six answers
    assert others == []


def test_circles_of_comparisons_are_counted():
    rows = [[0, 1, 2], [0, 2, 3], [0, 3, 1], [1, 2, 3]]
    (words,) = told(nm.ordinal(rows), "contradiction")
    assert words.startswith("3 of 4 different comparisons (75.0%) lie on circles")


def test_wrong_answers_are_seen_to_contradict():
    noisy = ordinal_answers(X, 2_000, noise=0.1, random_state=0)
    first, _ = told(nm.ordinal(noisy), "contradiction")
    share = float(first.split("(")[1].split("%")[0])
    right = {tuple(row) for row in np.unique(noisy, axis=0).tolist()}
    both = [row for row in right if (row[0], row[2], row[1]) in right]
    assert share == pytest.approx(100 * len(both) / len(right), abs=0.05)


def without(points):
    i, j, d = KNOWN
    kept = ~np.isin(i, points) & ~np.isin(j, points)
    return i[kept], j[kept], d[kept]


def test_sensors_without_a_path_to_an_anchor_are_named():
    i, j, d = without([3, 7])
    known = (np.append(i, 3), np.append(j, 7), np.append(d, 0.2))
    problem = nm.distances(known, 34, anchors=ANCHORS, penalty=0.1)
    (words,) = told(problem, "disconnection")
    assert words.startswith("no path of distances or upper bounds joins 2 of 34 points to an anchor: 3, 7;")
    bounded = nm.distances(known, 34, anchors=ANCHORS, penalty=0.1, bounds=([3], [30], 0.0, 0.5))
    assert told(bounded, "disconnection") == []
    loose = nm.distances(known, 34, anchors=ANCHORS, penalty=0.1, bounds=([3], [30], 0.5, np.inf))
    assert told(loose, "disconnection") == [words]
    (words,) = told(nm.distances(known, 34, penalty=0.1), "disconnection")
    assert "joins 2 of 34 points to each other" in words


def test_sensors_with_fewer_distances_than_dimensions_ask_for_are_named():
    i, j, d = without([5])
    few = (
        np.append(i, [5, 5]),
        np.append(j, [30, 31]),
        np.append(d, np.linalg.norm(Z[5] - Z[30:32], axis=1)),
    )
    (words,) = told(nm.distances(few, anchors=ANCHORS), "isolation")
    assert words.startswith("fewer than 3 distances at 1 of 30 sensors: 5;")
    assert "in 2 dimensions" in words
    one = (np.append(i, 5), np.append(j, 30), np.append(d, 0.3))
    (words,) = told(nm.distances(one), "isolation")
    assert words.startswith("fewer than two distances at 1 of 34 points: 5;")
    assert told(nm.distances(few), "isolation") == []


@pytest.mark.parametrize("chunk", [1, 7, 2_000_000])
def test_the_worst_triangle_is_told(monkeypatch, chunk):
    monkeypatch.setattr(mistakes, "AT_ONCE", chunk)
    known = ([0, 0, 1, 1, 2], [1, 2, 2, 3, 3], [1.0, 4.0, 2.0, 1.5, 4.0])
    (words,) = told(nm.distances(known), "triangle")
    assert words.startswith("2 triangles violate the triangle inequality; the worst: 0 and 2 are 4 apart")
    assert "but the path through 1 is shorter by 1 (25.0%): 3" in words


def test_triangles_are_those_of_the_full_table():
    i, j, d = radio_network(30, 4, 0.6, noise=0.2, random_state=1)[0]
    (words,) = told(nm.distances((i, j, d)), "triangle")
    D = np.full((34, 34), np.nan)
    D[i, j] = D[j, i] = d
    many = sum(
        int(np.sum(D[a, b] > (D[a] + D[b]) * (1 + 1e-9))) for a, b in zip(i.tolist(), j.tolist(), strict=True)
    )
    assert words.startswith(f"{many} triangles ")


def test_a_limit_on_the_compared_ways_is_told(monkeypatch):
    monkeypatch.setattr(mistakes, "PATHS", 6)
    known = ([0, 0, 1, 1, 2], [1, 2, 2, 3, 3], [1.0, 4.0, 2.0, 1.5, 4.0])
    (words,) = told(nm.distances(known), "triangle")
    assert "(of the first 6 paths that were compared)" in words
