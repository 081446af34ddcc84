"""``polyak evaluate``: figures, tables and groups, on the screen and for scripts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from commands import fails, polyak, rows_of_text, write
from sklearn import metrics

from polyak import ASGDClassifier, LinearModel


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate")
    random = np.random.default_rng(0)
    frame = pd.DataFrame(random.normal(size=(600, 2)), columns=["a", "b"])
    frame["city"] = random.choice(["Rome", "Oslo"], 600)
    frame.loc[::50, "city"] = None
    frame["y"] = np.where(frame.a + random.normal(size=600) > 0, "yes", "no")
    frame["z"] = (frame.a * 2 + random.normal(size=600)).round(3)
    frame.to_csv(folder / "t.csv", index=False)
    for target, other in (("y", "z"), ("z", "y")):
        polyak(
            *("train", folder / "t.csv", "--target", target, "--drop", other),
            *("-m", folder / target, "-q", "--recipe", "sgd"),
        )
    return folder


def test_classes(folder: Path) -> None:
    found = json.loads(polyak("evaluate", folder / "y", folder / "t.csv", "--json").stdout)
    frame = pd.read_csv(folder / "t.csv")
    lines = polyak("predict", folder / "y", folder / "t.csv", "--what", "proba").stdout.split("\n")
    chance = np.array([float(line.split()[1]) for line in lines if line])
    is_yes = frame.y == "yes"
    assert found["roc_auc"] == pytest.approx(metrics.roc_auc_score(is_yes, chance), abs=1e-6)
    precision = metrics.average_precision_score(is_yes, chance)
    assert found["average_precision"] == pytest.approx(precision, abs=1e-6)
    confusion = metrics.confusion_matrix(is_yes, chance > 0.5).tolist()
    assert [list(row.values()) for row in found["confusion"].values()] == confusion
    assert found["accuracy"] == pytest.approx(sum(np.diag(confusion)) / 600)
    assert sum(row["rows"] for row in found["calibration"]) == 600
    shown = polyak("evaluate", folder / "y", folder / "t.csv").stdout
    assert "true \\ predicted   no  yes" in shown
    assert "probability  true share  rows" in shown


def test_figures_have_standard_errors(folder: Path) -> None:
    frame = pd.read_csv(folder / "t.csv")
    found = json.loads(polyak("evaluate", folder / "y", folder / "t.csv", "--json").stdout)
    lines = polyak("predict", folder / "y", folder / "t.csv", "--what", "proba").stdout.split("\n")
    chance = np.array([float(line.split()[1]) for line in lines if line])
    is_yes = (frame.y == "yes").to_numpy()
    losses = -np.log(np.where(is_yes, chance, 1 - chance))
    assert found["loss_std_err"] == pytest.approx(losses.std(ddof=1) / np.sqrt(600), rel=1e-4)
    wrong = (chance > 0.5) != is_yes
    assert found["error_std_err"] == pytest.approx(wrong.std(ddof=1) / np.sqrt(600))
    assert found["accuracy_std_err"] == found["error_std_err"]
    balanced = metrics.balanced_accuracy_score(is_yes, chance > 0.5)
    assert found["balanced_accuracy"] == pytest.approx(balanced)
    variances = [wrong[is_yes == side].var() / np.sum(is_yes == side) for side in (False, True)]
    assert found["balanced_accuracy_std_err"] == pytest.approx(np.sqrt(sum(variances)) / 2)
    # DeLong's, from every pair of a positive and a negative row.
    apart = chance[is_yes][:, None] - chance[~is_yes]
    pairs = (apart > 0) + 0.5 * (apart == 0)
    shares = pairs.mean(axis=1), pairs.mean(axis=0)
    error = np.sqrt(sum(share.var(ddof=1) / len(share) for share in shares))
    assert found["roc_auc_std_err"] == pytest.approx(error, rel=1e-4)
    shown = polyak("evaluate", folder / "y", folder / "t.csv").stdout
    assert f"{found['roc_auc']:.6g} ± {found['roc_auc_std_err']:.2g}" in shown

    found = json.loads(polyak("evaluate", folder / "z", folder / "t.csv", "--json").stdout)
    guess = np.array(polyak("predict", folder / "z", folder / "t.csv").stdout.split(), dtype=float)
    miss = guess - frame.z.to_numpy()
    mean_error = np.abs(miss).std(ddof=1) / np.sqrt(600)
    assert found["mae_std_err"] == pytest.approx(mean_error, rel=1e-4)
    root = np.sqrt(np.mean(miss**2))
    error = np.square(miss).std(ddof=1) / np.sqrt(600) / (2 * root)
    assert found["rmse_std_err"] == pytest.approx(error, rel=1e-4)
    assert found["r2"] == pytest.approx(metrics.r2_score(frame.z, guess), abs=1e-5)


def test_groups(folder: Path) -> None:
    command = ["evaluate", folder / "z", folder / "t.csv", "--by", "city"]
    found = json.loads(polyak(*command, "--json").stdout)
    assert set(found["by"]) == {"Rome", "Oslo", "missing"}
    assert sum(group["rows"] for group in found["by"].values()) == found["rows"] == 600
    squares = sum(group["rows"] * group["rmse"] ** 2 for group in found["by"].values())
    assert squares / 600 == pytest.approx(found["rmse"] ** 2)
    assert "group  rows" in polyak(*command).stdout


def test_groups_need_a_column(folder: Path, tmp_path: Path) -> None:
    error = fails("evaluate", folder / "z", folder / "t.csv", "--by", "town")
    assert "has no column town" in error
    rows = write(tmp_path / "t.svm", rows_of_text(100))
    polyak("train", rows, "-m", tmp_path / "m", "-q", "--recipe", "sgd")
    assert "--by needs a table" in fails("evaluate", tmp_path / "m", rows, "--by", "x")


def test_a_class_that_was_never_learned_counts_as_an_error(folder: Path, tmp_path: Path) -> None:
    frame = pd.read_csv(folder / "t.csv")
    frame.loc[[299, 400], "y"] = "perhaps"
    frame.to_csv(tmp_path / "new.csv", index=False)
    command = ["evaluate", folder / "y", tmp_path / "new.csv", "--by", "city", "--json"]
    done = polyak(*command)
    assert (
        "warning: 2 rows have a class that the model does not know (new.csv, line 301, has the "
        "label perhaps): they count as errors, the other figures are of the rows without them"
    ) in done.stderr.replace(str(tmp_path) + "/", "")
    found = json.loads(done.stdout)
    assert (found["rows"], found["rows_of_unknown_classes"]) == (600, 2)
    model = LinearModel.load(folder / "y")
    estimator = ASGDClassifier.from_model(model)
    assert found["accuracy"] == pytest.approx(estimator.score(frame, frame.y))
    assert found["accuracy"] == pytest.approx(1 - found["error"])
    known = tmp_path / "known.csv"
    frame[frame.y != "perhaps"].to_csv(known, index=False)
    others = json.loads(polyak("evaluate", folder / "y", known, "--json").stdout)
    for name in ("loss", "constant_loss", "roc_auc", "balanced_accuracy", "confusion"):
        assert found[name] == others[name]
    assert sum(group["rows"] for group in found["by"].values()) == 600
