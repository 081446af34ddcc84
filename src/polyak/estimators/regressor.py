"""ASGDRegressor."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from numbers import Real
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, _fit_context
from sklearn.metrics import r2_score
from sklearn.utils import Tags, check_consistent_length
from sklearn.utils._param_validation import Interval, StrOptions

from polyak.errors import RowError
from polyak.estimators.base import BaseASGD
from polyak.estimators.fitted_run import Run, draw_seed
from polyak.estimators.sources import by_batches, learn_columns, name_columns
from polyak.losses import LOSSES, get_loss, loss_text, names_of
from polyak.model.intervals import value_interval
from polyak.model.linear import LinearModel
from polyak.training.in_memory import Data

Floats = NDArray[np.float64]


class ASGDRegressor(RegressorMixin, BaseASGD):  # type: ignore[misc]
    """A linear regression learned in one pass, by averaged SGD or block Newton steps.

    Several outputs are learned in the same pass.

    Parameters
    ----------
    loss : str, default="squared_error"
        "squared_error" is half the squared residual, for means. "huber" and
        "epsilon_insensitive" are linear for large residuals, so that outliers count less.
        "quantile" is for medians and other quantiles. "poisson", for counts, and "gamma", for
        positive amounts, have a log link: the prediction is the exponential of a linear function.
    epsilon : float or "auto", default="auto"
        For "huber", the residual up to which the loss is quadratic; for "epsilon_insensitive", up
        to which it is zero. In units of the target; "auto" is 1.345 or 0.1 times the robust scale
        of the residuals of the first 1000 rows.
    quantile : float or list of float, default=0.5
        For "quantile", the quantile to predict. Several, in increasing order, are learned in the
        same pass and predicted in columns that do not cross.
    alpha : float or "auto", default="auto"
        The penalty ``alpha / 2 * |coef|^2``; the intercept is not penalised. "auto" is
        chosen by the race, and 1e-4 in the paper's recipe. 0 is no penalty. Where there are too
        many features for the optimum at a given penalty, a warning says so.
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
        None is no penalty: maximum likelihood, by Newton steps where features are few. The
        elastic net is ``alpha * (l1_ratio * |coef| + (1 - l1_ratio) / 2 * |coef|^2)``. With an L1
        part, the same weights are exactly zero as at the batch optimum for up to 1024 features,
        and nearly the same for more.
    l1_ratio : float, default=0.5
        The L1 share of "elasticnet"; 1 for "l1".
    positive : bool or list of columns, default=False
        Whether to constrain the weights to be non-negative: all of them, or those of these columns.
    negative : list of columns, default=()
        Columns whose weights are to be non-positive.
    increasing, decreasing : list of columns, default=()
        Columns that have monotone curves. Columns of an array are numbers, or "x0", "x1" ...
    recipe : {"auto", "sgd", "paper", "paper-strict"}, default="auto"
        How the parameters left at "auto" are set. "auto" is a race: many candidates learn in the
        same pass, those that fall behind are eliminated, and the winner is the model. Parameters
        that you set are not searched. Where features are few, block Newton steps are among the
        candidates, unless you set a parameter that only averaged SGD has; "sgd" is the race
        without them. "paper" follows Xu's paper with two safeguards: averaging begins after row
        100 at the earliest, and steps on rows longer than ``M`` are shortened. "paper-strict" is
        the paper's algorithm as printed.
    fit_intercept : bool, default=True
    eta0 : float or "auto", default="auto"
        The initial learning rate. In the paper's recipe "auto" is ``1 / M``, where ``M`` is the
        largest squared norm of the first 1000 rows, with shorter steps on rows with a larger
        norm. A value that you set is used as it is; if it makes the weights overflow,
        `polyak.errors.DivergenceError` is raised.
    decay : float or "auto", default="auto"
        ``a`` of the learning rate ``eta0 * (1 + a * eta0 * t) ** -power_t``; ``alpha`` in the
        paper's recipe.
    power_t : float or "auto", default="auto"
        "auto" is 2/3.
    average : "auto", bool or int, default="auto"
        When averaging begins: True at once, an int after that row, False never, so that the model
        is the last iterate. "auto" is at once, with larger weights for later iterates; in the
        paper's recipe, as soon as the average has a lower loss than the iterate itself.
    step : {"auto", "explicit", "implicit"}, default="auto"
        An implicit step evaluates the gradient after the step, and is stable at any learning
        rate. "auto" is implicit; explicit in the paper's recipe.
    precondition : {"auto", 0, 0.25, 0.5, 1}, default="auto"
        The power ``p`` of a diagonal preconditioner: the step of coordinate ``j`` is multiplied by
        ``(mean of x_j^2 so far) ** -p``. "auto" is chosen by the race, and 0 in the paper's recipe.
    max_iter : int or "auto", default="auto"
        The number of passes of `fit` over the rows; `partial_fit` always makes one. "auto" is one
        from 30,000 rows on, in the paper's recipe and with ``intervals``. Fewer rows are learned
        again as long as the loss on a random tenth, held out until the end, falls.
    shuffle : bool, default=True
        Whether `fit` learns the rows in random order, a new one each pass.
    intervals : bool, default=False
        Whether to estimate standard errors and confidence intervals in the same pass: from the
        sandwich covariance of the weights where block Newton steps learn, otherwise from 32
        bootstrap replicas with random row weights. See `coef_interval` and `predict_interval`. The
        model is then the fit that the intervals belong to, not the candidate that predicts best; a
        warning is issued if another is clearly better. The intervals assume that each row is seen
        once, so `fit` makes one pass unless ``max_iter`` is set.
    curves : "all", sequence of str, or None, default=None
        Columns of numbers that may have curved effects: piecewise linear between knots, as smooth
        as the rows tell, constant beyond the outermost. Categories are shrunken towards none
        then, each column by a penalty of its own. Such an additive model races against the linear
        ones. Columns of an array are called "x0", "x1" and so on.
    pairs : "auto", int, sequence of pairs of str, or None, default=None
        Pairs of columns that may interact: as many as are found in up to 262,144 rows and as there
        is room for, at most this number, or those named.
    warm_start : bool, default=False
        Whether `fit` continues from the previous fit; the rows are treated as new rows.
    random_state : int, RandomState instance or None, default=None
        The source of the random order of the rows and of the replicas' row weights.
    categorical, numeric, drop : sequences of str, default=()
        Columns of frames and streams: numbers that are categories, strings that are numbers, and
        columns to leave out. The columns of an array are ``x0``, ``x1``, ... The rows are then read
        as those of a table, where ``coef_`` has a weight for missing values as well.
    n_jobs : int or None, default=None
        The number of threads. Candidates that differ in ``precondition`` learn in parallel, so
        more than three threads do not help. None and -1 are all processors available to this
        process, -2 all but one. The model does not depend on it.
    verbose : int, default=0
        Print the progressive loss each time the number of rows has doubled.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_outputs, n_features)
        The averaged weights; float32 where the rows are.
    intercept_ : array of shape (n_outputs,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if the names of all columns of X are strings.
    n_iter_ : int
        The number of passes.
    t_ : int
        One more than the number of rows learned, as scikit-learn counts.
    method_ : str
        The method of the winning candidate: "newton", "dense", "curves", "curves and pairs",
        "proximal", "averaged SGD" or, if none beat the best constant, "constant".
    terms_ : list of dict
        The columns and pairs of an additive model: kind, degrees of freedom and p-value.
    learning_rate_ : Bunch
        The learning rate found: ``gamma0``, ``a``, ``c``, and ``M``. Batch optima have none.
    average_start_ : array of shape (n_outputs,)
        The row after which averaging began; NaN where it has not begun.
    last_coef_ : array of shape (n_features,) or (n_outputs, n_features)
        The weights of the last iterate.
    recent_loss_ : float
        An honest estimate of the loss, summed over the outputs, without held-out rows: the mean
        over the later half of the rows, each scored before it was learned; where `fit` has fitted
        all rows at once, their leave-one-out loss. Rows count by their weights, and only in the
        first pass.
    constant_loss_ : float
        The loss of the best constant on the same rows. If no candidate does better, the model is
        that constant, and ``method_`` is "constant".
    recent_ : Bunch
        ``rows``, ``loss``, ``loss_std_err`` (with several outputs, an upper bound), ``error`` and
        ``constant_loss`` of the same estimate; ``left_out`` is true for leave-one-out estimates,
        and ``capped`` the number of losses that were capped when candidates were compared;
        ``r2`` is the coefficient of determination.
    progressive_loss_ : float
        The mean loss over all rows, each left out in turn or scored before it was learned; then it
        includes the early rows, when the model was worse.
    progressive_loss_std_err_ : float
        Its standard error; with several outputs, an upper bound on it.
    progressive_score_ : float
        R² over all rows, each predicted before it was learned.
    candidates_ : list of dict
        Every candidate of the race: its settings, the number of rows it learned (``rows``), its
        ``progressive_loss`` and its ``curve`` of loss against rows.
    best_candidate_ : dict
        The winner, without its curve.
    coef_std_err_ : array in the shape of ``coef_``
        Standard errors, with ``intervals``.
    intercept_std_err_ : array in the shape of ``intercept_``

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> X, y = make_regression(5000, n_features=10, noise=5.0, random_state=0)
    >>> regressor = ASGDRegressor(random_state=0).fit(X, y)
    >>> regressor.coef_.shape
    (10,)
    >>> regressor.score(X, y) > 0.99
    True
    >>> 0.9 < regressor.progressive_score_ < 1
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseASGD._parameter_constraints,
        "loss": [StrOptions(set(names_of(classifies=False)))],
        "epsilon": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "quantile": [Interval(Real, 0, 1, closed="neither"), "array-like"],
    }

    def __init__(
        self,
        *,
        loss: str = "squared_error",
        epsilon: Any = "auto",
        quantile: Any = 0.5,
        alpha: Any = "auto",
        penalty: str | None = "l2",
        l1_ratio: float = 0.5,
        positive: bool | Sequence[Any] = False,
        negative: Sequence[Any] = (),
        increasing: Sequence[Any] = (),
        decreasing: Sequence[Any] = (),
        recipe: str = "auto",
        fit_intercept: bool = True,
        eta0: Any = "auto",
        decay: Any = "auto",
        power_t: Any = "auto",
        average: Any = "auto",
        step: str = "auto",
        precondition: Any = "auto",
        max_iter: Any = "auto",
        shuffle: bool = True,
        intervals: bool = False,
        curves: Any = None,
        pairs: Any = None,
        warm_start: bool = False,
        categorical: Sequence[str] = (),
        numeric: Sequence[str] = (),
        drop: Sequence[str] = (),
        random_state: Any = None,
        n_jobs: int | None = None,
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
        self.max_iter = max_iter
        self.shuffle = shuffle
        self.intervals = intervals
        self.curves = curves
        self.pairs = pairs
        self.warm_start = warm_start
        self.categorical = categorical
        self.numeric = numeric
        self.drop = drop
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.loss in LOSSES and LOSSES[self.loss].log_link
        return tags

    @classmethod
    def from_model(cls, model: LinearModel) -> Self:
        """Return an estimator that predicts with a model, but cannot learn any further.

        Parameters
        ----------
        model : LinearModel

        Returns
        -------
        ASGDRegressor
        """
        if model.classes is not None:
            raise ValueError("a model with classes is for ASGDClassifier.from_model")
        estimator = cls._of_model(model)
        estimator._one_output_is_flat = len(model.intercept) == 1
        return estimator

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None, offset: Any = None
    ) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features), or stream
        y : name of a column, or array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : name of a column, or array of shape (n_samples,), optional
            Rows with weight zero are ignored.
        exposure : name of a column, or array of shape (n_samples,), optional
            The time or amount over which each target was counted, for losses with a log link. The
            model predicts the rate, the target per unit of exposure.
        offset : name of a column, or array of shape (n_samples,), optional
            What is added to the score of each row. A column's name is needed once only: later
            frames must have that column.

        Returns
        -------
        self
        """
        if name_columns(y, sample_weight, exposure):
            roles = {"sample_weight": sample_weight, "exposure": exposure, "offset": offset}
            return cast(Self, learn_columns(self, "fit", X, y, **roles))
        y, sample_weight = self._rates(y, sample_weight, exposure)
        going_on = self._going_on()
        checks = {"multi_output": True, "y_numeric": True}
        X, y, usual = self._rows_and_targets(X, y, offset, reset=not going_on, **checks)
        weights = self._weights(sample_weight, X, partial=False)
        rng = self._generator()
        run = self._same_outputs(y) if going_on else self._begun(draw_seed(rng), y)
        self._fit(run, rng, X, y, weights, usual)
        run.spread.add(y, weights)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, sample_weight: Any = None, exposure: Any = None, offset: Any = None
    ) -> Self:
        """Learn from a batch of rows, in the order they are given.

        The model does not depend on how the rows are split into calls: it is that of one ``fit``
        with ``shuffle=False``, unless the stream drifts. (`fit` holds all rows: with ``intervals``
        or without a penalty it iterates until the weights are optimal.) The learning rate is
        calibrated on the first 1000 rows, which are held back until then; a prediction made
        before that uses the rows so far. They also decide the schema of a frame and whether values
        may be missing, as the guide to tables describes. A batch that raises an error changes
        nothing.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features), or stream
        y : name of a column, or array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight, exposure, offset
            As in `fit`.

        Returns
        -------
        self
        """
        if name_columns(y, sample_weight, exposure):
            roles = {"sample_weight": sample_weight, "exposure": exposure, "offset": offset}
            return cast(Self, learn_columns(self, "partial_fit", X, y, **roles))
        y, sample_weight = self._rates(y, sample_weight, exposure)
        with self._transaction() as changed:
            changed._partial_fit(X, y, sample_weight, offset, multi_output=True, y_numeric=True)
        return self

    @property
    def progressive_score_(self) -> float:
        """R² of all outputs together, each row scored before it was learned.

        For losses other than squared error it is one minus the ratio of the model's loss to the
        best constant's, over the later half of the rows.
        """
        run = self._fitted()
        with run.finished() as learner:
            assert learner.race is not None
            if learner.loss.name != "squared_error":
                recent = learner.recent()
                return 1.0 - recent["loss"] / recent.get("constant_loss", np.nan)
            errors = 2.0 * learner.progressive_loss  # the loss is half the squared error
            variance = float(run.spread.variance().sum())
        if variance == 0.0:  # as scikit-learn has it
            return 1.0 if errors == 0.0 else 0.0
        return 1.0 - errors / variance

    @by_batches
    def predict(self, X: Any, offset: Any = None) -> Floats:
        """Predict values.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features), or stream
            The predictions of a stream come in batches, from an iterator.
        offset : array of shape (n_samples,), optional
            The offset of each row, if the model was fitted with an array of offsets.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        model, scores = self._scores(X, offset)
        values = get_loss(model.loss).predictions(scores)
        return values[:, 0] if self._one_output_is_flat else values

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Return R² of the predictions.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array of shape (n_samples,), optional
        offset : as in `predict`

        Returns
        -------
        float
        """
        return float(r2_score(y, self.predict(X, offset), sample_weight=sample_weight))

    def predict_interval(
        self, X: Any, level: float = 0.95, offset: Any = None
    ) -> tuple[Floats, Floats]:
        """Return a confidence interval for the mean of the target, for each row.

        It is not a prediction interval: a single target varies around that mean.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)
        level : float, default=0.95
        offset : as in `predict`

        Returns
        -------
        low, high : two arrays in the shape of what `predict` returns

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(3000, 2))
        >>> y = X[:, 0] + X[:, 1] ** 2
        >>> regressor = ASGDRegressor(intervals=True, random_state=0).fit(X, y)
        >>> low, high = regressor.predict_interval(X[:5])
        >>> bool(np.all((low < regressor.predict(X[:5])) & (regressor.predict(X[:5]) < high)))
        True
        """
        now = copy.copy(self)
        low, high = value_interval(now._with_intervals(), now._rows(X, offset), level)
        return (low[:, 0], high[:, 0]) if self._one_output_is_flat else (low, high)

    # -- inside --------------------------------------------------------------------------------

    def _loss_text(self) -> str:
        return loss_text(self.loss, epsilon=self.epsilon, quantile=self.quantile)

    def _rates(self, y: Any, sample_weight: Any, exposure: Any) -> tuple[Any, Any]:
        """Return targets per unit of exposure, with the exposures as their weights."""
        if exposure is None:
            return y, sample_weight
        if not get_loss(self._loss_text()).log_link:
            raise ValueError(
                f"{self.loss} has no logarithm as its link: exposure= is for poisson and gamma"
            )
        exposures = np.asarray(exposure, dtype=np.float64)
        check_consistent_length(y, exposures)
        wrong = np.flatnonzero(~(np.isfinite(exposures) & (exposures > 0)))
        if len(wrong):
            row = int(wrong[0])
            raise RowError(row, f" has the exposure {exposures[row]:g}, which is not above zero")
        weights = 1.0 if sample_weight is None else np.asarray(sample_weight)
        return np.asarray(y) / exposures, weights * exposures

    def _encoded_targets(self, y: Floats, weights: Floats | None) -> Floats:
        if hasattr(self, "_run"):
            self._same_outputs(y)
        return y

    def _learn_batch(self, run: Run, data: Data) -> None:
        self._learn(run, *data)
        run.spread.add(data.targets, data.weights)

    def _begun(self, seed: int, y: Floats) -> Run:
        self._one_output_is_flat = y.ndim == 1 and np.ndim(self.quantile) == 0
        return self._new_run(seed, outputs=1 if y.ndim == 1 else y.shape[1])

    def _same_outputs(self, y: Floats) -> Any:
        run = self._same_run()
        assert run.learner is not None
        outputs = run.learner.loss.outputs if y.ndim == 1 else y.shape[1]
        if outputs != run.learner.outputs:
            raise ValueError(
                f"y has {outputs} outputs, but the first call had {run.learner.outputs}"
            )
        return run
