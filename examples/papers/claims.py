"""The page of what the papers claim of their experiments, each claim judged by the runs that are kept."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import claims_bcdkl
import claims_kl_admm
import claims_kml
import claims_simple_npkl
import claims_thesis
from claim import Claim, Results, Verdict
from items import table

CLAIMS: dict[str, tuple[Claim, ...]] = {
    "kl_admm": claims_kl_admm.CLAIMS, "simple_npkl": claims_simple_npkl.CLAIMS, "thesis": claims_thesis.CLAIMS,
    "bcdkl": claims_bcdkl.CLAIMS, "kml": claims_kml.CLAIMS,
}  # fmt: skip


def judged(claim: Claim, found: Results) -> Verdict | None:
    """The verdict of what is kept."""
    return claim.judge(found) if found else None


def page(titles: Mapping[str, str], kept: Callable[[str], Results], in_whole: Callable[[str], bool]) -> str:
    """The page of all claims.

    ``kept(item)`` gives an item's results, empty if it was not run, and ``in_whole(item)`` says whether they are
    those of --all.
    """
    lines, counts, first_looks = [], {"yes": 0, "in part": 0, "no": 0}, 0
    for paper, claims in CLAIMS.items():
        out = []
        for claim in claims:
            verdict = judged(claim, kept(claim.item))
            if verdict is not None:
                word = verdict.word(claim.often)
                counts[word] += 1
                whole = in_whole(claim.item)
                first_looks += not whole
                command = f"`python examples/papers/run.py {claim.item}{'' if whole else ' --quick'}`"
                out.append((claim.where, claim.words, word, verdict.figure, command))
        if out:
            lines.append(
                f"## {titles[paper]}\n\n" + table(("where", "claim", "holds here", "figure", "command"), out)
            )
    head = (
        "# What the papers claim\n\nClaims of the papers' experiments, in our words, each judged by a rule of `examples/papers/claims.py` from the runs that the "
        "papers' pages show: yes if it holds in every case (in more than half where the paper says often, usually or generally), no if in fewer than half. Settings differ from the papers' where those pages say so. "
        f"Of {sum(counts.values())} claims {counts['yes']} hold, {counts['in part']} hold in part, {counts['no']} do not."
    )
    if first_looks:
        head += (
            f" **{first_looks} of these verdicts are first looks**: their command says --quick, small sets and two draws, "
            "of which a method is level with another more often than of twenty."
        )
    return "\n\n".join([head, *lines]) + "\n"
