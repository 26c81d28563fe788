"""The user's book reads aloud: sentences of a length, no riddles, British spelling, no laboratory in it."""

import re
import subprocess
import sys

import pytest
from cells import RESULT, cells
from house_style import AMERICAN, MOST, NOTEBOOK, RIDDLES, ROOT, found, pages, prose, sentences

PAGES = pages()
HOW_TO = sorted((ROOT / "docs" / "how_to").glob("*.md"))
TASKS = [page for page in HOW_TO if page.stem != "index"]
LISTS = ("index", "glossary", "explore")
ASKED = [
    page
    for page in PAGES
    if "docs" in page.parts and page.stem not in LISTS and page.parent.name != "decisions"
]
FIRST = 45  # lines that a reader sees first
CODE = 30  # lines until a how-to has made its result
SPELLING = "numer,coo,fro,nd,ot,te,hist,equil"  # Numer. Math.; names of formats, norms and variables
# Of proselint: quotes and dots are those of code, headings repeat the first words below, the rest is taste.
TASTE = ("typography", "lexical_illusions", "weasel_words", "cliches", "misc.but")


def named(page):
    return str(page.relative_to(ROOT))


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_sentence_is_too_long_to_read_aloud(page):
    long = [f"{named(page)}:{one.line}: {one.words} words: {one.text}" for one in sentences(page)]
    long = [text for one, text in zip(sentences(page), long, strict=True) if one.words > MOST]
    assert not long, "\n".join(long)


@pytest.mark.parametrize("page", PAGES, ids=named)
def test_no_riddle_and_one_spelling(page):
    rules = RIDDLES if page.stem == "bibliography" else RIDDLES | AMERICAN  # titles are as they are in print
    assert not (hits := found(page, rules)), "\n".join(hits)


def test_no_page_says_that_a_given_point_is_moved():
    every = [*PAGES, *(ROOT / "docs").rglob("*.ipynb"), *(ROOT / "examples").rglob("*.py")]
    moves = re.compile(
        r"\bcertify\W+(first )?(restor|repair|mov|project|shrink|symmetris)e?s (the|a|your) point"
    )
    assert not [page for page in every if moves.search(page.read_text())]


def test_every_number_that_is_taken_on_trust_is_on_the_page_of_the_certificate():
    text = (ROOT / "docs" / "certificate.md").read_text()
    listed = set(re.findall(r"`(\w+)` \(`((?:\w+/)?\w+\.py)`\)", text))
    assert listed
    assert all(name in (ROOT / "npkl_models" / path).read_text() for name, path in listed)
    package = ROOT / "npkl_models"
    for path in (
        package / "kernel.py",
        *(package / "certificates").glob("*.py"),
        *(package / "proof").glob("*.py"),
    ):
        sizes = re.findall(r"^([A-Z]+) = .*# units of roundoff", path.read_text(), re.M)
        assert {(name, path.relative_to(package).as_posix()) for name in sizes} <= listed


def test_the_front_page_is_short_and_begins_with_its_two_commands():
    text = (ROOT / "README.md").read_text()
    assert len(text.splitlines()) < 90
    assert re.findall(r"^## (.*)$", text, re.M)[0] == "Two commands"


@pytest.mark.parametrize("page", [page for page in PAGES if "docs" in page.parts], ids=named)
def test_the_laboratory_stays_in_its_own_book(page):
    assert not (hits := found(page, NOTEBOOK, page.read_text())), "\n".join(hits)


@pytest.mark.parametrize("page", TASKS, ids=named)
def test_a_how_to_begins_with_its_result_and_answers_five_questions(page):
    text = page.read_text()
    first = text.splitlines()[:24]
    assert sum(line.startswith("- **") and "?**" in line for line in first) >= 5
    if page.stem != "extend":  # it shows files of the package
        assert RESULT in first
        code = next(cell.text for cell in cells(text) if cell.runs)
        assert len(code.splitlines()) <= CODE
        assert re.search(r"^## Why", text, re.M) or page.stem == "teach"


@pytest.mark.parametrize("page", ASKED, ids=named)
def test_the_first_screen_answers_five_questions(page):
    first = "\n".join(page.read_text().splitlines()[:FIRST])
    assert len(re.findall(r"^(?:- )?\*\*[^*]+[.?]\*\*", first, re.M)) >= 5


def test_every_how_to_is_on_the_list():
    listed = (ROOT / "docs" / "how_to" / "index.md").read_text()
    assert all(f"({page.name})" in listed and f"\n{page.stem}\n" in listed for page in TASKS)


def test_words_are_spelt_as_in_a_dictionary():
    skipped = "*.json,*.ipynb,*/_build,*/_cells,*/generated,*/auto_examples,*/static,*.csv"
    command = [sys.executable, "-m", "codespell_lib", f"--ignore-words-list={SPELLING}", f"--skip={skipped}"]
    where = [ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "docs", "npkl_models")]
    ran = subprocess.run([*command, *map(str, where)], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_proselint_has_no_complaint(tmp_path):
    names = {f"{number}.md": page for number, page in enumerate(PAGES)}
    for name, page in names.items():
        (tmp_path / name).write_text(prose(page.read_text()), encoding="utf-8")
    (tmp_path / "bad.md").write_text("It lasts for ever.\n")  # what must be found
    command = [sys.executable, "-m", "proselint", "check", *names, "bad.md"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    said = re.findall(r"^\S*?(\d+\.md):(\d+):\d+: ([\w.]+): (.*)", ran.stdout, re.M)
    complaints = [
        f"{named(names[name])}:{line}: {rule}: {words}"
        for name, line, rule, words in said
        if not rule.startswith(TASTE)
    ]
    assert "bad.md:1" in ran.stdout
    assert not ran.stderr
    assert not complaints, "\n".join(complaints)


@pytest.mark.parametrize(
    ("text", "rules", "hits"),
    [
        ("Both are said at once, whose end it must not delay.", RIDDLES, 3),
        ("The status is named by the judge.", RIDDLES, 1),
        ("We minimize the color of neighbors.", AMERICAN, 1),
        ("The table was measured with a clock.", NOTEBOOK, 1),
        ("The library decides the status.", RIDDLES | AMERICAN | NOTEBOOK, 0),
    ],
)
def test_the_rules_find_what_they_are_for(text, rules, hits):
    assert len(found(ROOT / "README.md", rules, text)) == hits


def test_sentences_are_counted_as_a_reader_would(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# A heading\n\nOne `name of code` here. Two formulas $a + b$\nare on this line.\n\n"
        "```python\nnot = prose\n```\n\n- **An item?** It has two.\n- Another item\n"
    )
    assert [one.words for one in sentences(page)] == [3, 7, 2, 3, 2]
