"""A proof file is checked by one program that trusts nothing of the library, and that no altered file deceives."""

import copy
import json
import random
import subprocess
import sys
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import npkl_models as nm
from npkl_models import checker
from npkl_models.cli.main import main

ALONE = Path(checker.__file__)


def graph(n=24, shift=0.1):
    data = nm.datasets.load("iris")
    chosen = np.random.default_rng(0).permutation(data.n)[:n]
    pairs = nm.Pairs.from_labels(data.y[chosen], n // 2, n // 2, 0)
    return nm.laplacian(data.X[chosen], 5, shift=shift), pairs


def unfolding(side=4):
    n = side * side
    X = np.stack(np.divmod(np.arange(n), side), axis=1) + 0.1 * np.random.default_rng(3).standard_normal(
        (n, 2)
    )
    i, j = np.triu_indices(n, 1)
    near = np.flatnonzero(np.linalg.norm(X[i] - X[j], axis=1) < 1.7)
    i, j = i[near], j[near]
    known = nm.Constraint(nm.SquaredDistances(n, (i, j)), equal=np.sum((X[i] - X[j]) ** 2, axis=1))
    return nm.Problem(-np.eye(n), [known, nm.Constraint(nm.TotalSum(n), equal=0.0)])


def max_cut(n=20):
    W = np.abs(np.random.default_rng(1).standard_normal((n, n)))
    return nm.Problem(W + W.T, nm.Constraint(nm.Entries(n, (range(n), range(n))), equal=1.0))


def pair_losses(loss):
    L, pairs = graph()
    terms = [nm.LossTerm(nm.Entries(pairs.n, (pairs.i, pairs.j)), loss, pairs.sign)]
    return nm.Problem(L, terms)


def between(low, high):
    at = nm.Entries(4, ([0], [1]))
    return nm.Problem(np.eye(4), [nm.Constraint(at, lower=low), nm.Constraint(at, upper=high)])


def triangle(n, sides=(1.0, 1.0, 9.0)):
    terms = [nm.Constraint(nm.SquaredDistances(n, ([0, 1, 0], [1, 2, 2])), equal=list(sides))]
    return nm.Problem(np.zeros((n, n)), terms)


def falling():
    known = nm.Constraint(nm.SquaredDistances(3, ([0, 1], [1, 2])), equal=1.0)
    return nm.Problem(-np.eye(3), [known, nm.LossTerm(nm.Entries(3, ([0], [1])), "hinge", 1.0)])


KINDS = {
    "pcp": lambda: nm.pcp(*graph()),
    "hinge": lambda: nm.npkl(*graph(), loss="hinge"),
    "squared hinge": lambda: nm.npkl(*graph(), loss="squared_hinge", row_norm=0.9),
    "huber": lambda: pair_losses("huber"),
    "absolute": lambda: pair_losses("absolute"),
    "groups": lambda: nm.hard_pcp(*graph()),
    "basis": lambda: nm.pcp(*graph()).with_basis(nm.eigenbasis(graph()[0], 6)),
    "trace bound": lambda: nm.simple_npkl(*graph(), loss="hinge", p=1, trace_bound=20.0),
    "trace penalty": lambda: nm.simple_npkl(*graph(), loss="hinge", p=1, penalty=0.1),
    "unfolding": unfolding,
    "max-cut": max_cut,
    "no bound meets": lambda: between(2.0, 1.0),
    "triangle": lambda: triangle(3),
    "triangle among many": lambda: triangle(100),
    "falling": falling,
    "no constraint": lambda: nm.Problem(-np.eye(3), nm.LossTerm(nm.Entries(3, ([0], [1])), "hinge", 1.0)),
}  # fmt: skip


@cache
def proof(kind):
    return KINDS[kind]().solve(tol=1e-8).proof()


@pytest.mark.parametrize("kind", KINDS)
def test_every_status_has_a_proof(kind, tmp_path):
    path = proof(kind).save(tmp_path / "a.proof")
    found = subprocess.run([sys.executable, "-I", ALONE, path], capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr
    assert found.stdout.splitlines() == proof(kind).check()
    assert found.stdout.startswith(proof(kind).claim)


def test_the_checker_is_short_and_needs_numpy_alone():
    text = ALONE.read_text()
    assert len(text.splitlines()) <= 300
    imported = {
        line.split()[1].split(".")[0] for line in text.splitlines() if line.startswith(("import ", "from "))
    }
    assert imported - set(sys.stdlib_module_names) == {"numpy"}


def test_a_sdpa_file(tmp_path):
    path = max_cut(12).to_sdpa(tmp_path / "cut.dat-s")
    solution = nm.Problem.from_sdpa(path).solve()
    assert solution.proof().claim == "OPTIMAL"


@pytest.mark.parametrize("kind", ["groups", "max-cut", "triangle", "hinge"])
def test_whole_numbers_prove_the_same(kind):
    assert "in whole numbers" in proof(kind).check(exact=True)[-1]


def test_a_singular_slack_is_proved_in_whole_numbers():
    """min K_00 + K_11 - 2 K_01 with K_ii = 1: the slack (1, -1; -1, 1) has an eigenvalue zero."""
    data = {
        "format": "npkl proof", "version": 1, "claim": "OPTIMAL", "method": "exact", "n": 3, "basis": [],
        "terms": [[1, 0, 1, None, None]] * 3,
        "entries": [[0, 0, 0, 1], [1, 1, 1, 1], [2, 2, 2, 1], [3, 0, 1, -2], [3, 1, 2, -2], [3, 0, 2, -2]],
        "multipliers": [2, 2, 2], "point": [1, 1, 1], "bound": -6, "value": -6, "violation": 0,
        "relative_gap": 0, "tol": 1e-9, "feasibility": 1e-9,
    }  # fmt: skip
    assert checker.check(data)[0].startswith("OPTIMAL: -6 <=")
    with pytest.raises(ArithmeticError):
        checker.check(data | {"multipliers": [2, 2, 1.9999999999999998], "bound": -7, "relative_gap": 1e-10})


def test_a_sparse_factor(tmp_path):
    n = 600
    i = np.arange(n - 1)
    L = nm.laplacian(np.arange(n)[:, None].astype(float), 2, shift=0.5)
    terms = [nm.LossTerm(nm.Entries(n, (i, i + 1)), "square", np.where(i % 3, 1.0, -1.0)),
             nm.LossTerm(nm.Entries(n, (range(n), range(n))), "square", 1.0)]  # fmt: skip
    made = nm.Problem(L, terms).solve().proof()
    assert made.data["method"] == "sparse"
    assert "sparse" in made.check()[-1]


def test_what_has_no_proof_says_so():
    L, pairs = graph()
    for problem in (
        nm.npkl(L, pairs, loss="logistic"),
        nm.simple_npkl(L, pairs, loss="hinge", p=2, trace_bound=9.0),
    ):
        with pytest.raises(nm.UnsupportedError, match="a proof file"):
            problem.solve().proof()
    with pytest.raises(nm.UnsupportedError, match="status"):
        nm.pcp(L, pairs).solve("bcd", max_iter=1).proof()


# One number of a file is altered


def numbers_of(data):
    """The places of all numbers of a file."""
    out = []
    for name, value in data.items():
        if isinstance(value, list):
            for k, one in enumerate(value):
                out += [(name, k, at) for at in range(len(one))] if isinstance(one, list) else [(name, k)]
        else:
            out.append((name,))
    return out


def altered(data, rng):
    data = copy.deepcopy(data)
    *way, last = rng.choice(numbers_of(data))
    place = data
    for step in way:
        place = place[step]
    old = place[last]
    if isinstance(old, str):
        place[last] = rng.choice(["OPTIMAL", "INFEASIBLE", "UNBOUNDED", "exact", "dense", "sparse", "x"])
    elif old is None:
        place[last] = rng.choice([0, 1.0, -1.0, 1e9, -1e9])
    else:
        change = [
            old * 1.001 + 1e-6,
            old * 0.5,
            -old,
            old + 1,
            old * 1e6,
            old - 1e-3,
            0,
            None,
            old * (1 + 1e-9),
        ]
        place[last] = rng.choice(change)
        if isinstance(old, int) and isinstance(place[last], float):
            place[last] = round(place[last])
    return data, (way, last, old, place[last])


def independent(data):
    """Whether the claim is true, by floating point and a dense eigenvalue, far from the checker's ways."""
    m, n = len(data["terms"]), data["n"]
    b, q, w, low, high = (np.array([one[k] if one[k] is not None else (-np.inf if k == 3 else np.inf) for one in data["terms"]], dtype=float) for k in range(5))  # fmt: skip
    M = np.zeros((m + 1, n, n))
    for owner, i, j, x in data["entries"]:
        M[owner, i, j] += x / 2
        M[owner, j, i] += x / 2
    hard = (q == 0) & (np.isinf(low) | np.isinf(high))
    y = np.array(data.get("multipliers", np.zeros(m)), dtype=float)
    P = face(data, M, b, hard, low, high)
    if data["claim"] != "UNBOUNDED":
        cost = data["claim"] == "OPTIMAL"
        S = cost * M[m] + np.tensordot(y, M[:m], 1)
        S = P.T @ S @ P
        eigenvalue = np.linalg.eigvalsh(S)[0] if S.size else 0.0
        bound = -np.sum(b * y + q / w * y**2 / 2)
        true = (low <= y).all() and (y <= high).all() and eigenvalue >= -1e-12 * np.abs(S).max(initial=0)
        true = true and data["bound"] <= bound + 1e-12 * np.sum(np.abs(b * y))
        if not cost:
            return true and data["bound"] > 0 and not y[~hard].any()
        if not true:
            return False
    V = P @ np.array(data["point"], dtype=float).reshape(P.shape[1], -1)
    K = V @ V.T
    z = np.tensordot(M, K, 2)
    r = np.where(hard, z[:m] - b, 0.0)
    r = np.where((low == 0) & (r < 0) | (high == 0) & (r > 0), 0.0, r)
    s = np.sqrt(np.diag(K))
    size = np.tensordot(np.abs(M), np.outer(s, s), 2)
    unit = np.where(b != 0, np.abs(b), size[:m])
    violation = np.max(np.abs(r) / np.where(unit > 0, unit, 1), initial=0.0)
    if not violation <= data["violation"] * (1 + 1e-9) + 1e-14 or data["violation"] > data["feasibility"]:
        return False
    if data["claim"] == "UNBOUNDED":
        D = P @ np.array(data["direction"], dtype=float).reshape(P.shape[1], -1)
        z = np.tensordot(M, D @ D.T, 2)
        z = np.where(np.abs(z) < 1e-13, 0.0, z)
        with np.errstate(invalid="ignore"):
            rate = z[m] + np.sum(np.where(z[:m] > 0, z[:m] * high, np.where(z[:m] < 0, z[:m] * low, 0.0)))
        return rate <= data["rate"] + 1e-12 and data["rate"] < 0
    f = loss_of(z[:m], b, q / w, low, high, hard)
    if not z[m] + f.sum() <= data["value"] + 1e-9 * abs(data["value"]):
        return False
    gap = data["value"] - data["bound"] + y @ r
    positive = loss_of(np.zeros(m), b, q / w, low, high, hard)
    least = min(positive[positive > 0], default=0.0)
    A, B = size[m] + np.abs(f).sum(), np.sum(np.abs(b * y + q / w * y**2 / 2))
    F = min(A, max(B, least)) if M[m].any() else least
    reference = abs(data["value"]) + abs(data["bound"]) + 1e-3 * F
    return (
        gap <= data["relative_gap"] * reference * (1 + 1e-6) + 1e-12 * reference
        and data["relative_gap"] <= data["tol"]
    )


def loss_of(z, b, curve, low, high, hard):
    r = z - b
    with np.errstate(all="ignore"):
        y = np.where(curve > 0, np.clip(r / curve, low, high), np.where(r > 0, high, low))
        return np.where(hard | (r == 0) & (curve == 0), 0.0, y * r - curve * y**2 / 2)


def face(data, M, b, hard, low, high):
    """Columns that span the null space of the squares which must vanish."""
    n = data["n"]
    if data["basis"]:
        return np.array(data["basis"]).reshape(n, -1)
    groups = np.arange(n)
    asked = {}
    for k in range(len(b)):
        at = np.argwhere(np.triu(M[k]))
        if hard[k] and low[k] == -np.inf and high[k] == np.inf and len(at) == 1:
            i, j = at[0]
            asked[i, j] = Fraction(b[k]) / Fraction(M[k, i, j] * (1 if i == j else 2))
    for (i, j), v in asked.items():
        if asked.get((i, i)) == v == asked.get((j, j)):
            groups[groups == groups[j]] = groups[i]
    first = np.unique(groups)
    first = np.array([min(np.flatnonzero(groups == g)) for g in first])
    return (groups[:, None] == groups[np.sort(first)][None, :]).astype(float)


ALTERATIONS = 25


@pytest.mark.parametrize(
    "kind", ["pcp", "hinge", "huber", "groups", "max-cut", "no bound meets", "falling", "unfolding"]
)
def test_a_file_with_one_other_number_is_refused_or_still_true(kind):
    rng, refused = random.Random(kind), 0
    for _ in range(ALTERATIONS):
        data, what = altered(proof(kind).data, rng)
        try:
            checker.check(data)
        except (ArithmeticError, ValueError):
            refused += 1
        else:
            assert independent(data), what
    assert refused >= ALTERATIONS // 5


# Files that are no proof


def broken():
    good = proof("max-cut").data
    yield b""
    yield b"\xff\xfe\x00"
    yield b"[" * 100_000
    yield b"null"
    yield b"[1, 2]"
    yield b'{"format": "npkl proof"}'
    yield json.dumps(good)[:-40].encode()
    for name in good:
        yield json.dumps({key: value for key, value in good.items() if key != name}).encode()
        for other in (
            True,
            None,
            "x",
            {},
            [[]],
            [True],
            [None],
            -1,
            [float("nan")],
            [float("inf")],
            {"a": [1]},
        ):
            yield json.dumps(good | {name: other}).encode()
    yield json.dumps(good | {"more": 1}).encode()
    yield json.dumps(good | {"n": 10**30}).encode()
    yield json.dumps(good | {"value": 10**400}).encode()
    yield json.dumps(good).replace("-", "-1" + "0" * 5000, 1).encode()
    yield json.dumps(good | {"multipliers": good["multipliers"][1:]}).encode()
    yield json.dumps(good | {"point": good["point"][1:]}).encode()
    for entry in (
        [0, 0, 99, 1.0],
        [0, -1, 0, 1.0],
        [99, 0, 0, 1.0],
        [0, 0.0, 0, 1.0],
        [0, 0, 1.0],
        [0, 0, 0, 1.0, 2],
        3,
        "abcd",
    ):
        yield json.dumps(good | {"entries": [*good["entries"], entry]}).encode()
    for term in (
        [1, 0, 1, 2, 1],
        [1, -1, 1, None, None],
        [1, 0, 0, None, None],
        [1, 0, 1, -1, None],
        [1, 0, 2, None, None],
    ):
        yield json.dumps(good | {"terms": [term, *good["terms"][1:]]}).encode()


def test_a_malformed_file_is_refused_in_one_line(tmp_path, capsys):
    path = tmp_path / "a.proof"
    for text in broken():
        path.write_bytes(text)
        status = checker.main([str(path)])
        said = capsys.readouterr()
        assert status in (1, 2), text[:200]
        assert status == 2 or said.err.startswith("not proved: "), text[:200]
        assert (said.out, said.err.count("\n")) == ("", 1)
    for other in (tmp_path, tmp_path / "none"):
        assert checker.main([str(other)]) == 2


@pytest.mark.parametrize("claim", ["OPTIMAL", "INFEASIBLE", "UNBOUNDED"])
def test_the_command_has_three_statuses(claim, tmp_path, capsys):
    kind = {"OPTIMAL": "max-cut", "INFEASIBLE": "triangle", "UNBOUNDED": "falling"}[claim]
    problem, path = KINDS[kind]().save(tmp_path / "problem.npz"), tmp_path / "a.proof"
    main(["solve", str(problem), "--proof", str(path)])
    assert main(["check", str(path)]) == 0
    assert claim in capsys.readouterr().out
    data = json.loads(path.read_text())
    name = {"OPTIMAL": "bound", "INFEASIBLE": "bound", "UNBOUNDED": "rate"}[claim]
    path.write_text(json.dumps(data | {name: data[name] + 1e3 * (1 if claim != "UNBOUNDED" else -1)}))
    assert main(["check", str(path)]) == 1
    path.write_text("{}")
    assert main(["check", str(path), "--exact"]) == 2
