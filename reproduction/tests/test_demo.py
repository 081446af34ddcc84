from __future__ import annotations

from reproduction import demo


def test_the_demo_prints_what_it_promises(capsys):
    demo.main(n_rows=3000, n_test=500, n_features=2000)
    shown = capsys.readouterr().out
    for word in ("rows/s", "γ0 = 1/M", "averaging from", "progressive loss", "progressive error"):
        assert word in shown
    average, last = (
        float(shown.split(f"test error, {name}")[1].split("%")[0])
        for name in ("average", "last iterate")
    )
    assert 0 < average < 50
    assert 0 < last < 50
