"""A document on standard output is alone there: ``npkl crosscheck --json - | python -m json.tool``."""

import json

import pytest
from commands import status

SETS = ("--data", "iris", "--n", "20")
ASKED = {
    "crosscheck": (*SETS, "--backends", "bcd,interior", "--json", "-"),
    "solve": (*SETS, "--out", "-"),
    "path": (*SETS, "--parameter", "weight", "--values", "1,2", "--out", "-"),
}


@pytest.mark.parametrize("command", ASKED)
def test_the_document_is_on_standard_output_and_the_rest_on_standard_error(
    command, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert status(command, *ASKED[command]) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    named = {"crosscheck": "problem", "solve": "objective", "path": 0}[command]
    assert document[named]
    assert "iris" in told.err or "OPTIMAL" in told.err
    assert not [*tmp_path.iterdir()]
    target = tmp_path / "table.json"
    assert status(command, *ASKED[command][:-1], str(target)) == 0
    whole, told = json.loads(target.read_text()), capsys.readouterr()
    assert whole.keys() == document.keys() if isinstance(whole, dict) else len(whole) == len(document)
    assert told.out


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("cluster", ("iris", "--k", "3", "--out", "-"), "--out must be a file that ends with .csv, got -"),
        ("report", ("-", *SETS), "the page must end with .html or .htm, got -"),
    ],
)
def test_what_is_no_document_is_not_written_to_standard_output(
    command, arguments, words, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert status(command, *arguments) == 2
    told = capsys.readouterr()
    assert words in " ".join(told.err.split())
    assert not told.out
    assert not [*tmp_path.iterdir()]
