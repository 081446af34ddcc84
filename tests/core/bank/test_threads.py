"""Other Python threads run while rows are learned."""

from __future__ import annotations

import threading

import numpy as np
from problems import make_bank


def test_another_thread_sees_learning_half_done():
    """Seen from here, the first score is there and the last is not: the lock was given back."""
    n = 400_000
    rows = np.broadcast_to(np.ones(500, np.float32), (n, 500))
    for _ in range(20):
        scores = np.full((n, 1), np.nan)
        bank = make_bank(dtype=np.float32, n_features=500)
        worker = threading.Thread(
            target=bank.learn, args=(rows, np.ones(n)), kwargs={"scores": scores}
        )
        worker.start()
        seen = False
        while worker.is_alive() and not seen:
            last, first = scores[-1, 0], scores[0, 0]  # in this order: time runs on between them
            seen = bool(np.isnan(last) and not np.isnan(first))
        worker.join()
        assert bank.clock == n
        if seen:
            return
    raise AssertionError("no other thread ran while the bank was learning")
