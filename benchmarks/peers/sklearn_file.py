"""``python -m benchmarks.peers.sklearn_file FILE ALPHA MODEL``: a file to a model, scikit-learn."""

import sys

import numpy as np
from sklearn.datasets import load_svmlight_file
from sklearn.linear_model import SGDClassifier

train, alpha, model = sys.argv[1:]
X, y = load_svmlight_file(train, dtype=np.float32, zero_based=False)
# Some versions of the loader return 64-bit indices, which the learner does not accept.
X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
sgd = SGDClassifier(
    loss="squared_hinge", alpha=float(alpha), average=True, max_iter=1, tol=None, shuffle=False
).fit(X, y)
np.savez(model, coef=sgd.coef_[0], intercept=sgd.intercept_[0])
