"""Belief propagation beside sums over all clusters, the model of wrong pairs, and what the estimator does with it."""

from itertools import product

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score, average_precision_score
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications import propagated
from npkl_models.applications.audit import audit_pairs
from npkl_models.applications.beliefs import Answers
from npkl_models.applications.clustering import cluster_accuracy, directions
from npkl_models.applications.estimators.noisy import WrongPairsWarning
from npkl_models.applications.pair_noise import pair_noise
from npkl_models.applications.partitions import Witnesses, mixed, scaled_edges

BROKEN = pytest.mark.filterwarnings("ignore:the labels do not keep")
WINE = nm.datasets.load("wine")
X = StandardScaler().fit_transform(WINE.X)
L = nm.laplacian(X, 10, shift=0.1)
TWO = np.repeat([0, 1], 60)
APART = nm.laplacian(np.where(TWO, 3.0, 0.0)[:, None] + np.random.default_rng(0).normal(size=(120, 1)), 10)


def turned(y, count, share, seed, of="both"):
    """Pairs of classes, a share of which is turned round, and which ones."""
    pairs, rng = nm.Pairs.from_labels(y, count, count, random_state=seed), np.random.default_rng(seed)
    ends, sign = np.stack([pairs.i, pairs.j], axis=1), pairs.sign.copy()
    able = np.flatnonzero(sign > 0) if of == "must" else np.arange(len(pairs))
    sign[rng.choice(able, size=round(share * len(pairs)), replace=False)] *= -1
    noisy = nm.Pairs(len(y), ends[sign > 0], ends[sign < 0])
    return noisy, (y[noisy.i] == y[noisy.j]) != (noisy.sign > 0)


@pytest.mark.parametrize("k", [2, 3])
@pytest.mark.parametrize("rates", [(0.1, 0.1), (0.3, 0.05)])
def test_on_a_tree_beliefs_are_the_sums_over_all_clusters(k, rates):
    rng, n = np.random.default_rng(k), 6
    i, j = np.array([0, 0, 1, 1, 4]), np.array([1, 2, 3, 4, 5])
    answers = Answers(n, i, j, rng.random(5) < 0.5)
    evidence = rng.dirichlet(np.ones(k), n)
    together, apart, divided = answers.likelihood(rates)
    every = np.array(list(product(range(k), repeat=n)))
    same = every[:, i] == every[:, j]
    weight = evidence[np.arange(n), every].prod(axis=1) * np.where(same, together, apart).prod(axis=1)
    found = answers.propagate(evidence, rates, still=0.0)
    assert found.log_evidence == pytest.approx(np.log(weight.sum()) + divided, abs=1e-9)
    expected = [[weight[every[:, p] == c].sum() for c in range(k)] for p in range(n)]
    np.testing.assert_allclose(found.points, np.array(expected) / weight.sum(), atol=1e-9)
    share = (weight[:, None] * same).sum(axis=0) / weight.sum()  # with the answer itself
    np.testing.assert_allclose(found.together, share, atol=1e-9)


def test_the_names_of_the_clusters_do_not_matter():
    pairs, _ = turned(WINE.y, 60, 0.1, 0)
    first = pair_noise(L, pairs, [WINE.y], 3)
    other = pair_noise(L, pairs, [(WINE.y + 1) % 3], 3)
    np.testing.assert_allclose(first.wrong, other.wrong, atol=1e-9)
    np.testing.assert_allclose(first.beliefs, other.beliefs[:, [1, 2, 0]], atol=1e-9)


@pytest.mark.parametrize("share", [0.0, 0.1, 0.2])
def test_the_rate_of_wrong_pairs_is_found(share):
    rates = []
    for seed in range(3):
        pairs, wrong = turned(WINE.y, 107, share, seed)
        solution = nm.pcp(L, pairs, gamma=3.0, cannot=-0.5).solve(tol=1e-4)
        audit = audit_pairs(solution, 3)
        assert audit.noise.wrong.shape == wrong.shape
        if share:
            assert audit.noise.accuses
            assert average_precision_score(wrong, audit.noise.wrong) > 0.7
        else:
            assert not audit.noise.accuses
            assert audit.noise.count <= 1
        rates.append(np.mean(audit.noise.rates))
    assert np.mean(rates) == pytest.approx(share, abs=0.05)


