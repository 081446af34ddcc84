"""RCV1-v2 as Lewis and others published it: vectors without labels, and a list of topics.

``lyrl2004_vectors_{train,test_pt0..3}.dat`` hold one document a line, its number and then
``word:weight`` pairs; ``rcv1-v2.topics.qrels`` one line for each topic of each document. The paper
learns from the four parts that Lewis calls test (781,265 rows) and tests on his training part
(23,149).
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from reproduction.datasets.data_paths import find, look_for

TOPIC = b"CCAT"
WIDTH = 47_236
LONG = tuple(f"lyrl2004_vectors_test_pt{part}.dat" for part in range(4))
SHORT = "lyrl2004_vectors_train.dat"
TOPICS = "rcv1-v2.topics.qrels"

Part = tuple[Any, NDArray[np.float64]]


def load_lewis(folder: Path | None) -> tuple[Part, Part]:
    """Read the vectors, each document labelled by whether it has the topic CCAT."""
    from scipy.sparse import vstack
    from sklearn.datasets import load_svmlight_files

    topics = look_for(folder, "rcv1v2.topics.qrels") or find(folder, TOPICS)
    chosen = documents_with_topic(topics)
    paths = [str(find(folder, file)) for file in (*LONG, SHORT)]
    loaded = load_svmlight_files(paths, n_features=WIDTH, dtype=np.float32, zero_based=False)
    matrices, numbers = loaded[0::2], loaded[1::2]
    labels = [np.where(np.isin(number, chosen), 1.0, -1.0) for number in numbers]
    X = vstack(matrices[:-1], format="csr")
    return (X, np.concatenate(labels[:-1])), (matrices[-1], labels[-1])


def documents_with_topic(path: Path, topic: bytes = TOPIC) -> NDArray[np.float64]:
    """List the numbers of the documents that have a topic."""
    opener: Any = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rb") as file:
        lines = (line.split() for line in file)
        return np.array([float(words[1]) for words in lines if words[0] == topic])
