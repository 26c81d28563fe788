"""Saved files: what is said of them is true of their numbers, and nothing is allocated for what they do not hold."""

import json
import tracemalloc
import zipfile
from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm
from npkl_models.data.tables import read_points
from npkl_models.files import saved
from npkl_models.files.arrays import opened


def changed(path, target, signed=True, **changes):
    """The file with other arrays or fields, with their checksum, or with that of the file."""
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(str(arrays.pop("header")))
    arrays |= {key: value for key, value in changes.items() if key in arrays}
    header |= {key: value for key, value in changes.items() if key not in arrays}
    if signed:
        header["checksum"] = saved.checksum(header, arrays)
    np.savez(target, header=np.array(json.dumps(header)), **arrays)
    return target


@pytest.fixture
def solution(small):
    return small("pcp").solve()


@pytest.fixture
def path(solution, tmp_path):
    return solution.save(tmp_path / "answer")


def said(solution):
    return f"{solution!r} {solution.summary()} {solution.status}"


def test_a_file_is_judged_with_the_tolerance_of_the_caller(small, tmp_path):
    solution = small("pcp").solve("bcd", tol=1e-2)
    assert solution.status is nm.Status.OPTIMAL
    assert solution.certificate.relative_gap > 1e-6
    path = solution.save(tmp_path / "s")
    assert nm.Solution.load(path, tol=1e-2).status is nm.Status.OPTIMAL
    back = nm.Solution.load(path)
    assert back.status is nm.Status.INACCURATE
    assert f"the relative gap is {back.certificate.relative_gap:.1e}, and tol is 1.0e-06" in back.message


def test_a_file_is_judged_with_the_feasibility_of_the_caller(tmp_path):
    every = (np.arange(3), np.arange(3))
    problem = nm.Problem(np.eye(3) - 0.5, nm.Constraint(nm.Entries(3, every), equal=1.0))
    exact = problem.solve("interior")
    V = np.sqrt(1 + 1e-5) * exact.V
    loose = nm.certify(problem, V, exact.multipliers, kind="factor", feasibility=1e-4)
    path = replace(exact, V=V, known_certificate=loose).save(tmp_path / "s")
    assert nm.Solution.load(path, feasibility=1e-4).status is nm.Status.OPTIMAL
    back = nm.Solution.load(path)
    assert back.status is nm.Status.INACCURATE
    assert "the violation is 1.0e-05" in back.message


def test_a_doubled_factor_is_not_optimal(solution, path, tmp_path):
    with pytest.raises(nm.ProblemError, match=r"altered.*checksum"):
        nm.Solution.load(changed(path, tmp_path / "new.npz", signed=False, V=2 * solution.V))
    back = nm.Solution.load(changed(path, tmp_path / "old.npz", V=2 * solution.V))
    assert back.status is nm.Status.INACCURATE
    assert "OPTIMAL -" not in said(back)
    assert "the file says OPTIMAL, but its numbers do not prove this status" in back.message
    assert back.objective == back.problem.objective_of_factor(2 * solution.V)
    assert not back.is_optimal(0.5)


def test_an_edited_objective_is_not_repeated(solution, path, tmp_path):
    with pytest.raises(nm.ProblemError, match=r"altered.*checksum"):
        nm.Solution.load(changed(path, tmp_path / "new.npz", signed=False, objective=-1e9))
    back = nm.Solution.load(changed(path, tmp_path / "old.npz", objective=-1e9))
    assert back.objective == pytest.approx(solution.objective)
    assert "1000000000" not in said(back)
    assert back.status is nm.Status.OPTIMAL  # which its numbers prove


