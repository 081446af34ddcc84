"""The estimators on Dask: `DaskASGDClassifier` and `DaskASGDRegressor`.

They fit Dask arrays and data frames on the workers that hold them, or files that the workers open,
and predict lazily. They need the extra ``polyak[dask]``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils._param_validation import Interval

from polyak import __version__
from polyak.data.options import ReadOptions
from polyak.distributed.dask.collections import (
    frame_without_rows,
    homes_of,
    is_dask,
    lazily,
    predict_block,
    source_of,
)
from polyak.distributed.dask.run import Result, run
from polyak.distributed.tasks import How
from polyak.estimators import ASGDClassifier, ASGDRegressor
from polyak.estimators.base import _AUTO, BaseASGD
from polyak.estimators.fitted_run import Run
from polyak.estimators.running_sums import ClassTotals
from polyak.training.job import Progress

__all__ = ["DaskASGDClassifier", "DaskASGDRegressor"]


class _OnDask(BaseASGD):
    """What both estimators on Dask share."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "rounds": [_AUTO, Interval(Integral, 1, None, closed="left")],
        "chains": [_AUTO, Interval(Integral, 1, None, closed="left")],
        "client": "no_validation",  # type: ignore[dict-item]
    }

    # One pass, each row once, in the order of the partitions.
    max_iter, shuffle, warm_start, class_weight = 1, False, False, None
    # Frames have dtypes, which say what their columns are.
    categorical: Any = ()
    numeric: Any = ()
    drop: Any = ()

    def _fit_on_dask(
        self, X: Any, y: Any, sample_weight: Any, classes: Any, multi_output: bool
    ) -> Result:
        self.__dict__.pop("_run", None)  # if this fit fails, the estimator is not fitted
        seed = int(self._generator().randint(np.iinfo(np.int32).max))
        source, width, outputs, names = source_of(X, y, sample_weight, multi_output)
        how = How(
            version=__version__,
            recipe=self._recipe(seed),
            classes=None if classes is None else tuple(np.unique(classes).tolist()),
            outputs=outputs,
            reading=ReadOptions(n_features=width),
            names=None if names is None else tuple(names),
        )
        client = _client(self.client)
        result = run(
            source,
            how,
            client=client,
            workers_of=None if client is None else homes_of(client, X),
            rounds=None if self.rounds == "auto" else self.rounds,
            chains=None if self.chains == "auto" else self.chains,
            frame=frame_without_rows(X),
            watch=_printed() if self.verbose else (lambda progress: None),
        )
        learner = result.learner
        assert learner.race is not None
        learner.n_features = learner.n_features or learner.race.lanes[0].n_features
        self.__dict__.pop("feature_names_in_", None)
        self.n_features_in_ = learner.n_features
        self._set_schema(result.how.schema)
        self._hashed = result.run_counts.names
        if width is not None:
            self.n_features_in_ = width
        if names is not None:
            self.feature_names_in_ = names
        self.n_iter_ = 1
        self.chains_, self.rounds_ = result.chains, result.rounds
        return result

    def _lazily(self, method: str, X: Any, offset: Any, columns: int | None) -> Any:
        """Return a lazy collection of a method applied to every partition."""
        if offset is not None:
            raise ValueError("offset= is not for Dask collections: predict their partitions alone")
        dtype = getattr(self, "classes_", np.zeros(0)).dtype if method == "predict" else np.float64
        # Workers get an estimator made from the model, without the client and the learner.
        parent = ASGDClassifier if isinstance(self, ASGDClassifier) else ASGDRegressor
        predictor = parent.from_model(self.to_model())
        return lazily(partial(predict_block, predictor, method), X, columns, dtype)


