from __future__ import annotations

from pathlib import Path

import pytest
from commands import polyak, rows_of_text, write


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("data")


@pytest.fixture(scope="session")
def train_file(folder: Path) -> Path:
    return write(folder / "train.svm", rows_of_text(4000))


@pytest.fixture(scope="session")
def test_file(folder: Path) -> Path:
    return write(folder / "test.svm", rows_of_text(1000, seed=1))


@pytest.fixture(scope="session")
def model_file(folder: Path, train_file: Path) -> Path:
    path = folder / "model.polyak"
    polyak("train", train_file, "--loss", "squared_hinge", "--model", path, "-q")
    return path


@pytest.fixture(scope="session")
def sgd_model_file(folder: Path, train_file: Path) -> Path:
    path = folder / "sgd.polyak"
    polyak("train", train_file, "--model", path, "-q", "--recipe", "sgd")
    return path
