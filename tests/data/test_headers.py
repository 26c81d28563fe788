"""Tables are read by their headers: roles of columns, names of rows, words of answers, and what is left out."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.data.comparisons import read_comparisons_csv
from npkl_models.data.sensors import read_anchors_csv, read_distances_csv
from npkl_models.data.tables import is_file, read_answers, read_pairs, read_points
from npkl_models.model.sampling import WORDS, sign


def table(folder, text, name="t.csv"):
    (folder / name).write_text(text)
    return folder / name


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("0,1,2,kind\n5,6,7,u\n8,9,4,v\n", ("0", "1", "2")),
        (",0,1,kind\n0,5,6,u\n1,8,9,v\n", ("0", "1")),
        ("0,1,u\n1,2,v\n2,3,u\n", ("column 1", "column 2")),  # a name that comes again is a class
        ("0,2,u\n1,2,v\n2,3,v\n", ("column 1", "column 2")),
    ],
)
def test_columns_that_pandas_numbered_have_a_header_beside_a_name(tmp_path, text, columns):
    found = read_points(table(tmp_path, text), label="-1")
    assert found.columns == columns
    assert len(found.X) == text.count("\n") - (columns[0] == "0")


ORDER = ("fig,pear,nut", "pear,fig,nut", "nut,pear,fig")


@pytest.mark.parametrize(
    ("header", "columns"),
    [
        ("anchor,near,far", (0, 1, 2)), ("Reference,Closer,Farther", (0, 1, 2)), ("far,anchor,near", (2, 0, 1)),
        ("i,j,k", (0, 1, 2)), ("query,similar,dissimilar", (0, 1, 2)), (None, (0, 1, 2)),
    ],
)  # fmt: skip
def test_comparisons_follow_their_header(tmp_path, header, columns):
    rows = [line.split(",") for line in ORDER]
    lines = [",".join(row[k] for k in columns) for row in rows]
    found = read_comparisons_csv(table(tmp_path, "\n".join([header, *lines] if header else lines)))
    assert found.names == ("fig", "nut", "pear")
    assert [[found.names[k] for k in row] for row in found.rows.tolist()] == rows
    assert ("by the header" in found.header) == (header is not None)


@pytest.mark.parametrize(
    "header", ["head,winner,loser", "anchor,near,remark", "anchor,near", "near,near,anchor"]
)
def test_an_unknown_header_is_an_error_that_lists_the_known_ones(tmp_path, header):
    lines = [",".join("0123"[: header.count(",") + 1]), ",".join("3210"[: header.count(",") + 1])]
    with pytest.raises(
        nm.ProblemError, match=r"line 1: a header must name .*known are: i \(or anchor, reference"
    ):
        read_comparisons_csv(table(tmp_path, "\n".join([header, *lines])))


@pytest.mark.parametrize("first", ["0,1,must", "u,v,must", "0,1,1", "u,v,same"])
def test_a_first_pair_is_never_a_header(tmp_path, first):
    ids = ("u", "v", "w") if first.startswith("u") else ()
    second = "v,w,no" if ids else "1,2,no"
    found = read_pairs(table(tmp_path, f"{first}\n{second}\n"), 3, ids)
    assert (found.must_link.tolist(), found.cannot_link.tolist()) == ([[0, 1]], [[1, 2]])


@pytest.mark.parametrize(
    ("text", "weights", "who"),
    [
        ("kind,j,i\nsame,1,0\ndifferent,2,1\n", None, None),
        ("left_id,right_id,match\n0,1,yes\n1,2,no\n", None, None),
        ("id1,id2,label,confidence\n1,2,0,0.25\n0,1,1,2\n", [2, 0.25], None),
        ("i,j,kind,weight\n1,2,0,inf\n0,1,1,2\n", [2, np.inf], None),
        ("annotator,i,j,kind\nann,0,1,True\nbob,1,2,False\n", None, ["ann", "bob"]),
        ("i,j,y\n0.0,1.0,1.0\n1.0,2.0,-1.0\n", None, None),
    ],
)
def test_columns_of_pairs_have_roles(tmp_path, text, weights, who):
    path = table(tmp_path, text)
    found = read_answers(path, 3)
    pairs = found.pairs(3)
    assert (pairs.must_link.tolist(), pairs.cannot_link.tolist()) == ([[0, 1]], [[1, 2]])
    assert found.annotator == who
    assert (None if pairs.weights is None else pairs.weights.tolist()) == weights
    if who is not None:
        with pytest.raises(nm.ProblemError, match="got a column of annotators"):
            read_pairs(path, 3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("i,j,kind,remark\n0,1,1,x\n", "unknown column 'remark'; known are: i .*, annotator"),
        ("i,kind\n0,1\n", "got none for j; known are"),
        *(
            (f"i,j,kind\n0,1,no\n1,2,{w}\n", f"line 3.*leave rows .* out.*'{w}'$")
            for w in ("", "unknown", "NaN")
        ),
        ("0,1,must,ann\n", "without a header the columns must be i,j or i,j,kind, got 4 cells"),
        (
            "i,j,kind\n0,1,1\n1,2,0\n0,2,-1\n",
            "line 3, column 3 .kind.: cannot-links must be 0 or -1 in the whole",
        ),
        ("i,j,weight,annotator\n0,1,1,ann\n", "weights or of annotators, got both"),
        ("i,j,weight\n0,1,0\n", "a weight must be a positive number, or inf .*, got '0'"),
        ("i,j,annotator\n0,1,\n", "line 2, column 3 .annotator.: must name an annotator"),
        ("i,j,kind\n0,rec-1,must\n", "or names of rows if ids says which column has them"),
    ],
)
def test_bad_tables_of_pairs_say_what_would_be_right(tmp_path, text, words):
    with pytest.raises(nm.ProblemError, match=words):
        read_pairs(table(tmp_path, text), 3)


def test_rows_have_names_and_pairs_use_them(tmp_path):
    data = read_points(table(tmp_path, 'who,a,b\n"x, y",1,2\n07,3,4\n7,5,6\n'), ids="who")
    assert data.ids == ("x, y", "07", "7")
    assert data.X.shape == (3, 2)
    assert data.about.endswith("names of rows from 'who'")
    assert data.subset(2, 1).ids == tuple(
        np.array(data.ids)[np.isin(data.X[:, 0], data.subset(2, 1).X[:, 0])]
    )
    again = read_pairs(table(tmp_path, 'i,j,kind\n"x, y",07,must\n07,7,cannot\n'), 3, data.ids)
    assert (again.must_link.tolist(), again.cannot_link.tolist()) == ([[0, 1]], [[1, 2]])
    with pytest.raises(
        nm.ProblemError, match="line 2, column 1 .i.: must be the name of a row .*, one of x, y, 07, 7"
    ):
        read_pairs(table(tmp_path, "i,j\n0,07\n"), 3, data.ids)
    for cells, words in (
        (("u", "u"), "as none of line 2"),
        (("u", ""), "line 3, column 1 .who.: must be a name"),
    ):
        with pytest.raises(nm.ProblemError, match=words):
            read_points(table(tmp_path, "who,a\n{},1\n{},2\n".format(*cells)), ids="who")
    with pytest.raises(nm.UnsupportedError, match="unknown column of .*'name'"):
        read_points(table(tmp_path, "who,a\nu,1\nv,2\n"), ids="name")


@pytest.mark.parametrize(
    ("name", "cells", "kept"),
    [
        ("Unnamed: 0", "012", False), ("Unnamed: 0", "201", False), ("Unnamed: 0.1", "942", False),
        ("index", "012", False), ("ID", "123", False), ("", "987", False), ("row", "120", False),
        ("index", "942", True), ("id", "113", True), ("width", "012", True),
    ],
)  # fmt: skip
def test_a_column_that_counts_the_rows_is_left_out_and_said(tmp_path, name, cells, kept):
    rows = "".join(f"{cell},{k},{k * k}\n" for k, cell in enumerate(cells))
    found = read_points(table(tmp_path, f"{name},a,b\n{rows}"))
    assert found.X.shape[1] == 2 + kept
    assert (f"1 column left out: {name!r} (" in found.about) != kept


@pytest.mark.parametrize(
    ("cell", "remedy"),
    [
        ('"1,234"', "without separators of thousands"), ("1 234.5", "without separators of thousands"),
        ("12.5%", "leave the percent sign out"), ("12 %", "leave the percent sign out"), ('"3,5"', "write a point"),
        ("2024-05-01", "write a date or time as a number"), ("12:30", "write a date or time as a number"),
        ("$12", "leave the unit out"), ("12 kg", "leave the unit out"), ("True", "write 1 and 0"),
        ("inf", "a number must be finite"), ("1e999", "a number must be finite"),
    ],
)  # fmt: skip
def test_numbers_in_disguise_have_their_remedy(tmp_path, cell, remedy):
    with pytest.raises(nm.ProblemError, match="line 3, column 2 .b.: must be a number") as said:
        read_points(table(tmp_path, f"a,b\n1,2\n3,{cell}\n"))
    assert remedy in str(said.value)
    assert "--labels" not in str(said.value)


def test_habits_of_programs_and_other_kinds_of_files_have_their_remedy(tmp_path):
    for text, words in (
        ("# made by hand\na,b\n1,2\n", "line 1: .* begins with '#': delete comments"),
        ("a,b\n1,2\n# end\n", "line 3: .* begins with '#'"),
        ("sep=;\na;b\n1;2\n", "line 1: .*got 'sep=', which only Excel reads: delete this line"),
        ("sep=,\na,b\n1,2\n", "only Excel reads"),
    ):
        with pytest.raises(nm.ProblemError, match=words):
            read_points(table(tmp_path, text))
    for suffix, words in (
        ("mat", "scipy.io.loadmat"),
        ("xlsx", "as csv"),
        ("npy", "numpy.savez"),
        ("foo", "got my.foo$"),
    ):
        assert is_file(f"my.{suffix}")
        with pytest.raises(nm.ProblemError, match=words):
            read_points(f"my.{suffix}")
    assert not is_file("wine")


def test_minus_one_is_no_class_wherever_classes_are_read(tmp_path):
    for cells in (("0.0", "-1", "2"), ("a", "", "b"), ("0", "NaN", "1"), ("x", "<NA>", "-1.0")):
        path = table(tmp_path, "a,class\n" + "".join(f"{k},{cell}\n" for k, cell in enumerate(cells)))
        y = read_points(path).y
        assert [bool(one >= 0) for one in y] == [
            cell not in ("-1", "", "NaN", "<NA>", "-1.0") for cell in cells
        ]
        assert set(y[y >= 0]) == set(range(int((y >= 0).sum())))
    for y in (np.array([3, -1, 5]), np.array([0.5, np.nan, 1.5]), np.array(["a", "NA", "b"])):
        np.savez(tmp_path / "x.npz", X=np.eye(3), y=y)
        assert read_points(tmp_path / "x.npz").y.tolist() == [0, -1, 1]


def test_distances_and_anchors_follow_their_header(tmp_path):
    found = read_distances_csv(table(tmp_path, "range_m,to,from\n2.5,B,tag\n1,C,tag\n"))
    assert found.names == ("B", "C", "tag")
    assert found.d.tolist() == [2.5, 1]
    assert [found.names[k] for k in found.i] == ["B", "C"]
    points, positions = read_anchors_csv(table(tmp_path, "x,y,name\n1,2,B\n3,4,C\n"), found.names)
    assert (points.tolist(), positions.tolist()) == ([0, 1], [[1, 2], [3, 4]])
    with pytest.raises(nm.ProblemError, match="unknown column 'floor'"):
        read_anchors_csv(table(tmp_path, "name,x,floor\nB,1,2\n"), found.names)


def test_one_vocabulary_of_answers(tmp_path):
    for word, wanted in WORDS.items():
        assert sign(f" {word.upper()} ") == wanted
        found = nm.Pairs.from_arrays([[0, 1]], [word], 2)
        assert len(found.must_link) == (wanted > 0)
        again = read_pairs(table(tmp_path, f"i,j,kind\n0,1,{word}\n"), 2)
        assert len(again.must_link) == (wanted > 0)
    assert sign("perhaps") is None
