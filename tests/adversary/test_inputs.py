"""Odd values for every parameter of the public functions: whatever it is, an NPKLError or an answer."""

import contextlib
import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import npkl_models as nm

X = [[0.0], [1.0], [2.0], [10.0], [11.0], [12.0]]
L = nm.laplacian(X, n_neighbors=2, shift=0.1)
pairs = nm.Pairs(6, [(0, 1), (3, 4)], [(2, 3)])
P = nm.pcp(L, pairs)
S = P.solve("interior")
V = S.V
ODD = [
    None, "a", 1 + 2j, [1, [2]], object(), np.array(["a"]), np.array([1 + 1j] * 6), True, [None] * 6, {},
    set(), np.ma.masked_array(np.ones(6), [1] + [0] * 5), 10**400, -1, 6.0, np.nan, np.inf,
    np.ones((2, 2, 2)), sp.csr_array((6, 6), dtype=complex), b"x", np.ma.masked_array(np.eye(6), np.eye(6)),
    np.array([[object()] * 6] * 6), 5, 0, [], np.datetime64("2020"), "", np.zeros((0, 0)),
    np.zeros((6, 6)) * 1j,
]  # fmt: skip
CALLS = {
    "pcp L": lambda b: nm.pcp(b, pairs),
    "pcp pairs": lambda b: nm.pcp(L, b),
    "pcp gamma": lambda b: nm.pcp(L, pairs, gamma=b),
    "npkl loss": lambda b: nm.npkl(L, pairs, loss=b),
    "npkl row": lambda b: nm.npkl(L, pairs, row_norm=b),
    "npkl L": lambda b: nm.npkl(b, pairs),
    "simple C": lambda b: nm.simple_npkl(L, pairs, C=b, trace_bound=1.0),
    "simple p": lambda b: nm.simple_npkl(L, pairs, p=b, trace_bound=1.0),
    "simple B": lambda b: nm.simple_npkl(L, pairs, trace_bound=b),
    "simple G": lambda b: nm.simple_npkl(L, pairs, penalty=b),
    "hard": lambda b: nm.hard_pcp(b, pairs),
    "hard pairs": lambda b: nm.hard_pcp(L, b),
    "reg basis": lambda b: nm.reg_pcp(b, pairs),
    "reg pairs": lambda b: nm.reg_pcp(nm.eigenbasis(L, 3), b),
    "mvu": lambda b: nm.mvu(b, n_neighbors=2),
    "mvu k": lambda b: nm.mvu(X, n_neighbors=b),
    "mvu metric": lambda b: nm.mvu(X, 2, metric=b),
    "mvu comp": lambda b: nm.mvu(X, 2, components=b),
    "mvu w": lambda b: nm.mvu(X, 2, weight=b),
    "mvu reduce": lambda b: nm.mvu(X, 2, reduce=b),
    "reg_mvu": lambda b: nm.reg_mvu(b, 2, 3),
    "reg_mvu s": lambda b: nm.reg_mvu(X, 2, b),
    "reg_mvu nu": lambda b: nm.reg_mvu(X, 2, 3, nu=b),
    "colored X": lambda b: nm.colored_mvu(b, [0, 0, 0, 1, 1, 1], n_neighbors=2),
    "colored y": lambda b: nm.colored_mvu(X, b, n_neighbors=2),
    "colored C": lambda b: nm.colored_mvu(X, [0, 0, 0, 1, 1, 1], n_neighbors=2, C=b),
    "mve size": lambda b: nm.mve(X, b, n_neighbors=2),
    "mve dir": lambda b: nm.mve(X, 1, directions=b, n_neighbors=2),
    "mve C": lambda b: nm.mve(X, 1, n_neighbors=2, C=b),
    "mve B": lambda b: nm.mve(X, 1, n_neighbors=2, trace_bound=b),
    "spe W": lambda b: nm.spe(b),
    "spe C": lambda b: nm.spe(np.ones((6, 6)), C=b),
    "spe t": lambda b: nm.spe(sp.diags_array([np.ones(5), np.ones(5)], offsets=[1, -1]), triplets=b),
    "spe bound": lambda b: nm.spe(sp.diags_array([np.ones(5), np.ones(5)], offsets=[1, -1]), trace_bound=b),
    "psde pairs": lambda b: nm.psde(b, trace_bound=1.0),
    "psde loss": lambda b: nm.psde(pairs, loss=b, trace_bound=1.0),
    "psde C": lambda b: nm.psde(pairs, C=b, trace_bound=1.0),
    "psde B": lambda b: nm.psde(pairs, trace_bound=b),
    "psde F": lambda b: nm.psde(pairs, features=b, trace_bound=1.0),
    "completion": lambda b: nm.kernel_completion(b),
    "completion i": lambda b: nm.kernel_completion((b, [1], [1.0])),
    "completion v": lambda b: nm.kernel_completion(([0], [1], b)),
    "completion w": lambda b: nm.kernel_completion(([0], [1], [1.0]), weights=b),
    "completion G": lambda b: nm.kernel_completion(([0], [1], [1.0]), penalty=b),
    "completion Q": lambda b: nm.kernel_completion(([0], [1], [1.0]), basis=b),
    "completion n": lambda b: nm.kernel_completion(([0], [1], [1.0]), n_points=b),
    "rigid": lambda b: nm.locally_rigid(b, 4, 3),
    "rigid k": lambda b: nm.locally_rigid(X, b, 3),
    "rigid s": lambda b: nm.locally_rigid(X, 4, b),
    "rigid d": lambda b: nm.locally_rigid(X, 4, 3, dimension=b),
    "rigid metric": lambda b: nm.locally_rigid(X, 4, 3, metric=b),
    "rigid comp": lambda b: nm.locally_rigid(X, 4, 3, components=b),
    "conformal": lambda b: nm.conformal_eigenmaps(b, 3, 3),
    "conformal k": lambda b: nm.conformal_eigenmaps(X, b, 3),
    "conformal s": lambda b: nm.conformal_eigenmaps(X, 3, b),
    "conformal metric": lambda b: nm.conformal_eigenmaps(X, 3, 3, metric=b),
    "combination": lambda b: nm.DistanceCombinations(6, ([0], [1]), b),
    "combination i": lambda b: nm.DistanceCombinations(6, (b, [1]), [[1.0]]),
    "trace": lambda b: nm.Trace(b),
    "term f": lambda b: nm.LossTerm(b, "hinge", 1.0),
    "term loss": lambda b: nm.LossTerm(nm.Entries(6, ([0], [1])), b, 1.0),
    "term t": lambda b: nm.LossTerm(nm.Entries(6, ([0], [1])), "square", b),
    "term w": lambda b: nm.LossTerm(nm.Entries(6, ([0], [1])), "square", 1.0, b),
    "term name": lambda b: nm.LossTerm(nm.Entries(6, ([0], [1])), "square", 1.0, 1.0, b),
    "eq f": lambda b: nm.Constraint(b, equal=1.0),
    "eq v": lambda b: nm.Constraint(nm.Entries(6, ([0], [1])), equal=b),
    "entries n": lambda b: nm.Entries(b, ([0], [1])),
    "entries i": lambda b: nm.Entries(6, b),
    "entries i0": lambda b: nm.Entries(6, (b, [1])),
    "total": lambda b: nm.TotalSum(b),
    "diff": lambda b: nm.DistanceDifferences(6, (b, [1], [2])),
    "row": lambda b: nm.RowNormBound(b),
    "tp": lambda b: nm.TracePower(b, bound=1.0),
    "tpb": lambda b: nm.TracePower(2, bound=b),
    "tpp": lambda b: nm.TracePower(2, penalty=b),
    "basis": lambda b: nm.Basis(b),
    "basis e": lambda b: nm.Basis(np.eye(6), b),
    "eigb": lambda b: nm.eigenbasis(b, 2),
    "eigb s": lambda b: nm.eigenbasis(L, b),
    "eigb skip": lambda b: nm.eigenbasis(L, 2, skip=b),
    "Problem C": lambda b: nm.Problem(b, P.terms),
    "Problem t": lambda b: nm.Problem(L, b),
    "Problem e": lambda b: nm.Problem(L, b),
    "Problem R": lambda b: nm.Problem(L, P.terms, b),
    "Problem Q": lambda b: nm.Problem(L, P.terms, basis=b),
    "Problem name": lambda b: nm.Problem(L, P.terms, name=b),
    "certify P": lambda b: nm.certify(b, V),
    "certify V": lambda b: nm.certify(P, b),
    "certify y": lambda b: nm.certify(P, V, b),
    "certify kind": lambda b: nm.certify(P, V, kind=b),
    "certify method": lambda b: nm.certify(P, V, method=b),
    "certify tol": lambda b: nm.certify(P, V, tol=b),
    "certify fp": lambda b: nm.certify(P, V, failure_probability=b),
    "certify rs": lambda b: nm.certify(P, V, random_state=b),
    "pairs n": lambda b: nm.Pairs(b, [(0, 1)], []),
    "pairs m": lambda b: nm.Pairs(6, b, [(0, 1)]),
    "pairs c": lambda b: nm.Pairs(6, [(0, 1)], b),
    "pairs w": lambda b: nm.Pairs(6, [(0, 1)], [(1, 2)], b),
    "from_labels": lambda b: nm.Pairs.from_labels(b, 1, 1),
    "from_labels n": lambda b: nm.Pairs.from_labels([0, 0, 1, 1], b, 1),
    "from_labels rs": lambda b: nm.Pairs.from_labels([0, 0, 1, 1], 1, 1, b),
    "from_arrays": lambda b: nm.Pairs.from_arrays(b, [1], 6),
    "from_arrays y": lambda b: nm.Pairs.from_arrays([(0, 1)], b, 6),
    "select": lambda b: pairs.select(b, V),
    "select k": lambda b: pairs.select(0.5, b),
    "select c": lambda b: pairs.select(0.5, V, b),
    "lap": lambda b: nm.laplacian(b, 2),
    "lap k": lambda b: nm.laplacian(X, b),
    "lap shift": lambda b: nm.laplacian(X, 2, shift=b),
    "lap sigma": lambda b: nm.laplacian(X, 2, sigma=b),
    "lap metric": lambda b: nm.laplacian(X, 2, metric=b),
    "lap search": lambda b: nm.laplacian(X, 2, search=b),
    "solve backend": lambda b: P.solve(b),
    "solve rank": lambda b: P.solve("bcd", rank=b, time_limit=1),
    "solve tol": lambda b: P.solve("bcd", tol=b, time_limit=1),
    "solve tl": lambda b: P.solve("bcd", time_limit=b),
    "solve cb": lambda b: P.solve("bcd", callback=b),
    "solve rigour": lambda b: P.solve("bcd", rigour=b),
    "auto tl": lambda b: P.solve(time_limit=b),
    "path": lambda b: nm.regularization_path(P, b, [1.0]),
    "path P": lambda b: nm.regularization_path(b, "gamma", [1.0]),
    "choose": lambda b: nm.choose_backend(b),
    "solve()": lambda b: nm.solve(b),
    "compile()": lambda b: nm.compile(b, "bcd"),
    "register": lambda b: nm.register(b),
    "dual_bound": lambda b: P.dual_bound(b),
    "slack": lambda b: P.slack(b),
    "with_basis": lambda b: P.with_basis(b),
    "objective": lambda b: P.objective(b),
    "objf": lambda b: P.objective_of_factor(b),
    "violation": lambda b: P.violation(b),
    "extend": lambda b: S.extend(b),
    "is_opt": lambda b: S.is_optimal(b),
}


@pytest.mark.parametrize("name", CALLS)
def test_odd_values_are_refused_in_words(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for value in ODD:
            with contextlib.suppress(nm.NPKLError):
                CALLS[name](value)


@pytest.mark.parametrize(
    "call",
    [
        lambda: nm.pcp(1j * L, pairs),
        lambda: nm.pcp(np.ma.masked_array(L.toarray(), np.eye(6)), pairs),
        lambda: nm.Entries(-1, ([0], [1])),
        lambda: nm.Entries(6.0, ([0], [1])),
        lambda: nm.TracePower(True, bound=True),
        lambda: nm.LossTerm(nm.Entries(6, ([0], [1])), "square", 1 + 2j),
        lambda: nm.Problem(L, P.terms, basis=np.eye(6)),
        lambda: nm.certify(P, V, 5),
    ],
)
def test_what_was_accepted_in_silence_is_refused(call):
    with pytest.raises(nm.NPKLError):
        call()
