"""``python -m benchmarks.peers.liblinear_file FILE C MODEL``: a file to a model, LIBLINEAR."""

import sys

import numpy as np
from liblinear.liblinearutil import parameter, problem, train
from sklearn.datasets import load_svmlight_file

path, C, model = sys.argv[1:]
X, y = load_svmlight_file(path, zero_based=False)
X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
learned = train(problem(y, X, bias=1), parameter(f"-s 1 -e 1 -c {C} -q"))
weights, intercept = learned.get_decfun()
sign = learned.get_labels()[0]
np.savez(model, coef=sign * np.array(weights), intercept=sign * intercept)
