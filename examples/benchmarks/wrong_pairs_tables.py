"""The tables of docs/lab/applications.md from the lines that wrong_pairs.py printed.

``python wrong_pairs_tables.py FILE ...`` prints, for each budget and number of sets, the adjusted Rand index
of every method in Markdown, the lead of NPKLClustering with its standard error over draws, and the audits.
"""

import json
import sys
from pathlib import Path

WORDS = {("both", 0.0): "none", ("must", 0.1): "10 % must", ("must", 0.2): "20 % must"}


def column(row: dict) -> str:
    """The name of a noise."""
    return WORDS.get((row["turned"], row["noise"]), f"{100 * row['noise']:.0f} %")


def table(head: list[str], rows: dict[str, list[str]]) -> None:
    """Print Markdown."""
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for name, cells in rows.items():
        print(f"| {name} | {' | '.join(cells)} |")
    print()


def methods(rows: list[dict]) -> None:
    """The index of each method, and how far it is behind."""
    cases = list(dict.fromkeys(column(row) for row in rows))
    names = list(dict.fromkeys(row["method"] for row in rows))
    of = {(row["method"], column(row)): row for row in rows}
    shown = {
        name: [f"{of[name, case]['index']:.2f}" for case in cases]
        + [f"{sum(of[name, case]['seconds'] for case in cases) / len(cases):.2f}"]
        for name in names
    }
    table(["method", *cases, "CPU s"], shown)
    ahead = {
        name: [f"{of[name, case]['ahead']:.3f} ± {of[name, case]['error']:.3f}" for case in cases]
        for name in names if name != "NPKLClustering"
    }  # fmt: skip
    table(["NPKLClustering is ahead by", *cases], ahead)
    print("failed:", {name: sum(of[name, case]["failed"] for case in cases) for name in names}, "\n")


def audits(rows: list[dict]) -> None:
    """Area under the precision-recall curve, Brier score, and the largest error of a decile."""
    shown = {
        "probability": [f"{row['model']:.2f}" for row in rows],
        "score, pcp with weight 10": [f"{row['score']:.2f}" for row in rows],
        "broken by signed spectral clustering": [f"{row['signed']:.2f}" for row in rows],
        "Brier score of the probability": [f"{row['brier']:.3f}" for row in rows],
        "largest error of a decile": [
            f"{max(abs(said - true) for said, true in row['said_and_true']):.2f}" for row in rows
        ],
        "the same, of probabilities without error": [f"{row['without_error']:.2f}" for row in rows],
    }
    table(["", *(column(row) for row in rows)], shown)


def main() -> None:
    """Run it."""
    lines = [line for name in sys.argv[1:] for line in Path(name).read_text().splitlines()]
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    for key in dict.fromkeys((row["benchmark"], row["budget"], row["sets"], row["draws"]) for row in rows):
        part = [row for row in rows if (row["benchmark"], row["budget"], row["sets"], row["draws"]) == key]
        print(f"{key[0]}, {key[1]}, {key[2]} sets, {key[3]} draws from {part[0]['first']} on\n")
        (methods if key[0] == "wrong_pairs" else audits)(part)


if __name__ == "__main__":
    main()
