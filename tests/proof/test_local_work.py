"""What runs on a Schur complement raise, deflate and state, and when a Lanczos run ends, with runs that answer."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from problems import weak_groups

from npkl_models.linalg import norm_bound
from npkl_models.proof import lanczos, localised
from npkl_models.proof.eigenbound import Query
from npkl_models.proof.elimination import LOOSE
from npkl_models.proof.lanczos import smallest_component
from npkl_models.proof.recurrence import Deflation, is_local, tight

N = 300
S, FLAT, MEMBERS = weak_groups(N, 1, 6)
S = sp.csr_array(S)
FLAT = FLAT / np.linalg.norm(FLAT)
PRICE = np.linspace(1.0, 2.0, N)
UPPER = norm_bound(S)


def work(**asked):
    hint = np.zeros(N)
    hint[MEMBERS[0]] = np.arange(1.0, MEMBERS[0].size + 1)
    local = np.zeros((N, 1))
    local[7] = 1.0
    return localised._Work(S, np.hstack([FLAT, local]), hint, Query(**asked), 50)


def near(value):
    return pytest.approx(value, rel=1e-9, abs=0)


def test_a_work_begins_with_the_largest_points_of_its_hint():
    """A hundredth of all; shares of the norm and of the probability; what is local is not taken over."""
    for allowance, priced in ((0.0, False), (2.0, True)):
        out = work(accuracy=0.5, price=PRICE, allowance=allowance, failure_probability=0.5, random_state=3)
        assert sorted(out.T.points) == sorted(MEMBERS[0][-3:])
        assert (out.upper, out.low, out.accuracy) == (UPPER, near(2.5e-3 * UPPER), 0.5)
        assert (out.price is PRICE) == priced
        np.testing.assert_array_equal(out.Q, FLAT)
        assert out.dimension == N - 3
        assert out.component == near(smallest_component(N, 0.1))
        assert out.rng.random() == np.random.default_rng(3).random()
        assert out.W.shape == out.null.shape == (N, 0)
    assert is_local(np.eye(N)[:, :1])[0]


def test_a_block_that_is_not_definite_is_raised_if_that_may_be_done(monkeypatch):
    asked = []
    monkeypatch.setattr(localised, "raise_block", lambda *given: asked.append(given[1:]) or True)
    fine = work()
    assert fine.begin()
    bad = work(price=PRICE, allowance=2.0)
    monkeypatch.setattr(bad.T, "raise_to", lambda raised: (_ for _ in ()).throw(np.linalg.LinAlgError))
    assert bad.begin()
    assert asked[0][:1] == (near(0.1 * 2.5e-3 * UPPER),)
    assert asked[0][2] == near(0.85 * 2.0)
    poor = work()
    monkeypatch.setattr(poor.T, "raise_to", lambda raised: (_ for _ in ()).throw(np.linalg.LinAlgError))
    assert not poor.begin()


def test_deflation_takes_the_flat_vector_and_later_what_was_found(monkeypatch):
    """What is left of the allowance, spread over all points, is the accuracy; loose couplings are refined."""
    out = work(price=PRICE, allowance=2.0)
    raised = np.zeros(N)
    raised[out.T.points] = 0.01
    out.T.raise_to(raised)
    held = out.deflation(0)
    left = (2.0 - PRICE @ raised) / PRICE.sum()
    assert out.accuracy == near(left)
    assert held.size == 1
    wanted = []
    refined = lambda T, bulk, null, share: wanted.append((null.shape[1], share)) or bulk  # noqa: E731
    monkeypatch.setattr(localised, "_refined", refined)
    for coupled in (True, False):
        loose = 0.3 * tight(left, UPPER)
        monkeypatch.setattr(localised, "COUPLED", 0.3 * (0.5 if coupled else 2.0) * held.coupling / loose)
        wanted.clear()
        again = out.deflation(1)
        assert bool(wanted) == coupled
        assert again.size == 1
        if coupled:
            assert wanted == [(0, near(0.3 * 0.5 * held.coupling))]
    null = np.zeros((N, 2))
    null[100, 0] = 1.0
    null[100:102, 1] = 1.0, 1e-5
    out.null, out.low = out.T.within(null), np.inf
    assert out.deflation(0).size == 2  # the second is the first one but for a hundred-thousandth


def test_a_bound_pays_for_both_kinds_of_rounding_and_none_is_far_below_the_norm(monkeypatch):
    out = work()
    out.T.raise_to(np.zeros(N))
    out.T.__dict__["floor"] = 1e-3
    seen = []

    def run(lower):
        def answer(held, start, limit, component, stop, count, upper):
            seen.append((start, limit, component, count, upper))
            return SimpleNamespace(lower=lower), None

        monkeypatch.setattr(localised, "search", answer)
        held = SimpleNamespace(
            remove=lambda x: x, size=280, whole=lambda c: 2 * c, rounding=lambda u: 1e-3 * u
        )
        return out.search(held, 0)[2]

    lost = 1e-3 * UPPER + out.T.rounding(UPPER)
    assert run(-0.25) == near(-0.5 - lost)
    assert run(0.25) == near(-lost)
    assert run(-UPPER * 1.001) == -np.inf
    assert run(-UPPER) == near(-2 * UPPER - lost)
    start, limit, component, count, upper = seen[0]
    assert (limit, component, count, upper) == (N - 3 - 280, out.component, 40, UPPER)
    assert start.shape == (N,)
    assert not start[out.T.points].any()


def test_the_best_bound_of_all_runs_is_kept(monkeypatch):
    """What is raised costs too; a later and worse run takes nothing away."""
    out = work(price=PRICE, allowance=2.0)
    out.T.raise_to(np.zeros(N))
    held = SimpleNamespace(remove=lambda x: x, size=0, whole=lambda c: c, rounding=lambda u: 0.0)
    none, some = np.zeros(N), np.zeros(N)
    shown = localised.EigenBound(-np.inf, 1.0, "estimated", np.ones(N), 1.0)
    some[out.T.points] = 0.01
    assert out.bounded(shown) is shown
    for lower, raised, best in (
        (-UPPER * 2, none, -np.inf),
        (-0.25, none, -0.25),
        (-0.25, some, -0.25),
        (-0.125, some, -0.125),
        (-0.2, none, -0.125),
        (-UPPER * 2, none, -0.125),
    ):
        out.T.raised = raised
        answer = SimpleNamespace(lower=lower), None
        monkeypatch.setattr(localised, "search", lambda *given, answer=answer: answer)
        out.search(held, 0)
        assert out.best == pytest.approx(best, abs=1e-9)
    found = out.bounded(shown)
    assert (found.lower, found.rigour, found.estimate) == (out.best, "probable", 1.0)
    assert found.raised is some


def test_a_run_is_hopeless_if_the_deflated_directions_alone_miss_the_accuracy():
    """With their rounding, and with a complement that is as low as the low vectors."""
    out = work(accuracy=0.5)
    asked = []
    held = SimpleNamespace(
        whole=lambda c: asked.append(c) or -0.375, rounding=lambda upper: 0.25 * upper / UPPER
    )
    assert out.hopeless(held)
    assert asked == [out.low]
    held.rounding = lambda upper: 0.125 * upper / UPPER
    assert not out.hopeless(held)


def learned(values, residuals, first, price=True, raises=(False, True), monkeypatch=None):
    """Whether it goes on, the floors that were tried, and how many are deflated."""
    out = work(price=PRICE, allowance=2.0 if price else 0.0)
    vectors = out.T.within(np.eye(N)[:, 50 : 50 + len(values)])
    found = SimpleNamespace(values=np.array(values) * out.low, residuals=np.array(residuals) * out.low,
                            coefficients=np.eye(len(values)))  # fmt: skip
    released, tried, left = [], [], list(raises)
    run = SimpleNamespace(combine=lambda c: vectors @ c, release=lambda: released.append(True))
    monkeypatch.setattr(
        localised, "raise_diagonal", lambda T, W, f, p, a: tried.append((f, a)) or left.pop(0)
    )
    out.null = out.T.within(np.eye(N)[:, 90:91])
    goes_on = out.learn(found, run, first)
    assert released == [True]
    return goes_on, tried, out.null.shape[1], out.W.shape[1]


def test_what_is_learned_is_raised_or_deflated(monkeypatch):
    low = 2.5e-3 * UPPER
    both = [(near(f * low), near(1.7)) for f in (1.0, 0.5)]
    for values, first, price, wanted in (
        ([-1.0, 0.5, 9.0, 11.0], False, True, (True, both, 0, 3)),
        ([0.1, 0.5, 9.0, 11.0], True, True, (True, both, 0, 3)),
        ([0.1, 0.5, 9.0, 11.0], False, True, (True, [], 1 + 2, 3)),
        ([0.1, 0.5, 9.0, 11.0], True, False, (True, [], 1 + 2, 3)),
        ([-0.1, 0.5, 9.0, 11.0], True, False, (False, [], 1, 3)),
    ):
        residuals = [0.19, 0.21, 1.79, 0.0]  # a fifth of the value, or of that level if more
        found = learned(values, residuals, first, price, monkeypatch=monkeypatch)
        assert found == wanted, (values, first, price)
    never = learned([-1.0, 9.0], [0.0, 0.0], False, True, [False] * 4, monkeypatch)
    assert (never[0], len(never[1])) == (False, 4)


def test_what_stands_in_the_way_is_told(monkeypatch):
    out = work()
    out.T.raise_to(np.zeros(N))
    W = out.T.within(np.eye(N)[:, [50, 60]])
    X = out.T.extend(W)
    quotients = [x @ (S @ x) for x in X.T]
    out.W = W
    found = out.unfinished()
    assert (found.lower, found.rigour, found.failure_probability) == (-np.inf, "estimated", 1.0)
    assert found.estimate == near(min(quotients))
    np.testing.assert_allclose(found.vector, X[:, int(np.argmin(quotients))])
    np.testing.assert_allclose(found.directions, X)
    out.best, out.raised = -0.25, 0.5 * PRICE
    known = out.unfinished()
    assert (known.lower, known.rigour, known.failure_probability) == (-0.25, "probable", 1e-6)
    np.testing.assert_array_equal(known.raised, 0.5 * PRICE)
    np.testing.assert_array_equal(known.directions, found.directions)
    asked = []
    values, vectors = np.array([0.5, -2.0]), np.array([[1.0, 0.0], [0.0, 0.6], [0.0, 0.8]])
    monkeypatch.setattr(out.T, "lowest", lambda below: asked.append(below) or (values, vectors))
    found = localised._local_direction(out.T, 3.0)
    assert asked == [near(3 * LOOSE)]
    x = np.zeros(N)
    x[out.T.points] = [0.0, 0.6, 0.8]
    np.testing.assert_array_equal(found.vector, x)
    assert (found.lower, found.estimate, found.failure_probability) == (-np.inf, near(x @ (S @ x)), 1.0)


def stop(held, found, component=1e-6, local=False, **asked):
    """Whether a run ends there, and whether it still hopes."""
    made = lanczos._Stop(held, Query(**asked), component, local)
    given = {"lower": -np.inf, "spread": 1.0, "steps": 10, "coefficients": np.eye(1)} | found
    given["values"], given["residuals"] = np.array(given["values"]), np.array(given["residuals"])
    run = SimpleNamespace(combine=lambda c: np.eye(N)[:, :1] if given["spread"] < 1e9 else np.ones((N, 1)))
    return made(SimpleNamespace(**given), run), made.hopes


def test_a_run_ends_where_it_has_seen_enough():
    held = SimpleNamespace(whole=lambda c: c)
    good = {"values": [2.0, 9.0], "residuals": [0.009, 9.0]}
    assert stop(held, good, method="cholesky")[0]
    assert not stop(held, good, method="lanczos")[0]
    assert not stop(held, good | {"residuals": [0.011, 0.0]}, method="cholesky")[0]
    assert stop(held, good | {"residuals": [0.011, 9.0]}, method="cholesky", accuracy=0.012)[0]
    low = {"values": [-2.0, 9.0], "residuals": [0.59, 9.0]}
    assert stop(held, low, quick=True, accuracy=1.9)[0]
    assert not stop(held, low, quick=True, accuracy=2.1)[0]
    assert not stop(held, low, accuracy=1.9)[0]
    assert not stop(held, low | {"residuals": [0.61, 0.0]}, quick=True, accuracy=1.9)[0]
    assert stop(held, low | {"lower": -0.5}, accuracy=0.5)[0]
    assert not stop(held, low | {"lower": -0.51}, accuracy=0.5)[0]


def test_a_long_run_is_given_up_once_where_what_it_found_is_local():
    """-log(component) / sqrt(margin) steps are to come; eight times what was made is too long."""
    held = SimpleNamespace(whole=lambda c: c)
    wait = -np.log(1e-6)
    for theta, accuracy, margin in ((-1.0, 1e-5, 1e-5), (1e-5, 1e-5, 2e-5)):
        for spread, factor in ((1.0, 1.0), (4.0, 2.0)):
            needs = factor * wait / margin**0.5
            found = {"values": [theta, 9.0], "residuals": [9.0, 9.0], "spread": spread}
            few, many = int(needs / 8), int(needs / 8) + 1
            assert few >= 60
            assert stop(held, found | {"steps": few}, local=True, accuracy=accuracy) == (True, False)
            assert stop(held, found | {"steps": many}, local=True, accuracy=accuracy) == (False, True)
            assert stop(held, found | {"steps": few}, accuracy=accuracy) == (False, False)
    found = {"values": [-1.0], "residuals": [9.0], "spread": 1.0}
    assert stop(held, found | {"steps": 59}, local=True, accuracy=1e-5) == (False, True)
    assert stop(held, found | {"steps": 60}, local=True, accuracy=1e-5) == (True, False)
    assert stop(held, found | {"steps": 60, "spread": 1e10}, local=True, accuracy=1e-5) == (False, False)


def test_a_basis_of_everything_needs_no_run():
    """The bound then is the lowest inner eigenvalue less rounding."""
    nothing = sp.csr_array((4, 4))
    found, hint = lanczos.by_lanczos(nothing, np.eye(4), Query(random_state=0), 10)
    assert (found.lower, found.estimate, found.rigour, hint) == (0.0, 0.0, "proved", None)
    A = sp.csr_array(np.diag([4.0, -3.0, 2.0, 5.0]))
    held = Deflation(A, np.eye(4), np.inf)
    np.testing.assert_array_equal(held.inner, [-3, 2, 4, 5])
    assert held.rounding(5.0) == near(
        4 * 2.0**-53 * ((1 + 64) * 5 + (4 + 1 + 64) * 2 * np.sqrt(54)) + held.left * 2 * np.sqrt(54)
    )


def test_a_basis_of_everything_pays_for_its_coupling(monkeypatch):
    monkeypatch.setattr(lanczos, "NEAR_NULL", 10.0)
    monkeypatch.setattr(Deflation, "rounding", lambda self, upper: 0.25)
    coupling = Deflation.__init__

    def coupled(self, *given):
        coupling(self, *given)
        self.coupling = 0.125

    monkeypatch.setattr(Deflation, "__init__", coupled)
    A = sp.csr_array(np.diag([4.0, -3.0, 2.0, 5.0]))
    found, _ = lanczos.by_lanczos(A, np.eye(4), Query(random_state=0), 10)
    assert (found.lower, found.estimate) == (-3.375, -3.0)
    np.testing.assert_allclose(np.abs(found.vector), np.eye(4)[1])
