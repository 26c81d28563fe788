"""Pairs that were turned round stand at the top of an audit."""

import numpy as np
import pytest
from sklearn.preprocessing import StandardScaler

import npkl_models as nm
from npkl_models.applications.audit import audit_pairs


def turned(name, seed, form="pcp", gamma=1.0, **options):
    """A problem with 0.6 n pairs of each kind, one in ten turned round, and which."""
    data = nm.datasets.load(name)
    count = round(0.6 * data.n)
    pairs = nm.Pairs.from_labels(data.y, count, count, random_state=seed)
    rng, ends, sign = np.random.default_rng(seed), pairs.ends, pairs.sign.copy()
    chosen = rng.choice(len(pairs), size=round(0.1 * len(pairs)), replace=False)
    sign[chosen] *= -1
    L = nm.laplacian(StandardScaler().fit_transform(data.X), 10, shift=0.1)
    problem = getattr(nm, form)(
        L, nm.Pairs(data.n, ends[sign > 0], ends[sign < 0]), **options, **({"gamma": gamma} if gamma else {})
    )
    return problem, set(map(tuple, ends[chosen].tolist()))


@pytest.mark.parametrize("gamma", [1.0, 10.0])
@pytest.mark.parametrize("name", ["iris", "wine"])
def test_seven_in_ten_of_the_wrong_pairs_are_in_the_top_tenth(name, gamma):
    shares = []
    for seed in range(6):
        problem, wrong = turned(name, seed, gamma=gamma)
        found = audit_pairs(problem.solve(tol=1e-5))
        shares.append(len(wrong & set(map(tuple, found.pairs[: len(found) // 10].tolist()))) / len(wrong))
    assert np.mean(shares) >= 0.7


@pytest.mark.parametrize("form", ["pcp", "npkl"])
def test_the_loss_of_a_pair_is_what_leaving_it_out_gains_at_least(form):
    """The optimum is concave in the weights: and the score is nearer to the gain than the loss is."""
    problem, _ = turned("iris", 0, form)
    solution = problem.solve(tol=1e-8)
    found = audit_pairs(solution)
    term, nearer = problem.terms[0], []
    for row in (0, 3, 20):
        i, j = found.pairs[row]
        kept = ~((term.functional.indices[0] == i) & (term.functional.indices[1] == j))
        ends = tuple(part[kept] for part in term.functional.indices)
        terms = (
            nm.LossTerm(nm.Entries(problem.n, ends), term.loss, term.target[kept], term.weight[kept]),
            *problem.terms[1:],
        )
        without = nm.Problem(problem.cost, terms).solve(tol=1e-8)
        gain = solution.objective - without.objective
        assert gain >= found.loss[row] - 1e-5
        nearer.append(abs(gain - found.score[row]) < abs(gain - found.loss[row]))
    assert sum(nearer) >= 2


def test_columns_agree_with_the_solution():
    problem, _ = turned("wine", 1)
    solution = problem.solve(tol=1e-8)
    found = audit_pairs(solution)
    assert len(found) == problem.terms[0].functional.size
    np.testing.assert_allclose(found.value, solution.K[tuple(found.pairs.T)], atol=1e-12)
    z = problem.terms[0].functional.value(solution.K)
    np.testing.assert_allclose(found.loss.sum(), problem.terms[0].value(z))
    assert (np.diff(found.score) <= 0).all()
    assert (found.multiplier[found.must & (found.score > 0)] < 0).all()
    assert (found.multiplier[~found.must & (found.score > 0)] > 0).all()
    frame = found.to_frame()
    assert list(frame.columns) == ["i", "j", "kind", "value", "expected", "multiplier", "loss", "score"]
    assert set(frame.kind) == {"must", "cannot"}
    lines = str(found).splitlines()
    assert len(lines) == 12
    assert lines[-1] == f"and {len(found) - 10} more"
    assert repr(found).startswith(f"Audit({len(found)} pairs")


def test_what_cannot_be_audited_says_so():
    pairs = nm.Pairs(6, [(0, 1)], [(2, 3)])
    hard = nm.hard_pcp(nm.laplacian(np.arange(6.0)[:, None], 2, shift=0.1), pairs).solve()
    with pytest.raises(nm.ProblemError, match="must have a loss to be audited"):
        audit_pairs(hard)
