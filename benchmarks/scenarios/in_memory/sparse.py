"""Sparse rows in memory: RCV1-like documents, one pass, one thread."""

from __future__ import annotations

from benchmarks.contestant import Job
from benchmarks.runner import Contest, Figures, Result, Target, in_process, speedup
from benchmarks.scenarios.in_memory.ours import ALPHA

TEST = 20_000
MODELS = (1, 8, 32)


def contests(name: str, quick: bool) -> list[Contest]:
    rows = 100_000 if quick else 300_000
    ours = [in_process(f"ours, K = {k}", "sparse:ours", rows=rows, models=k) for k in MODELS]
    return [
        Contest(
            title=f"sparse in memory, {rows:,} × 47,000, 70 nonzeros a row, one core",
            contestants=[
                *ours,
                in_process(
                    "ours, K = 1, progressive", "sparse:ours", rows=rows, models=1, progressive=True
                ),
                in_process("SGDClassifier, average", "sparse:sgd", rows=rows, average=True),
                in_process("SGDClassifier, last", "sparse:sgd", rows=rows, average=False),
                in_process(
                    "SGDClassifier, average, our steps",
                    "sparse:sgd",
                    rows=rows,
                    average=True,
                    our_steps=True,
                ),
                in_process("river (a slice, scaled)", "sparse:river", rows=rows),
            ],
            reference=ours[0].label,
            repeats=3 if quick else 5,
            derive=_per_nonzero,
            targets=[
                Target(
                    "one averaged model, times as fast as SGDClassifier(average=True)",
                    speedup("ours, K = 1", "SGDClassifier, average"),
                    at_least=2.5,
                ),
                Target(
                    "eight models in a bank, per model, times cheaper than one",
                    lambda r: 8 * r["ours, K = 1"].best / r["ours, K = 8"].best,
                    at_least=2.5,
                ),
            ],
        )
    ]


def _per_nonzero(result: Result) -> Figures:
    work = result.figures.pop("nonzeros") * result.figures.pop("models")
    return {"ns/nonzero/model": result.best / work * 1e9}


def ours(rows: int, models: int, progressive: bool = False) -> Job:
    from benchmarks.cache import documents
    from benchmarks.scenarios.in_memory.ours import bank

    X, y = documents(rows + TEST)
    bank(X, models, progressive).learn(X[:1000], y[:1000])  # warm up before timing
    learner = bank(X, models, progressive)
    train = X[:rows]

    def judge() -> Figures:
        wrong = learner.decision_function(X[rows:])[:, 0] * y[rows:] <= 0
        return {"nonzeros": X.indptr[rows], "models": models, "test error": wrong.mean()}

    return lambda: learner.learn(train, y[:rows]), judge


def sgd(rows: int, average: bool, our_steps: bool = False) -> Job:
    from benchmarks.cache import as_scipy, documents
    from benchmarks.scenarios.in_memory.sgd import classifier, longest_row

    sparse_rows, y = documents(rows + TEST)
    X = as_scipy(sparse_rows)
    train = X[:rows]
    model = classifier(average, longest_row(X) if our_steps else None)
    model.fit(X[:1000], y[:1000])

    def judge() -> Figures:
        error = 1 - model.score(X[rows:], y[rows:])
        return {"nonzeros": train.nnz, "models": 1, "test error": error}

    return lambda: model.fit(train, y[:rows]), judge


def river(rows: int, slice_rows: int = 2000) -> Job:
    from river.linear_model import LogisticRegression

    from benchmarks.cache import documents

    X, y = documents(rows + TEST)
    cuts = [slice(X.indptr[i], X.indptr[i + 1]) for i in range(slice_rows)]
    pairs = [(X.indices[cut].tolist(), X.values[cut].tolist()) for cut in cuts]
    labels = (y[:slice_rows] > 0).tolist()
    examples = [(dict(zip(*pair, strict=True)), t) for pair, t in zip(pairs, labels, strict=True)]
    model = LogisticRegression(l2=ALPHA)

    def work() -> None:
        for x, label in examples:
            model.learn_one(x, label)

    def judge() -> Figures:
        return {"nonzeros": X.indptr[rows], "models": 1, "scale": rows / slice_rows}

    return work, judge
