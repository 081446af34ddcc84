"""What bad input gets: exit code 1, one sentence, and the last good checkpoint left alone."""

from __future__ import annotations

import gzip
import json
import os
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import POLYAK, fails, polyak, rows_of_text, write

from polyak.storage.container import read_file, write_file
from polyak.training.checkpoint import NEWEST, PREVIOUS

AS_IS = ("--order", "as-is")


def limited(size: int) -> Callable[[], None]:
    """Let no file grow beyond a size, as on a disk that is full."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


def stop_early(source: Path, folder: Path, *options: object) -> None:
    """Leave a checkpoint behind, and a source whose last line cannot be read."""
    broken = write(source.with_name("broken.svm"), source.read_text()[:-1] + "x\n")
    command = ("train", broken, *AS_IS, "--model", folder.parent / "m", "--checkpoint", folder)
    fails(*command, "-q", "--block-bytes", 2000, "--checkpoint-every", 100, *options)
    os.replace(broken, source)
    assert (folder / NEWEST).exists()


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "rows.svm", rows_of_text(3000))


class TestSources:
    def train(self, source: Path, *options: object) -> str:
        return fails("train", source, "--model", source.parent / "m", *options)

    def test_missing(self, tmp_path: Path) -> None:
        assert "no such file" in self.train(tmp_path / "none.svm")
        assert "no file matches" in self.train(tmp_path / "none*.svm")

    def test_empty(self, tmp_path: Path) -> None:
        assert "has no rows" in self.train(write(tmp_path / "empty.svm", ""))

    def test_a_folder(self, tmp_path: Path) -> None:
        (tmp_path / "folder").mkdir()
        assert "is a folder" in self.train(tmp_path / "folder")

    def test_malformed(self, tmp_path: Path) -> None:
        message = self.train(write(tmp_path / "bad.svm", "1 1:2\n-1 2:two\n"))
        assert f"{tmp_path / 'bad.svm'}, line 2: " in message
        assert "2:two" in message

    @pytest.mark.parametrize(
        ("depth", "name", "line"), [(101, "a", 1), (5000, "late", 2001), (100_000, "a", 2001)]
    )
    def test_deeply_nested_json(self, tmp_path: Path, depth: int, name: str, line: int) -> None:
        rows = [f'{{"a": {n}, "y": {n % 2}}}' for n in range(3000)]
        rows.insert(line - 1, f'{{"{name}": {"[" * depth}{"]" * depth}, "y": 1}}')
        file = write(tmp_path / "deep.jsonl", "\n".join(rows))
        message = self.train(file, "--target", "y")
        assert f"{file}, line {line}: values are nested more than 100 deep" in message
        told = polyak("train", file, "--target", "y", "-m", tmp_path / "m", "--skip-bad-lines")
        assert "values are nested more than 100 deep" in told.stderr

    def test_carriage_returns_alone_end_no_line(self, tmp_path: Path) -> None:
        rows = [f"{n % 2 * 2 - 1} 'tag{n}|f a:{n} b\t|g c:0.5" for n in range(300)]
        messages = []
        for end in ("\n", "\r\n", " \r\r\n"):
            file = write(tmp_path / "rows.vw", end.join(rows) + end)
            told = polyak("train", file, "-m", tmp_path / "m", "--json").stdout
            messages.append(json.loads(told)["rows"])
        assert messages == [300, 300, 300]
        for text in "\r".join(rows), "\n".join([*rows, "\r".join(rows)]):
            message = self.train(write(tmp_path / "old.vw", text))
            assert f"line {text.count(chr(10)) + 1}: a carriage return stands inside" in message

    def test_cut_short(self, tmp_path: Path) -> None:
        cut = tmp_path / "cut.svm.gz"
        cut.write_bytes(gzip.compress(rows_of_text(5000).encode())[:-2000])
        message = self.train(cut, *AS_IS, "--checkpoint", tmp_path / "c", "--block-bytes", 5000,
                             "--checkpoint-every", 500, "-q")  # fmt: skip
        assert f"{cut} is cut short" in message
        page, _ = read_file(tmp_path / "c" / NEWEST, "checkpoint", 1)
        assert page["rows"] >= 500

    def test_one_class_only(self, tmp_path: Path) -> None:
        message = self.train(write(tmp_path / "one.svm", "1 1:2\n" * 50))
        assert "one.svm is 1 in all 50 rows: there is nothing to learn" in message

    def test_one_class_in_the_first_rows(self, tmp_path: Path) -> None:
        source = write(tmp_path / "one.svm", "1 1:2\n" * 1000 + "2 1:3\n")
        message = self.train(source, *AS_IS)
        assert "the first 1000 rows are all of class 1; say which classes there are" in message
        assert "--classes" in message

    def test_a_new_label_in_a_resumed_run(self, tmp_path: Path) -> None:
        source = write(tmp_path / "new.svm", rows_of_text(2000) + "7 1:1\n" + rows_of_text(100))
        options = ("-q", *AS_IS, "--checkpoint", tmp_path / "c", "--block-bytes", 2000,
                   "--checkpoint-every", 100, "--classes=-1,1")  # fmt: skip
        for _ in range(2):  # the second run goes on from the first one's checkpoint
            message = self.train(source, *options)
            assert f"{source}, line 2001, has the label 7, which is not among -1, 1" in message

    def test_a_new_label_of_a_table(self, tmp_path: Path) -> None:
        rows = [f"{i % 7},{'yes' if i % 3 else 'no'}" for i in range(2000)]
        source = write(tmp_path / "t.csv", "\n".join(["a,y", *rows, "", "1,maybe", *rows]))
        message = self.train(source, "-q", "--target", "y", *AS_IS, "--classes", "no,yes")
        assert f"{source}, line 2003, has the label maybe, which is not among no, yes" in message
        assert "--classes" in message

    def test_a_target_too_large_to_learn(self, tmp_path: Path) -> None:
        source = write(tmp_path / "t.svm", "1 1:1\n# nothing\n1e200 1:2\n")
        message = self.train(source, "-q", "--loss", "squared_error")
        assert f"{source}, line 3: the target 1e+200 is too large" in message

    def test_old_line_ends(self, tmp_path: Path) -> None:
        source = tmp_path / "t.csv"
        source.write_bytes(b"a,y\r1,2\r2,3\r")
        assert f"{source}, line 1: it has carriage returns inside" in self.train(
            source, "--target", "y"
        )

    def test_a_name_that_is_not_utf8(self, tmp_path: Path) -> None:
        for suffix, text, more in (
            (".svm", "1 1:2\n-1 2:two\n", ()),
            (".csv", "a,y\n1,2\n2\n", ("--target", "y")),
        ):
            source = write(tmp_path / f"rows\udcff{suffix}", text)
            message = self.train(source, *more)
            assert f"rows\\udcff{suffix}, line" in message

    def test_diverging(self, source: Path) -> None:
        options = ("--eta0", "1e30", "--alpha", "0", "--loss", "squared_error")
        assert "overflow" in self.train(source, "-q", *options, "--recipe", "paper")

    def test_a_test_file_that_is_missing_does_not_cost_the_model(self, source: Path) -> None:
        assert "none.svm" in self.train(source, "-q", "--test", source.parent / "none.svm")
        polyak("inspect", source.parent / "m")


class TestCheckpoints:
    def train(self, source: Path, folder: Path, *options: object) -> tuple[object, ...]:
        return ("train", source, *AS_IS, "-q", "--model", folder.parent / "m",
                "--checkpoint", folder, *options)  # fmt: skip

    def test_of_other_data(self, source: Path, tmp_path: Path) -> None:
        stop_early(source, tmp_path / "c")
        before = (tmp_path / "c" / NEWEST).read_bytes()
        other = write(tmp_path / "other.svm", rows_of_text(500, seed=5))
        assert "checkpoint of other data" in fails(*self.train(other, tmp_path / "c"))
        assert (tmp_path / "c" / NEWEST).read_bytes() == before

    def test_of_data_changed_in_the_middle(self, source: Path, tmp_path: Path) -> None:
        stop_early(source, tmp_path / "c")
        text = bytearray(source.read_bytes())
        place = text.index(b":", len(text) // 2) - 1
        text[place] = ord("2") if text[place] != ord("2") else ord("3")
        source.write_bytes(text)
        assert "checkpoint of other data (size or" in fails(*self.train(source, tmp_path / "c"))

    def test_of_other_options(self, source: Path, tmp_path: Path) -> None:
        stop_early(source, tmp_path / "c")
        before = (tmp_path / "c" / NEWEST).read_bytes()
        message = fails(*self.train(source, tmp_path / "c", "--alpha", "0.5"))
        assert "a run with alpha = auto, not 0.5" in message
        assert "passes = 1, not 2" in fails(*self.train(source, tmp_path / "c", "--passes", 2))
        assert (tmp_path / "c" / NEWEST).read_bytes() == before

    def test_of_a_newer_format(self, source: Path, tmp_path: Path) -> None:
        stop_early(source, tmp_path / "c")
        newest = tmp_path / "c" / NEWEST
        page, arrays = read_file(newest, "checkpoint", 1)
        write_file(newest, page | {"format": 2}, arrays)
        assert "a newer polyak can read it" in fails(*self.train(source, tmp_path / "c"))

    def test_a_damaged_one_gives_way_to_the_one_before(self, source: Path, tmp_path: Path) -> None:
        stop_early(source, tmp_path / "c")
        newest, previous = tmp_path / "c" / NEWEST, tmp_path / "c" / PREVIOUS
        data = bytearray(newest.read_bytes())
        data[-5] ^= 1
        newest.write_bytes(data)
        row = read_file(previous, "checkpoint", 1)[0]["rows"]
        done = polyak(*self.train(source, tmp_path / "c"), code=1)
        assert f"going on from the checkpoint before it, at row {row}" in done.stderr
        assert "line 3000" in done.stderr  # it did go on

    def test_two_damaged_ones(self, source: Path, tmp_path: Path) -> None:
        stop_early(source, tmp_path / "c")
        for name in (NEWEST, PREVIOUS):
            (tmp_path / "c" / name).write_bytes(b"nonsense")
        message = fails(*self.train(source, tmp_path / "c"))
        assert f"{tmp_path / 'c' / NEWEST} is not a polyak checkpoint" in message


class TestDisk:
    def test_a_full_device(self, source: Path, model_file: Path) -> None:
        message = fails("train", source, "-q", "--model", "/dev/full")
        assert "/dev/full cannot be written: no space left on device" in message
        message = fails("predict", model_file, source, "-o", "/dev/full")
        assert "/dev/full cannot be written: no space left on device" in message
        for command in ["predict", "inspect"]:
            arguments = f"{command} {model_file} {source if command == 'predict' else ''}"
            done = subprocess.run(
                ["sh", "-c", f"{' '.join(POLYAK)} {arguments} > /dev/full"],
                capture_output=True, text=True,
            )  # fmt: skip
            assert done.returncode == 1
            assert len(done.stderr.splitlines()) == 1
            assert "no space left on device" in done.stderr.lower()

    def test_a_model_that_does_not_fit(self, source: Path, tmp_path: Path) -> None:
        old = write(tmp_path / "m", "what was there before")
        message = fails("train", source, "-q", "--model", old, preexec_fn=limited(200))
        assert f"{old} cannot be written: file too large" in message
        assert old.read_text() == "what was there before"
        assert [path.name for path in tmp_path.glob("m*")] == ["m"]

    def test_a_checkpoint_that_does_not_fit(self, source: Path, tmp_path: Path) -> None:
        stop_early(source, tmp_path / "c")
        before = {path.name: path.read_bytes() for path in (tmp_path / "c").iterdir()}
        command = ("train", source, *AS_IS, "-q", "--model", tmp_path / "m")
        command += ("--checkpoint", tmp_path / "c")
        message = fails(*command, "--checkpoint-every", 1, "--block-bytes", 500,
                        preexec_fn=limited(500))  # fmt: skip
        assert "cannot be written: file too large" in message
        assert {path.name: path.read_bytes() for path in (tmp_path / "c").iterdir()} == before

    def test_where_nothing_can_be_written(self, source: Path, tmp_path: Path) -> None:
        message = fails("train", source, "--model", tmp_path / "none" / "m")
        assert "there is no folder" in message
        assert "it is a folder" in fails("train", source, "--model", tmp_path)


class TestModels:
    def test_something_else(self, source: Path) -> None:
        assert f"{source} is not a polyak model" in fails("inspect", source)

    def test_a_checkpoint_is_not_a_model(self, source: Path, tmp_path: Path) -> None:
        stop_early(source, tmp_path / "c")
        message = fails("inspect", tmp_path / "c" / NEWEST)
        assert "is not a polyak model" in message