@pytest.mark.parametrize(
    ("fields", "status"),
    [
        ({"status": "INFEASIBLE"}, "INACCURATE"), ({"status": "UNBOUNDED"}, "INACCURATE"),
        ({"status": "LOCALLY_SOLVED"}, "LOCALLY_SOLVED"), ({"status": "TIME_LIMIT"}, "TIME_LIMIT"),
        ({"status": "STOPPED"}, "STOPPED"), ({"tol": 1.0}, "OPTIMAL"),
    ],
)  # fmt: skip
def test_a_status_is_what_its_numbers_prove(path, tmp_path, fields, status):
    assert nm.Solution.load(changed(path, tmp_path / "old.npz", **fields)).status.name == status


def test_infeasible_is_proved_again(tmp_path):
    L = nm.laplacian([[0.0], [1.0], [9.0]], 1, shift=0.1)
    E = nm.Entries(3, ([0], [0]))
    problem = nm.Problem(L, [nm.Constraint(E, equal=-1.0)])
    solution = problem.solve("interior")
    assert solution.status is nm.Status.INFEASIBLE
    path = solution.save(tmp_path / "s")
    assert nm.Solution.load(path).status is nm.Status.INFEASIBLE
    feasible = nm.Problem(L, [nm.Constraint(E, equal=1.0)])
    header, arrays = solution.pack()
    header |= {key: value for key, value in feasible.pack()[0].items() if key == "parts"}
    arrays |= {"part0.value": np.array([1.0])}
    back = nm.Solution.load(saved.write(tmp_path / "t", header, arrays))
    assert back.status is nm.Status.FAILED
    assert "no proof was found" in back.message


@pytest.mark.parametrize("kind", [1, 3, 4.0, True, None, "4"])
def test_another_format_is_refused(path, tmp_path, kind):
    with pytest.raises(nm.ProblemError, match="file format must be 4"):
        nm.Solution.load(changed(path, tmp_path / "older.npz", format=kind))


@pytest.mark.parametrize("n", [10**9, 10**15, 5, 0, -6, 24.0, "24", None, [], True])
def test_the_number_of_points_must_be_that_of_the_arrays(path, tmp_path, n):
    forged = changed(path, tmp_path / "old.npz", n=n)
    tracemalloc.start()
    with pytest.raises(nm.ProblemError, match="old.npz"):
        nm.Problem.load(forged)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


@pytest.mark.parametrize("name", ["V", "part0.index0", "cost.data", "history.bound", "junk"])
def test_what_unpacks_to_more_than_the_problem_needs_is_not_unpacked(path, tmp_path, name):
    with np.load(path) as file:
        arrays = dict(file)
    arrays[name] = np.zeros((24, 400_000) if name == "V" else 8_000_000)
    np.savez_compressed(tmp_path / "bomb.npz", **arrays)
    tracemalloc.start()
    with pytest.raises(nm.ProblemError, match="bomb.npz"):
        nm.Solution.load(tmp_path / "bomb.npz")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6


def test_points_that_unpack_out_of_proportion_are_refused_with_a_remedy(tmp_path):
    X = np.zeros((1000, 4000))
    np.savez_compressed(tmp_path / "x.npz", X=X)
    with pytest.raises(nm.ProblemError, match=r"at most 100 times its size.*numpy\.savez"):
        read_points(tmp_path / "x.npz")
    np.savez(tmp_path / "x.npz", X=X)
    assert read_points(tmp_path / "x.npz").X.shape == X.shape


def test_sizes_of_the_directory_are_not_believed(tmp_path):
    path = tmp_path / "x.npz"
    np.savez(path, X=np.zeros((3, 2)))
    with zipfile.ZipFile(path) as file:
        content = file.read("X.npy")
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("X.npy", content.replace(b"(3, 2)", b"(9, 2)"))
    with pytest.raises(nm.ProblemError, match=r"'X' of shape \(9, 2\)"), opened(path) as archive:
        archive["X"]
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("X.npy", b"no array")
    with pytest.raises(nm.ProblemError, match="whole .npz file"):
        read_points(path)