def test_a_rate_for_must_links_alone_is_told_from_one_for_both():
    found = pair_noise(APART, turned(TWO, 150, 0.15, 0, of="must")[0], [TWO], 2)
    assert found.rates[0] == pytest.approx(0.3, abs=0.1)  # 45 of 150 must-links became cannot-links
    assert found.rates[1] < 0.03


def test_a_rate_for_cannot_links_alone_accuses_too():
    pairs = nm.Pairs.from_labels(TWO, 150, 150, random_state=0)
    wrong = np.random.default_rng(0).choice(150, 45, replace=False)
    said = np.delete(pairs.cannot_link, wrong, axis=0)
    noisy = nm.Pairs(120, np.concatenate([pairs.must_link, pairs.cannot_link[wrong]]), said)
    found = pair_noise(APART, noisy, [TWO], 2)
    assert found.accuses
    assert found.rates[1] == pytest.approx(0.3, abs=0.1)
    assert found.rates[0] < 0.03


@BROKEN
def test_few_answers_have_one_rate():
    """One or two pairs say nothing of two rates; a single must-link is believed."""
    y = np.arange(60) % 3
    points = 4 * np.eye(3)[y] + np.random.default_rng(0).normal(size=(60, 3))
    for must, cannot in [([(0, 3)], [(0, 1)]), ([(0, 3), (1, 4)], [(0, 2)])]:
        found = pair_noise(nm.laplacian(points, 8), nm.Pairs(60, must, cannot), [y], 3)
        assert found.rates[0] == found.rates[1]
        assert found.count == 0
    assert nm.NPKLClustering(3).fit(points, must_link=[(0, 1)]).audit_ is None  # no cannot-link, no model


def test_settings_after_a_fit_do_not_change_its_predictions():
    pairs, _ = turned(WINE.y, 60, 0.0, 0)
    model = nm.NPKLClustering(3, noise=None).fit(X, pairs=pairs)
    before = model.predict(X + 0.01)
    model.set_params(n_clusters=2, cannot=0.0)
    np.testing.assert_array_equal(model.predict(X + 0.01), before)


def audited(y, graph, count, share, draws):
    """Whether pairs are wrong, the probability of an audit, and the mean of its results."""
    every = []
    for seed in range(draws):
        pairs, wrong = turned(y, count, share, seed)
        found = audit_pairs(nm.pcp(graph, pairs, gamma=3.0, cannot=-0.5).solve(tol=1e-4), 3).noise
        told = Witnesses(scaled_edges(graph), Answers(pairs.n, pairs.i, pairs.j, found.must), None)
        mean = mixed(found.parts, told).together
        every.append((wrong, found.wrong, np.where(found.must, 1 - mean, mean)))
    return np.concatenate(every, axis=1)


def test_probabilities_are_calibrated():
    true, said, _ = audited(WINE.y, L, 107, 0.15, 12)
    for low, high in [(0.0, 0.1), (0.9, 1.0)]:
        part = (said >= low) & (said <= high)
        assert part.sum() >= 50
        assert said[part].mean() == pytest.approx(true[part].mean(), abs=0.1)
    assert np.mean((said - true) ** 2) < 0.5 * np.mean((true - true.mean()) ** 2)  # Brier score


def test_where_classes_overlap_probabilities_err_less_than_the_mean_of_the_results():
    y = np.arange(120) % 3
    points = 1.5 * np.eye(3, 8)[y] + np.random.default_rng(0).normal(size=(120, 8))
    true, said, mean = audited(y, nm.laplacian(points, 10, shift=0.1), 60, 0.2, 6)
    error, before = (
        np.abs(np.bincount((10 * one).astype(int), one - true)).sum() / true.size for one in (said, mean)
    )
    assert error < 0.6 * before


def test_an_audit_is_ordered_by_probability_and_fits_its_pairs():
    pairs, _ = turned(WINE.y, 60, 0.1, 1)
    solution = nm.pcp(L, pairs, gamma=3.0, cannot=-0.5).solve()
    audit = audit_pairs(solution, 3)
    assert (np.diff(audit.wrong) <= 0).all()
    code = {(i, j): p for i, j, p in zip(pairs.i, pairs.j, audit.noise.wrong, strict=True)}
    assert [code[tuple(pair)] for pair in audit.pairs.tolist()] == audit.wrong.tolist()
    assert "wrong" in str(audit).splitlines()[0]
    assert list(audit.to_frame())[-1] == "wrong"
    assert audit_pairs(solution).wrong is None


