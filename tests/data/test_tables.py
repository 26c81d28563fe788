"""Tables of a user's own: headers, names of rows, classes as text, and what is said of a bad cell."""

import bz2
import gzip

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.cli.main import main
from npkl_models.data import datasets
from npkl_models.data.readers import read_csv, read_libsvm
from npkl_models.data.tables import read_pairs, read_points


def table(folder, text, name="my.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


@pytest.mark.parametrize(
    "text",
    [
        '"a","b","class"\n"r1",1,2,"x"\n"r2",3,4,"y "\n"r3",5,6,"y"\n',  # R's write.table(sep = ",")
        '"a" "b" "class"\n"r1" 1 2 "x"\n"r2" 3 4 "y"\n"r3" 5 6 "y"\n',  # R's write.table
        '"","a","b","class"\n"1",1,2,"x"\n"2",3,4,"y"\n"3",5,6," y"\n',  # R's write.csv
        ",a,b,class\n0,1,2,x\n1,3,4,y\n2,5,6,y\n",  # pandas
        "a,b,class\n1,2,x\n3,4,y\n5,6,y \n",
        "a;b;class\n1,0;2;x\n3;4;y\n5;6;y\n",
        "a\tb\tclass\n1\t2\tx\n3\t4\ty\n5\t6\ty\n",
        "a,b,class,\n1,2,x,\n3,4,y,\n5,6,y,\n".replace("class,", "class"),  # a comma at the end of every row
    ],
)
def test_names_of_rows_are_no_points_and_texts_are_classes(tmp_path, text):
    found = read_points(table(tmp_path, text))
    assert found.X.tolist() == [[1, 2], [3, 4], [5, 6]]
    assert found.y.tolist() == [0, 1, 1]
    assert found.columns == ("a", "b")


def test_a_header_that_is_too_short_or_long_is_refused(tmp_path):
    with pytest.raises(nm.ProblemError, match="each of the 3 columns, got 4 names: a, b, c, d"):
        read_points(table(tmp_path, "a,b,c,d\n1,2,3\n4,5,6\n"))
    for rows in ("1,2,3\n1,5,6\n", "1.5,2,3\n4.5,5,6\n"):  # repeated, or numbers that are no count
        with pytest.raises(
            nm.ProblemError, match="got no name for column 1 beside a, b; if this column names"
        ):
            read_points(table(tmp_path, f"a,b\n{rows}"))
    with pytest.raises(nm.ProblemError, match="got 1 names: a; write a name for each column"):
        read_points(table(tmp_path, "a\n1,2,3\n4,5,6\n"))
    with pytest.raises(
        nm.ProblemError, match="got the unknown column ''; known are: i .or a, from, first., j"
    ):
        read_pairs(table(tmp_path, "i,j\n0,1,must\n2,3,must\n"), 6)


@pytest.mark.parametrize(
    "first", ["1.O,2,3", "1.0,2x,3", "1.O,2.O,3.O", "1,,3,4,x", "1,2,2024-1-1", "x,2001,3"]
)
def test_a_first_line_with_a_cell_that_begins_with_a_digit_is_no_header(tmp_path, first):
    width = first.count(",") + 1
    rows = "\n".join(",".join(str(k + j) for j in range(width)) for k in range(4))
    with pytest.raises(nm.ProblemError, match=r"line 1, column \d: must be a number") as said:
        read_points(table(tmp_path, f"{first}\n{rows}\n"))
    if first == "x,2001,3":
        assert "begin the names of columns with letters, if these are names" in str(said.value)


@pytest.mark.parametrize("header", ["a,b,c", "x1,x2,x3", '"a, b","c;d",e', "Größe,_2,%"])
def test_a_header_is_one(tmp_path, header):
    found = read_points(table(tmp_path, f"{header}\n1,2,3\n4,5,6\n"))
    assert found.X.tolist() == [[1, 2, 3], [4, 5, 6]]
    assert "no header" not in found.about
    assert "no header: a first line is a header unless" in read_points(table(tmp_path, "1,2\n3,4\n")).about


def test_lines_and_columns_are_counted_from_one_as_in_the_file(tmp_path):
    path = table(tmp_path, '"a","b"\n\n"r1",1,2\n\n"r2",3,x\n"r3",3,4\n"r4",3,4\n')
    with pytest.raises(nm.ProblemError, match=r"my.csv, line 5, column 3 \(b\): must be a number, got 'x'"):
        read_points(path)
    with pytest.raises(nm.ProblemError, match="line 2, column 1: must be a number, got '3x'"):
        read_points(table(tmp_path, "1,2\n3x,4\n5,6\n7,8\n"))
    assert read_points(table(tmp_path, "1,2\n3,4\n")).columns == ("column 1", "column 2")


def test_text_says_which_option_takes_it(tmp_path, capsys):
    path = table(tmp_path, "a,diagnosis\n1,sick\n2,well\n9,well \n8,sick\n")
    with pytest.raises(
        nm.ProblemError,
        match="column 2 .diagnosis. holds text: if these are the classes, give diagnosis as labels",
    ):
        read_points(path)
    assert read_points(path, "diagnosis").y.tolist() == [0, 1, 1, 0]
    assert main(["cluster", str(path), "--labels", "diagnosis", "--k", "2", "--n-neighbors", "2"]) == 0
    assert "Rand index with the classes" in capsys.readouterr().out
    with pytest.raises(nm.ProblemError, match=r"give 1 \(counted from 0\) as labels"):
        read_points(table(tmp_path, "1,a\n2,b\n3,b\n"))
    assert read_points(tmp_path / "my.csv", "1").y.tolist() == [0, 1, 1]
    with pytest.raises(nm.ProblemError, match="if these are names of the rows, give who as ids"):
        read_points(table(tmp_path, "a,who\n1,ann\n2,bob\n"))


@pytest.mark.parametrize("gap", ["", "NA", "?", "nan", " "])
def test_gaps_have_a_remedy(tmp_path, gap):
    path = table(tmp_path, f"a,b,class\n1,2,u\n3,{gap},v\n5,6,v\n")
    with pytest.raises(
        nm.ProblemError, match=r"line 3, column 2 \(b\).*1 of 3 values of this column are missing: fill"
    ):
        read_points(path)
    for unknown in (gap, "-1", "None", "<NA>"):
        found = read_points(table(tmp_path, f"a,b,class\n1,2,u\n3,4,{unknown}\n5,6,v\n"))
        assert found.y.tolist() == [0, -1, 1]
        assert "classes from 'class', of 2 of 3 rows" in found.about


@pytest.mark.parametrize("cell", ["1_0", "inf", "-Infinity", "1e999", "0x10", "١", "1,5"])
def test_what_python_takes_for_a_number_is_none_here(tmp_path, cell):
    with pytest.raises(nm.ProblemError, match="must be a number"):
        read_points(table(tmp_path, f'a,b\n1,2\n"{cell}",3\n4,5\n'))
    with pytest.raises(nm.ProblemError, match="line 1"):
        read_pairs(table(tmp_path, f'"{cell}",3\n'), 20)


def test_classes_that_are_numbers_are_compared_as_numbers(tmp_path):
    assert read_points(table(tmp_path, "a,y\n1,10\n2,9\n3,1e1\n")).y.tolist() == [1, 0, 1]
    with pytest.raises(nm.ProblemError, match="'x', the name of several"):
        read_points(table(tmp_path, "x,x,b\n1,2,3\n"), "x")
    with pytest.raises(nm.ProblemError, match="a column of numbers beside its classes"):
        read_points(table(tmp_path, "y\na\nb\n"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("a,b\n1,2\n".encode("utf-16"), "got UTF-16"),
        (b"a,b\n1,2\n3,\xe9\n", "line 3: must be text in UTF-8, got the byte 0xe9"),
        (b"a,b\n1,\x002\n", "line 2: must be text, got a zero byte"),
        (b"a,b\n1," + b"9" * 200_000 + b"\n", "line 2: field larger than field limit"),
        (b"a,b\n1,2\n3\n", "2 cells in line 2 and 1 in line 3"),
    ],
)
def test_what_is_no_text_is_said_by_line(tmp_path, data, words):
    with pytest.raises(nm.ProblemError, match=words):
        read_points(table(tmp_path, data))


def test_torn_and_bloated_packed_files(tmp_path):
    whole = gzip.compress(b"a,b\n" + b"1,2\n" * 3000)
    for data in (whole[:-9], whole[:20], b"", b"a,b\n1,2\n", whole[:30] + b"xx" + whole[32:]):
        with pytest.raises(nm.ProblemError, match="my.csv.gz must"):
            read_points(table(tmp_path, data, "my.csv.gz"))
    bomb = gzip.compress(b"1,2\n" * 8_000_000)
    with pytest.raises(nm.ProblemError, match="at most 100 times its size"):
        read_points(table(tmp_path, bomb, "my.csv.gz"))
    for data in (bz2.compress(b"1 1:2\n")[:-4], b"1 1:2\n"):
        with pytest.raises(nm.ProblemError, match="a.bz2 must be"):
            read_libsvm(table(tmp_path, data, "a.bz2"))


@pytest.mark.parametrize(
    "text",
    ["1 2000000000:1\n", "1 1:nan\n", "1 1:1_0\n", "1 qid:2 1:1\n", "1\n", "", "1 2:1 1:1\n", "inf 1:1\n"],
)
def test_bad_libsvm_files(tmp_path, text):
    with pytest.raises(nm.ProblemError, match="a.libsvm must be in LIBSVM's format"):
        read_points(table(tmp_path, text, "a.libsvm"))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("a,b,label\n1,x,0\n", r"line 2, column 2 \(b\): must be a number, got 'x'"),
        ("a,b,label\n1,2\n", "3 names"),
        ("a,b,label\n1,2,0\n1,2\n", "rows of one length"),
        ("1,2,0\n3,4,1\n", "must have a header"),
        ("a,b,label\n1,nan,0\n", "must be a number, got 'nan'"),
        ("a,b,label\n1,2,\n", "must be a label"),
        ("", "at least one row"),
    ],
)
def test_bad_sets_of_a_folder_say_where(tmp_path, text, words):
    table(tmp_path, text, "glass.csv")
    with pytest.raises(nm.ProblemError, match=words):
        datasets.load("glass", tmp_path)


def test_labels_of_a_set_are_numbers_or_texts(tmp_path):
    X, y = read_csv(table(tmp_path, "a,label\n1,3\n2,5\n"))
    assert (X.tolist(), y.tolist()) == ([[1], [2]], [3, 5])
    assert read_csv(table(tmp_path, "a,label\n1,u\n2,t\n"))[1].tolist() == [1, 0]
    assert read_csv(table(tmp_path, "a,label\n1,0.5\n2,0.25\n"))[1].tolist() == [1, 0]


def test_points_of_an_archive_are_checked(tmp_path):
    for arrays, words in (
        ({"X": np.zeros((2, 2)), "y": np.zeros(3)}, "a class y for each of 2 points"),
        ({"X": np.array([[1.0, np.nan]])}, "row 1, column 2"),
        ({"X": np.zeros(3)}, "shape"),
        ({"X": np.array([["a"]])}, "numbers X"),
        ({"X": np.array([[None]])}, "whole .npz file of plain arrays"),
        ({"Z": np.zeros(3)}, "an array X"),
    ):
        np.savez(tmp_path / "x.npz", **arrays)
        with pytest.raises(nm.ProblemError, match=words):
            read_points(tmp_path / "x.npz")
