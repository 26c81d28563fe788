"""The page of a cross-check: whole, by itself, and readable without pictures."""

import platform
import re
from html.parser import HTMLParser

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.show import page
from npkl_models.show.machine import machine, versions


class Balanced(HTMLParser):
    """Counts what is opened and closed, and collects addresses."""

    VOID = ("meta", "link", "img", "br", "hr", "input")

    def __init__(self):
        super().__init__()
        self.open, self.seen, self.ids, self.addresses = [], [], [], []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        self.ids += [value for key, value in attrs if key == "id"]
        self.addresses += [value for key, value in attrs if key in ("src", "href", "xlink:href")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def parsed(text):
    page = Balanced()
    page.feed(text)
    assert page.open == []
    return page


def test_the_report_is_one_whole_page(small, tmp_path):
    table = nm.crosscheck(small("npkl:hinge"), ["bcd", "interior", "mfpc"])
    text = table.report(tmp_path / "out.html", labels=np.repeat([0, 1], 12)).read_text()
    page = parsed(text)
    assert page.seen.count("svg") == 8
    assert "script" not in page.seen
    assert all(a.startswith(("#", "data:")) for a in page.addresses)
    assert len(page.ids) == len(set(page.ids))
    assert not re.search(r"url\((?!#)|@import", text)
    shown = [nm.__version__, platform.python_version(), *versions().values(), *machine().values()]
    assert all(value in text.replace("&#x27;", "'") for value in shown)
    assert {"numpy", "scipy", "clarabel", "scs", "cvxpy"} <= set(versions())
    assert {"processor", "cores", "system"} <= set(machine())
    assert re.search(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d[+-]\d\d:\d\d", text)
    for part in (
        r"\min_{K}",
        "positive semidefinite kernel",
        "all agree",
        "needs a basis",
        "@media print",
        "viewport",
    ):
        assert part in text


def test_without_matplotlib_the_report_says_so(small, tmp_path, monkeypatch):
    def missing(*_):
        raise nm.MissingDependencyError("a figure needs matplotlib")

    monkeypatch.setattr(page, "optional", missing)
    text = nm.crosscheck(small("pcp"), ["bcd"]).report(tmp_path / "out.html").read_text()
    assert parsed(text).seen.count("svg") == 0
    assert "No figures: a figure needs matplotlib" in text
    assert "agrees" in text


def test_without_a_point_the_report_has_no_figures(small, tmp_path):
    text = nm.crosscheck(small("pcp"), ["mfpc"]).report(tmp_path / "out.html").read_text()
    assert parsed(text).seen.count("svg") == 0
    assert "no backend left a point" in text


def test_a_figure_that_cannot_be_drawn_says_why(small, tmp_path):
    pytest.importorskip("matplotlib")
    text = nm.crosscheck(small("pcp"), ["bcd"]).report(tmp_path / "out.html", labels=[1, 2]).read_text()
    assert "Not drawn: labels must have shape (24,), got (2,)" in text
    assert parsed(text).seen.count("svg") == 6
