"""What the answers say for a partition, beside likelihoods written out."""

import numpy as np
import pytest

import npkl_models as nm
from npkl_models.applications.beliefs import Answers
from npkl_models.applications.partitions import Witnesses

Y = np.repeat([0, 1], 30)
PAIRS = nm.Pairs.from_labels(Y, 20, 20, random_state=0)


def witnesses(fixed=None):
    return Witnesses(Answers(PAIRS.n, PAIRS.i, PAIRS.j, PAIRS.sign > 0), fixed)


def test_the_word_of_the_answers_is_their_probability_at_the_counted_rates():
    told = witnesses()
    labels = Y.copy()
    labels[:3] = 1
    common, own, _ = told.rates(labels)
    same, must = labels[PAIRS.i] == labels[PAIRS.j], PAIRS.sign > 0
    one = (np.sum(same & ~must) + 0.5) / (same.sum() + 5)
    two = (np.sum(~same & must) + 0.5) / (np.sum(~same) + 5)
    np.testing.assert_allclose(common, [one, two])
    chance = np.where(same, np.where(must, 1 - one, one), np.where(must, two, 1 - two))
    assert told.of_answers(labels, own) == pytest.approx(np.log(chance).sum())
    assert witnesses(fixed=0.2).rates(labels)[0].tolist() == [0.2, 0.2]
