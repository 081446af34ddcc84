"""``fit`` in order is ``partial_fit`` over any split, to the last bit."""

from __future__ import annotations

import numpy as np
import pytest
from estimator_problems import ESTIMATORS, PaperClassifier, assert_same_bits, problem
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone, is_classifier


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
@given(data=st.data())
@settings(max_examples=25, deadline=None)
def test_any_split_gives_the_same_bits(estimator, data):
    rows = data.draw(st.sampled_from([1, 7, 400, 999, 1000, 1001, 2500]), label="rows")
    cuts = data.draw(st.lists(st.integers(0, rows), max_size=8), label="cuts")
    classes = data.draw(st.sampled_from([2, 3]), label="classes")
    dtype = data.draw(st.sampled_from([np.float32, np.float64]), label="dtype")
    weighted = data.draw(st.booleans(), label="weighted")
    precondition = data.draw(st.sampled_from([0, 0.5]), label="precondition")
    X, y = problem(estimator, max(rows, 10), classes=classes)
    labels = np.unique(y)
    X, y = X[:rows].astype(dtype), y[:rows]
    if data.draw(st.booleans(), label="negative zeros"):
        X[::2][X[::2] == 0] = -0.0
    if data.draw(st.booleans(), label="sparse"):
        X = sparse.csr_array(X)
    if is_classifier(estimator) and len(np.unique(y)) < 2:
        return
    if is_classifier(estimator):
        labels = np.unique(y)
    weights = np.random.default_rng(0).integers(0, 3, rows) + 0.5 if weighted else None

    estimator = clone(estimator).set_params(shuffle=False, precondition=precondition)
    whole = clone(estimator).fit(X, y, sample_weight=weights)
    parts = clone(estimator)
    ends = [*sorted(cuts), rows]
    for begin, end in zip([0, *ends], ends, strict=False):
        if begin < end:
            part = slice(begin, end)
            extra = {"classes": labels} if is_classifier(estimator) else {}
            weight = None if weights is None else weights[part]
            parts.partial_fit(X[part], y[part], sample_weight=weight, **extra)
    assert_same_bits(whole, parts, X)
    assert whole.coef_.dtype == dtype


@pytest.mark.slow
@pytest.mark.parametrize("sizes", [[1] * 1200, [999, 1, 1, 199], [600, 600]], ids=len)
def test_progressive_class_weights_do_not_depend_on_the_split(sizes):
    X, y = problem(PaperClassifier(), 1200, classes=4)
    whole, parts = (PaperClassifier(class_weight="balanced") for _ in range(2))
    whole.partial_fit(X, y, np.unique(y))
    for begin, size in zip(np.cumsum([0, *sizes]), sizes, strict=False):
        parts.partial_fit(X[begin : begin + size], y[begin : begin + size], np.unique(y))
    assert_same_bits(whole, parts, X)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_asking_in_between_changes_nothing(estimator):
    X, y = problem(estimator)
    quiet, asked = clone(estimator), clone(estimator)
    extra = {"classes": np.unique(y)} if is_classifier(estimator) else {}
    for begin in range(0, len(y), 250):
        for one in (quiet, asked):
            one.partial_fit(X[begin : begin + 250], y[begin : begin + 250], **extra)
        asked.predict(X), asked.coef_, asked.last_coef_, asked.progressive_score_
    assert_same_bits(quiet, asked, X)