def test_parameters_of_losses_are_of_their_kinds(small, tmp_path):
    path = small("row:hinge").save(tmp_path / "p")
    for fields in (
        {"regularizer": {"name": "row_norm", "b": "1.0"}},
        {"regularizer": {"name": "row_norm", "c": 1}},
    ):
        with pytest.raises(nm.ProblemError, match="q.npz"):
            nm.Problem.load(changed(path, tmp_path / "q.npz", **fields))


BEYOND = 2**53 + 1  # no float of 64 bits


def test_integers_that_a_float_cannot_hold_are_refused_in_every_array_of_a_file(tmp_path):
    path, ends = tmp_path / "answer.npz", nm.Entries(4, ([0], [1]))
    terms = nm.LossTerm(ends, "square", 1.0), nm.Constraint(nm.SparseMatrices(4, [np.eye(4)]), equal=3.0)
    problem = nm.Problem(np.eye(4), terms, basis=nm.Basis(sp.csr_array(np.eye(4)[:, :3]), np.ones(3)))
    answer, words = problem.solve(), "float of 64 bits can hold, got|up to 2.53 if it is whole, got"
    answer.save(path)
    with np.load(path) as file:
        arrays = {name: file[name].shape for name in file if file[name].dtype.kind == "f"}
    assert len(arrays) >= 12
    big = {name: np.full(shape, BEYOND) for name, shape in arrays.items()}
    for name, value in (
        big | dict.fromkeys(("reported_objective", "build_time", "kernel_min_eigenvalue"), BEYOND)
    ).items():
        changed(path, tmp_path / "big.npz", **{name: value})
        with pytest.raises(nm.ProblemError, match=words):
            nm.Solution.load(tmp_path / "big.npz")
    nm.Problem(np.eye(4), terms[0]).save(path)
    changed(path, tmp_path / "big.npz", **{"cost.data": np.full(4, 2**54)})
    assert nm.Problem.load(tmp_path / "big.npz").cost[0, 0] == 2.0**54
    np.savez(path, X=np.array([[BEYOND, 1], [2, 3]]))
    with pytest.raises(nm.ProblemError, match=f"X of .*answer.npz must be .* got {BEYOND}"):
        read_points(path)


TABLE = np.arange(12).reshape(6, 2) % 5


@pytest.mark.parametrize(
    "door",
    [
        lambda big: nm.pcp(np.eye(3), nm.Pairs(3, [(0, 1)], None), gamma=big),
        lambda big: nm.TracePower(1, bound=big),
        lambda big: nm.TracePower(2, penalty=np.int64(big)),
        lambda big: nm.RowNormBound(big),
        lambda big: nm.huber(big),
        lambda big: nm.BoxLoss("a", low=-1, high=big, q=1),
        lambda big: nm.laplacian(TABLE, 1, shift=big),
        lambda big: nm.ordinal([[0, 1, 2]], penalty=big),
        lambda big: nm.NPKLClustering(2).fit(TABLE + big - 1),
        lambda big: nm.NPKLClustering(2).fit((TABLE + big - 1).tolist()),
        lambda big: nm.NPKLClustering(2).fit(TABLE, sample_weight=[big] * 6),
        lambda big: nm.ColoredMVU(1, n_neighbors=3).fit(TABLE + big - 1),
    ],
)
def test_integers_that_a_float_cannot_hold_are_refused_by_numbers_and_estimators(door):
    with pytest.raises(nm.ProblemError, match="a float of 64 bits can hold, got 900719925474099"):
        door(BEYOND)


def test_a_row_of_whole_numbers_is_saved_and_loaded(tmp_path):
    problem = nm.Problem(
        np.eye(2), nm.LossTerm(nm.Entries(2, ([0], [1])), nm.BoxLoss("a", low=-1, high=2), 0.5)
    )
    problem.save(tmp_path / "p.npz")
    assert nm.Problem.load(tmp_path / "p.npz").losses[0].loss == problem.losses[0].loss
