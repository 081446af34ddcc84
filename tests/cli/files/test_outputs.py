"""Nothing that a command reads is overwritten, and what cannot be written is said beforehand."""

from __future__ import annotations

import os
import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from commands import POLYAK, fails, polyak, rows_of_text, write

from polyak.model.linear import LinearModel
from polyak.training.checkpoint import NEWEST


def relative(path: Path) -> str:
    return os.path.relpath(path)


def symbolic_link(path: Path) -> str:
    link = path.with_name("symbolic" + path.suffix)
    link.symlink_to(path)
    return str(link)


def hard_link(path: Path) -> str:
    link = path.with_name("hard" + path.suffix)
    os.link(path, link)
    return str(link)


def around_the_corner(path: Path) -> str:
    (path.parent / "folder").mkdir()
    return str(path.parent / "folder" / ".." / path.name)


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "a.svm", rows_of_text(100))


@pytest.fixture
def model(tmp_path: Path, model_file: Path) -> Path:
    (tmp_path / "m.polyak").write_bytes(model_file.read_bytes())
    return tmp_path / "m.polyak"


COMMANDS = {
    "train": ("a.svm", "train a.svm -m a.svm"),
    "its report": ("a.svm", "train a.svm -m m --report a.svm"),
    "its test set": ("b.svm", "train a.svm --test b.svm -m b.svm"),
    "predict": ("a.svm", "predict m.polyak a.svm -o a.svm"),
    "predict over the model": ("m.polyak", "predict m.polyak a.svm -o m.polyak"),
    "convert": ("a.svm", "convert a.svm a.svm"),
    "export": ("m.polyak", "export m.polyak m.polyak --to csv"),
    "report": ("m.polyak", "report m.polyak -o m.polyak"),
}


@pytest.mark.parametrize("command", COMMANDS)
def test_what_is_read_is_not_overwritten(command: str, source: Path, model: Path) -> None:
    kept, words = COMMANDS[command]
    write(source.with_name("b.svm"), rows_of_text(100, seed=1))
    before = source.with_name(kept).read_bytes()
    said = fails(*words.split(), code=2, cwd=source.parent)
    assert "itself; name another file to write" in said
    assert source.with_name(kept).read_bytes() == before


@pytest.mark.parametrize("spelled", [relative, symbolic_link, hard_link, around_the_corner])
def test_nor_is_it_under_another_name(spelled: Callable[[Path], str], source: Path) -> None:
    before = source.read_bytes()
    assert "itself; name another file" in fails("train", source, "-m", spelled(source), code=2)
    assert source.read_bytes() == before


class TestOverwritingUnseen:
    """The source is not named as what is overwritten."""

    def test_a_pattern(self, source: Path) -> None:
        assert "itself" in fails("train", source.parent / "*.svm", "-m", source, code=2)

    def test_a_folder(self, source: Path) -> None:
        assert "itself" in fails("train", source.parent, "-m", source, code=2)

    def test_standard_input(self, source: Path) -> None:
        with source.open("rb") as rows:
            assert "itself" in fails("train", "-", "-m", source, code=2, stdin=rows)
        assert source.read_text() == rows_of_text(100)

    def test_model_and_report(self, source: Path) -> None:
        model = source.with_name("m")
        said = fails("train", source, "-m", model, "--report", model, code=2)
        assert "the report and the model are both" in said
        assert not model.exists()

    def test_model_and_checkpoint(self, source: Path) -> None:
        folder = source.with_name("c")
        said = fails("train", source, "-m", folder / NEWEST, "--checkpoint", folder, code=2)
        assert "the model and the checkpoint are both" in said

    def test_checkpoints_among_the_rows(self, source: Path) -> None:
        folder = source.parent
        model = folder.with_name("m")
        for inside in (folder, folder / "c"):
            said = fails("train", folder, "-m", model, "--checkpoint", inside, code=2)
            assert "is among the rows" in said
        polyak("train", folder, "-m", model, "-q", "--checkpoint", folder / ".c")

    def test_a_device_may_be_read_and_written(self, model: Path) -> None:
        polyak("predict", model, "/dev/null", "-o", "/dev/null", code=1)  # it has no rows


