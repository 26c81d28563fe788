"""Numbers of every type are read exactly, to the nearest float, or refused in words."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.files import saved
from npkl_models.linalg.owned import real_array, whole_array

N = 5
L = nm.laplacian(np.arange(N)[:, None] ** 1.5, n_neighbors=2, shift=0.2)
PROBLEM = nm.npkl(L, nm.Pairs(N, [(0, 1)], [(1, 4)]), loss="squared_hinge")
SOLUTION = PROBLEM.solve("interior")
WHOLE = np.array([[1, 0], [1, 1], [0, 2], [2, 0], [1, 1]])
DOORS = {
    "certify": lambda V: nm.certify(PROBLEM, V, kind="factor").objective,
    "start": lambda V: PROBLEM.solve("burer_monteiro", start=V).objective,
    "Solution": lambda V: replace(SOLUTION, V=V, known_certificate=None).certificate.objective,
    "objective_of_factor": lambda V: PROBLEM.objective_of_factor(V),
    "objective": lambda V: PROBLEM.objective(np.hstack([V, np.zeros_like(V), V[:, :1]])),
    "violation": lambda V: PROBLEM.violation(V),
    "values": lambda V: PROBLEM.values(V)[0].sum(),
    "derivatives": lambda V: PROBLEM.derivatives(V).terms[0].sum(),
    "slack": lambda V: PROBLEM.slack((V[1:4:2, 0],)).sum(),
    "extend": lambda V: replace(SOLUTION, V=V).extend(np.ones((1, N))).sum(),
}


@pytest.mark.parametrize("kind", ["f2", "f4", "g", ">f8", "i1", "u4", "i8", "O"])
@pytest.mark.parametrize("door", DOORS)
def test_a_point_of_any_type_of_numbers_is_the_same_point(door, kind):
    wanted = DOORS[door](WHOLE.astype(float))
    assert DOORS[door](WHOLE.astype(kind)) == pytest.approx(wanted, rel=1e-12)
    assert DOORS[door](WHOLE > 0) == pytest.approx(DOORS[door]((WHOLE > 0).astype(float)), rel=1e-12)


@pytest.mark.parametrize("bad", ["beyond", "below", "between", "text", "complex", "NaN"])
@pytest.mark.parametrize("door", [door for door in DOORS if door not in ("values", "derivatives", "extend")])
def test_a_number_that_floats_cannot_hold_is_refused_in_words(door, bad):
    if np.finfo(np.longdouble).maxexp == np.finfo(float).maxexp and bad in ("beyond", "below"):
        pytest.skip("long doubles are floats on this machine")
    V = {
        "beyond": lambda: WHOLE.astype("g") * np.longdouble("1e400"),
        "below": lambda: WHOLE.astype("g") * np.longdouble("1e-400"),
        "between": lambda: WHOLE + 2**53,
        "text": lambda: WHOLE.astype(str),
        "complex": lambda: WHOLE * 1j,
        "NaN": lambda: np.where(WHOLE == 2, np.nan, WHOLE),
    }[bad]()
    if bad == "NaN" and door in ("objective", "objective_of_factor", "violation"):
        assert not np.isfinite(DOORS[door](V))  # also of the point of a solver that failed
        return
    with pytest.raises(nm.ProblemError, match="must "):
        DOORS[door](V)


@pytest.mark.parametrize(
    ("given", "exact"),
    [
        (np.array([2**53, -(2**53), 2**60]), True),
        (np.array([2**53 + 1]), False),
        (np.array([2**64 - 1], dtype=np.uint64), False),
        ([2**53 + 1, Fraction(1, 3)], False),
        ([2**200, 0.5], True),
        (np.array([np.nan, np.inf, 5e-324]), True),
        (np.array([np.nan, np.inf, 0.0], dtype="g"), True),
    ],
)
def test_integers_between_two_floats_are_refused(given, exact):
    if exact:
        np.testing.assert_array_equal(real_array(given, "A"), np.array(given, dtype=float))
    else:
        with pytest.raises(nm.ProblemError, match="A must be numbers that a float of 64 bits can hold, got"):
            real_array(given, "A")


def test_indices_beyond_those_of_numpy_are_refused():
    with pytest.raises(
        nm.ProblemError, match="points must hold integers of 64 bits, got 18446744073709551615"
    ):
        whole_array(np.array([2**64 - 1], dtype=np.uint64), "points")


@pytest.mark.parametrize("name", ["cost.data", "part0.target", "part0.weight"])
def test_large_integers_in_a_file_are_not_rounded_in_silence(tmp_path, name):
    header, arrays = PROBLEM.pack()
    for value in (2**53, 2**53 + 1):
        whole = np.full(arrays[name].shape, value)
        path = saved.write(tmp_path / "large", header, arrays | {name: whole})
        words = "targets" if name == "part0.target" else "a float of 64 bits can hold, got 9007199254740993"
        if value == 2**53 and name != "part0.target":
            assert nm.Problem.load(path).n == N
        else:
            with pytest.raises(nm.ProblemError, match=words):
                nm.Problem.load(path)
