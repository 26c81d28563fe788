"""Derivatives of the optimum and of held-out losses, against differences of problems solved again."""

from dataclasses import replace

import numpy as np
import pytest
from problems import build

import npkl_models as nm
from npkl_models.applications.cost_gradient import CostGradient
from npkl_models.applications.sensitivity import held_out_sensitivity, optimum_sensitivity
from npkl_models.path import with_parameter

N, WIDTH = 40, 1.2
LOSSES = ("pcp", "squared_hinge", "square", "huber", "squared_excess")


def points():
    """Points without equal distances, so that small changes keep the neighbours."""
    rng = np.random.default_rng(0)
    y = np.arange(N) % 3
    return rng.normal(size=(N, 4)) + 2.5 * np.eye(3, 4)[y], y


X, Y = points()
PAIRS = nm.Pairs.from_labels(Y, 20, 20, random_state=0)
UNSEEN = nm.Pairs.from_labels(Y, 15, 15, random_state=7)
HELD = nm.LossTerm(nm.Entries(N, (UNSEEN.i, UNSEEN.j)), "squared_hinge", UNSEEN.sign)


def problem(loss="pcp", gamma=1.0, shift=0.1, sigma=WIDTH, scales=1.0, normalized=True):
    L = nm.laplacian(X * scales, 5, normalized=normalized, shift=shift, sigma=sigma)
    return nm.pcp(L, PAIRS, gamma=gamma) if loss == "pcp" else nm.npkl(L, PAIRS, loss=loss, gamma=gamma)


def solved(question):
    return question.solve("burer_monteiro", tol=1e-9)


def held_out(question):
    return held_out_sensitivity(solved(question), HELD)


def slope(value, at, step=1e-5):
    return (value(at + step) - value(at - step)) / (2 * step)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("loss", LOSSES)
def test_a_held_out_loss_changes_as_its_derivatives_say(loss, normalized):
    def at(**changes):
        return held_out(problem(loss, normalized=normalized, **changes)).value

    found = held_out(problem(loss, normalized=normalized))
    width, scales = found.cost.graph(X, 5, WIDTH, normalized)
    assert found.kinks == 0
    assert found.gamma == pytest.approx(slope(lambda g: at(gamma=g), 1.0), rel=1e-5)
    assert found.cost.shift == pytest.approx(slope(lambda s: at(shift=s), 0.1), rel=1e-5)
    assert width == pytest.approx(slope(lambda s: at(sigma=s), WIDTH), rel=1e-5, abs=1e-7)
    for k in range(2):
        unit = np.eye(4)[k]
        known = slope(lambda s, u=unit: at(scales=1 + (s - 1) * u), 1.0)
        assert scales[k] == pytest.approx(known, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("loss", ["pcp", "square"])
def test_weights_of_pairs_and_entries_of_the_cost(loss):
    whole = problem(loss)
    found = held_out(whole)
    for e in (0, 7, 25):

        def heavier(w, e=e):
            weight = whole.terms[0].weight.copy()
            weight[e] = w
            return held_out(
                replace(whole, terms=(replace(whole.terms[0], weight=weight), *whole.terms[1:]))
            ).value

        known = slope(heavier, float(whole.terms[0].weight[e]))
        assert found.weights[0][e] == pytest.approx(known, rel=1e-4, abs=1e-7)
    change = np.zeros((N, N))
    change[2, 5] = change[5, 2] = 1.0
    change[3, 3] = 0.5
    known = slope(lambda s: held_out(replace(whole, cost=whole.cost.toarray() + s * change)).value, 0.0)
    assert found.cost.along(change) == pytest.approx(known, rel=1e-4, abs=1e-7)
    assert found.cost.along(change) == pytest.approx(
        2 * found.cost.entries([2], [5])[0] + 0.5 * found.cost.diagonal[3]
    )


@pytest.mark.parametrize("kind", ["basis:pcp", "G1:squared_hinge", "G2:square"])
def test_over_a_basis_and_with_a_penalty(kind):
    whole = build(kind, problem().cost, PAIRS)
    found = held_out(whole)
    known = slope(lambda g: held_out(with_parameter(whole, "weight", g)).value, 1.0)
    assert found.gamma == pytest.approx(known, rel=1e-5)


@pytest.mark.parametrize("loss", [*LOSSES, "hinge", "absolute"])
def test_the_optimum_changes_as_its_derivatives_say(loss):
    def at(**changes):
        return problem(loss, **changes).solve("interior", tol=1e-10).certificate.upper

    found = optimum_sensitivity(problem(loss).solve("interior", tol=1e-10))
    width, scales = found.cost.graph(X, 5, WIDTH)
    assert found.gamma == pytest.approx(slope(lambda g: at(gamma=g), 1.0, 1e-3), rel=1e-3)
    assert found.cost.shift == pytest.approx(slope(lambda s: at(shift=s), 0.1, 1e-3), rel=1e-3)
    assert width == pytest.approx(slope(lambda s: at(sigma=s), WIDTH, 1e-3), rel=1e-3, abs=1e-5)
    unit = np.eye(4)[1]
    assert scales[1] == pytest.approx(
        slope(lambda s: at(scales=1 + (s - 1) * unit), 1.0, 1e-3), rel=1e-3, abs=1e-5
    )
    # the tangent is an upper bound on every other optimum
    for g in (0.2, 0.9, 3.0):
        assert at(gamma=g) <= found.value + (g - 1) * found.gamma + 1e-8


def test_edges_of_an_unnormalised_graph():
    S = nm.knn_affinity(X, 5, WIDTH)
    i, j = int(S.tocoo().row[0]), int(S.tocoo().col[0])

    def at(weight):
        changed = S.tolil()
        changed[i, j] = changed[j, i] = weight
        L = nm.laplacian(changed.tocsr(), normalized=False, shift=0.1)
        return nm.pcp(L, PAIRS).solve("interior", tol=1e-10)

    found = optimum_sensitivity(at(S[i, j]))
    known = slope(lambda w: at(w).certificate.upper, S[i, j], 1e-3)
    assert found.cost.edges([i], [j])[0] == pytest.approx(known, rel=1e-3, abs=1e-6)
    both = found.cost.affinities(S, normalized=False).tocsr()
    assert both[i, j] + both[j, i] == pytest.approx(found.cost.edges([i], [j])[0])


def test_a_rotation_of_the_factor_changes_nothing():
    solution = solved(problem())
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(solution.V.shape[1],) * 2))[0]
    one, other = (held_out_sensitivity(s, HELD) for s in (solution, replace(solution, V=solution.V @ turn)))
    assert one.gamma == pytest.approx(other.gamma, rel=1e-7)
    np.testing.assert_allclose(one.weights[0], other.weights[0], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: problem("hinge"), nm.UnsupportedError, "smooth losses and without equalities"),
        (
            lambda: nm.npkl(problem().cost, PAIRS, loss="square", row_norm=0.9),
            nm.UnsupportedError,
            "or bounds",
        ),
        (lambda: nm.hard_pcp(problem().cost, PAIRS), nm.UnsupportedError, "without equalities"),
        (lambda: problem("squared_hinge", gamma=1e-9), nm.SolverError, "rank"),
    ],
)
def test_where_no_derivative_is_claimed(make, error, message):
    question = make()
    backend = "interior" if question.constraints else "burer_monteiro"
    solution = (
        replace(question.solve(backend), V=np.zeros((N, 1)))
        if error is nm.SolverError
        else question.solve(backend)
    )
    with pytest.raises(error, match=message):
        held_out_sensitivity(solution, HELD)


