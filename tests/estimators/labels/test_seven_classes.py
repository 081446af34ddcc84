"""Covertype, seven classes of forest by 54 columns in their own units, learned in one pass."""

from __future__ import annotations

import numpy as np
from sklearn.metrics import log_loss
from tests.extras import pandas as pd
from tests.real_sets import REAL, real_file

from polyak import ASGDClassifier

pytestmark = REAL
BATCH = 0.62631
"""Log-loss on the test rows of the multinomial optimum with C = 1 of standardised columns, found by
Newton's method up to a slope of 4e-5."""
TRAIN = 500_000


def test_one_pass_is_at_the_multinomial_optimum() -> None:
    table = pd.read_csv(
        real_file("covtype/covtype.data.gz"), header=None, dtype=np.float32
    ).to_numpy()
    order = np.random.default_rng(0).permutation(len(table))  # as reproduction.datasets splits it
    X, y = table[order, :-1], table[order, -1]
    model = ASGDClassifier(random_state=0).fit(X[:TRAIN], y[:TRAIN])
    assert model.n_iter_ == 1
    assert log_loss(y[TRAIN:], model.predict_proba(X[TRAIN:])) < 1.003 * BATCH
