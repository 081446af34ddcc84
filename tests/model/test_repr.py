"""A model is shown in a few lines, however much is in it."""

from __future__ import annotations

import numpy as np
import pandas as pd

from polyak import ASGDClassifier


def test_a_fitted_model_is_shown_in_five_short_lines() -> None:
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"x": rng.normal(size=3000), "city": rng.choice(["Ulm", "Rome"], 3000)})
    model = ASGDClassifier(loss="log_loss", random_state=0).fit(X, np.where(X.x > 0, "yes", "no"))
    lines = repr(model.to_model()).splitlines()
    assert len(lines) == 5
    assert all(len(line) < 100 for line in lines)
    assert lines[0] == "LinearModel: log_loss, classes no, yes"
    assert "features of a table of 2 columns" in lines[1]
    assert "rows by newton" in lines[3]
    assert "random_state=0" in repr(model)  # the estimator's own is scikit-learn's
    many = ASGDClassifier(loss="log_loss").fit(
        np.tile(np.eye(40), (3, 1)), np.tile(np.arange(40), 3)
    )
    assert max(map(len, repr(many.to_model()).splitlines())) < 100