@BROKEN
def test_the_estimator_keeps_clean_pairs_and_finds_wrong_ones():
    clean, _ = turned(WINE.y, 107, 0.0, 0)
    model = nm.NPKLClustering(3).fit(X, pairs=clean)
    assert model.pair_weights_.mean() > 0.99
    assert model.pair_weights_.min() > 0.5  # a partition may contradict a right answer; it is not accused
    assert adjusted_rand_score(WINE.y, model.labels_) > 0.95
    noisy, wrong = turned(WINE.y, 107, 0.2, 0)
    with pytest.warns(WrongPairsWarning, match=r"of 214 pairs contradict the rest; see audit_"):
        model = nm.NPKLClustering(3).fit(X, pairs=noisy)
    plain = nm.NPKLClustering(3, noise=None).fit(X, pairs=noisy)
    score = [adjusted_rand_score(WINE.y, one.labels_) for one in (model, plain)]
    assert score[0] > score[1] + 0.1
    assert score[0] > 0.8
    assert model.solution_.is_optimal(1e-6)
    assert model.pair_weights_[wrong].mean() < 0.4 < 0.8 < model.pair_weights_[~wrong].mean()
    assert model.audit_.noise.beliefs is model.beliefs_
    assert plain.audit_ is None
    np.testing.assert_array_equal(model.predict(X), model.labels_)


@BROKEN
def test_a_given_rate_is_used():
    noisy, _ = turned(WINE.y, 107, 0.2, 0)
    model = nm.NPKLClustering(3, noise=0.2).fit(X, pairs=noisy)
    assert model.audit_.noise.rates == (0.2, 0.2)
    with pytest.raises(
        nm.ProblemError, match="3 clusters can keep them, got: cannot-links contradict must-links"
    ):
        nm.NPKLClustering(3, noise=0.0).fit(X, pairs=noisy)
    trusting = nm.NPKLClustering(3, noise=0.01).fit(X, pairs=noisy)
    assert trusting.audit_.noise.rates == (0.01, 0.01)
    assert trusting.audit_.noise.count < model.audit_.noise.count


@pytest.mark.parametrize("bad", ["often", 0.5, -0.1, True, np.nan])
def test_a_rate_that_is_none_is_refused(bad):
    with pytest.raises(nm.ProblemError, match="noise"):
        nm.NPKLClustering(3, noise=bad).fit(X)  # even where no pairs are given


def test_constraints_have_no_model_of_wrong_pairs():
    sides = {"must_link": [(0, 1)], "cannot_link": [(0, 100)]}
    assert nm.NPKLClustering(3, formulation="hard_pcp").fit(X, **sides).audit_ is None
    with pytest.raises(nm.ProblemError, match="hold exactly"):
        nm.NPKLClustering(3, formulation="hard_pcp", noise=0.1).fit(X, **sides)


@pytest.mark.parametrize("parts", [2, 3, 5])
def test_equal_eigenvalues_are_all_found(parts):
    """A graph in several parts has the eigenvalue 1 as often; Lanczos alone finds it once."""
    rng, n = np.random.default_rng(0), 100 * parts
    y = np.arange(n) % parts
    W = nm.knn_affinity(9.0 * np.eye(parts)[y] + rng.normal(size=(n, parts)), 8)
    scale = propagated.degree_scale(W)
    V = propagated.leading(scale @ W @ scale, parts)
    np.testing.assert_allclose(V.T @ V, np.eye(parts), atol=1e-3)
    np.testing.assert_allclose(scale @ W @ scale @ V, V, atol=1e-3)


def test_directions_of_simplex_targets_are_the_vertices_of_a_simplex():
    y = np.repeat([0, 1, 2], 5)
    pairs = nm.Pairs.from_labels(y, 30, 75, random_state=0)
    cost = nm.laplacian(y[:, None] + 0.01 * np.arange(15)[:, None], 4, shift=1e-3)
    solution = nm.pcp(cost, pairs, gamma=100.0, cannot=-0.5).solve()
    rows = directions(solution, 3)
    np.testing.assert_allclose(rows @ rows.T, np.where(y[:, None] == y, 1.0, -0.5), atol=0.05)


@BROKEN
def test_beliefs_place_new_points():
    pairs = nm.Pairs.from_labels(WINE.y[::2], 50, 50, random_state=0)
    model = nm.NPKLClustering(3).fit(X[::2], pairs=pairs)
    assert cluster_accuracy(WINE.y[1::2], model.predict(X[1::2])) > 0.9
