"""OrdinalEmbedding: forms of input, held-out choice, refinement, new points, questions."""

from types import SimpleNamespace

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.answers import read_answers
from npkl_models.applications.refine import REFINEMENTS, ckl, refined, t_ste
from npkl_models.formulations.comparisons import answered, ordinal_answers

X = np.random.default_rng(0).normal(size=(30, 2))
ASKED = ordinal_answers(X, 900, noise=0.05, random_state=0)
UNSEEN = ordinal_answers(X, 3_000, random_state=1)


@pytest.fixture(scope="module")
def model():
    return nm.OrdinalEmbedding(2).fit(ASKED)


def test_it_answers_what_it_has_not_seen(model):
    assert model.certificate_.certifies(1e-4)
    assert model.score(UNSEEN) > 0.9
    np.testing.assert_array_equal(
        model.predict(UNSEEN[:50]) > 0, [answered(model.factor_, row[None]) == 1 for row in UNSEEN[:50]]
    )
    assert model.penalty_ in model.penalties_
    assert model.embedding_.shape == (30, 2)


def test_the_forms_of_input_are_one(model):
    said = np.random.default_rng(2).random(len(ASKED)) < 0.5
    rows = np.where(said[:, None], ASKED, ASKED[:, [0, 2, 1]])
    tensor = SimpleNamespace(coords=rows.T, data=np.where(said, 1, -1), shape=(30, 30, 30))
    for X_, y in ((rows, said), (rows, np.where(said, 1, -1)), (tensor, None)):
        np.testing.assert_array_equal(read_answers(X_, y).rows, ASKED)
    assert model.score(rows, said) == pytest.approx(model.score(ASKED))
    tied = read_answers(rows, np.where(np.arange(len(rows)) < 3, 0, np.where(said, 1, -1)))
    assert len(tied.ties) == 3
    assert len(tied.rows) == len(rows) - 3


@pytest.mark.parametrize("kind", REFINEMENTS)
def test_slopes_of_the_refinements(kind):
    rng = np.random.default_rng(0)
    near, far, h = rng.uniform(0.1, 3, 7), rng.uniform(0.1, 3, 7), 1e-6
    rule = {
        "t_ste": lambda a, b: t_ste(a, b, 3),
        "ckl": lambda a, b: ckl(a, b, 4),
    }[kind]
    _, of_near, of_far = rule(near, far)
    for k in range(7):
        step = h * (np.arange(7) == k)
        assert of_near[k] == pytest.approx(
            (rule(near + step, far)[0] - rule(near - step, far)[0]) / (2 * h), rel=1e-5
        )
        assert of_far[k] == pytest.approx(
            (rule(near, far + step)[0] - rule(near, far - step)[0]) / (2 * h), rel=1e-5
        )


@pytest.mark.parametrize("kind", REFINEMENTS)
def test_a_refinement_goes_down_and_keeps_its_answers(kind, model):
    V = nm.OrdinalEmbedding(2, refine=None, penalty=model.penalty_).fit(ASKED).embedding_
    W = refined(V, ASKED, kind)
    assert W.shape == V.shape
    assert answered(W, UNSEEN) > answered(V, UNSEEN) - 0.02
    again = refined(W, ASKED, kind)  # a local minimum but for the scale of the start
    assert answered(again, UNSEEN) == pytest.approx(answered(W, UNSEEN), abs=0.02)


def test_without_refinement_the_factor_is_the_certified_one():
    model = nm.OrdinalEmbedding(2, refine=None, penalty=5.0, tol=1e-6).fit(ASKED)
    assert model.refined_ is None
    np.testing.assert_array_equal(model.factor_, model.solution_.V)
    assert model.certificate_.certifies(1e-6)


def test_a_new_point_is_put_where_it_was():
    """The comparisons of the last point place it, although the model has never seen it."""
    asked = ordinal_answers(X, 3_000, random_state=4)
    old = asked[(asked < 29).all(axis=1)]
    own = asked[asked[:, 0] == 29]
    model = nm.OrdinalEmbedding(2).fit(old, n_points=29)
    with_it = np.concatenate([model.factor_, model.place(own)])
    unseen = UNSEEN[UNSEEN[:, 0] == 29]
    assert answered(with_it, unseen) > 0.85


@pytest.mark.parametrize(("call", "words"), [
    (lambda: nm.OrdinalEmbedding(cv=1).fit(ASKED), "cv"),
    (lambda: nm.OrdinalEmbedding().fit(ASKED, np.ones(3)), "an answer for each of 900 rows"),
    (lambda: nm.OrdinalEmbedding().fit(ASKED, np.full(900, 2)), "no, false, 0 or -1 .leave .* out., got"),
    (lambda: nm.OrdinalEmbedding().fit(ASKED, np.zeros(900, dtype=int)), "ties alone"),
    (lambda: nm.OrdinalEmbedding(penalty=1.0, refine=None).fit(ASKED).place([[0, 1, 2]]), "new points from 30 on"),
    (lambda: nm.OrdinalEmbedding(penalty=1.0, refine=None).fit(ASKED).predict([[0, 1, 40]]), "got 40"),
])  # fmt: skip
def test_bad_input_is_named(call, words):
    with pytest.raises(nm.NPKLError, match=words):
        call()


def test_few_points_of_very_large_numbers_are_refused_before_memory_ends():
    for call in (lambda rows: nm.OrdinalEmbedding(2).fit(rows), nm.ordinal):
        with pytest.raises(nm.ProblemError, match="got 3 points with numbers up to 1000000000"):
            call(np.array([[0, 1, 10**9]]))
    assert nm.ordinal([[0, 1, 200_000]], 200_001).n == 200_001  # a number that is given is meant


def test_answers_in_words_and_options_that_are_no_dict_are_refused_by_their_names():
    rows = [[0, 1, 2], [1, 2, 0]]
    with pytest.raises(nm.ProblemError, match=r"answers must be must, same, .* got \['perhaps'\]"):
        nm.OrdinalEmbedding(2).fit(rows, ["yes", "perhaps"])
    for model in (nm.OrdinalEmbedding(2, options=3, penalty=1.0, refine=None), nm.Localisation(2, options=3)):
        known = rows if isinstance(model, nm.OrdinalEmbedding) else ([0, 1, 2], [1, 2, 0], [1.0, 1.0, 1.0])
        with pytest.raises(
            nm.ProblemError, match="'options' parameter of .* must be .*Mapping.* Got 3 instead"
        ):
            model.fit(known)
