"""Models to report on: one of each kind."""

from __future__ import annotations

import numpy as np
import pandas as pd

from polyak import ASGDClassifier, ASGDRegressor
from polyak.data.options import Columns, ReadOptions
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.training.job import Job
from polyak.training.loop import train

NAMES = {
    "classifier": {"loss": "squared_hinge", "recipe": "auto"},
    "logistic": {"loss": "log_loss", "recipe": "auto"},
    "paper": {"loss": "squared_hinge", "recipe": "paper"},
    "intervals": {"loss": "log_loss", "recipe": "auto", "intervals": True},
    "several classes": {"loss": "log_loss", "recipe": "auto"},
    "regressor": {"loss": "squared_error", "recipe": "auto"},
    "regressor with intervals": {"loss": "squared_error", "recipe": "auto", "intervals": True},
}
SEVERAL = np.array(["daisy", "<b>rose</b>", "a class of quite an unreasonable length & more"])


def model_of(name: str, rows: int = 6000):
    """Learn a model of this kind."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, 25))
    scores = X[:, :3] @ rng.normal(size=(3, 3)) + rng.gumbel(size=(rows, 3))
    if "regressor" in name:
        targets = scores[:, 0]
    elif name == "several classes":
        targets = SEVERAL[scores.argmax(axis=1)]
    else:
        targets = np.where(scores[:, 0] > scores[:, 1], "yes", "no")
    learner = Learner(Recipe(**NAMES[name]))
    learner.learn(X, targets)
    learner.finish()
    return learner.model()


def model_of_table(path, target: str):
    """Learn a model of a table whose names, words and numbers are long."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(0, 12_345.678, size=(600, 3)), columns=["a", "b", "c"])
    frame["a column with a name that no phone has room for"] = rng.normal(0, 1e-5, 600)
    frame["name_without_any_space_that_no_phone_has_room_for"] = rng.random(600) < 0.3
    village = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"
    frame["city"] = rng.choice([village, "Y"], 600)
    frame["price"] = frame.a + frame.b + rng.normal(0, 5000, 600)
    frame["kind"] = SEVERAL[frame[["a", "b", "c"]].to_numpy().argmax(axis=1)]
    frame.loc[::5, "c"] = np.nan
    frame.drop(columns="price" if target == "kind" else "kind").to_csv(path, index=False)
    recipe = Recipe(loss="log_loss" if target == "kind" else "squared_error", recipe="paper")
    reading = ReadOptions(columns=Columns(target=target))
    job = Job(source=str(path), recipe=recipe, reading=reading, order="auto", check=True)
    return train(job).model


def model_of_terms(classes: bool = False):
    """Learn an additive model of a table whose names and words are long."""
    rng = np.random.default_rng(0)
    rows = 3000
    long = "name_without_any_space_that_no_phone_has_room_for"
    village = "Llanfairpwllgwyngyllgogerychwyrndrobwllllantysiliogogogoch"
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 90, rows),
            "<b>price</b> of it": rng.lognormal(5.0, 2.0, rows),
            long: rng.random(rows) < 0.3,
            "city": rng.choice([village, "Y", "<i>Z</i>"], rows),
        }
    )
    price = np.log(frame["<b>price</b> of it"])
    y = np.abs(frame.age - 50) / 10 + price * (frame.age > 50) + (frame.city == village)
    y = y + 0.1 * frame[long] * price + 0.3 * rng.normal(size=rows)
    pairs = [("age", "<b>price</b> of it"), ("city", long), ("age", "city")]
    settings = {"curves": "all", "pairs": pairs, "random_state": 0}
    if classes:
        model = ASGDClassifier(**settings).fit(frame, SEVERAL[np.digitize(y, [3.0, 6.0])])
    else:
        model = ASGDRegressor(**settings).fit(frame, y)
    assert model.to_model().terms is not None
    return model.to_model()