class DaskASGDClassifier(_OnDask, ASGDClassifier):
    """`polyak.ASGDClassifier` on Dask: one pass over rows on the workers that hold them.

    Each worker learns its share of the rows from a common state, and the workers' states are
    merged. Rows are not moved, except for the first few thousand, which one worker learns alone.

    Parameters
    ----------
    loss, alpha, recipe, fit_intercept, eta0, decay, power_t, average, step, precondition
        As in `polyak.ASGDClassifier`, and so are ``penalty``, ``l1_ratio``, ``positive``,
        ``negative``, ``increasing``, ``decreasing``, ``intervals``, ``curves``, ``pairs`` and
        ``multi_class``.
    rounds : int or "auto", default="auto"
        The number of times the workers' states are merged and distributed again. "auto" chooses
        it from the first rows.
    chains : int or "auto", default="auto"
        The number of chains that learn in parallel, each its rows in order. "auto" is the number
        of the workers' threads. The model depends on it, and on nothing else of the cluster.
    client : distributed.Client or None, default=None
        The client of the cluster to use: by default the current one, and if there is none,
        threads of this process.
    random_state : int, RandomState instance or None, default=None
        The source of the replicas' row weights; the order of the rows is never changed.
    verbose : int, default=0
        Print the progress.

    Attributes
    ----------
    chains_, rounds_ : int
        The numbers used.

    All others are those of `polyak.ASGDClassifier`.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.random.default_rng(0).normal(size=(8000, 5), chunks=(1000, 5))
    >>> classifier = DaskASGDClassifier(random_state=0).fit(X, X[:, 0] > 0)
    >>> classifier.predict(X)
    dask.array<...shape=(8000,), dtype=bool, chunksize=(1000,)...>
    >>> bool((classifier.predict(X) == (X[:, 0] > 0)).mean().compute() > 0.97)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ASGDClassifier._parameter_constraints,
        **_OnDask._parameter_constraints,
    }

    def __init__(
        self,
        *,
        loss: str = "log_loss",
        alpha: Any = "auto",
        penalty: str | None = "l2",
        l1_ratio: Any = 0.5,
        positive: Any = False,
        negative: Any = (),
        increasing: Any = (),
        decreasing: Any = (),
        recipe: str = "auto",
        fit_intercept: bool = True,
        eta0: Any = "auto",
        decay: Any = "auto",
        power_t: Any = "auto",
        average: Any = "auto",
        step: str = "auto",
        precondition: Any = "auto",
        intervals: bool = False,
        curves: Any = None,
        pairs: Any = None,
        multi_class: str = "auto",
        rounds: Any = "auto",
        chains: Any = "auto",
        client: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.positive = positive
        self.negative = negative
        self.increasing = increasing
        self.decreasing = decreasing
        self.recipe = recipe
        self.fit_intercept = fit_intercept
        self.eta0 = eta0
        self.decay = decay
        self.power_t = power_t
        self.average = average
        self.step = step
        self.precondition = precondition
        self.intervals = intervals
        self.curves = curves
        self.pairs = pairs
        self.multi_class = multi_class
        self.rounds = rounds
        self.chains = chains
        self.client = client
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, classes: Any = None) -> Self:
        """Learn from all rows, each once.

        Parameters
        ----------
        X : dask array, dask data frame, path, pattern or list of paths
            Files are opened by the workers, through `polyak.data.open`.
            Frames with words, categories or missing values are encoded as on one machine, by a
            schema found in the first partition that has rows. A frame of numbers alone is read
            once more before, to look for missing values: persist it if reading is slow.
        y : dask array or series
            With the same number of partitions as X; None for files, which contain their targets.
        sample_weight : dask array or series, optional
        classes : array of shape (n_classes,), optional
            All classes that can occur. By default they are those of the first rows of several
            partitions, and a row of another class raises an error.

        Returns
        -------
        self
        """
        result = self._fit_on_dask(X, y, sample_weight, classes, multi_output=False)
        learner = result.learner
        assert learner.classes is not None
        labels = learner.classes
        learner.classes = np.arange(len(labels))  # class codes, as in ASGDClassifier
        self._totals = ClassTotals(len(labels))
        self._run = Run(learner, known=replace(result.known(self._names()), labels=labels))
        self.classes_ = labels
        self._warn_of_doubts()
        return self

    def decision_function(self, X: Any, offset: Any = None) -> Any:
        """Return scores, lazily for a Dask collection; otherwise as `polyak.ASGDClassifier`."""
        if not is_dask(X):
            return super().decision_function(X, offset)
        several = len(self.classes_) if len(self.classes_) > 2 else None
        return self._lazily("decision_function", X, offset, several)

    def predict(self, X: Any, offset: Any = None) -> Any:
        """Predict classes, lazily for a Dask collection."""
        if not is_dask(X):
            return super().predict(X, offset)
        return self._lazily("predict", X, offset, None)

    def predict_proba(self, X: Any, offset: Any = None) -> Any:
        """Return the probability of each class, lazily for a Dask collection."""
        if not is_dask(X):
            return super().predict_proba(X, offset)
        return self._lazily("predict_proba", X, offset, len(self.classes_))


class DaskASGDRegressor(_OnDask, ASGDRegressor):
    """`polyak.ASGDRegressor` on Dask: one pass over rows on the workers that hold them.

    Parameters
    ----------
    loss, alpha, recipe, fit_intercept, eta0, decay, power_t, average, step, precondition, intervals
        As in `polyak.ASGDRegressor`, and so are ``penalty``, ``l1_ratio``, ``positive``,
        ``negative``, ``increasing``, ``decreasing``, ``curves`` and ``pairs``.
    rounds, chains, client, random_state, verbose
        As in `DaskASGDClassifier`.

    Attributes
    ----------
    chains_, rounds_ : int
        The numbers used.

    All others are those of `polyak.ASGDRegressor`.

    Examples
    --------
    >>> import dask.array as da
    >>> X = da.random.default_rng(0).normal(size=(8000, 3), chunks=(1000, 3))
    >>> DaskASGDRegressor(random_state=0).fit(X, X @ np.array([1.0, 2.0, 3.0])).coef_.round(2)
    array([1., 2., 3.])
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ASGDRegressor._parameter_constraints,
        **_OnDask._parameter_constraints,
    }

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        epsilon: Any = "auto",
        quantile: Any = 0.5,
        alpha: Any = "auto",
        penalty: str | None = "l2",
        l1_ratio: Any = 0.5,
        positive: Any = False,
        negative: Any = (),
        increasing: Any = (),
        decreasing: Any = (),
        recipe: str = "auto",
        fit_intercept: bool = True,
        eta0: Any = "auto",
        decay: Any = "auto",
        power_t: Any = "auto",
        average: Any = "auto",
        step: str = "auto",
        precondition: Any = "auto",
        intervals: bool = False,
        curves: Any = None,
        pairs: Any = None,
        rounds: Any = "auto",
        chains: Any = "auto",
        client: Any = None,
        random_state: Any = None,
        verbose: int = 0,
    ) -> None:
        self.loss = loss
        self.epsilon = epsilon
        self.quantile = quantile
        self.alpha = alpha
        self.penalty = penalty
        self.l1_ratio = l1_ratio
        self.positive = positive
        self.negative = negative
        self.increasing = increasing
        self.decreasing = decreasing
        self.recipe = recipe
        self.fit_intercept = fit_intercept
        self.eta0 = eta0
        self.decay = decay
        self.power_t = power_t
        self.average = average
        self.step = step
        self.precondition = precondition
        self.intervals = intervals
        self.curves = curves
        self.pairs = pairs
        self.rounds = rounds
        self.chains = chains
        self.client = client
        self.random_state = random_state
        self.verbose = verbose

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from all rows, each once.

        Parameters
        ----------
        X : dask array, dask data frame, path, pattern or list of paths
            As in `DaskASGDClassifier.fit`.
        y : dask array, series or data frame
            With the same number of partitions as X; None for files, which contain their targets.
        sample_weight : dask array or series, optional

        Returns
        -------
        self
        """
        result = self._fit_on_dask(X, y, sample_weight, None, multi_output=True)
        self._one_output_is_flat = getattr(y, "ndim", 1) == 1 and np.ndim(self.quantile) == 0
        self._run = Run(result.learner, known=result.known(self._names()))
        self._run.spread = result.run_counts.spread
        self._warn_of_doubts()
        return self

    def predict(self, X: Any, offset: Any = None) -> Any:
        """Predict values, lazily for a Dask collection."""
        if not is_dask(X):
            return super().predict(X, offset)
        outputs = None if self._one_output_is_flat else len(self.intercept_)
        return self._lazily("predict", X, offset, outputs)


def _client(client: Any) -> Any:
    if client is not None:
        return client
    try:
        from distributed import get_client

        return get_client()
    except (ImportError, ValueError):
        return None


def _printed() -> Callable[[Progress], None]:
    """Return a function that prints a line whenever another shard is done."""
    printed: float | None = None

    def show(progress: Progress) -> None:
        nonlocal printed
        if progress.share != printed:
            printed = progress.share
            print(f"{progress.rows} rows learned, {printed:.0%} of the shards")

    return show
