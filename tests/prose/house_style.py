"""The house style of what people read: the sentences of a page, and the rules that a sentence keeps.

``python tests/prose/house_style.py [ROOT]`` prints how long the pages and their sentences are.
"""

import re
import statistics
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MOST = 35  # words of a sentence
MADE = {"_build", "_cells", "generated", "auto_examples", "api", "lab", "notebooks_read"}

RIDDLES = {
    r"\bof itself\b": "name the thing",
    r"\bwhose end\b": "say who ends what",
    r"\b(is|are) (both |all )?said\b": "say who says it, or name what happens: 'is rejected with ...'",
    r"\bsaid at once\b": "'rejected before solving, with exit status 2'",
    r"\bthe judge\b": "'the library decides the status'",
    r"\bthe house\b": "'the project'",
    r"\bone's own\b": "'your own'",
    r"\bwhat becomes of\b": "name what happens",
    r"\bas long as that\b": "name what it is compared with",
    r"\bglad of\b": "say what changes",
    r"\b(is|are) entitled to\b": "say which theorem applies",
    r"\bto (its|their) own end\b": "say when it ends",
    r"\bin a sentence\b$": "say what the sentence says",
}
NOTEBOOK = {
    r"\b(was|were|been) tried\b|\bmeasured (with|by|on)\b": "belongs to the measurements",
    r"\bexamples/benchmarks\b": "measurements belong on their own pages",
    r"^\|.*\| *(CPU )?seconds *\|": "a table of timings belongs to the measurements",
}
AMERICAN = {
    r"\b(min|max|opt|normal|regular|standard|factor|general|recogn|visual|summar|central|penal|character)iz(e|ed|es|ing|ation|er)\b": "British spelling: -ise",
    r"\b(behavior|color|neighbor|favor|center|modeling|labeling|labeled|rigor)s?\b": "British spelling",
}


@dataclass(frozen=True)
class Sentence:
    """A sentence, its page and its line."""

    page: Path
    line: int
    text: str

    @property
    def words(self) -> int:
        """How many words it has; a formula or a name of the code counts as one."""
        return len(re.findall(r"[\w'’-]+", self.text))


def pages(root: Path = ROOT) -> list[Path]:
    """The user's book, README and CHANGELOG."""
    found = [root / "README.md", root / "CHANGELOG.md", *sorted((root / "docs").rglob("*.md"))]
    return [page for page in found if not MADE & set(page.relative_to(root).parts)]


def prose(text: str) -> str:
    """The page without code, formulas, tables and marks; the lines stay where they are."""

    def blank(found: re.Match[str]) -> str:
        return "\n" * found[0].count("\n")

    text = re.sub(r"^(```|:::).*?^\1`*:*$", blank, text, flags=re.S | re.M)
    text = re.sub(r"<!--.*?-->", blank, text, flags=re.S)
    text = re.sub(r"\$\$.*?\$\$", blank, text, flags=re.S)
    text = re.sub(r"^\|.*\|$", "", text, flags=re.M)
    text = re.sub(r"`[^`\n]*(\n[^`\n]*)?`", lambda found: "name" + "\n" * found[0].count("\n"), text)
    text = re.sub(r"\$[^$]*\$", lambda found: "formula" + "\n" * found[0].count("\n"), text)
    text = re.sub(r"!\[([^\]]*)\]\([^)]*\)", "", text)
    text = re.sub(r"\{[a-z]+\}", "", text)
    text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)
    return text.replace("**", "").replace("*", "")


def sentences(page: Path) -> Iterator[Sentence]:
    """The sentences of a page; an item of a list and a heading begin anew."""
    line, paragraph, begin = 0, "", 1
    for line, row in enumerate([*prose(page.read_text(encoding="utf-8")).splitlines(), ""], 1):
        stripped = row.strip()
        opens = re.match(r"(#+|[-+]|\d+\.)\s+", stripped)
        if (not stripped or opens) and paragraph:
            yield from _split(page, begin, paragraph)
            paragraph = ""
        if stripped.startswith("#"):
            continue
        if not paragraph:
            begin = line
        paragraph += " " + (stripped[opens.end() :] if opens else stripped)


def _split(page: Path, line: int, paragraph: str) -> Iterator[Sentence]:
    for part in re.split(r"(?<=[.!?:;])\s+(?=[A-Z(\"“])|(?<=[.!?])\s+(?=name\b)", paragraph.strip()):
        if re.search(r"\w\s+\w", part):
            yield Sentence(page, line, part)


def found(page: Path, rules: dict[str, str], text: str | None = None) -> list[str]:
    """What breaks a rule on a page, each with its line and what to do."""
    lines = (prose(page.read_text(encoding="utf-8")) if text is None else text).splitlines()
    return [
        f"{page.relative_to(ROOT)}:{number}: {hit[0]!r}: {remedy}"
        for number, line in enumerate(lines, 1)
        for rule, remedy in rules.items()
        for hit in [re.search(rule, line)]
        if hit
    ]


def measured(root: Path) -> str:
    """Words, median words of a sentence, sentences above 30 words, and pages with a figure at the top."""
    given = pages(root)
    all_of = [sentence for page in given for sentence in sentences(page)]
    words = [sentence.words for sentence in all_of]
    tops = ["\n".join(page.read_text(encoding="utf-8").splitlines()[:25]) for page in given]
    figures = sum("![" in top or "<!-- result -->" in top or "image::" in top for top in tops)
    return (
        f"{len(given)} pages, {sum(words)} words, {len(words)} sentences, median {statistics.median(words):g} words, "
        f"{sum(count > 30 for count in words)} sentences of more than 30 words, "
        f"{figures} pages with a figure or a result in the first 25 lines"
    )


if __name__ == "__main__":
    print(measured(Path(sys.argv[1]).resolve() if sys.argv[1:] else ROOT))