class TestBeforeTheFirstRow:
    """The source is a pipe without a writer, so waiting for a row blocks forever."""

    def refused(self, tmp_path: Path, *arguments: object) -> str:
        os.mkfifo(tmp_path / "pipe")
        command = [*POLYAK, "train", tmp_path / "pipe", *arguments]
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, timeout=60)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert "cannot be written" in done.stderr
        return done.stderr

    def test_a_model_below_a_file(self, tmp_path: Path, source: Path) -> None:
        self.refused(tmp_path, "-m", source / "m")

    @pytest.mark.parametrize("folder", [".", "below/it"])
    def test_checkpoints_below_a_file(self, tmp_path: Path, source: Path, folder: str) -> None:
        checkpoints = source / folder if folder != "." else source
        self.refused(tmp_path, "-m", tmp_path / "m", "--checkpoint", checkpoints)

    @pytest.mark.parametrize("what", ["model", "checkpoint"])
    def test_a_system_that_takes_no_file(self, tmp_path: Path, what: str) -> None:
        """``/proc`` refuses new files even to root, and only when one is created."""
        model = "/proc/m" if what == "model" else tmp_path / "m"
        more = ("--checkpoint", "/proc/c") if what == "checkpoint" else ()
        self.refused(tmp_path, "-m", model, *more)


class TestCheckpointsThatFailLater:
    def test_are_a_warning_and_the_model_is_written(self, tmp_path: Path) -> None:
        """Files may not become larger than the first checkpoint, and the next ones would."""
        few = rows_of_text(1500)
        wide = few.replace("100:", "40000:")  # after the first rows, so that the model grows
        text = few + "".join(line + " 30000:1\n" for line in wide.splitlines())
        source = write(tmp_path / "a.svm", text)
        as_is = ("--order", "as-is", "--recipe", "paper", "-q")
        command = ["train", source, *as_is, "--block-bytes", "4000"]
        command += ["--checkpoint-every", "100", "--checkpoint", tmp_path / "c"]

        def small_files() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))

        done = polyak(*command, "-m", tmp_path / "m", preexec_fn=small_files)
        assert "warning" in done.stderr
        assert "cannot be written: file too large; learning goes on without it" in done.stderr
        polyak("train", source, *as_is, "-m", tmp_path / "whole")
        assert (tmp_path / "m").read_bytes() == (tmp_path / "whole").read_bytes()
        assert not list((tmp_path / "c").iterdir())


class TestTwoRuns:
    def start(self, tmp_path: Path, rows: str) -> subprocess.Popen[bytes]:
        command = [*POLYAK, "train", "-", "-m", str(tmp_path / "m"), "-q", "--block-bytes", "2000"]
        command += ["--checkpoint", str(tmp_path / "c"), "--checkpoint-every", "100"]
        run = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        assert run.stdin is not None
        run.stdin.write(rows.encode())
        run.stdin.flush()
        while run.poll() is None and not (tmp_path / "c" / NEWEST).exists():
            time.sleep(0.002)
        assert run.poll() is None
        return run

    def test_one_folder(self, tmp_path: Path, source: Path) -> None:
        first = self.start(tmp_path, rows_of_text(4000))
        again = ("train", source, "-m", tmp_path / "other", "--checkpoint", tmp_path / "c", "-q")
        try:
            said = fails(*again)
            assert f"process {first.pid} is learning with the checkpoints there" in said
        finally:
            first.kill()
            first.communicate()
        # The system has released the lock; what was begun there is of other rows.
        assert "is a checkpoint of other data" in fails(*again)
        for name in (NEWEST, "previous.polyak"):  # it may have been killed between the two
            (tmp_path / "c" / name).unlink(missing_ok=True)
        polyak(*again)
        assert not list((tmp_path / "c").iterdir())

    def test_one_model(self, tmp_path: Path, source: Path) -> None:
        """The last to end is there, whole, and nothing beside it."""
        folder = tmp_path / "models"
        folder.mkdir()
        command = [*POLYAK, "train", str(source), "-m", str(folder / "m"), "-q"]
        runs = [subprocess.Popen(command, stdout=subprocess.DEVNULL) for _ in range(2)]
        assert [run.wait() for run in runs] == [0, 0]
        assert os.listdir(folder) == ["m"]
        LinearModel.load(folder / "m")


def test_a_link_stays_and_what_it_points_to_is_replaced(tmp_path: Path, source: Path) -> None:
    (tmp_path / "link").symlink_to("target")
    polyak("train", source, "-m", tmp_path / "link", "-q")
    assert (tmp_path / "link").is_symlink()
    LinearModel.load(tmp_path / "target")
    polyak("train", source, "-m", tmp_path / "link", "-q")
    assert sorted(os.listdir(tmp_path)) == ["a.svm", "link", "target"]
