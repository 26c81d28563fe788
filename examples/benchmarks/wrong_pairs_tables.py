"""The tables of docs/lab/applications.md from what wrong_pairs.py and wrong_pairs_audits.py print.

``python wrong_pairs_tables.py FILE ...`` prints, for each budget and number of sets, the adjusted Rand index
of every method in Markdown, the lead of NPKLClustering with its standard error over draws, and the audits.
For each set it prints the cases with at most 20 % wrong in which the best other method is more than 0.05
ahead, what the model loses with clean pairs, and the ratio of its CPU seconds to those of a plain fit.
"""

import argparse
import json
from pathlib import Path

PLAIN = "NPKLClustering(noise=None)", "NPKLClustering(noise=None, cannot=0.0)"
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


def sets(rows: list[dict]) -> None:
    """Where the model is behind, and what it costs, set by set; ``rows`` have all budgets of some sets."""
    of = {(row["method"], row["budget"], column(row)): row["by_set"] for row in rows}
    names = list(dict.fromkeys(method for method, _, _ in of))
    cases = [case for case in dict.fromkeys(case[1:] for case in of) if case[1] != "30 %"]
    budgets = list(dict.fromkeys(budget for budget, _ in cases))
    behind, clean, cost = {}, {}, {}
    for name in of[next(iter(of))]:
        best = {
            case: max((of[method, *case][name][0], method) for method in names if method != names[0])
            for case in cases
        }
        gap = {case: best[case][0] - of[names[0], *case][name][0] for case in cases}
        worst = max(gap, key=gap.get)
        behind[name] = [
            f"{sum(value > 0.05 for value in gap.values())}", best[worst][1], *worst,
            f"{of[names[0], *worst][name][0]:.2f}", f"{best[worst][0]:.2f}",
        ]  # fmt: skip
        clean[name] = [
            f"{lead:+.3f} ± {error:.3f}" for method in PLAIN for budget in budgets
            for lead, error in [of[method, budget, "none"][name][2:]]
        ]  # fmt: skip
        spent = [
            [sum(of[method, budget, case][name][1] for part, case in cases if part == budget) for method in
             (names[0], PLAIN[0])] for budget in budgets
        ]  # fmt: skip
        cost[name] = [f"{mine / other:.2f}" for mine, other in spent]
    table(["set", "cases", "worst: other method", "pairs", "wrong", "ours", "other"], behind)
    print("Clean pairs, ahead of", *PLAIN, "by\n")
    table(["set", *budgets, *budgets], clean)
    table(["CPU seconds, ratio to noise=None", *budgets], cost)


def audits(rows: list[dict]) -> None:
    """Area under the precision-recall curve, Brier score, and the largest error of a decile."""
    shown = {
        "probability": [f"{row['model']:.2f}" for row in rows],
        "score, pcp with weight 10": [f"{row['score']:.2f}" for row in rows],
        "broken by signed spectral clustering": [f"{row['signed']:.2f}" for row in rows],
        "Brier score of the probability": [f"{row['brier']:.3f}" for row in rows],
        "largest error of a decile": [
            f"{max((abs(said - true) for said, true in row['said_and_true']), default=0.0):.2f}"
            for row in rows
        ],
        "the same, of probabilities without error": [f"{row['without_error']:.2f}" for row in rows],
    }
    table(["", *(column(row) for row in rows)], shown)


def main() -> None:
    """Run it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    lines = [line for path in parser.parse_args().files for line in path.read_text().splitlines()]
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    pooled = [row for row in rows if row["benchmark"].startswith("wrong_pairs_calibration")]
    rows = [row for row in rows if row not in pooled]
    for key in dict.fromkeys((row["benchmark"], row["budget"], row["sets"], row["draws"]) for row in rows):
        part = [row for row in rows if (row["benchmark"], row["budget"], row["sets"], row["draws"]) == key]
        print(f"{key[0]}, {key[1]}, {key[2]} sets, {key[3]} draws from {part[0]['first']} on\n")
        (methods if key[0] == "wrong_pairs" else audits)(part)
    for row in pooled:
        print(row["benchmark"], row["sets"], "sets, largest error of a decile,", row["budget"], end=": ")
        print(f"{max((abs(said - true) for said, true in row['said_and_true']), default=0.0):.3f}")
    whole = [row for row in rows if row["benchmark"] == "wrong_pairs"]
    for count in dict.fromkeys(row["sets"] for row in whole):
        sets([row for row in whole if row["sets"] == count])


if __name__ == "__main__":
    main()
