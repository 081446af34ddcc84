"""The table of coefficients: against least squares and logistic regression by hand."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tests.in_process import polyak

from polyak import ASGDClassifier, ASGDRegressor, LinearModel


def sandwich_by_hand(A: np.ndarray, slopes: np.ndarray, bend: np.ndarray) -> np.ndarray:
    """Return standard errors: H⁻¹ (Σ g² a aᵀ / (1 - leverage)²) H⁻¹, that of OLS being HC3."""
    inverse = np.linalg.inv(A.T @ (A * bend[:, None]))
    leverage = bend * np.einsum("ij,ij->i", A @ inverse, A)
    middle = A.T @ (A * np.square(slopes / (1 - leverage))[:, None])
    return np.sqrt(np.diag(inverse @ middle @ inverse))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    """Draw numbers far from zero, of different sizes: the model shifts and scales them."""
    rng = np.random.default_rng(0)
    n = 4000
    return pd.DataFrame(
        {
            "year": rng.integers(1990, 2021, n),
            "income": rng.lognormal(3, 0.5, n).round(3),
            "age": rng.normal(50, 10, n).round(3),
        }
    )


def numbers(table: pd.DataFrame) -> dict[str, np.ndarray]:
    return {name: table[name].to_numpy() for name in table.columns if name != "feature"}


def check_against_hand(
    found: dict[str, np.ndarray], w: np.ndarray, error: np.ndarray, degrees: float
) -> None:
    np.testing.assert_allclose(found["standard_error"], error, rtol=0.02)
    z = w / error
    np.testing.assert_allclose(found["z"], z, atol=0.02 * np.abs(z).max() + 0.05)
    own = 2 * stats.t.sf(np.abs(found["z"]), degrees)
    np.testing.assert_allclose(found["p_value"], own, rtol=1e-6, atol=1e-200)
    reach = stats.t.ppf(0.975, degrees) * error
    for name, ends in (("low", w - reach), ("high", w + reach)):
        np.testing.assert_allclose(found[name], ends, atol=0.1 * error.max(), rtol=0.02)
    excludes = (found["low"] > 0) | (found["high"] < 0)
    assert np.array_equal(excludes, found["p_value"] < 0.05)


def test_a_csv_files_coefficients_are_those_of_least_squares(
    frame: pd.DataFrame, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    y = 3.0 * (frame.year - 2000) + 0.5 * frame.income + rng.normal(size=len(frame)) * frame.income
    frame.assign(y=y.round(6)).to_csv(tmp_path / "t.csv", index=False)
    model = tmp_path / "m.polyak"
    polyak("train", tmp_path / "t.csv", "--target", "y", "-m", model, "--intervals", "-q")
    table = LinearModel.load(model).coefficients()
    assert table.feature.tolist() == ["intercept", "year", "income", "age"]
    A = np.column_stack([np.ones(len(frame)), frame])
    w = np.linalg.lstsq(A, y.round(6), rcond=None)[0]
    error = sandwich_by_hand(A, y.to_numpy() - A @ w, np.ones(len(A)))
    check_against_hand(numbers(table), w, error, len(A) - 4)
    spread = frame[:1000].std(ddof=0)
    np.testing.assert_allclose(table.effect[1:], table.weight[1:] * spread.to_numpy(), rtol=1e-5)
    assert np.isnan(table.effect[0])

    inspect = ("inspect", model, "--top", "2")
    shown = polyak(*inspect).stdout
    lines = [line.split() for line in shown.splitlines()[-4:]]
    assert lines[0] == ["feature", "weight", "effect", "std", "err", "z", "p", "95%", "from", "to"]
    assert [line[0] for line in lines[1:]] == ["intercept", "year", "income"]
    assert float(lines[2][1]) == pytest.approx(table.weight[1], rel=1e-5)
    page = json.loads(polyak(*inspect, "--json", "--sort", "z").stdout)
    (first,) = page["intercepts"]
    for name in ("weight", "standard_error", "z", "p_value", "low", "high"):
        assert first[name] == table[name][0]
    z = [abs(entry["z"]) for entry in page["heaviest"]]
    assert z == sorted(z, reverse=True)
    by_weight = json.loads(polyak(*inspect, "--json", "--sort", "weight").stdout)
    sizes = [abs(entry["weight"]) for entry in by_weight["heaviest"]]
    assert sizes == sorted(sizes, reverse=True)


def test_several_classes_have_a_line_each() -> None:
    X, y = np.eye(3).repeat(200, axis=0), np.repeat(["u", "v", "w"], 200)
    model = ASGDClassifier(loss="log_loss", random_state=0).fit(X, y)
    table = model.coefficients()
    assert list(table.columns) == ["feature", "class", "weight", "effect"]
    assert table["class"].tolist() == ["u", "v", "w"] * 4
    assert table.feature.tolist() == [n for n in ("intercept", "0", "1", "2") for _ in range(3)]
    assert np.array_equal(table.weight[3:].to_numpy().reshape(3, 3), model.coef_.T)


def test_replicas_have_z_and_p_values_too(frame: pd.DataFrame) -> None:
    X = (frame - frame.mean()) / frame.std()
    y = X.year + np.random.default_rng(3).normal(size=len(X))
    model = ASGDRegressor(recipe="sgd", intervals=True, random_state=0).fit(X, y)
    table = model.coefficients()
    assert table.weight[1:].tolist() == model.coef_.tolist()
    np.testing.assert_allclose(table.z, table.weight / table.standard_error, rtol=1e-12)
    np.testing.assert_allclose(table.p_value, 2 * stats.t.sf(np.abs(table.z), 32), rtol=1e-9)
    assert table.p_value[1] < 1e-6
    wide = model.coefficients(level=0.99)
    assert np.all(wide.low < table.low)
    assert np.all(wide.high > table.high)


def test_a_mixed_frame_shows_words_that_weigh_and_no_missing_value_that_never_was() -> None:
    rng = np.random.default_rng(4)
    X = pd.DataFrame({"x": rng.normal(5, 2, 2000), "city": rng.choice(["Ulm", "Rome"], 2000)})
    y = X.x + 2.0 * (X.city == "Rome") + 0.1 * rng.normal(size=2000)
    table = ASGDRegressor(random_state=0).fit(X, y).coefficients()
    assert not any(" is missing" in name for name in table.feature)
    assert len(table) == 4  # intercept, x, and a word each
    weight = dict(zip(table.feature, table.weight, strict=True))
    assert weight["x"] == pytest.approx(1.0, abs=0.02)


def rows_of_levels(rows: int, seed: int, loss: str) -> tuple[pd.DataFrame, np.ndarray]:
    """Draw levels of 49%, 49% and 2%, with weights of 0.25, -0.05 and -0.2."""
    rng = np.random.default_rng(seed)
    levels, x = rng.choice(3, size=rows, p=[0.49, 0.49, 0.02]), rng.normal(size=rows)
    scores = 0.5 * x + np.array([0.25, -0.05, -0.2])[levels]
    y = scores + rng.normal(size=rows)
    if loss == "log_loss":
        y = rng.random(rows) < 1 / (1 + np.exp(-scores))
    return pd.DataFrame({"x": x, "level": np.array(["a", "b", "c"])[levels]}), y


@pytest.mark.parametrize("loss", ["squared_error", "log_loss"])
def test_levels_have_the_errors_of_weights_that_add_up_to_zero(loss: str) -> None:
    X, y = rows_of_levels(3000, 0, loss)
    learner = ASGDClassifier if loss == "log_loss" else ASGDRegressor
    model = learner(loss=loss, intervals=True, random_state=0).fit(X, y).to_model()
    found = model.coefficients().set_index("feature").loc[["intercept", "level=a", "level=b"]]
    one_hot = (X.level.to_numpy()[:, None] == np.array(["a", "b", "c"])).astype(float)
    A = np.column_stack([np.ones(3000), one_hot[:, :2] - one_hot[:, 2:], X.x])
    w, bend = np.zeros(4), np.ones(3000)
    for _ in range(10):
        means = A @ w if loss == "squared_error" else 1 / (1 + np.exp(-A @ w))
        bend = bend if loss == "squared_error" else means * (1 - means)
        w += np.linalg.solve(A.T @ (A * bend[:, None]), A.T @ (y - means))
    np.testing.assert_allclose(found.weight, w[:3], atol=1e-5)
    errors = sandwich_by_hand(A, y - means, bend)
    np.testing.assert_allclose(found.standard_error, errors[:3], rtol=1e-4)
    effect = model.effect("level")
    own = model.coefficients().set_index("feature").filter(like="level=", axis=0)
    np.testing.assert_allclose(own.high - own.low, effect.upper - effect.lower, rtol=1e-6)


@pytest.mark.slow
def test_intervals_of_levels_hold_the_true_weights() -> None:
    held = []
    for seed in range(200):
        X, y = rows_of_levels(1000, seed, "squared_error")
        model = ASGDRegressor(intervals=True, random_state=seed).fit(X, y)
        own = model.coefficients().set_index("feature").filter(like="level=", axis=0)
        held.append(np.array([0.25, -0.05, -0.2]) - own.low > 0)
        held[-1] &= np.array([0.25, -0.05, -0.2]) - own.high < 0
    assert 0.93 <= np.mean(held) <= 0.97


def test_without_pandas_there_is_a_dict_of_columns() -> None:
    code = (
        "import sys; sys.modules['pandas'] = None\n"
        "import numpy as np\n"
        "from polyak import LinearModel\n"
        "model = LinearModel(np.array([[1.5]]), np.zeros(1), 'squared_error')\n"
        "print({name: list(column) for name, column in model.coefficients().items()})\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "'feature': ['intercept', '0']" in done.stdout


def test_effects_of_arrays_and_of_text(tmp_path: Path) -> None:
    """The spread of features without columns is that of the first rows."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(900, 3)) * [1.0, 30.0, 0.1]
    y = X @ [1.0, -2.0, 5.0] + rng.normal(size=900)
    table = ASGDRegressor().fit(X, y).coefficients()
    expected = table.weight[1:] * X.std(axis=0)
    np.testing.assert_allclose(table.effect[1:], expected, rtol=0.05)
    assert np.isnan(table.effect[0])

    each = np.column_stack([y, X]).round(4).tolist()
    lines = {
        "t.svm": [f"{t} 1:{a} 2:{b} 3:{c}" for t, a, b, c in each],
        "t.vw": [f"{t} | a:{a} b:{b} c:{c}" for t, a, b, c in each],
    }
    for name, rows in lines.items():
        (tmp_path / name).write_text("\n".join(rows) + "\n")
        how = ["--loss", "squared_error", "-m", tmp_path / "m", "-q"]
        polyak("train", tmp_path / name, *how)
        words = [line.split() for line in polyak("inspect", tmp_path / "m").stdout.splitlines()]
        head = next(n for n, line in enumerate(words) if line[:1] == ["feature"])
        assert words[head][:3] == ["feature", "weight", "effect"]
        found = sorted(abs(float(line[-1])) for line in words[head + 2 : head + 5])
        np.testing.assert_allclose(found, sorted(np.abs(expected)), rtol=0.15)


def test_that_a_value_is_missing_weighs_nothing_where_none_was(tmp_path: Path) -> None:
    rows = "".join(f"{1990 + n % 30},{n % 7},{3 * (n % 30) + n % 7}\n" for n in range(300))
    (tmp_path / "t.csv").write_text("year,x,y\n" + rows)
    polyak("train", tmp_path / "t.csv", "--target", "y", "-q", "-m", tmp_path / "m")
    told = polyak("inspect", tmp_path / "m").stdout
    assert "year" in told
    assert "is missing" not in told


def test_words_follow_each_other_as_their_columns_do() -> None:
    random = np.random.default_rng(0)
    frame = pd.DataFrame({
        "b": random.normal(size=400), "city": random.choice(["Rome", "Oslo", "Aix"], 400),
        "a": random.normal(size=400), "word": random.choice(["z", "k"], 400),
    })  # fmt: skip
    learned = ASGDRegressor(intervals=True).fit(frame, frame.a + (frame.city == "Oslo"))
    names = [name for name in learned.coefficients()["feature"] if not name.endswith(" is missing")]
    assert names == [
        *("intercept", "b", "city=Aix", "city=Oslo", "city=Rome", "a", "word=k", "word=z"),
    ]
