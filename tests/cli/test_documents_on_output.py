"""A document on standard output is alone there: ``npkl crosscheck --json - | python -m json.tool``."""

import json
import subprocess
import sys

import pytest
from commands import status

SETS = ("--data", "iris", "--n", "20")
ASKED = [
    ("crosscheck", (*SETS, "--backends", "burer_monteiro,interior", "--json", "-")),
    ("solve", (*SETS, "--out", "-")),
    ("solve", (*SETS, "--json", "-")),
    ("path", (*SETS, "--parameter", "weight", "--values", "1,2", "--out", "-")),
    ("path", (*SETS, "--parameter", "weight", "--values", "1,2", "--json", "-")),
]


@pytest.mark.parametrize(("command", "words"), ASKED)
def test_the_document_is_on_standard_output_and_the_rest_on_standard_error(
    command, words, capsys, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    assert status(command, *words) == 0
    told = capsys.readouterr()
    document = json.loads(told.out)
    named = {"crosscheck": "problem", "solve": "objective", "path": 0}[command]
    assert document[named]
    assert "iris" in told.err or "OPTIMAL" in told.err
    assert not [*tmp_path.iterdir()]
    target = tmp_path / "table.json"
    assert status(command, *words[:-1], str(target)) == 0
    whole, told = json.loads(target.read_text()), capsys.readouterr()
    assert whole.keys() == document.keys() if isinstance(whole, dict) else len(whole) == len(document)
    assert told.out


@pytest.mark.parametrize("words", [("solve", *SETS, "--json", "-"), ("backends",), ("--version",)])
def test_a_reader_that_has_enough_ends_the_command_in_silence(words):
    asked = f"{sys.executable} -m npkl_models {' '.join(words)} | true"
    told = subprocess.run(asked, shell=True, stderr=subprocess.PIPE, text=True, check=False).stderr
    assert not any(word in told.lower() for word in ("pipe", "traceback", "npkl:")), told


@pytest.mark.parametrize("width", [None, 60])
@pytest.mark.parametrize(
    "words", [("backends",), ("backends", "interior"), ("path", *SETS, "--values", "1,2")]
)
def test_tables_are_as_wide_as_the_terminal_or_100_columns(words, width, capsys, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    if width is not None:
        monkeypatch.setenv("COLUMNS", str(width))
    assert status(*words) == 0
    told = capsys.readouterr().out
    assert "…" not in told
    assert max(map(len, told.splitlines())) <= (width or 100)


@pytest.mark.parametrize(
    ("command", "arguments", "words"),
    [
        ("cluster", ("iris", "--k", "3", "--out", "-"), "--out must be a file that ends with .csv, got -"),
        ("crosscheck", ("--report", "-", *SETS), "--report must end with .html or .htm, got -"),
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
