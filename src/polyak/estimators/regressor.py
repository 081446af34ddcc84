"""The regressor."""

from __future__ import annotations

import copy
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import RegressorMixin, _fit_context
from sklearn.utils import Tags
from sklearn.utils._param_validation import Interval, StrOptions

from polyak.estimators.base import BaseASGD
from polyak.estimators.parameters import keep
from polyak.estimators.run import Run, draw_seed
from polyak.losses import LOSSES, get_loss, loss_text, names_of
from polyak.model.intervals import value_interval
from polyak.model.linear import LinearModel
from polyak.training.in_memory import Data

Floats = NDArray[np.float64]


class ASGDRegressor(RegressorMixin, BaseASGD):  # type: ignore[misc]
    """A linear regression learned by averaged stochastic gradient descent, in one pass.

    Several outputs are learned side by side while each row is read once.

    Parameters
    ----------
    loss : str, default="squared_error"
        What is minimised. "squared_error" is half the squared distance, for means. "huber" and
        "epsilon_insensitive" grow with the distance itself where it is large, so that outliers
        count less. "quantile" is for medians and other quantiles. "poisson", for counts, and
        "gamma", for amounts above zero, have a log link: what is predicted is the exponential of
        a linear function.
    epsilon : float or "auto", default="auto"
        Of "huber": up to where the loss is a square. Of "epsilon_insensitive": up to where it is
        zero. In units of the target; "auto" is 1.345 or 0.1 times the robust scale of the
        residuals of the first 1000 rows.
    quantile : float or list of float, default=0.5
        Of "quantile": which. Several, rising, are learned side by side and predicted in columns
        that do not cross.
    alpha : float or "auto", default="auto"
        The penalty ``alpha / 2 * |coef|^2``; the intercept is not penalised. "auto" is
        chosen by the race, and 1e-4 in the paper's recipe. 0 is no penalty.
    penalty : {"l2", "l1", "elasticnet", None}, default="l2"
        None is no penalty: maximum likelihood, by Newton steps where features are few. Beside
        squares, ``alpha * (l1_ratio * |coef| + (1 - l1_ratio) / 2 * |coef|^2)``: weights are
        exactly zero then: where the batch optimum's are for up to 1024 features, nearly so
        where there are more.
    l1_ratio : float, default=0.5
        Of "elasticnet"; with "l1" it is 1.
    positive : bool, default=False
        Whether no weight may be negative.
    recipe : {"auto", "sgd", "paper"}, default="auto"
        What "auto" stands for in the other parameters. With "auto", many candidates learn side
        by side in the same pass, those that fall behind drop out, and the winner is the model.
        What is set is kept and no longer searched. Where features are few, block Newton steps are
        among the candidates, unless something is set that only averaged SGD has; "sgd" is the race
        without them. With "paper", what Xu's paper says.
    fit_intercept : bool, default=True
    eta0 : float or "auto", default="auto"
        The learning rate's first value. In the paper's recipe "auto" is one over ``M``, the
        largest squared norm of the first 1000 rows, with shorter steps on any longer row; a
        value of your own is used as it is and can make the weights overflow, which raises
        `polyak.errors.DivergenceError`.
    decay : float or "auto", default="auto"
        ``a`` of the learning rate ``eta0 * (1 + a * eta0 * t) ** -power_t``; ``alpha`` in the
        paper's recipe.
    power_t : float or "auto", default="auto"
        "auto" is 2/3.
    average : "auto", bool or int, default="auto"
        When averaging begins: True at once, an int after that row, False never: the model is then
        the last iterate. "auto" is at once, later rows counting more; in the paper's recipe, as
        soon as an average would have done better than the iterate itself.
    step : {"auto", "explicit", "implicit"}, default="auto"
        An implicit step takes the slope where it arrives, and is stable at any learning rate.
        "auto" is implicit; explicit in the paper's recipe.
    precondition : {"auto", 0, 0.25, 0.5, 1}, default="auto"
        ``p``: coordinate ``j`` moves by ``(mean of x_j^2 so far) ** -p`` times as much. "auto" is
        chosen by the race, and 0 in the paper's recipe.
    max_iter : int or "auto", default="auto"
        How many passes `fit` makes over the rows; `partial_fit` always makes one. "auto" is one
        from 30,000 rows on, in the paper's recipe and with ``intervals``. Fewer rows are learned
        again for as long as the loss on a random tenth, held back until the end, falls.
    shuffle : bool, default=True
        Whether `fit` takes the rows in a random order, a new one each pass.
    intervals : bool, default=False
        Whether to keep in the same pass what standard errors and intervals need: where block
        Newton steps learn, the covariance of the weights; elsewhere 32 replicas, each with random
        weights of the rows. See `coef_interval` and `predict_interval`. The model is then the fit
        that the intervals belong to, not the candidate that predicts best; a warning says so where
        another is clearly better. They are for rows seen once, so `fit` makes one pass unless
        ``max_iter`` says otherwise.
    warm_start : bool, default=False
        Whether `fit` goes on from what was learned before; the rows are taken to be new ones.
    random_state : int, RandomState instance or None, default=None
        Orders the rows, and weighs them for ``intervals``.
    n_jobs : int or None, default=None
        How many threads learn. Candidates that differ in ``precondition`` can learn at the same
        time, so more than three have nothing to do. None and -1 are as many as this process has
        processors, -2 one less. The model does not depend on it.
    verbose : int, default=0
        Print the progressive loss each time the number of rows has doubled.

    Attributes
    ----------
    coef_ : array of shape (n_features,) or (n_outputs, n_features)
        The averaged weights; float32 where the rows are.
    intercept_ : array of shape (n_outputs,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only where the columns of X have names that are all strings.
    n_iter_ : int
        The number of passes.
    t_ : int
        One more than the number of rows learned, as scikit-learn counts.
    method_ : {"newton", "averaged SGD", "constant"}
        How the model was learned: by block Newton steps or by averaged SGD, whichever won;
        or not at all, if a constant was better.
    learning_rate_ : Bunch
        The learning rate found: ``gamma0``, ``a``, ``c``, and ``M``. Newton steps have none.
    average_start_ : array of shape (n_outputs,)
        The row after which averaging began; NaN where it has not.
    last_coef_ : array of shape (n_features,) or (n_outputs, n_features)
        The weights of the last iterate.
    recent_loss_ : float
        How good the model is: its mean loss, summed over the outputs, on the later half of the
        rows, each scored before it was learned; of `fit` with few rows, on each of them by weights
        found without it. An honest estimate without held-out rows. Rows count with their weights,
        and only the first time, since later passes meet rows that are known.
    constant_loss_ : float
        What the best constant lost on the same rows. If nothing does better, the model is that
        constant, and ``method_`` is "constant".
    recent_ : Bunch
        ``rows``, ``loss``, ``loss_std_err`` (with several models, a bound), ``error`` and
        ``constant_loss`` of the same estimate; ``left_out`` is true where rows were left out in
        turn, and ``capped`` the number of losses that counted in part in the choice; ``r2`` is the
        coefficient of determination.
    progressive_loss_ : float
        The mean loss since the first row: an average over the model's whole past, in which it was
        worse than it is now.
    progressive_loss_std_err_ : float
        Its standard error; with several models, a bound on it.
    progressive_score_ : float
        The coefficient of determination, measured in the same way.
    candidates_ : list of dict
        Every candidate: its settings, the rows it survived (``rows``), its ``progressive_loss``
        and its ``curve`` of loss against rows.
    best_candidate_ : dict
        The one that won.
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
        positive: bool = False,
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
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep(locals())

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        tags.target_tags.positive_only = self.loss in LOSSES and LOSSES[self.loss].log_link
        return tags

    @classmethod
    def from_model(cls, model: LinearModel) -> Self:
        """Make an estimator that predicts with a model, but cannot go on learning it.

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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array of shape (n_samples,), optional
            Rows with weight zero are ignored.

        Returns
        -------
        self
        """
        going_on = self._going_on()
        X, y = self._rows_and_targets(X, y, reset=not going_on, multi_output=True, y_numeric=True)
        weights = self._weights(sample_weight, X, partial=False)
        rng = self._generator()
        run = self._same_outputs(y) if going_on else self._begun(draw_seed(rng), y)
        self._fit(run, rng, X, y, weights)
        run.spread.add(y, weights)
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from some more rows, in the order they stand.

        However the rows are split over calls, the model is the same: that of one ``fit`` with
        ``shuffle=False``, unless the stream drifts. `fit` has all rows at hand: with ``intervals``
        or without a penalty it goes over them until the weights are at their optimum. The first
        1000 rows are kept back until they are all there, since the learning rate is found from
        them; what is asked meanwhile is answered as if no more came.
        They also decide what the columns of a frame mean and whether a value may be missing, as
        the guide to tables describes. A batch that is refused changes nothing.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_outputs)
        sample_weight : array of shape (n_samples,), optional
            Rows with weight zero are ignored.

        Returns
        -------
        self
        """
        with self._transaction() as changed:
            changed._partial_fit(X, y, sample_weight, multi_output=True, y_numeric=True)
        return self

    @property
    def progressive_score_(self) -> float:
        """The coefficient of determination on rows not yet learned, of all outputs together.

        For other losses than squared error it is the share of a constant's loss, over the later
        half of the rows, that the model does without.
        """
        run = self._fitted()
        with run.settled() as learner:
            assert learner.race is not None
            if learner.loss.name != "squared_error":
                recent = learner.recent()
                return 1.0 - recent["loss"] / recent.get("constant_loss", np.nan)
            errors = 2.0 * learner.progressive_loss  # the loss is half the squared error
            variance = float(run.spread.variance().sum())
        if variance == 0.0:  # as scikit-learn has it
            return 1.0 if errors == 0.0 else 0.0
        return 1.0 - errors / variance

    def predict(self, X: Any) -> Floats:
        """Predict values.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_outputs)
        """
        model, scores = self._scores(X)
        values = get_loss(model.loss).predictions(scores)
        return values[:, 0] if self._one_output_is_flat else values

    def predict_interval(self, X: Any, level: float = 0.95) -> tuple[Floats, Floats]:
        """Give the interval that holds the mean of the target, for each row.

        Single targets lie around that mean as widely as ever.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)
        level : float, default=0.95

        Returns
        -------
        low, high : two arrays in the shape of what `predict` gives

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
        low, high = value_interval(now._with_intervals(), now._rows(X), level)
        return (low[:, 0], high[:, 0]) if self._one_output_is_flat else (low, high)

    # -- inside --------------------------------------------------------------------------------

    def _loss_text(self) -> str:
        return loss_text(self.loss, epsilon=self.epsilon, quantile=self.quantile)

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
            raise ValueError(f"y has {outputs} outputs, but there were {run.learner.outputs}")
        return run
