"""A cross-check as a self-contained HTML page."""

from __future__ import annotations

import html
from pathlib import Path

from npkl_models.crosscheck.table import CrossCheck


def write_report(check: CrossCheck, path: str | Path) -> Path:
    """Write the table, with the problem in words, as one page; returns its path."""
    page = PAGE.format(
        title=html.escape(check.problem.name or "problem"),
        headline=html.escape(check.headline()),
        text=html.escape(check.problem.explain().text),
        table=check.to_html(),
    )
    target = Path(path)
    target.write_text(page, encoding="utf-8")
    return target


PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Cross-check: {title}</title><style>
body {{ font: 15px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 75rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .3rem .6rem; border-bottom: 1px solid #ccc; text-align: left; }}
.good td:last-child {{ color: #17692f; }} .bad td:last-child {{ color: #a11; font-weight: bold; }}
.idle td {{ color: #777; }} pre {{ background: #f5f5f5; padding: 1rem; white-space: pre-wrap; }}
</style></head><body><h1>Cross-check: {title}</h1><p>{headline}</p><pre>{text}</pre>
{table}</body></html>
"""
