"""What the classifier and the regressor share: parameters, passes, and attributes made lazily."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.utils import Bunch, Tags, check_random_state, check_X_y
from sklearn.utils._param_validation import Interval, Options, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from polyak.data.tables.frames import is_frame
from polyak.errors import DivergenceError
from polyak.estimators.frames import encode, find_schema, needs_schema
from polyak.estimators.passes import FEW_ROWS, learn_while_it_helps
from polyak.estimators.run import Run
from polyak.learn.learner import Learner
from polyak.learn.recipes import Recipe
from polyak.model.intervals import standard_errors, weight_interval
from polyak.model.linear import LinearModel
from polyak.model.schema import Schema, schema_of
from polyak.processors import threads_of_jobs

Floats = NDArray[np.float64]

_AUTO = StrOptions({"auto"})
_CHECKS: dict[str, Any] = {
    "accept_sparse": "csr",
    "accept_large_sparse": True,
    "order": "C",
}


class BaseASGD(BaseEstimator):  # type: ignore[misc]
    """Averaged stochastic gradient descent behind scikit-learn's interface."""

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "alpha": [_AUTO, Interval(Real, 0, None, closed="left")],
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

    _run: Run
    _schema: Schema | None = None
    _sparse_coef = False
    _one_output_is_flat = False

    # -- what was learned ----------------------------------------------------------------------

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_run")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def to_model(self) -> LinearModel:
        """Give the model alone: it predicts, saves and exports without scikit-learn.

        Returns
        -------
        LinearModel
        """
        return self._fitted().model

    @property
    def coef_(self) -> Any:
        """The averaged weights; scipy sparse after ``sparsify``."""
        coef = self._shaped(self._fitted().model.weights)
        return sparse.csr_matrix(coef) if self._sparse_coef else coef

    @property
    def intercept_(self) -> Floats:
        """The averaged intercepts, one a model."""
        return self._fitted().model.intercept

    @property
    def last_coef_(self) -> NDArray[Any]:
        """The weights of the last iterate, which is not averaged.

        Where block Newton steps won there is no other: they are ``coef_``.
        """
        with self._fitted().settled() as learner:
            assert learner.race is not None
            return self._shaped(learner.race.leader().weights(last=True)[0].T)

    @property
    def t_(self) -> int:
        """The number of the next row: one more than were learned, each pass counted."""
        return int(self._about("rows")) + 1

    @property
    def learning_rate_(self) -> Bunch:
        """The rate found, ``gamma0 * (1 + a * gamma0 * t) ** -c``, and ``M``, where it is from.

        Where block Newton steps won, ``method_`` being "newton", there is none.
        """
        rate = self._about("learning_rate")
        if rate is None:
            raise AttributeError(
                "block Newton steps won, which have no learning rate; recipe='sgd' learns by "
                "averaged SGD alone"
            )
        return Bunch(**rate)

    @property
    def method_(self) -> str:
        """How the model was learned: "newton", by block Newton steps, or "averaged SGD"."""
        return str(self._about("method"))

    @property
    def average_start_(self) -> Floats:
        """The row after which averaging began, for each model; NaN where it has not."""
        start = self._about("average_start")
        return np.array([np.nan if t0 is None else t0 for t0 in start], dtype=np.float64)

    @property
    def progressive_loss_(self) -> float:
        """The mean loss on rows not yet learned, summed over the models."""
        return float(self._about("progressive_loss"))

    @property
    def progressive_loss_std_err_(self) -> float:
        """The standard error of ``progressive_loss_``."""
        return float(self._about("progressive_loss_std_err"))

    @property
    def recent_(self) -> Bunch:
        """The same over the later half of the rows: ``rows, loss, loss_std_err, error``."""
        return Bunch(**self._about("recent"))

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """Every candidate of the race: its settings, the rows it survived, its loss."""
        return list(self._about("candidates"))

    @property
    def best_candidate_(self) -> dict[str, Any]:
        """The candidate that won, as ``candidates_`` has it."""
        candidates, number = self._about("candidates", "best_candidate")
        best: dict[str, Any] = candidates[number]
        return best

    @property
    def coef_std_err_(self) -> Floats:
        """The standard error of each weight, where ``intervals`` asked for it."""
        return self._shaped(standard_errors(self._with_replicas())[0])

    @property
    def intercept_std_err_(self) -> Floats:
        """The standard error of each intercept, where ``intervals`` asked for it."""
        return standard_errors(self._with_replicas())[1]

    def coef_interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Give the interval that holds each weight with this confidence.

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        low, high : two arrays in the shape of ``coef_``
        """
        low, high = weight_interval(self._with_replicas(), level)
        return self._shaped(low), self._shaped(high)

    def sparsify(self) -> Self:
        """Let ``coef_`` be a scipy sparse matrix, for models most of whose weights are zero.

        Returns
        -------
        self
        """
        self._fitted()
        self._sparse_coef = True
        return self

    def densify(self) -> Self:
        """Let ``coef_`` be an array again.

        Returns
        -------
        self
        """
        self._fitted()
        self._sparse_coef = False
        return self

    # -- what comes in -------------------------------------------------------------------------

    def _rows(self, X: Any, *, reset: bool) -> Any:
        """Check rows, with scikit-learn's own errors."""
        if self._schema is not None and is_frame(X):
            return encode(X, self._schema)
        return _canonical(validate_data(self, X, reset=reset, dtype=_dtypes(X), **_CHECKS))

    def _rows_and_targets(self, X: Any, y: Any, *, reset: bool, **checks: Any) -> Any:
        if y is None:
            raise ValueError(
                f"This {type(self).__name__} estimator requires y to be passed, but the target y "
                "is None."
            )
        if reset:
            self._schema = find_schema(X) if needs_schema(X) else None
        if self._schema is not None and is_frame(X):
            if reset:
                self._know_columns(X)
            return check_X_y(encode(X, self._schema), y, **_CHECKS, **checks)
        X, y = validate_data(self, X, y, reset=reset, dtype=_dtypes(X), **_CHECKS, **checks)
        return _canonical(X), y

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

    def _fitted(self) -> Run:
        check_is_fitted(self)
        return self._run

    def _with_replicas(self) -> LinearModel:
        model = self._fitted().model
        if model.replicas is None:
            raise AttributeError("this model was learned without intervals=True")
        return model

    def _about(self, name: str, *more: str) -> Any:
        """Look up what the model says of itself; with several names, all in the same model."""
        about = self._fitted().model.about
        for each in (name, *more):
            if each not in about:
                raise AttributeError(f"the model does not say what its {each} is")
        return tuple(about[each] for each in (name, *more)) if more else about[name]

    def _scores(self, X: Any) -> tuple[LinearModel, Floats]:
        """Score rows, and say by which model: a moment later there may be another."""
        model = self._fitted().model
        return model, model.scores(self._rows(X, reset=False))

    def _shaped(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Turn the model's features x outputs into scikit-learn's outputs x features."""
        coef = np.ascontiguousarray(weights.T)
        return coef[0] if self._one_output_is_flat else coef

    @classmethod
    def _of_model(cls, model: LinearModel) -> Self:
        estimator = cls(loss=model.loss)
        estimator._run = Run(None, model)
        estimator.n_features_in_ = model.n_features
        schema = estimator._schema = schema_of(model.about)
        if schema is not None:
            names = [column.name for column in schema.columns]
            estimator.feature_names_in_ = np.array(names, dtype=object)
            estimator.n_features_in_ = len(names)
        estimator.n_iter_ = 1
        return estimator

    def _recipe(self, seed: int) -> Recipe:
        average = self.average
        return Recipe(
            loss=self.loss,
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
        )

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
        return Run(learner, labels=labels, schema=schema)

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
        present = None if weights is None or weights.all() else np.flatnonzero(weights)
        rows = X.shape[0] if present is None else len(present)
        passes = self._passes(rows)
        if passes is None:

            def learn(order: NDArray[np.int64] | None, number: int) -> None:
                if order is None:
                    self._learn(run)
                    return
                for part in self._parts(order, X.shape[0]):
                    self._learn(run, X, targets, weights, part, number)

            present = np.arange(rows) if present is None else present
            data = (X, targets, weights)
            passes = learn_while_it_helps(run, rng, data, present, self.shuffle, learn)
        else:
            for number in range(passes):
                order = present
                if self.shuffle:  # of the rows that are there: the others must leave no trace
                    order = rng.permutation(X.shape[0] if present is None else present)
                for part in self._parts(order, X.shape[0]):
                    self._learn(run, X, targets, weights, part, number)
                if number == 0:
                    self._learn(run)
        self._learn(run)
        self.n_iter_ = passes
        self._run = run

    def _passes(self, rows: int) -> int | None:
        """Say how many passes to make; None where the rows themselves will tell."""
        if self.max_iter != "auto":
            if self.intervals and self.max_iter > 1:
                warnings.warn(
                    f"intervals are for rows seen once; after {self.max_iter} passes they are too "
                    'narrow. max_iter="auto" makes one',
                    stacklevel=4,
                )
            return int(self.max_iter)
        if self.recipe == "paper" or self.intervals or rows >= FEW_ROWS:
            return 1
        return None

    def _partial_fit(self, run: Run, X: Any, targets: Any, weights: Floats | None) -> None:
        self._learn(run, X, targets, weights)
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
                f"progressive loss {learner.progressive_loss:.6g}"
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
    """Say which types to keep; any other becomes the first."""
    types = getattr(X, "dtypes", None)  # of a data frame's columns
    if types is None:
        types = getattr(getattr(X, "schema", None), "types", None)  # of an Arrow table's
    # Of these, scikit-learn asks only pandas for the type, and takes the first for the others.
    narrow = types is not None and {str(t).lower() for t in types} <= {"float32", "float"}
    return [np.float32, np.float64] if narrow else [np.float64, np.float32]


def _canonical(X: Any) -> Any:
    if sparse.issparse(X) and not X.has_canonical_format:  # the core wants no feature twice
        X = X.copy()
        X.sum_duplicates()
    return X


def _auto_or_float(value: Any) -> Any:
    return value if isinstance(value, str) else float(value)
