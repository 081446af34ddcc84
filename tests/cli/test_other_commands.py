"""``polyak predict``, ``evaluate``, ``inspect`` and ``--debug``."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import numpy as np
import pytest
from commands import POLYAK, fails, polyak, rows_of_text, write

from polyak import ASGDRegressor
from polyak.data.open import open_stream
from polyak.model.linear import LinearModel


def rows_of(path: Path) -> object:
    with open_stream(str(path), zero_based=False) as stream:
        (batch,) = stream
    return batch.rows


class TestPredict:
    def test_labels_scores_and_probabilities(self, model_file: Path, test_file: Path) -> None:
        model, rows = LinearModel.load(model_file), rows_of(test_file)
        predict = ("predict", model_file, test_file, "--what")
        labels = polyak(*predict, "labels").stdout.split()
        assert set(labels) == {"-1", "1"}
        np.testing.assert_array_equal(np.array(labels, float), model.predict(rows))
        scores = np.array(polyak(*predict, "scores").stdout.split(), float)
        np.testing.assert_array_equal(scores, model.decision_function(rows))
        proba = [line.split() for line in polyak(*predict, "proba").stdout.splitlines()]
        np.testing.assert_array_equal(np.array(proba, float), model.predict_proba(rows))

    def test_to_a_file_and_from_a_pipe(
        self, model_file: Path, test_file: Path, tmp_path: Path
    ) -> None:
        polyak("predict", model_file, "-", "-o", tmp_path / "out", input=test_file.read_text())
        assert (tmp_path / "out").read_text() == polyak("predict", model_file, test_file).stdout

    def test_whoever_stops_reading_ends_it_quietly(
        self, model_file: Path, train_file: Path
    ) -> None:
        command = " ".join([*POLYAK, "predict", str(model_file), *[str(train_file)] * 30])
        done = subprocess.run(
            ["sh", "-c", f"{command} | head -1"], capture_output=True, text=True, check=True
        )
        assert len(done.stdout.splitlines()) == 1
        assert done.stderr == ""

    def test_no_probabilities_in_regression(self, tmp_path: Path) -> None:
        source = write(tmp_path / "r.svm", rows_of_text(200))
        polyak("train", source, "-q", "--loss", "squared_error", "--model", tmp_path / "m")
        assert "no probabilities" in fails("predict", tmp_path / "m", source, "--what", "proba")


class TestEvaluate:
    def test_says_what_the_predictions_say(self, model_file: Path, test_file: Path) -> None:
        found = json.loads(polyak("evaluate", model_file, test_file, "--json").stdout)
        y = np.array([float(line.split()[0]) for line in test_file.read_text().splitlines()])
        scores = LinearModel.load(model_file).decision_function(rows_of(test_file))
        assert found["rows"] == 1000
        assert found["error"] == pytest.approx(np.mean(np.sign(scores) != y))
        assert found["accuracy"] == pytest.approx(1 - found["error"])
        assert found["loss"] == pytest.approx(np.mean(np.maximum(0, 1 - y * scores) ** 2) / 2)
        assert "accuracy" in polyak("evaluate", model_file, test_file).stdout

    def test_regression(self, tmp_path: Path) -> None:
        source = write(tmp_path / "r.svm", rows_of_text(3000, labels=(0.5, 3)))
        polyak("train", source, "-q", "--loss", "squared_error", "--model", tmp_path / "m")
        found = json.loads(
            polyak("evaluate", tmp_path / "m", source, "--json", "--threads", 1).stdout
        )
        y = np.array([float(line.split()[0]) for line in source.read_text().splitlines()])
        miss = LinearModel.load(tmp_path / "m").predict(rows_of(source)) - y
        assert found["rmse"] == pytest.approx(np.sqrt(np.mean(miss**2)))
        assert found["mae"] == pytest.approx(np.mean(np.abs(miss)))
        assert found["r2"] == pytest.approx(1 - np.mean(miss**2) / np.var(y))


class TestInspect:
    def test_words(self, model_file: Path, sgd_model_file: Path) -> None:
        shown = polyak("inspect", sgd_model_file, "--top", 3).stdout
        for words in (
            "log_loss",
            "gamma0",
            "averaging began",
            "loss since first row",
            "4,000",
        ):
            assert words in shown
        shown = polyak("inspect", model_file, "--top", 3).stdout
        for words in (
            "squared_hinge",
            "block Newton steps, penalty",
            "loss on rows left out",
            "4,000",
        ):
            assert words in shown
        assert "averaging began" not in shown
        model = LinearModel.load(model_file)
        assert model.report is not None
        effects = {n: abs(model.weights[n, 0]) * s for n, s in model.report.spreads.items()}
        heaviest = 1 + np.array(sorted(effects, key=effects.__getitem__)[::-1][:3])
        shown_ids = [int(line.split()[0]) for line in shown.splitlines()[-3:]]
        assert shown_ids == heaviest.tolist()

    def test_json(self, model_file: Path) -> None:
        found = json.loads(polyak("inspect", model_file, "--json").stdout)
        assert found["classes"] == [-1, 1]
        assert len(found["heaviest"]) == 10
        assert found["report"]["rows"] == 4000

    def test_when_averaging_pays(self, sgd_model_file: Path, tmp_path: Path) -> None:
        model_file = sgd_model_file
        report = LinearModel.load(model_file).report
        told = " ".join(polyak("inspect", model_file, "--theory").stdout.split())
        assert f"pays off after about {report.rows_needed.rows:,} rows" in told
        assert f"this model saw {report.rows:,}." in told
        LinearModel(np.ones((2, 1)), np.zeros(1), "squared_error").save(tmp_path / "bare")
        told = polyak("inspect", tmp_path / "bare", "--theory").stdout
        assert "does not know after how many rows" in told

    @pytest.mark.parametrize("curves", [None, "all"])
    def test_batch_optima_average_nothing(self, curves: str | None, tmp_path: Path) -> None:
        X = np.random.default_rng(0).normal(size=(500, 2))
        y = X[:, 0] if curves is None else np.sin(3 * X[:, 0])
        model = ASGDRegressor(curves=curves, random_state=0).fit(X, y)
        model.to_model().save(tmp_path / "m")
        told = polyak("inspect", tmp_path / "m", "--theory").stdout
        assert f"is {'curves' if curves else 'block Newton steps'}: nothing is averaged" in told
        with pytest.raises(AttributeError, match=f"the method '{model.method_}' won, with no"):
            _ = model.learning_rate_

    def test_several_classes_and_no_history(self, tmp_path: Path) -> None:
        weights = np.array([[0.0, 0, 0], [1, -3, 0]])
        model = LinearModel(weights, np.zeros(3), "log_loss", np.array(["a", "b", "c"]))
        model.save(tmp_path / "m")
        last = polyak("inspect", tmp_path / "m").stdout.splitlines()[-2:]
        assert [line.split() for line in last] == [["1", "b", "-3"], ["1", "a", "+1"]]


@pytest.mark.parametrize("place", ["before", "behind"])
def test_debug_shows_the_cause_of_an_error(tmp_path: Path, place: str) -> None:
    (tmp_path / "a.svm.gz").write_bytes(b"\x1f\x8b\x08 this is not so")
    words = ["train", str(tmp_path / "a.svm.gz"), "-m", str(tmp_path / "m")]
    words = ["--debug", *words] if place == "before" else [*words, "--debug"]
    done = subprocess.run([*POLYAK, *words], capture_output=True, text=True, timeout=120)
    assert done.returncode == 1
    assert "The above exception was the direct cause of" in done.stderr
    assert "polyak.errors.DataError: " in done.stderr
