"""What the classifier and the regressor share: parameters and passes."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state, check_X_y
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import _check_sample_weight, validate_data

from polyak.data.tables.frames import is_frame
from polyak.errors import DivergenceError
from polyak.estimators.frames import (
    encode,
    encode_with_names,
    find_schema,
    has_missing_values,
    is_plain,
    needs_schema,
    table_of,
)
from polyak.estimators.learned import Learned
from polyak.estimators.means import Means, filled
from polyak.estimators.run import Run
from polyak.learn.learner import Learner
from polyak.learn.order_watch import OrderWatch
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss, loss_text, parameter_given
from polyak.model.features import FeatureMap
from polyak.model.linear import LinearModel
from polyak.model.schema import Schema
from polyak.processors import threads_of_jobs
from polyak.storage.feature_names import FeatureNames
from polyak.storage.name_limits import MOST_NAMES
from polyak.training.finishing import Known
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
        "penalty": [StrOptions({"l2", "l1", "elasticnet"})],
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
    _of_array = False  # the schema is that of an array with missing values
    _means: Means | None = None  # of dense rows without
    _hashed = FeatureNames.of({})  # the names of words in frames

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags

    # -- what comes in -------------------------------------------------------------------------

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Check rows, with scikit-learn's own errors."""
        if self._of_array and not is_frame(X):
            X = self._as_table(X, reset=reset)
        if self._schema is not None and is_frame(X):
            return encode(X, self._schema)
        return self._checked(X, reset=reset)

    def _rows_and_targets(self, X: Any, y: Any, *, reset: bool, **checks: Any) -> Any:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        means = Means.of(X, None) if reset and is_plain(X) else None
        if means is not None and means.are_finite():  # one look at many rows instead of three
            self._of_array, checks["ensure_all_finite"] = False, False
        elif reset:
            self._of_array, means = has_missing_values(X), None
        if self._of_array and not is_frame(X):
            X = self._as_table(X, reset=reset)
        if reset:
            self._schema = find_schema(X) if self._of_array or needs_schema(X) else None
        if self._schema is not None and is_frame(X):
            if reset and not self._of_array:
                self._know_columns(X)
            rows, seen = encode_with_names(X, self._schema)
            self._hashed = seen if reset else self._hashed.together(seen)
            return check_X_y(rows, y, **_CHECKS, **checks)
        X, y = self._checked(X, y, reset=reset, **checks)
        self._means = means or Means.of(X, None if reset else self._means)
        return X, y

    def _checked(self, *data: Any, reset: bool, **checks: Any) -> Any:
        """Check numbers; where none was missing so far, a missing one is taken for the mean."""
        if not reset:
            checks["ensure_all_finite"] = "allow-nan"
        found = validate_data(self, *data, reset=reset, dtype=_dtypes(data[0]), **_CHECKS, **checks)
        X, *y = found if len(data) > 1 else (found,)
        X = _canonical(X)
        if not reset:
            X = filled(X, self._means, type(self).__name__)
        return (X, *y) if y else X

    def _as_table(self, X: Any, *, reset: bool) -> Any:
        checks = _CHECKS | {"accept_sparse": False, "ensure_all_finite": "allow-nan"}
        return table_of(validate_data(self, X, reset=reset, dtype=_dtypes(X), **checks))

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
        """Score rows, and say by which model: a moment later there may be another."""
        model = self._fitted().model
        return model, model.scores(self._rows(X, reset=False))

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
            penalty=self.penalty,
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

    def _new_run(
        self, rng: np.random.RandomState, labels: NDArray[Any] | None = None, outputs: int = 1
    ) -> Run:
        self.__dict__.pop("_run", None)  # should this fit fail, the one before is not the answer
        recipe = self._recipe(int(rng.randint(np.iinfo(np.int32).max)))
        classes = None if labels is None else np.arange(len(labels))
        schema = self._schema
        n_features = self.n_features_in_ if schema is None else schema.n_features
        learner = Learner(recipe, classes=classes, n_features=n_features, outputs=outputs)
        features = FeatureMap.of(schema, names=self._names())
        return Run(learner, known=Known(features=features, labels=labels, names=MOST_NAMES))

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
        self.n_iter_ = passes
        self._run = run

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

    def _partial_fit(self, run: Run, X: Any, targets: Any, weights: Floats | None) -> None:
        if run.learner is not None and not run.learner.rows_seen:
            run.learner.watch = OrderWatch(
                "unless that is the point, shuffle them beforehand, or use fit, which learns rows "
                "in random order"
            )
        self._learn(run, X, targets, weights)
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
            if getattr(self, "_run", None) is run:
                del self._run  # what has overflowed is not to be predicted with
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
