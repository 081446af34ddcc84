"""What the classifier and the regressor share: input checks, passes and batches."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, nullcontext
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import DTypeLike, NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_array, check_consistent_length, check_random_state
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import (
    _check_n_features,
    _check_sample_weight,
    _check_y,
    validate_data,
)

from polyak.data.find import stream_at
from polyak.data.options import Columns
from polyak.data.tables.advice import FRAME
from polyak.data.tables.frames import is_frame
from polyak.data.tables.inference import schema_of_array
from polyak.data.tables.streams import StreamSource
from polyak.errors import DivergenceError, RowError
from polyak.estimators.fitted import FittedAttributes
from polyak.estimators.fitted_run import Run, draw_seed
from polyak.estimators.inputs import (
    SCHEMA_ROWS,
    check_columns,
    column_names,
    encode_array,
    encode_with_names,
    fill_missing,
    find_schema,
    head,
    is_float_array,
    join_data,
    means_of,
    needs_schema,
    table_of,
    with_known_columns,
    with_last_column,
)
from polyak.estimators.labels import refused_number
from polyak.estimators.sources import read_by_batches
from polyak.learn.learner import Learner
from polyak.learn.order_watch import OrderWatch
from polyak.learn.recipes import Recipe
from polyak.learn.recipes.recipe import RECIPES
from polyak.losses import get_loss, loss_text, parameter_given
from polyak.model.columns import SourceColumns
from polyak.model.features import FeatureMap
from polyak.model.linear import LinearModel
from polyak.model.schema import Column, Schema
from polyak.processors import threads_of_jobs
from polyak.rows.huge_values import LARGEST, WIDE, squares_are_below
from polyak.rows.sparse import SparseRows, as_rows, check_rows, half_blocks, is_half
from polyak.rows.tensors import is_tensor, on_host
from polyak.storage.feature_names import MOST_NAMES, FeatureNames
from polyak.training.finishing import DataInfo
from polyak.training.in_memory import Data, learn_in_memory
from polyak.training.plain_numbers import matrix_of

Floats = NDArray[np.float64]

_AUTO = StrOptions({"auto"})
_CHECKS: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "order": "C",
}


class BaseASGD(FittedAttributes, BaseEstimator):  # type: ignore[misc]
    """Input checks, passes and batches of the estimators."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [_AUTO, Interval(Real, 0, None, closed="left")],
        "penalty": [StrOptions({"l2", "l1", "elasticnet"}), None],
        "l1_ratio": [Interval(Real, 0, 1, closed="both")],
        "positive": ["boolean", "array-like"],
        "negative": ["array-like"],
        "increasing": ["array-like"],
        "decreasing": ["array-like"],
        "recipe": [StrOptions(set(RECIPES))],
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
        "curves": [StrOptions({"all"}), "array-like", None],
        "pairs": [_AUTO, Interval(Integral, 1, None, closed="left"), "array-like", None],
        "warm_start": ["boolean"],
        "random_state": ["random_state"],
        "categorical": ["array-like"],
        "numeric": ["array-like"],
        "drop": ["array-like"],
        "n_jobs": [None, Integral],
        "verbose": ["verbose"],
    }

    _schema: Schema | None = None
    # The column means of arrays, which replace missing values in rows to predict.
    _means: Floats | None = None
    # All rows so far, as long as there are fewer than SCHEMA_ROWS.
    _first: Data | None = None
    # The names of the hashed words of frames.
    _hashed = FeatureNames.of({})
    # The column that is added to scores: one of a frame, or the last of an array's.
    _offset: str | None = None
    # The stream that is being learned.
    _stream: StreamSource | None = None

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    def __setstate__(self, state: dict[str, Any]) -> None:
        super().__setstate__(state)
        learner = self._run.learner if hasattr(self, "_run") else None
        if learner is not None and learner.columns is not None:  # of this estimator's words
            learner.columns.lookup = lambda: self._hashed

    # -- input ---------------------------------------------------------------------------------

    def _rows(self, X: Any, offset: Any = None) -> Any:
        """Return rows to predict, encoded like the rows learned from."""
        if not is_frame(X):
            X = self._numbers(X, reset=False)
        elif self._schema is None and hasattr(self, "feature_names_in_"):
            X = with_known_columns(X, list(self.feature_names_in_))
        return as_rows(self._encoded(self._with_offset(X, offset), names=0)[0])

    def _rows_and_targets(
        self, X: Any, y: Any, offset: Any = None, *, reset: bool, **checks: Any
    ) -> Any:
        """Return all rows to fit and their targets, checked and encoded.

        And whether no value of these rows can be too large to learn from.
        """
        if reset:
            self._offset = _offset_column(offset)
        # One look at the rows instead of three: the means are finite only if all values are, and
        # so is a sum of squares.
        means, usual, finite = None, False, False
        if reset and offset is None and is_float_array(X):
            means, usual = means_of(X)
            finite = bool(np.isfinite(means).all())
        elif reset and offset is None and sparse.issparse(X) and X.format == "csr":
            usual = finite = X.dtype.kind == "f" and squares_are_below(LARGEST, X.data)
        if not is_frame(X):
            X = self._numbers(X, reset=reset, finite=finite)
        X = self._with_offset(X, offset)
        if not reset:
            self._check_columns(X)
        y = self._checked_targets(X, y, **checks)
        if reset:
            self._choose_representation(X, means if finite else None)
            if self._schema is not None and self._schema.is_hashed:
                numbers = checks.get("y_numeric", False)
                values = y.shape[1] if y.ndim == 2 else 1 if numbers else len({*y.tolist()})
                self._schema = self._schema.with_room_for(values)
        if finite and self._schema is None:
            return X, y, usual
        rows, names = self._encoded(X)
        self._hashed = self._hashed.together(names)
        return rows, y, False

    def _batch(self, X: Any, y: Any, sample_weight: Any, offset: Any, **checks: Any) -> Data:
        """Return a batch to learn from; all rows so far as long as there are fewer than 1000.

        The encoding depends on the first rows, so it is chosen again until there are enough of
        them. This way the model does not depend on how the rows are split into calls.
        """
        begun = hasattr(self, "_run")
        if not begun:
            self._offset = _offset_column(offset)
        if not is_frame(X):
            X = self._numbers(X, reset=not begun)
        X = self._with_offset(X, offset)
        self._check_columns(X)
        y = self._checked_targets(X, y, **checks)
        weights = self._weights(sample_weight, X, partial=True)
        parts = [Data(X, self._encoded_targets(y, weights), weights)]
        if not begun or self._first is not None:
            if self._first is not None:
                parts.insert(0, self._first)
            whole = join_data(parts)
            self._choose_representation(head(whole.rows, SCHEMA_ROWS))
            if self._schema is not None:
                labels, targets = len(getattr(self, "classes_", ())), whole.targets
                values = labels if targets.ndim == 1 else targets.shape[1]
                self._schema = self._schema.with_room_for(values)
            few = len(whole.targets) < SCHEMA_ROWS
            self._first = copy.deepcopy(whole) if few else None
        encoded = []
        for part in parts:
            rows, names = self._encoded(part.rows)
            self._hashed = self._hashed.together(names)
            encoded.append(part._replace(rows=rows))
        return join_data(encoded)

    def _check_columns(self, X: Any) -> None:
        """Raise ValueError for a frame of other columns than those learned from."""
        by_name = self._schema is not None or self._stream is not None  # else scikit-learn checks
        if is_frame(X) and by_name and hasattr(self, "_run") and hasattr(self, "feature_names_in_"):
            first = [name for name in self.feature_names_in_ if name not in self.drop]
            check_columns([name for name in column_names(X) if name not in self.drop], first)

    def _choose_representation(self, X: Any, means: Floats | None = None) -> None:
        """Choose the encoding: a schema where there are words or missing values, else numbers."""
        self._schema, self._means, self._hashed = None, None, FeatureNames.of({})
        columns = Columns(
            categorical=tuple(self.categorical),
            numeric=tuple(self.numeric),
            drop=tuple(self.drop),
            offset=self._offset,
        )
        chosen = columns != Columns(offset=self._offset)
        source = FRAME if self._stream is None else self._stream.name
        if is_frame(X) and (chosen or self._offset is not None or needs_schema(X)):
            self._set_columns(X)
            self._schema = find_schema(X, columns, source)
            return
        X = self._numbers(X, reset=True) if is_frame(X) else X
        if (sparse.issparse(X) or is_tensor(X)) and not chosen:
            return
        if chosen or np.isnan(means := means_of(X)[0] if means is None else means).any():
            self._schema = (
                find_schema(self._table(X), columns, source)
                if chosen
                else schema_of_array(X, self._names_of_columns(), self._offset)
            )
        else:
            self._means = means

    def _with_offset(self, X: Any, offset: Any) -> Any:
        """Return rows with their offsets in the last column, unless they are in a column of X."""
        if offset is None or isinstance(offset, str):
            columns = column_names(X) if is_frame(X) else getattr(self, "feature_names_in_", ())
            there = isinstance(X, SparseRows) or self._offset in columns
            if self._offset is not None and not there and not (offset and is_frame(X)):
                raise ValueError(
                    f"this {type(self).__name__} has learned with offsets: pass the offset of each "
                    f"row as offset=, or in the column {self._offset} of a frame; where only X is "
                    "passed on, as by cross_val_predict, fit a frame that has them in a column, "
                    "whose name is offset="
                )
            return X
        if self._offset is None:
            raise ValueError(f"this {type(self).__name__} has learned without offsets")
        offsets = check_array(offset, ensure_2d=False, dtype=np.float64, input_name="offset")
        check_consistent_length(X, offsets)
        return with_last_column(on_host(X), self._offset, offsets)

    def _encoded(self, X: Any, names: int | None = None) -> tuple[Any, FeatureNames]:
        """Encode a frame or an array; return the rows and the names of their hashed words."""
        if isinstance(X, SparseRows):  # of a stream, encoded by `_schema_to_read`
            matrix = None if self._schema is not None else matrix_of(X)
            X = X if matrix is None else fill_missing(matrix, self._means, type(self).__name__)
            return X, FeatureNames.of({})
        if self._schema is None:
            X = self._numbers(X, reset=False) if is_frame(X) else X
            return fill_missing(X, self._means, type(self).__name__), FeatureNames.of({})
        if not (is_frame(X) and hasattr(self, "feature_names_in_")):
            X = self._numbers(X, reset=False) if is_frame(X) else X
            if (rows := encode_array(X, self._schema)) is not None:
                return rows, FeatureNames.of({})
            X = self._table(X)
        return encode_with_names(X, self._schema, names)

    def _numbers(self, X: Any, *, reset: bool, finite: bool = False) -> Any:
        """Return an array or sparse matrix, which may contain NaN, with scikit-learn's checks."""
        if isinstance(X, SparseRows):
            return X
        if is_tensor(X):
            if X.ndim == 2 and X.shape[1] >= WIDE and self._schema is None:
                _check_n_features(self, X, reset=reset)
                check_rows(X, None)
                return X
            X = on_host(X)
        if not isinstance(X, np.ndarray) and (stream := stream_at(X)) is not None:
            raise read_by_batches(stream)
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
        given, y_numeric = on_host(y), checks.get("y_numeric", False)
        try:
            y = _check_y(given, estimator=self, **checks)
            y = y.astype(np.float64) if y_numeric and y.dtype.kind in "US" else y
        except (TypeError, ValueError) as error:
            if y_numeric and (refused := refused_number(given)) is not None:
                raise refused from error
            raise
        if y_numeric and y.dtype.kind in "mM":
            raise ValueError(
                f"y holds {y.dtype}, not numbers: count days, as by (y - y.min()) / "
                "np.timedelta64(1, 'D')"
            )
        check_consistent_length(X, y)
        return y

    def _table(self, X: Any) -> Any:
        """Return an array as a table with the column names of the frame learned from."""
        if sparse.issparse(X):
            raise ValueError(
                f"this {type(self).__name__} has learned from a table and cannot read a sparse "
                "matrix; pass a frame or an array"
            )
        return table_of(X, self._names_of_columns()[: X.shape[1]])

    def _names_of_columns(self) -> list[str]:
        places = (f"x{place}" for place in range(self.n_features_in_))
        names = list(getattr(self, "feature_names_in_", places))
        return names if self._offset is None else [*names, self._offset]

    def _has_encoding(self) -> bool:
        """Whether the encoding of rows is decided."""
        return hasattr(self, "_run") and self._first is None

    def _schema_to_read(self, first: Any) -> tuple[Schema, DTypeLike]:
        """Return the schema and the type to read a stream with, given its first rows.

        Columns of numbers are read as they are, and become a matrix in `_encoded`.
        """
        if self._schema is not None:
            return self._schema, np.float64
        names = list(getattr(self, "feature_names_in_", first.column_names))
        if len(names) != self.n_features_in_:
            raise ValueError(
                f"X has {len(names)} features, but {type(self).__name__} is expecting "
                f"{self.n_features_in_} features as input"
            )
        return Schema(tuple(Column(name, "number", "number") for name in names)), _dtypes(first)[0]

    def _add_names(self, names: FeatureNames) -> None:
        """Add the names of the hashed words of a stream."""
        self._hashed = self._hashed.together(names)
        self._run.set_feature_names(self._names())

    def _set_schema(self, schema: Schema | None) -> None:
        """Set the schema of a model that was learned from a table."""
        self._schema = schema
        if schema is not None:
            self.feature_names_in_ = np.array([one.name for one in schema.columns], dtype=object)
            self.n_features_in_ = len(schema.columns)
            self._offset = schema.offset

    def _set_columns(self, X: Any) -> None:
        """Set ``feature_names_in_`` and ``n_features_in_`` from a frame that is encoded."""
        self.feature_names_in_ = np.array(column_names(X), dtype=object)
        self.n_features_in_ = len(self.feature_names_in_)

    def _weights(self, sample_weight: Any, X: Any, *, partial: bool) -> Floats | None:
        if sample_weight is None:
            return None
        sample_weight = on_host(sample_weight)
        if partial and np.shape(sample_weight) == (X.shape[0],) and not np.any(sample_weight):
            return np.zeros(X.shape[0])  # partial_fit accepts a batch without weight, fit does not
        weights: Floats = _check_sample_weight(sample_weight, X, dtype=np.float64)
        if (weights < 0).any():
            row = int(np.argmax(weights < 0))
            raise RowError(row, f" has the weight {weights[row]:g}, which is negative")
        if not weights.any():
            raise ValueError("Sample weights must contain at least one non-zero number.")
        return weights

    # -- the run -------------------------------------------------------------------------------

    def _scores(self, X: Any, offset: Any) -> tuple[LinearModel, Floats]:
        """Return the model and the scores of rows."""
        now = copy.copy(self)  # another thread may replace the model meanwhile
        model = now._fitted().model
        if offset is not None:
            return model, model.scores(now._rows(X, offset))
        scored = [model.scores(now._rows(block)) for block in half_blocks(X)]
        return model, scored[0] if len(scored) == 1 else np.concatenate(scored)

    def contributions(self, X: Any, offset: Any = None) -> tuple[list[str], Floats]:
        """Return the names of columns and pairs, and what each contributes to the scores of rows.

        The contributions add up to the score; the last is the intercept.
        """
        from polyak.model.effects import contributions

        return contributions(self._fitted().model, self._rows(X, offset))

    @classmethod
    def _of_model(cls, model: LinearModel) -> Self:
        loss = get_loss(model.loss)
        estimator = cls(loss=loss.name, **parameter_given(loss))
        estimator._run = Run(None, model)
        estimator.n_features_in_ = model.n_features
        estimator._set_schema(model.features.schema)
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
            positive=_names(self.positive) if np.ndim(self.positive) else bool(self.positive),
            negative=_names(self.negative),
            increasing=_names(self.increasing),
            decreasing=_names(self.decreasing),
            multi_class=getattr(self, "multi_class", "auto"),
            curves=_names_or_word(self.curves),
            pairs=_pairs_or_number(self.pairs),
        )

    def _loss_text(self) -> str:
        """Return the loss as text, with its parameter if it has one."""
        return loss_text(self.loss)

    def _names(self) -> Mapping[int, str]:
        """Return the names of features: columns of a numeric frame, else the hashed words."""
        if self._schema is not None:
            return self._hashed
        names = dict(enumerate(map(str, getattr(self, "feature_names_in_", ()))))
        return names if self._offset is None else {self.n_features_in_: self._offset, **names}

    def _generator(self) -> np.random.RandomState:
        rng: np.random.RandomState = check_random_state(self.random_state)
        return rng

    def _new_run(self, seed: int, labels: NDArray[Any] | None = None, outputs: int = 1) -> Run:
        self.__dict__.pop("_run", None)  # if this fit fails, the estimator is not fitted
        recipe = self._recipe(seed)
        classes = None if labels is None else np.arange(len(labels))
        schema = self._schema
        n_features, offset = self.n_features_in_ + (self._offset is not None), None
        if schema is not None:
            n_features, offset = schema.n_features, schema.offset_feature
        elif self._offset is not None:
            offset = self.n_features_in_
        learner = Learner(
            recipe, classes=classes, n_features=n_features, outputs=outputs, offset=offset
        )
        if recipe.needs_columns:
            learner.columns = self._columns()
        features = FeatureMap.of(schema, names=self._names())
        return Run(learner, known=DataInfo(features=features, labels=labels, names=MOST_NAMES))

    def _columns(self) -> SourceColumns | None:
        """Return the columns of the rows, for terms."""
        names = self._names_of_columns()
        return SourceColumns.of(self._schema, lambda: self._hashed, len(names), names)

    def _going_on(self) -> bool:
        """Whether ``fit`` continues from the previous fit."""
        return bool(self.warm_start) and hasattr(self, "_run")

    def _same_run(self) -> Run:
        """Return the run to continue; raise if a parameter has changed since it began."""
        run = self._run
        if run.learner is None:
            raise ValueError(
                f"this {type(self).__name__} was made from a model and can only predict; fit with "
                "warm_start=False to learn a new one"
            )
        begun = run.learner.recipe
        now = self._recipe(begun.seed)
        for name in begun.__slots__:
            if getattr(begun, name) != getattr(now, name):
                raise ValueError(
                    f"learning began with {name}={getattr(begun, name)!r} and cannot continue with "
                    f"{name}={getattr(now, name)!r}; fit with warm_start=False to start over"
                )
        return run

    def _fit(
        self,
        run: Run,
        rng: np.random.RandomState,
        X: Any,
        targets: NDArray[Any],
        weights: Floats | None,
        usual: bool,
    ) -> None:
        """Learn ``max_iter`` passes, each in a random order of its own if ``shuffle``.

        ``usual`` says that no value of the rows can be too large.
        """
        data = Data(X, targets, weights)

        def learn(learner: Learner, order: NDArray[np.int64] | None, number: int) -> None:
            run.learner = learner
            for part in self._parts(order, X.shape[0]):
                for some, places in data.blocks(part):
                    try:
                        self._learn(run, *some, places if some is data else None, number)
                    except RowError as error:
                        if some is data or places is None:
                            raise
                        raise RowError(int(places[error.row]), error.what) from error

        def finish(learner: Learner) -> None:
            run.learner = learner
            self._learn(run)

        assert run.learner is not None
        run.learner.threads = threads_of_jobs(self.n_jobs)
        run.learner.rows_are_usual = usual
        how = (data, rng, learn, finish)
        run.learner, passes = learn_in_memory(
            run.learner, *how, passes=self._passes(), shuffle=self.shuffle
        )
        self._learn(run)
        run.learner.rows_are_usual = False
        race = run.learner.race
        if self.verbose and race is not None and race.problem.solved:
            loss = run.learner.recent()["loss"]
            print(f"{run.learner.rows_seen} rows fitted, loss {loss:.6g} of rows left out in turn")
        run.set_feature_names(self._names())
        run.passed(passes)
        self._first = None
        self.n_iter_ = passes
        self._run = run
        self._warn_of_doubts()

    def _warn_of_doubts(self) -> None:
        """Warn where the model is not what was asked for, or its intervals may be wrong."""
        plain = self.alpha == "auto" and self.penalty is not None and not self.intervals
        if not plain and self._run.model.report is not None:
            for doubt in self._run.model.report.doubts:
                warnings.warn(doubt, stacklevel=4)

    def _passes(self) -> int | None:
        """Return the number of passes; None where the rows decide."""
        if self.max_iter == "auto":
            return None
        if self.intervals and self.max_iter > 1:
            warnings.warn(
                f"intervals assume that each row is seen once; after {self.max_iter} passes "
                'they are too narrow. max_iter="auto" makes one pass',
                stacklevel=4,
            )
        return int(self.max_iter)

    @contextmanager
    def _transaction(self) -> Iterator[Self]:
        """Yield a copy to learn with; its state replaces this one's unless an error is raised."""
        learner = self._run.learner if hasattr(self, "_run") else None
        with nullcontext() if learner is None else learner.lock:
            changed = copy.copy(self)
            try:
                yield changed
            except DivergenceError:
                self.__dict__.pop("_run", None)  # overflowed weights must not predict
                raise
            self.__dict__.update(changed.__dict__)

    def _partial_fit(self, X: Any, y: Any, sample_weight: Any, offset: Any, **checks: Any) -> None:
        """Learn from a batch, after all of it was checked."""
        run = self._same_run() if hasattr(self, "_run") else None
        if isinstance(X, SparseRows):
            self._first = None  # the first rows of the stream have decided the encoding
        first = self._first
        data = self._batch(X, y, sample_weight, offset, **checks)
        if run is None or first is not None:
            fewer = run
            seed = draw_seed(self._generator()) if fewer is None else fewer.seed
            run = self._begun(seed, data.targets)
            if fewer is not None:
                run.replace(fewer)
            assert run.learner is not None
            advice = "shuffle them beforehand, or use fit, which learns rows in random order"
            if self._stream is not None:
                advice = self._stream.advice
            run.learner.watch = OrderWatch(advice)
        try:
            self._learn_batch(run, data)
        except RowError as error:
            earlier = 0 if first is None else len(first.targets)
            raise RowError(error.row - earlier, error.what) from error
        run.set_feature_names(self._names())
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
        """Learn rows in pass ``number``; without rows, learn those the learner holds back."""
        if run.learner is not None:
            run.learner.threads = threads_of_jobs(getattr(self, "n_jobs", None))
        try:
            if X is None:
                run.finish()
            else:
                run.learn(X, targets, weights, order, again=number > 0)
        except DivergenceError:
            self.__dict__.pop("_run", None)  # overflowed weights must not predict
            raise
        learner = run.learner
        if self.verbose and X is not None and learner is not None and learner.race is not None:
            print(
                f"pass {number + 1}: {learner.rows_seen} rows learned, "
                f"loss {learner.recent()['loss']:.6g} on the later half, before it was learned"
            )

    def _parts(
        self, order: NDArray[np.int64] | None, rows: int
    ) -> Iterator[NDArray[np.int64] | None]:
        """Yield all rows at once; with ``verbose``, cut where their number doubles."""
        if not self.verbose:
            yield order
            return
        order = np.arange(rows) if order is None else order
        begin, end = 0, 1000
        while begin < len(order):
            yield order[begin:end]
            begin, end = end, 2 * end


