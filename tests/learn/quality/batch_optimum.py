"""Test losses of the batch optimum, which one pass is compared with.

Run as a script to work them out again, which takes a quarter of an hour:

    POLYAK_DATA=... python tests/learn/quality/batch_optimum.py [set ...]

scikit-learn's LogisticRegression and LinearSVC learn each set with every penalty of 1e-3 ... 1e-7;
what counts is the lowest loss on the test rows, so the comparison favours them.
"""

from __future__ import annotations

import sys

PENALTIES = (1e-3, 1e-4, 1e-5, 1e-6, 1e-7)

# Mean loss on the test rows, half a square for the squared hinge.
OPTIMUM = {
    ("covtype", "log_loss"): 0.5133037,
    ("covtype", "squared_hinge"): 0.3469101,
    ("a9a", "log_loss"): 0.3238328,
    ("a9a", "squared_hinge"): 0.2114877,
    ("ijcnn1", "log_loss"): 0.2105700,
    ("ijcnn1", "squared_hinge"): 0.1254007,
    ("rcv1", "log_loss"): 0.1666593,
    ("rcv1", "squared_hinge"): 0.1042746,
    ("mnist", "log_loss"): 0.1013278,
    ("mnist", "squared_hinge"): 0.0641257,
    ("w8a", "log_loss"): 0.0469620,
    ("w8a", "squared_hinge"): 0.0235251,
}


def optimum(name: str, loss: str) -> float:
    """Work out one figure of the table."""
    from sklearn.linear_model import LogisticRegression
    from sklearn.svm import LinearSVC

    from polyak.losses import get_loss
    from reproduction.datasets import load

    (X, y), (X_test, y_test) = load(name)
    losses = []
    for penalty in PENALTIES:
        C = 1.0 / (len(y) * penalty)
        if loss == "log_loss":
            model = LogisticRegression(C=C, max_iter=200, tol=1e-5)
        else:  # whose loss has no half, and whose intercept is penalised, so it is made cheap
            model = LinearSVC(
                C=C / 2, dual=X.shape[0] < X.shape[1], max_iter=300, intercept_scaling=10
            )
        scores = model.fit(X, y).decision_function(X_test)
        losses.append(float(get_loss(loss).value(scores, y_test).mean()))
    return min(losses)


if __name__ == "__main__":
    chosen = sys.argv[1:] or sorted({name for name, _ in OPTIMUM})
    for (name, loss), known in OPTIMUM.items():
        if name in chosen:
            print(f"{name:8} {loss:14} {optimum(name, loss):.7f}, known as {known:.7f}", flush=True)
