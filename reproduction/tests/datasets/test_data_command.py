"""``polyak data``: what there is, and how fetching fails without a network."""

import json
import os

from commands import fails, polyak


def test_list_says_what_is_here(tmp_path):
    (tmp_path / "beta_train.dat").write_text("")
    (tmp_path / "beta_train.lab").write_text("")
    table = polyak("data", "list", "--data", tmp_path).stdout.splitlines()
    assert len(table) == 13
    here = {line.split()[0]: line.split()[1] for line in table[1:]}
    assert here["beta"] == "real"
    assert here["alpha"] == "stand-in"
    sets = json.loads(polyak("data", "list", "dna", "--data", tmp_path, "--json").stdout)
    assert [(one["name"], one["features"]) for one in sets] == [("dna", 800)]


def test_fetch_without_a_network_ends_in_a_sentence(tmp_path):
    # Whoever runs this may have a network: a proxy that is not there takes it away.
    cut_off = dict.fromkeys(("http_proxy", "https_proxy", "ftp_proxy"), "http://127.0.0.1:9")
    environment = os.environ | cut_off | {"no_proxy": ""}
    sentence = fails("data", "fetch", "covtype", "--data", tmp_path, env=environment)
    assert "covtype.data.gz could not be fetched" in sentence
    assert "is there a network?" in sentence


def test_what_is_there_is_not_fetched(tmp_path):
    (tmp_path / "covtype").mkdir()
    (tmp_path / "covtype/covtype.data.gz").write_bytes(b"")
    assert "was there already" in polyak("data", "fetch", "covtype", "--data", tmp_path).stderr


def test_wrong_usage(tmp_path):
    without = {name: value for name, value in os.environ.items() if name != "POLYAK_DATA"}
    assert "say which sets" in fails("data", "fetch", "--data", tmp_path, code=2)
    assert "no set 'iris'" in fails("data", "fetch", "iris", "--data", tmp_path, code=2)
    assert "no set 'iris'" in fails("data", "list", "iris", code=2)
    assert "where to put" in fails("data", "fetch", "dna", code=2, env=without)