def test_a_point_that_is_not_optimal_is_refused():
    whole = problem()
    rough = whole.solve("bcd", max_iter=1)
    narrow = replace(rough, V=rough.V[:, :1])
    with pytest.raises(nm.SolverError, match="no optimal factor of rank 1"):
        held_out_sensitivity(narrow, HELD)


def test_bad_input():
    solution = solved(problem())
    other = nm.LossTerm(nm.Entries(N + 1, ([0], [1])), "square", 1.0)
    with pytest.raises(nm.ProblemError, match=f"over the {N} points"):
        held_out_sensitivity(solution, other)
    with pytest.raises(nm.ProblemError, match="held must be a LossTerm"):
        held_out_sensitivity(solution, 3)
    with pytest.raises(nm.ProblemError, match="must have a kernel"):
        optimum_sensitivity(replace(solution, V=None))
    gradient = CostGradient(solution.V, solution.V)
    with pytest.raises(nm.ProblemError, match="sigma must be a real number"):
        gradient.graph(X, 5, "auto")
    with pytest.raises(nm.ProblemError, match="rows and columns"):
        gradient.affinities(np.eye(3))


def test_a_value_at_its_kink_is_counted():
    """All entries are wanted to be one, and are one, where the squared hinge begins."""
    every = ([0, 0, 1], [0, 1, 1])
    terms = [
        nm.LossTerm(nm.Entries(2, every), "square", 1.0),
        nm.LossTerm(nm.Entries(2, ([0], [1])), "squared_hinge", 1.0),
    ]
    solution = solved(nm.Problem(np.zeros((2, 2)), terms))
    held = nm.LossTerm(nm.Entries(2, ([0], [0])), "square", 0.0)
    assert held_out_sensitivity(solution, held).kinks == 1


def test_a_kernel_that_is_not_unique_has_no_derivative():
    """Without cost, only K_01 = 1 is asked: all other entries are free."""
    free = nm.Problem(np.zeros((3, 3)), nm.LossTerm(nm.Entries(3, ([0], [1])), "square", 1.0))
    V = np.array([[1.0, 0.5], [0.5, 1.0], [0.3, -0.2]])
    held = nm.LossTerm(nm.Entries(3, ([0], [2])), "square", 1.0)
    with pytest.raises(nm.SolverError, match="singular beyond rotations"):
        held_out_sensitivity(replace(solved(free), V=V), held)
