"""``npkl locate``: distances of named sensors to positions, and the refusals."""

import csv

import numpy as np
import pytest

from npkl_models.cli.main import main
from npkl_models.data.sensors import read_anchors_csv, read_bounds_csv, read_distances_csv
from npkl_models.formulations.known_distances import radio_network

(I, J, D), X = radio_network(24, 4, 0.55, noise=0.01, random_state=2)
NAMES = [f"node {k:02}" for k in range(28)]


@pytest.fixture
def network(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{NAMES[i]},{NAMES[j]},{d!r}" for i, j, d in zip(I, J, D.tolist(), strict=True)]
    (tmp_path / "distances.csv").write_text("\n".join(["i,j,distance", *lines]) + "\n")
    known = [f"{NAMES[k]},{X[k, 0]},{X[k, 1]}" for k in range(24, 28)]
    (tmp_path / "anchors.csv").write_text("\n".join(["sensor,x,y", *known]) + "\n")
    return tmp_path


def shown(capsys):
    return " ".join(capsys.readouterr().out.split())


def refused(capsys, *arguments):
    assert main(["locate", *arguments]) == 2
    return " ".join(capsys.readouterr().err.split())


def written(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def test_sensors_are_located_among_anchors(network, capsys):
    words = ["locate", "distances.csv", "--anchors", "anchors.csv", "--out", "found.csv", "--plot", "map.svg"]
    assert main(words) == 0
    said = shown(capsys)
    assert f"{D.size} distances of 28 sensors, 4 of them anchors" in said
    assert "OPTIMAL" in said
    assert "relative gap" in said
    assert "24 of 24 sensors are uniquely localisable, according to two further relaxations" in said
    assert "standard deviation of a position: median" in said
    rows = written("found.csv")
    assert list(rows[0]) == ["sensor", "x", "y", "deviation", "unique"]
    assert [row["sensor"] for row in rows] == NAMES
    found = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    assert np.abs(found - X).max() < 0.05
    assert found[24:] == pytest.approx(X[24:], abs=0)
    assert [float(row["deviation"]) for row in rows[24:]] == [0.0] * 4
    assert "node 00" in (network / "map.svg").read_text()


def test_without_anchors_distances_are_kept(network, capsys):
    assert main(["locate", "distances.csv", "--out", "found.csv", "--quick", "--seed", "3"]) == 0
    assert "uniquely" not in shown(capsys)
    rows = written("found.csv")
    assert "unique" not in rows[0]
    found = np.array([[float(row["x"]), float(row["y"])] for row in rows])
    assert np.linalg.norm(found[I] - found[J], axis=1) == pytest.approx(D, abs=0.05)


def test_a_sensor_with_two_distances_is_not_unique(network, capsys):
    own = [k for k in range(D.size) if 0 not in (I[k], J[k])]
    own += [k for k in range(D.size) if 0 in (I[k], J[k])][:2]
    lines = [f"{NAMES[I[k]]};{NAMES[J[k]]};{D[k]!s}".replace(".", ",") for k in own]
    (network / "few.csv").write_text("\n".join(lines))
    assert main(["locate", "few.csv", "--anchors", "anchors.csv", "--out", "found.csv"]) == 0
    assert "23 of 24 sensors are uniquely localisable" in (said := shown(capsys))
    assert "no proof); not: node 00" in said
    assert [row["sensor"] for row in written("found.csv") if row["unique"] == "no"] == ["node 00"]


@pytest.mark.parametrize(("bound", "place"), [("1.4,", (0.5, 1.0)), (",0.6", (0.0, 0.5))])
def test_bounds_tell_two_mirror_images_apart(network, bound, place):
    (network / "d.csv").write_text("a,b,1\nd,b,1.118033988749895\nd,c,0.5\n")
    (network / "a.csv").write_text("a,0,0\nb,1,0\nc,0,1\n")
    (network / "b.csv").write_text(f"i,j,lower,upper\na,d,{bound}\n")
    words = ["locate", "d.csv", "--anchors", "a.csv", "--bounds", "b.csv", "--out", "found.csv", "--quick"]
    assert main(words) == 0
    found = {row["sensor"]: (float(row["x"]), float(row["y"])) for row in written("found.csv")}
    assert found["d"] == pytest.approx(place, abs=1e-6)


def test_a_file_keeps_its_weights_and_either_order(network):
    (network / "d.csv").write_text("2,10,1.5,4\n10,2,1.5,4\n1,2,0,1\n")
    found = read_distances_csv("d.csv")
    assert found.names == ("1", "2", "10")
    assert list(zip(found.i, found.j, found.d, found.weight, strict=True)) == [
        (1, 2, 1.5, 4.0),
        (0, 1, 0.0, 1.0),
    ]
    assert found.repeated == 1
    (network / "b.csv").write_text("1,10,,3\n2,10,1,inf\n")
    assert [part.tolist() for part in read_bounds_csv("b.csv", found.names)] == [
        [0, 1], [2, 2], [0.0, 1.0], [3.0, np.inf],
    ]  # fmt: skip
    (network / "a.csv").write_text("sensor,x,y,z\n10,1,2,3\n1,4,5,6\n")
    points, positions = read_anchors_csv("a.csv", found.names)
    assert points.tolist() == [2, 0]
    assert positions.tolist() == [[1, 2, 3], [4, 5, 6]]


@pytest.mark.parametrize(("text", "words"), [
    ("", "d.csv must have at least one row"),
    ("i,j,distance\n", "below its header"),
    ("a,b\nb,c\n", "d.csv, line 1: a header must name the columns of a csv of distances"),
    ("a,b,1\nb,c,1,2\n", "3 cells in line 1 and 4 in line 2"),
    ("i,j,distance\na,b,1\nb,c,-2\n", "d.csv, line 3, column 3 (distance): a distance must be a number of at least 0, got '-2'"),
    ("a,b,1\nb,c,nan\n", "d.csv, line 2, column 3: a distance must be a number of at least 0, got 'nan'"),
    ("a,b,1\nb,c,inf\n", "line 2, column 3: a distance must be a number"),
    ("a,b,far\nb,c,1\n", "line 1: a header must name the columns of a csv of distances: two sensors, their distance, and perhaps a weight, got the unknown column 'far'"),
    ("a,b,1\nb,,1\n", "line 2, column 2: must be the name of a sensor, got ''"),
    ("a,b,1\nb,b,1\n", "line 2, column 2: must be another sensor than that before it, got 'b'"),
    ("a,b,1\nb,c,2\nb,a,3\n", "line 3, column 3: the distance of 'b' and 'a' must be one (repeated measurements are given as their mean), not '1' in line 1"),
    ("a,b,1,0\nb,c,2,1\n", "line 1, column 4: a weight must be a positive number, got '0'"),
    ("a,b,1\nc,d,1\ne,c,1\n", "join all sensors to each other by distances or upper bounds, got 2 of 5 sensors that could move without limit: a, b"),
])  # fmt: skip
def test_mistakes_in_distances_are_named(network, capsys, text, words):
    (network / "d.csv").write_text(text)
    assert words in refused(capsys, "d.csv")


ANCHORS = "node 24,0,0\nnode 25,1,0\nnode 26,0,1\n"


@pytest.mark.parametrize(("text", "words"), [
    ("", "a.csv must have at least one row"),
    (ANCHORS + "node 99,1,1\n", "a.csv, line 4, column 1: must be a sensor that has a distance (did you mean 'node"),
    (ANCHORS + "node 25,1,1\n", "line 4, column 1: an anchor must come once, and is in line 2, too, got 'node 25'"),
    (ANCHORS + "node 27,1,east\n", "line 4, column 3: a coordinate must be a number, got 'east'"),
    (ANCHORS + "node 27,1\n", "3 cells in line 1 and 2 in line 4"),
    ("24\n", "line 1: without a header the columns must be sensor,x, got 1 cells; expected is a csv of anchors"),
    ("node 24,0,0\nnode 25,1,1\nnode 26,2,2\n", "a.csv must be a csv of anchors in general position"),
])  # fmt: skip
def test_mistakes_in_anchors_are_named(network, capsys, text, words):
    (network / "a.csv").write_text(text)
    assert words in refused(capsys, "distances.csv", "--anchors", "a.csv")


@pytest.mark.parametrize(("text", "words"), [
    ("node 00,node 01,1\n", "b.csv, line 1: without a header the columns must be i,j,lower,upper, got 3 cells; expected is a csv of bounds"),
    ("node 00,node 01,2,1\n", "line 1, column 4: must be at least the lower bound 2, got '1'"),
    ("node 00,node 01,-2,1\n", "line 1, column 3: a bound must be a number of at least 0, or empty, got '-2'"),
    ("i,j,lower,upper\nnode 00,nod 01,0,1\n", "line 2, column 2 (j): must be a sensor that has a distance (did you mean"),
    ("node 00,node 01,0,1\nnode 01,node 00,0,2\n", "the bound of 'node 01' and 'node 00' must be one"),
])  # fmt: skip
def test_mistakes_in_bounds_are_named(network, capsys, text, words):
    (network / "b.csv").write_text(text)
    assert words in refused(capsys, "distances.csv", "--bounds", "b.csv")


def test_bad_options_are_named(network, capsys):
    assert "no file of that name" in refused(capsys, "nowhere.csv")
    assert "no file of that name" in refused(capsys, "distances.csv", "--anchors", "nowhere.csv")
    assert "--dimensions must be at least 1" in refused(capsys, "distances.csv", "--dimensions", "0")
    assert "--spread must be a finite number, got nan" in refused(capsys, "distances.csv", "--spread", "nan")
    said = refused(capsys, "distances.csv", "--anchors", "anchors.csv", "--dimensions", "3")
    assert "anchors.csv must have 3 coordinates of each anchor, as --dimensions says, got 2" in said
    assert "must end with .csv" in refused(capsys, "distances.csv", "--out", "found.npz")
    with pytest.raises(SystemExit):
        main(["locate", "distances.csv", "--loss", "squared"])
    assert "did you mean" in capsys.readouterr().err
