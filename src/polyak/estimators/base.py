"""What the classifier and the regressor share: parameters and passes."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_consistent_length, check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import _check_sample_weight, _check_y, validate_data

from polyak.data.tables.frames import is_frame
from polyak.errors import DivergenceError, RowError
from polyak.estimators.frames import (
    ROWS_TO_TELL,
    encode_with_names,
    find_schema,
    needs_schema,
    table_of,
)
from polyak.estimators.joining import head, joined
from polyak.estimators.learned import Learned
from polyak.estimators.means import filled, is_plain, means_of
from polyak.estimators.run import Run, draw_seed
from polyak.learn.learner import Learner
from polyak.learn.order_watch import OrderWatch
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss, loss_text, parameter_given
from polyak.model.features import FeatureMap
from polyak.model.intervals import doubt
from polyak.model.linear import LinearModel
from polyak.model.schema import Schema
from polyak.processors import threads_of_jobs
from polyak.rows.sparse import as_rows
from polyak.storage.feature_names import FeatureNames
from polyak.storage.name_limits import MOST_NAMES
from polyak.training.finishing import DataInfo
from polyak.training.in_memory import Data, learn_in_memory, passes_wanted

Floats = NDArray[np.float64]

_AUTO = StrOptions({"auto"})
_CHECKS: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "order": "C",
}


class BaseASGD(Learned, BaseEstimator):  # type: ignore[misc]
    """Averaged stochastic gradient descent behind scikit-learn's interface."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [_AUTO, Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "positive": ["boolean"],
        "recipe": [StrOptions({"auto", "sgd", "paper"})],
        "fit_intercept": ["boolean"],
        "eta0": [_AUTO, Interval(Real, 0, None, closed="neither")],
        "decay": [_AUTO, Interval(Real, 0, None, closed="left")],
        "power_t": [_AUTO, Interval(Real, 0, 1, closed="both")],
        "average": [_AUTO, "boolean", Interval(Integral, 0, None, closed="left")],
        "step": [StrOptions({"auto", "explicit", "implicit"})],
        "precondition": [_AUTO, Options(Real, {0, 0.25, 0.5, 1})],
        "max_iter": [_AUTO, Interval(Integral, 1, None, closed="left")],
        "intervals": ["boolean"],
        "shuffle": ["boolean"],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    _schema: Schema | None = None
    _means: Floats | None = None  # of the columns: what a missing value is where there is no schema
    _first: Data | None = None  # all rows so far, until there are ROWS_TO_TELL of them
    _hashed = FeatureNames.of({})  # the names of words in frames

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # -- what comes in -------------------------------------------------------------------------

    def _rows(self, X: Any) -> Any:
        """Return rows to predict, in the representation that was learned."""
        X = X if is_frame(X) else self._numbers(X, reset=False)
        return as_rows(self._encoded(X, names=0)[0])

    def _rows_and_targets(self, X: Any, y: Any, *, reset: bool, **checks: Any) -> Any:
        """Return all rows to fit and their targets; the representation is chosen from all rows."""
        # One look at many rows instead of three: the means are finite only if all numbers are.
        means = means_of(X) if reset and is_plain(X) else None
        finite = means is not None and bool(np.isfinite(means).all())
        if not is_frame(X):
            X = self._numbers(X, reset=reset, finite=finite)
        y = self._checked_targets(X, y, **checks)
        if reset:
            self._choose_representation(X, means if finite else None)
        if finite:
            return X, y
        rows, names = self._encoded(X)
        self._hashed = self._hashed.together(names)
        return rows, y

    def _batch(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> Data:
        """Return a batch to learn from; while all rows so far are few, return all of them.

        The representation depends on the first rows, so it is chosen again until there are enough
        of them: where calls of ``partial_fit`` end makes no difference.
        """
        begun = hasattr(self, "_run")
        if not is_frame(X):
            X = self._numbers(X, reset=not begun)
        y = self._checked_targets(X, y, **checks)
        weights = self._weights(sample_weight, X, partial=True)
        parts = [Data(X, self._encoded_targets(y, weights), weights)]
        if not begun or self._first is not None:
            if self._first is not None:
                parts.insert(0, self._first)
            whole = joined(parts)
            self._choose_representation(head(whole.rows, ROWS_TO_TELL))
            few = len(whole.targets) < ROWS_TO_TELL
            self._first = copy.deepcopy(whole) if few else None
        encoded = []
        for part in parts:
            rows, names = self._encoded(part.rows)
            self._hashed = self._hashed.together(names)
            encoded.append(part._replace(rows=rows))
        return joined(encoded)

    def _choose_representation(self, X: Any, means: Floats | None = None) -> None:
        """Choose from rows how they are represented: by a schema if words or values are missing."""
        self._schema, self._means, self._hashed = None, None, FeatureNames.of({})
        if needs_schema(X):
            self._know_columns(X)
            self._schema = find_schema(X)
            return
        X = self._numbers(X, reset=True) if is_frame(X) else X
        if sparse.issparse(X):
            return
        means = means_of(X) if means is None else means
        if np.isnan(means).any():
            self._schema = find_schema(self._table(X))
        else:
            self._means = means

    def _encoded(self, X: Any, names: int | None = None) -> tuple[Any, FeatureNames]:
        """Return a frame or numbers in the chosen representation, and the names of its words."""
        if self._schema is None:
            X = self._numbers(X, reset=False) if is_frame(X) else X
            return filled(X, self._means, type(self).__name__), FeatureNames.of({})
        if not (is_frame(X) and hasattr(self, "feature_names_in_")):
            X = self._table(self._numbers(X, reset=False) if is_frame(X) else X)
        return encode_with_names(X, self._schema, names)

    def _numbers(self, X: Any, *, reset: bool, finite: bool = False) -> Any:
        """Return numbers, some of which may be missing, with scikit-learn's own checks."""
        checks: Any = False if finite else True if sparse.issparse(X) else "allow-nan"
        return _canonical(
            validate_data(
                self, X, reset=reset, dtype=_dtypes(X), ensure_all_finite=checks, **_CHECKS
            )
        )

    def _checked_targets(self, X: Any, y: Any, **checks: Any) -> Any:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        y = _check_y(y, estimator=self, **checks)
        check_consistent_length(X, y)
        return y

    def _table(self, X: Any) -> Any:
        """Return numbers as a table, whose columns have the names of the frame learned from."""
        if sparse.issparse(X):
            raise ValueError(
                f"this {type(self).__name__} has learned from a table, which sparse rows are not; "
                "pass a frame or an array"
            )
        places = (f"x{place}" for place in range(X.shape[1]))
        return table_of(X, list(getattr(self, "feature_names_in_", places)))

    def _know_schema(self, schema: Schema | None) -> None:
        """Take up what the columns of frames mean, where the model is of a table."""
        self._schema = schema
        if schema is not None:
            self.feature_names_in_ = np.array([one.name for one in schema.columns], dtype=object)
            self.n_features_in_ = len(schema.columns)

    def _know_columns(self, X: Any) -> None:
        """Remember the columns of a frame that is encoded, as scikit-learn does of others."""
        names = [str(name) for name in getattr(X, "column_names", X.columns)]
        self.feature_names_in_ = np.array(names, dtype=object)
        self.n_features_in_ = len(names)

    def _weights(self, sample_weight: Any, X: Any, *, partial: bool) -> Floats | None:
        if sample_weight is None:
            return None
        if partial and np.shape(sample_weight) == (X.shape[0],) and not np.any(sample_weight):
            return np.zeros(X.shape[0])  # a batch may be empty; it is fit that needs a row
        weights: Floats = _check_sample_weight(
            sample_weight, X, dtype=np.float64, ensure_non_negative=True
        )
        if not weights.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return weights

    # -- the run -------------------------------------------------------------------------------

    def _scores(self, X: Any) -> tuple[LinearModel, Floats]:
        """Return the scores of rows, and the model: a moment later there may be another."""
        now = copy.copy(self)
        model = now._fitted().model
        return model, model.scores(now._rows(X))

    @classmethod
    def _of_model(cls, model: LinearModel) -> Self:
        loss = get_loss(model.loss)
        estimator = cls(loss=loss.name, **parameter_given(loss))
        estimator._run = Run(None, model)
        estimator.n_features_in_ = model.n_features
        estimator._know_schema(model.features.schema)
        estimator.n_iter_ = 1
        return estimator

    def _recipe(self, seed: int) -> Recipe:
        average = self.average
        return Recipe(
            loss=self._loss_text(),
            recipe=self.recipe,
            alpha=_auto_or_float(self.alpha),
            eta0=_auto_or_float(self.eta0),
            decay=_auto_or_float(self.decay),
            power_t=_auto_or_float(self.power_t),
            average=bool(average) if isinstance(average, np.bool_) else average,
            step=self.step,
            precondition=_auto_or_float(self.precondition),
            fit_intercept=bool(self.fit_intercept),
            intervals=bool(self.intervals),
            seed=seed,
            penalty="none" if self.penalty is None else self.penalty,
            l1_ratio=float(self.l1_ratio),
            positive=bool(self.positive),
            multi_class=getattr(self, "multi_class", "auto"),
        )

    def _loss_text(self) -> str:
        """Write the loss down, with its parameter if it has one."""
        return loss_text(self.loss)

    def _names(self) -> Mapping[int, str]:
        """Name the features: the columns of a frame of numbers, or the words of others."""
        names = getattr(self, "feature_names_in_", ())
        return self._hashed if self._schema is not None else dict(enumerate(map(str, names)))

    def _generator(self) -> np.random.RandomState:
        rng: np.random.RandomState = check_random_state(self.random_state)
        return rng

    def _new_run(self, seed: int, labels: NDArray[Any] | None = None, outputs: int = 1) -> Run:
        self.__dict__.pop("_run", None)  # should this fit fail, the one before is not the answer
        recipe = self._recipe(seed)
        classes = None if labels is None else np.arange(len(labels))
        schema = self._schema
        n_features = self.n_features_in_ if schema is None else schema.n_features
        learner = Learner(recipe, classes=classes, n_features=n_features, outputs=outputs)
        features = FeatureMap.of(schema, names=self._names())
        return Run(learner, known=DataInfo(features=features, labels=labels, names=MOST_NAMES))

    def _going_on(self) -> bool:
        """Whether ``fit`` goes on from what was learned."""
        return bool(self.warm_start) and hasattr(self, "_run")

    def _same_run(self) -> Run:
        """Give the run to go on with, if it is still the one that the parameters describe."""
        run = self._run
        if run.learner is None:
            raise ValueError(
                f"this {type(self).__name__} was made from a model, which says how to predict but "
                "not how to go on learning"
            )
        begun = run.learner.recipe
        now = self._recipe(begun.seed)
        for name in begun.__slots__:
            if getattr(begun, name) != getattr(now, name):
                raise ValueError(
                    f"learning began with {name}={getattr(begun, name)!r} and cannot go on with "
                    f"{name}={getattr(now, name)!r}; fit with warm_start=False to begin anew"
                )
        return run

    def _fit(
        self,
        run: Run,
        rng: np.random.RandomState,
        X: Any,
        targets: NDArray[Any],
        weights: Floats | None,
    ) -> None:
        """Learn ``max_iter`` passes, each in an order of its own."""
        data = Data(X, targets, weights)

        def learn(learner: Learner, order: NDArray[np.int64] | None, number: int) -> None:
            run.learner = learner
            for part in self._parts(order, X.shape[0]):
                self._learn(run, *data, part, number)

        def finish(learner: Learner) -> None:
            run.learner = learner
            self._learn(run)

        assert run.learner is not None
        rows = X.shape[0] if weights is None else int(np.count_nonzero(weights))
        run.learner, passes = learn_in_memory(
            run.learner,
            data,
            rng,
            learn,
            finish,
            passes=self._passes(X, rows),
            shuffle=self.shuffle,
        )
        self._learn(run)
        run.know_names(self._names())
        run.passed(passes)
        self._first = None
        self.n_iter_ = passes
        self._run = run
        if self.intervals and (found := doubt(run.model)) is not None:
            warnings.warn(found, stacklevel=3)

    def _passes(self, X: Any, rows: int) -> int | None:
        """Say how many passes to make; None where the rows themselves will tell."""
        if self.max_iter != "auto":
            if self.intervals and self.max_iter > 1:
                warnings.warn(
                    f"intervals are for rows seen once; after {self.max_iter} passes they are too "
                    'narrow. max_iter="auto" makes one',
                    stacklevel=4,
                )
            return int(self.max_iter)
        return passes_wanted(self._recipe(0), X, rows)

    @contextmanager
    def _transaction(self) -> Iterator[Self]:
        """Yield a copy to learn with, which this estimator becomes unless something is refused."""
        learner = self._run.learner if hasattr(self, "_run") else None
        with nullcontext() if learner is None else learner.lock:
            changed = copy.copy(self)
            try:
                yield changed
            except DivergenceError:
                self.__dict__.pop("_run", None)  # what has overflowed is not to be predicted with
                raise
            self.__dict__.update(changed.__dict__)

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, **checks: Any) -> None:
        """Learn from a batch: what is known of it changes nothing before all of it is valid."""
        run = self._same_run() if hasattr(self, "_run") else None
        first = self._first
        data = self._batch(X, y, sample_weight, **checks)
        if run is None or first is not None:
            fewer = run
            seed = draw_seed(self._generator()) if fewer is None else fewer.seed
            run = self._begun(seed, data.targets)
            if fewer is not None:
                run.replace(fewer)
            assert run.learner is not None
            run.learner.watch = OrderWatch(
                "unless that is the point, shuffle them beforehand, or use fit, which learns rows "
                "in random order"
            )
        try:
            self._learn_batch(run, data)
        except RowError as error:
            earlier = 0 if first is None else len(first.targets)
            raise RowError(error.row - earlier, error.what) from error
        run.know_names(self._names())
        self.n_iter_ = 1
        self._run = run

    def _learn(
        self,
        run: Run,
        X: Any = None,
        targets: Any = None,
        weights: Floats | None = None,
        order: NDArray[np.int64] | None = None,
        number: int = 0,
    ) -> None:
        """Learn rows of pass ``number``; without any, finish with those kept back."""
        if run.learner is not None:
            run.learner.threads = threads_of_jobs(getattr(self, "n_jobs", None))
        try:
            if X is None:
                run.finish()
            else:
                run.learn(X, targets, weights, order, again=number > 0)
        except DivergenceError:
            self.__dict__.pop("_run", None)  # what has overflowed is not to be predicted with
            raise
        learner = run.learner
        if self.verbose and X is not None and learner is not None and learner.race is not None:
            print(
                f"pass {number + 1}: {learner.rows_seen} rows learned, "
                f"loss {learner.recent()['loss']:.6g} on the later half before it was learned"
            )

    def _parts(
        self, order: NDArray[np.int64] | None, rows: int
    ) -> Iterator[NDArray[np.int64] | None]:
        """Give all rows at once; or, with something to print, cut where their number doubles."""
        if not self.verbose:
            yield order
            return
        order = np.arange(rows) if order is None else order
        begin, end = 0, 1000
        while begin < len(order):
            yield order[begin:end]
            begin, end = end, 2 * end


def _dtypes(X: Any) -> list[Any]:
    """Return the types to keep; any other is converted to the first."""
    types: Any = ()
    if is_frame(X):
        types = X.dtypes if hasattr(X, "dtypes") else X.schema.types
    # Of these, scikit-learn asks only pandas for the type, and takes the first for the others.
    narrow = len(types) > 0 and {str(t).lower() for t in types} <= {"float32", "float"}
    return [np.float32, np.float64] if narrow else [np.float64, np.float32]


def _canonical(X: Any) -> Any:
    if sparse.issparse(X) and not X.has_canonical_format:  # the core wants no feature twice
        X = X.copy()
        X.sum_duplicates()
    return X


def _auto_or_float(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)
