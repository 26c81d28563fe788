"""Numbers of the printed algorithms on iris, kept from when they were options of the production solvers.

The tables of docs/papers are made of such runs. A run is its objectives after the first, the tenth and the last
iteration, and their number; they are the same to the last bit on one machine, and to rounding on all.
"""

import pytest

import npkl_models as nm
from npkl_models.recipe.names import FOLDER_VARIABLE

ROUNDING = {
    "printed_kl_admm": 1e-8,
    "printed_bcdkl": 1e-8,
    "printed_bcd_npkl": 1e-8,
    "printed_simple_npkl": 1e-7,
}
RUNS = [
    ("printed_kl_admm", "pcp", 150, {}, [254.3602870142114, 66.2988362846441, 24.286379984756042], 500),
    ("printed_kl_admm", "pcp", 60, {"misprint": True, "max_iter": 3000},
     [84.16218380198447, 28.060501554397945, 16.44760736308791], 3000),
    ("printed_bcdkl", "squared_hinge", 150, {}, [111.38711824845097, 32.207166664256285, 31.754935592284706], 113),
    ("printed_bcdkl", "hinge", 150, {"max_iter": 30}, [146.62287918891957, 38.620493841278986, 37.76410199115724], 30),
    ("printed_bcdkl", "linear", 150, {}, [-26.380105558905285, -123.2800511384002, -123.47009430793956], 45),
    ("printed_bcdkl", "square", 61, {"unlabelled": "step"}, [22.85176950242864, 8.86097069311197, 8.761788673001101], 106),
    ("printed_bcdkl", "squared_hinge", 61, {"unlabelled": "block"},
     [21.081640004621825, 8.81993350149783, 8.756838256437737], 76),
    ("printed_bcd_npkl", "squared_hinge", 61, {}, [18.039543034578266, 8.832736159019463, 8.756838250377688], 66),
    ("printed_simple_npkl", "penalty", 150, {"eigenpairs": "all"},
     [87.71088583434361, 87.70546712648418, 87.68757595411834], 51),
    ("printed_simple_npkl", "penalty", 150, {}, [87.7100103410212, 87.70483136825183, 87.68773377382506], 51),
]  # fmt: skip
PAIRS = {150: 90, 60: 20, 61: 14}


def problem_of(kind, n):
    """On 150 points, on 60 with 20 + 20 pairs, or (written 61) on the same with 14 + 14."""
    data = nm.datasets.load("iris")
    data = data if n == 150 else data.subset(60)
    L = nm.laplacian(data.X, 5, shift=0.1)
    pairs = nm.Pairs.from_labels(data.y, PAIRS[n], PAIRS[n], 0)
    if kind == "pcp":
        return nm.pcp(L, pairs)
    if kind == "penalty":
        return nm.simple_npkl(L, pairs, loss="squared_hinge", p=2, penalty=1.0)
    return nm.npkl(L, pairs, loss=kind, row_norm=1.0 if kind == "linear" else None)


@pytest.mark.parametrize(("name", "kind", "n", "options", "objectives", "iterations"), RUNS)
def test_the_iterates_are_those_of_the_papers_pages(
    monkeypatch, name, kind, n, options, objectives, iterations
):
    monkeypatch.delenv(FOLDER_VARIABLE, raising=False)
    found = problem_of(kind, n).solve(name, **options)
    assert found.iterations == iterations
    history = found.history.objective
    assert [history[0], history[9], history[-1]] == pytest.approx(objectives, rel=ROUNDING[name])
    assert found.certificate.bound <= found.objective
