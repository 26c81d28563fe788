"""Fixtures that the tests share; what they are made of is in `problems`."""

from __future__ import annotations

import os
import re
import signal
import sys

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # begun with & in a script; what is begun here would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # two processes share two cores
os.environ.setdefault("OMP_NUM_THREADS", "1")  # threads that wait spin

from collections.abc import Callable, Iterator
from pathlib import Path

import hypothesis
import pytest
from problems import build, digits, side_information
from quick import pytest_collection_modifyitems  # noqa: F401  chooses the quick suite

import npkl_models as nm

os.environ.setdefault("MPLBACKEND", "Agg")
hypothesis.settings.register_profile("any machine", deadline=None)
hypothesis.settings.load_profile("any machine")


@pytest.fixture(autouse=True)
def pictures_are_closed() -> Iterator[None]:
    """Close what a test has drawn: pyplot keeps every figure, and warns at the 21st of a process."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(scope="session")
def small() -> Callable[[str], nm.Problem]:
    """Problems on 24 points of iris, by short name, each built once; general powers, whose SDPs are large, on 14."""
    built: dict[str, nm.Problem] = {}

    def get(kind: str) -> nm.Problem:
        if kind not in built:
            general = re.search(r"[BG](?![12]:)[\d.]+:", kind)
            built[kind] = build(kind, *side_information("iris", 14 if general else 24))
        return built[kind]

    return get


@pytest.fixture(scope="session")
def exact(small) -> Callable[[str], nm.Solution]:
    """The exact SDP's answer to the same problems, each solved once."""
    solved: dict[str, nm.Solution] = {}

    def get(kind: str) -> nm.Solution:
        if kind not in solved:
            solved[kind] = small(kind).solve("sdp", solver="CLARABEL", eps=1e-9)
        return solved[kind]

    return get


@pytest.fixture(scope="session")
def small_reg_pcp() -> nm.Problem:
    """Pcp on 120 digits in the span of 8 eigenvectors."""
    X, y = digits(12)
    return nm.reg_pcp(nm.eigenbasis(nm.laplacian(X, 10), 8), nm.Pairs.per_class(y, 4, 2, random_state=0))


@pytest.fixture
def beyond_cholesky(monkeypatch) -> None:
    """Let a thousand points be as far beyond dense proofs as a million are."""
    from npkl_models.certificates import bounds as certificate
    from npkl_models.proof import bounds, localised

    for module, name in (
        (bounds, "DENSE_CHOLESKY"),
        (certificate, "DENSE_CHOLESKY"),
        (certificate, "DENSE_EIGH"),
    ):
        monkeypatch.setattr(module, name, 100)
    monkeypatch.setattr(bounds, "can_factorise", lambda S: False)
    monkeypatch.setattr(localised, "ELIMINATED", 0.06)


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder with the papers' sets, from NPKL_DATA_HOME; skips where there is none."""
    value = os.environ.get(nm.datasets.FOLDER_VARIABLE)
    if not value or not Path(value).is_dir():
        pytest.skip(f"the papers' sets are not here: set {nm.datasets.FOLDER_VARIABLE}")
    return Path(value)
