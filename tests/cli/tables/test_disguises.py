"""Numbers, dates and truths in disguise: what cannot be read, what cannot be told, what is said."""

from __future__ import annotations

import zipfile
from pathlib import Path

import numpy as np
import pytest
from commands import fails, polyak, write

LOSS = ["--loss", "squared_error", "--recipe", "sgd"]


def rows(line: str, n: int = 1200) -> str:
    return "".join(line.format(i=i % 9 + 1, j=i % 7, k=i % 28 + 1) for i in range(n))


def test_a_word_among_disguised_numbers_is_named(tmp_path: Path) -> None:
    text = "a;y\n" + rows("{i}.00{j},5;{j},25\n") + "many;1\n"
    path = write(tmp_path / "t.csv", text)
    start = ("train", path, "--target", "y", "-m", tmp_path / "m", *LOSS)
    said = polyak(*start).stderr
    assert "the column a is read as words because of 'many', though nearly all of it is" in said
    assert "--missing many reads these as missing values" in said
    assert "number 1.234,5" in polyak(*start, "--missing", "many").stderr


def test_dates_that_may_be_either_are_said(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "day,y\n" + rows("0{i}/0{i}/2020,{j}.5\n"))
    train = ["train", path, "--target", "y", "-m", tmp_path / "m", *LOSS, "-q"]
    said = polyak(*train).stderr
    assert "the dates in column day of" in said
    assert "are read as m/d/y" in said
    assert "use --dates d/m/y" in said
    assert "are read as" not in polyak(*train, "--dates", "d/m/y").stderr


def test_another_column_decides_which_comes_first(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,b,y\n" + rows("0{i}/0{i}/2020,{k}/01/2020,{j}.5\n"))
    model = tmp_path / "m"
    assert "may as well" not in polyak("train", path, "--target=y", "-m", model, *LOSS).stderr
    assert polyak("inspect", model).stdout.count("d/m/y") == 2


def test_a_decimal_point_that_does_not_show_is_said(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a;y\n" + rows("{i},123;{j}\n"))
    train = ["train", path, "--target", "y", "-m", tmp_path / "m", *LOSS, "-q"]
    assert "are read with the decimal point ','" in polyak(*train).stderr
    weights = {}
    for decimal in (".", ","):
        assert "are read with" not in polyak(*train, "--decimal", decimal).stderr
        weights[decimal] = polyak("inspect", tmp_path / "m").stdout
    assert weights["."] != weights[","]


@pytest.mark.parametrize("words", ["F,{j}.5\n", "A-{i},{j}.5\n"], ids=["truths", "ids"])
def test_words_that_only_look_like_values_stay_words(words: str, tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", "a,y\n" + rows(words) + "M,3.5\n")
    polyak("train", path, "--target=y", "-m", tmp_path / "m", *LOSS)
    assert "category" in polyak("inspect", tmp_path / "m").stdout


def test_a_file_of_no_format_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "t.txt", "once upon a time\nthere was a table\n")
    error = fails("train", path, "-m", tmp_path / "m")
    assert "is not clear from its name or its first bytes" in error
    assert "give it with --format, one of svmlight, vw" in error


def test_an_archive_of_several_files_asks_which(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "t.zip", "w") as archive:
        archive.writestr("a.csv", "x,y\n1,2\n")
        archive.writestr("b.csv", "x,y\n1,2\n")
    error = fails("train", tmp_path / "t.zip", "-m", tmp_path / "m", "--target", "y")
    assert "holds 2 files: --member says which to read; a.csv, b.csv" in error
    error = fails("train", tmp_path / "t.zip", "-m", tmp_path / "m", "--member", "c.csv")
    assert "has no member c.csv; it has a.csv, b.csv" in error


def test_text_that_is_not_utf8_says_what_to_try(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_bytes("stadt,y\nKöln,1\nBonn,2\n".encode("latin-1"))
    error = fails("train", path, "--target", "y", "-m", tmp_path / "m", *LOSS)
    assert "the column stadt is not UTF-8; --encoding cp1252 may read it" in error
    for name in ("martian", "rot13", "hex", "undefined"):
        error = fails("train", path, "--target=y", "-m", tmp_path / "m", "--encoding", name, code=2)
        assert f"there is no encoding {name!r} of text" in error


@pytest.mark.parametrize("convert", [False, True])
def test_a_run_goes_on_in_another_encoding(tmp_path: Path, convert: bool) -> None:
    random = np.random.default_rng(0).normal(size=(3000, 2)).round(3).tolist()
    text = "größe;y\n" + "".join(f"{a};{a + b}\n".replace(".", ",") for a, b in random)
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode("utf-16"))
    source = path
    if convert:
        source = tmp_path / "t.parquet"
        polyak("convert", path, source)
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    polyak("train", path, "--target", "y", "-m", whole, *LOSS, "--block-bytes", "9000")
    how = [] if convert else ["--checkpoint", tmp_path / "c", "--checkpoint-every", "500"]
    polyak("train", source, "--target", "y", "-m", parts, *LOSS, "--block-bytes", "9000", *how)
    shown = [polyak("inspect", model, "--top", "3").stdout for model in (whole, parts)]
    assert shown[0].split("\n\n")[-1] == shown[1].split("\n\n")[-1]
