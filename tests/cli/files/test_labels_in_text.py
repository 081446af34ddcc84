"""Several labels a row, as in ``1,5,7``, from svmlight and VW text to predictions."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from commands import fails, polyak, write
from sklearn.metrics import accuracy_score, f1_score, hamming_loss, log_loss

from polyak import ASGDClassifier
from polyak.data.options import ReadOptions
from polyak.model.linear import LinearModel
from polyak.training.job import Job, Progress
from polyak.training.loop import train

LABELS = np.array([1, 5, 7])
AS_IS = ("--multilabel", "--order", "as-is", "-q")


def problem(rows: int, seed: int, late: int = 0) -> tuple[Any, Any]:
    """Draw rows with labels to learn, of which the last is not there in the first ``late``."""
    truth = np.random.default_rng(9).normal(size=(6, len(LABELS)))
    random = np.random.default_rng(seed)
    X = random.normal(size=(rows, 6)).round(4).astype(np.float32)
    Y = (X @ truth + random.logistic(size=(rows, len(LABELS))) > 1).astype(int)
    Y[:late, -1] = 0
    return X, Y


def words(row: Any) -> str:
    return ",".join(map(str, LABELS[row > 0]))


def svmlight(X: Any, Y: Any) -> str:
    return "".join(
        f"{words(y)} {' '.join(f'{j + 1}:{value:.4f}' for j, value in enumerate(x))}\n"
        for x, y in zip(X, Y, strict=True)
    )


def vw(X: Any, Y: Any) -> str:
    return "".join(
        f"{words(y)} 'row{i}| {' '.join(f'x{j}:{value:.4f}' for j, value in enumerate(x))}\n"
        for i, (x, y) in enumerate(zip(X, Y, strict=True))
    )


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write(tmp_path_factory.mktemp("text") / "rows.svm", svmlight(*problem(4000, 0)))


@pytest.fixture(scope="module")
def model(text: Path) -> Path:
    path = text.with_name("rows.polyak")
    polyak("train", text, "--multilabel", "-m", path)
    return path


def test_the_model_is_that_of_a_matrix(model: Path) -> None:
    X, Y = problem(4000, 0)
    assert (Y.sum(axis=1) == 0).any()  # rows without a label count
    of_matrix = ASGDClassifier(random_state=0).fit(X, Y)
    of_text = LinearModel.load(model)
    np.testing.assert_array_equal(of_text.weights.T, of_matrix.coef_)
    np.testing.assert_array_equal(of_text.intercept, of_matrix.intercept_)
    np.testing.assert_array_equal(of_text.classes, LABELS)
    assert of_text.multilabel


def test_predictions_are_written_as_labels_are(model: Path, tmp_path: Path) -> None:
    X, Y = problem(500, 1)
    source = write(tmp_path / "new.svm", svmlight(X, Y))
    loaded = LinearModel.load(model)
    lines = polyak("predict", model, source).stdout.split("\n")[:-1]
    assert lines == [words(row) for row in loaded.predict(X)]
    assert "" in lines
    chances = np.loadtxt(polyak("predict", model, source, "--what", "proba").stdout.split("\n"))
    np.testing.assert_allclose(chances, loaded.predict_proba(X))
    table = polyak("predict", model, source, "--what", "proba", "--to", "csv").stdout
    assert table.startswith("prediction,proba_1,proba_5,proba_7\n")


def test_evaluation_is_that_of_scikit_learn(model: Path, tmp_path: Path) -> None:
    X, Y = problem(500, 1)
    source = write(tmp_path / "new.svm", svmlight(X, Y))
    found = json.loads(polyak("evaluate", model, source, "--json").stdout)
    loaded = LinearModel.load(model)
    said, chances = loaded.predict(X), loaded.predict_proba(X)
    assert found["accuracy"] == pytest.approx(accuracy_score(Y, said))
    assert found["hamming_loss"] == pytest.approx(hamming_loss(Y, said))
    for average in ("micro", "macro"):
        assert found[f"f1_{average}"] == pytest.approx(f1_score(Y, said, average=average))
    each = [log_loss(Y[:, k], chances[:, k]) for k in range(3)]
    assert found["loss"] == pytest.approx(sum(each))
    page = tmp_path / "page.html"
    polyak("train", source, "--multilabel", "-q", "-m", tmp_path / "m", "--report", page)
    assert "How often each class was true" in page.read_text()


def test_rows_for_other_programs_have_no_targets(model: Path, tmp_path: Path) -> None:
    X, Y = problem(50, 1)
    source = write(tmp_path / "new.svm", svmlight(X, Y))
    polyak("convert", source, tmp_path / "rows.npz", "--for", model, "-q")
    with np.load(tmp_path / "rows.npz") as rows:
        assert rows["shape"].tolist() == [50, 6]
        assert "y" not in rows


def test_vw_text_leaves_rows_without_labels_out(tmp_path: Path) -> None:
    X, Y = problem(3000, 0)
    there = Y.any(axis=1)
    some = write(tmp_path / "some.vw", vw(X, Y))
    labelled = write(tmp_path / "labelled.vw", vw(X[there], Y[there]))
    said = polyak("train", some, "--multilabel", "-m", tmp_path / "some.polyak").stderr
    assert f"left out {3000 - there.sum():,} rows whose label is missing" in said
    polyak("train", labelled, "--multilabel", "-m", tmp_path / "labelled.polyak")
    one, other = (LinearModel.load(tmp_path / f"{name}.polyak") for name in ("some", "labelled"))
    np.testing.assert_array_equal(one.weights, other.weights)
    assert one.multilabel
    np.testing.assert_array_equal(one.classes, LABELS)
    predicted = polyak("predict", tmp_path / "some.polyak", some).stdout.split("\n")[:-1]
    assert len(predicted) == 3000  # those without labels, too
    right = np.array([a == words(b) for a, b in zip(predicted, Y, strict=True)])
    assert right[there].mean() > 0.5


def test_a_label_may_come_late_whatever_the_blocks(tmp_path: Path) -> None:
    source = write(tmp_path / "late.svm", svmlight(*problem(6000, 0, late=2500)))
    models = []
    for block, threads in ((3000, 1), (1 << 22, 2)):
        models.append(tmp_path / f"{block}.polyak")
        blocks = ("--block-bytes", block, "--threads", threads)
        said = polyak("train", source, *AS_IS, *blocks, "-m", models[-1]).stderr
        assert "the label 7 first comes up in row 2,50" in said
    assert models[0].read_bytes() == models[1].read_bytes()
    X, Y = problem(2000, 1)
    polyak("train", source, *AS_IS, "--classes", "1,5,7", "-m", tmp_path / "known")
    chances = [LinearModel.load(m).predict_proba(X) for m in (models[0], tmp_path / "known")]
    joined, known = ([log_loss(Y[:, k], p[:, k]) for k in range(3)] for p in chances)
    np.testing.assert_allclose(joined, known, rtol=0.03)


@pytest.mark.parametrize("stop", [500, 3500])
def test_a_run_goes_on_where_it_stood(tmp_path: Path, stop: int) -> None:
    """Before the first look at the rows and after it, with labels that joined meanwhile."""
    source = write(tmp_path / "late.svm", svmlight(*problem(5000, 0, late=2500)))
    reading = ReadOptions(multilabel=True, block_bytes=8000)
    job = Job(
        source=source,
        reading=reading,
        checkpoint=str(tmp_path / "c"),
        every_rows=100,
        order="as-is",
    )

    def interrupt(progress: Progress) -> None:
        if progress.rows >= stop:
            raise KeyboardInterrupt

    with warnings.catch_warnings(action="ignore"):  # a label comes late, and changes the loss
        assert train(job, interrupt).interrupted
        whole, resumed = train(Job(source=source, reading=reading, order="as-is")), train(job)
    assert resumed.progress.rows_before >= stop
    assert resumed.model is not None
    assert whole.model is not None
    np.testing.assert_array_equal(resumed.model.weights, whole.model.weights)
    np.testing.assert_array_equal(resumed.model.intercept, whole.model.intercept)


class TestErrors:
    @pytest.mark.parametrize("suffix", ["svm", "vw"])
    def test_several_labels_are_asked_for(self, tmp_path: Path, suffix: str) -> None:
        bar = "| " if suffix == "vw" else ""
        source = write(tmp_path / f"rows.{suffix}", f"1 {bar}1:1\n1,5 {bar}2:1\n")
        sentence = fails("train", source, "-m", tmp_path / "m")
        why = "several labels are for models that learn them (--multilabel)"
        assert sentence == f"polyak: error: {source}, line 2: {why}: '1,5'"

    @pytest.mark.parametrize(
        ("labels", "why"),
        [
            ("1,x", "a label is not a number"),
            ("1,", "a label is not a number"),
            (",", "a label is not a number"),
            ("1,nan", "a label is not a number"),
            ("1,1e999", "a label is too large"),
            ("1,5,1.0", "a label appears twice"),
        ],
    )
    def test_bad_labels(self, tmp_path: Path, labels: str, why: str) -> None:
        for suffix, bar in (("svm", ""), ("vw", "| ")):
            good, bad = f"1,5 {bar}1:1\n7 {bar}2:1\n", f"{labels} {bar}1:1\n"
            source = write(tmp_path / f"rows.{suffix}", good * 10 + bad + good * 10)
            sentence = fails("train", source, "--multilabel", "-m", tmp_path / "m")
            assert sentence == f"polyak: error: {source}, line 21: {why}: '{labels}'"
            said = polyak("train", source, "--multilabel", "--skip-bad-lines", "-m", tmp_path / "m")
            assert f"line 21: {why}" in said.stderr

    def test_labels_that_are_not_known(self, text: Path, model: Path, tmp_path: Path) -> None:
        sentence = fails("train", text, "--multilabel", "--classes", "1,5", "-m", tmp_path / "m")
        line = 1 + int(np.argmax(problem(4000, 0)[1][:, 2]))
        assert f"{text}, line {line}, has the label 7, which is not among 1, 5" in sentence
        other = write(tmp_path / "other.svm", "1 1:1\n1,9 1:1\n")
        sentence = fails("evaluate", model, other)
        assert f"{other}, line 2, has the label 9, which is not among 1, 5, 7" in sentence

    def test_what_has_no_labels(self, text: Path, tmp_path: Path) -> None:
        out = ("--multilabel", "-m", tmp_path / "m")
        sentence = fails("train", text, *out, "--loss", "squared_error", code=2)
        assert "several labels are classes, but squared_error is a loss for numbers" in sentence
        table = write(tmp_path / "t.csv", "y,x\n1,2\n0,1\n")
        sentence = fails("train", table, "--target", "y", *out)
        assert "csv rows have one target each: several labels are for svmlight" in sentence
        one = write(tmp_path / "one.svm", "1 1:1\n 2:1\n")
        assert "have 1 label: several labels are two or more" in fails("train", one, *out)
        none = write(tmp_path / "none.svm", " 1:1\n 2:1\n")
        assert "have no labels: several labels are two or more" in fails("train", none, *out)
