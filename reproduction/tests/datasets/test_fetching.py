"""Fetching from a server of our own: whole, resumed, damaged, and without a network."""

import hashlib
import os
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import urlsplit

import pytest

from reproduction.datasets.catalogue import PAPER_SETS
from reproduction.datasets.download_urls import DOWNLOADS, RemoteFile
from reproduction.datasets.fetching import FetchError, fetch

CONTENT = os.urandom(3_000_000)
SHA256 = "sha256:" + hashlib.sha256(CONTENT).hexdigest()


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        server = self.server
        asked = self.headers.get("Range")
        server.asked.append(asked)
        start = int(asked.removeprefix("bytes=").rstrip("-")) if asked and server.ranges else 0
        if start >= len(CONTENT):
            self.send_error(416)
            return
        self.send_response(206 if start else 200)
        self.send_header("Content-Length", str(len(CONTENT) - start))
        self.end_headers()
        # A server that breaks off sends less than it promised.
        end = server.breaks_after.pop(0) if server.breaks_after else len(CONTENT)
        self.wfile.write(CONTENT[start:end])

    def log_message(self, *words):
        pass


@pytest.fixture
def server():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.asked, server.breaks_after, server.ranges = [], [], True
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


def remote(server, checksum=None):
    return RemoteFile("set/rows.gz", f"http://127.0.0.1:{server.server_port}/rows.gz", checksum)


def names(folder):
    return sorted(path.name for path in (folder / "set").iterdir())


def test_a_file_arrives_whole_and_is_checked(server, tmp_path):
    seen = []
    assert fetch(remote(server, SHA256), tmp_path, lambda *now: seen.append(now)) == "checked"
    assert (tmp_path / "set/rows.gz").read_bytes() == CONTENT
    assert names(tmp_path) == ["rows.gz"]
    assert seen[-1] == (len(CONTENT), len(CONTENT))
    assert fetch(remote(server, SHA256), tmp_path) == "there"
    assert server.asked == [None]


def test_other_algorithms(server, tmp_path):
    md5 = "md5:" + hashlib.md5(CONTENT).hexdigest()
    assert fetch(remote(server, md5), tmp_path) == "checked"


@pytest.mark.parametrize("ranges", [True, False])
def test_a_broken_fetch_goes_on(server, tmp_path, ranges):
    server.ranges, server.breaks_after = ranges, [1_000_000]
    with pytest.raises(FetchError, match=r"rows\.gz could not be fetched .*goes on"):
        fetch(remote(server, SHA256), tmp_path)
    assert names(tmp_path) == ["rows.gz.part"]
    assert fetch(remote(server, SHA256), tmp_path) == "checked"
    assert (tmp_path / "set/rows.gz").read_bytes() == CONTENT
    assert server.asked == [None, "bytes=1000000-"]


def test_a_part_that_is_the_whole_needs_no_more(server, tmp_path):
    (tmp_path / "set").mkdir()
    (tmp_path / "set/rows.gz.part").write_bytes(CONTENT)
    assert fetch(remote(server, SHA256), tmp_path) == "checked"
    assert names(tmp_path) == ["rows.gz"]


def test_the_wrong_file_is_not_kept(server, tmp_path):
    with pytest.raises(FetchError, match=r"not the file it should be: its sha256 is .*nothing"):
        fetch(remote(server, "sha256:" + "0" * 64), tmp_path)
    assert names(tmp_path) == []


def test_without_a_checksum_the_first_is_recorded(server, tmp_path):
    assert fetch(remote(server), tmp_path) == "recorded"
    assert names(tmp_path) == ["rows.gz", "rows.gz.sha256"]
    assert (tmp_path / "set/rows.gz.sha256").read_text().split()[0] == SHA256.split(":")[1]
    (tmp_path / "set/rows.gz").unlink()
    assert fetch(remote(server), tmp_path) == "checked"  # compared with the first
    (tmp_path / "set/rows.gz").unlink()
    (tmp_path / "set/rows.gz.sha256").write_text("0" * 64 + "  rows.gz\n")
    with pytest.raises(FetchError, match="not the file it should be"):
        fetch(remote(server), tmp_path)


def test_files_can_be_fetched_from_a_mirror_on_disk(tmp_path):
    (tmp_path / "mirror").write_bytes(CONTENT)
    file = RemoteFile("set/rows.gz", (tmp_path / "mirror").as_uri(), SHA256)
    assert fetch(file, tmp_path / "data") == "checked"


def test_without_a_network_it_says_so(tmp_path):
    file = RemoteFile("set/rows.gz", "http://127.0.0.1:9/rows.gz")
    with pytest.raises(FetchError, match=r"rows\.gz could not be fetched .*is there a network\?"):
        fetch(file, tmp_path)


def test_every_set_of_the_paper_has_a_home():
    assert set(DOWNLOADS) == set(PAPER_SETS)
    for file in (file for files in DOWNLOADS.values() for file in files):
        assert urlsplit(file.url).scheme in ("https", "ftp")
        assert file.checksum is None or len(file.checksum.split(":")[1]) in (32, 64)