def _dtypes(X: Any) -> list[Any]:
    """Return the dtypes to keep; any other is converted to the first."""
    if is_half(X):
        return [np.float16]  # learned and scored in blocks
    types: Any = ()
    if is_frame(X):
        types = X.dtypes if hasattr(X, "dtypes") else X.schema.types
    # scikit-learn asks only pandas frames for their dtype and converts others to the first.
    narrow = len(types) > 0 and {str(t).lower() for t in types} <= {"float32", "float"}
    return [np.float32, np.float64] if narrow else [np.float64, np.float32]


def _offset_column(offset: Any) -> str | None:
    """Return the name of the column of offsets: that of a frame, or of one that is made."""
    return offset if offset is None or isinstance(offset, str) else "offset"


def _canonical(X: Any) -> Any:
    if sparse.issparse(X) and not X.has_canonical_format:  # the core refuses duplicate entries
        X = X.copy()
        X.sum_duplicates()
    return X


def _auto_or_float(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)


def _names_or_word(asked: Any) -> str | tuple[str, ...] | None:
    """Return columns, or a word for them, as a recipe has them."""
    return asked if asked is None or isinstance(asked, str) else _names(asked)


def _names(asked: Any) -> tuple[str, ...]:
    """Return columns by name, those of an array as x0, x1, and so on."""
    return tuple(one if isinstance(one, str) else f"x{one}" for one in asked)


def _pairs_or_number(asked: Any) -> Any:
    if isinstance(asked, bool):
        raise ValueError(f"pairs={asked}: 'auto' finds pairs, a number finds as many at most")
    if asked is None or isinstance(asked, str | int):
        return asked
    return tuple((pair,) if isinstance(pair, str) else _names(pair) for pair in asked)
