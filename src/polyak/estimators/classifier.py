"""ASGDClassifier."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.metrics import accuracy_score
from sklearn.utils import Tags
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets

from polyak.estimators.base import BaseASGD
from polyak.estimators.fitted_run import Run, draw_seed
from polyak.estimators.labels import classes_of, codes_of, has_labels, indicator_matrix
from polyak.estimators.running_sums import ClassTotals
from polyak.estimators.sources import by_batches, learn_columns, name_columns
from polyak.losses import names_of
from polyak.model.intervals import proba_interval, score_interval
from polyak.model.linear import LinearModel
from polyak.rows.tensors import on_host
from polyak.training.in_memory import Data

Floats = NDArray[np.float64]


class ASGDClassifier(ClassifierMixin, BaseASGD):  # type: ignore[misc]
    """A linear classifier learned in one pass, by averaged SGD or block Newton steps.

    More than two classes are learned in the same pass: with ``log_loss`` as multinomial logistic
    regression, with other losses or penalties one against the rest. For multilabel targets, ``y``
    being an indicator matrix, each label has a model of its own.

    Parameters
    ----------
    loss : {"log_loss", "squared_hinge", "hinge", "modified_huber"}, default="log_loss"
        Every loss has probabilities: those of the hinge losses come from a calibration fitted in
        the same pass to each row's score before the row was learned.
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
        "auto" is 3/4.
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
    multi_class : {"auto", "ovr"}, default="auto"
        "ovr" learns one model per class against the rest with ``log_loss`` too, as ``intervals``
        and the paper's recipe do.
    class_weight : dict, "balanced" or None, default=None
        The weight of each class's rows. "balanced" weights are inversely proportional to the class
        frequencies: in `fit` those of all rows, in `partial_fit` those of the rows so far.
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
    coef_ : array of shape (1 or n_classes, n_features)
        The averaged weights; float32 where the rows are.
    intercept_ : array of shape (1 or n_classes,)
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only if the names of all columns of X are strings.
    n_iter_ : int
        The number of passes.
    t_ : int
        One more than the number of rows learned, as scikit-learn counts.
    method_ : str
        The method of the winning candidate: "newton", "dense", "curves", "curves and pairs",
        "proximal", "averaged SGD", "adaptive SGD" or, if none beat the best constant, "constant".
    terms_ : list of dict
        The columns and pairs of an additive model: kind, degrees of freedom and p-value.
    learning_rate_ : Bunch
        The learning rate found: ``gamma0``, ``a``, ``c``, and ``M``. Batch optima have none.
    average_start_ : array of shape (1 or n_classes,)
        The row after which averaging began; NaN where it has not begun.
    last_coef_ : array of shape (1 or n_classes, n_features)
        The weights of the last iterate.
    recent_loss_ : float
        An honest estimate of the loss without held-out rows: the mean over the later half of the
        rows, each scored before it was learned; where `fit` has fitted all rows at once, their
        leave-one-out loss. For multinomial log-loss it is minus the logarithm of the true class's
        probability, otherwise the sum over the outputs. Rows count by their weights, and only in
        the first pass.
    constant_loss_ : float
        The loss of the best constant on the same rows.
    recent_ : Bunch
        ``rows``, ``loss``, ``loss_std_err`` (with several outputs, an upper bound), ``error`` and
        ``constant_loss`` of the same estimate; ``left_out`` is true for leave-one-out estimates,
        and ``capped`` the number of losses that were capped when candidates were compared.
    progressive_loss_ : float
        The mean loss over all rows, each scored before it was learned, or left out in turn.
    progressive_loss_std_err_ : float
        Its standard error; with several outputs, an upper bound on it.
    progressive_score_ : float
        The accuracy over all rows, each predicted before it was learned.
    candidates_ : list of dict
        Every candidate of the race: its settings, the number of rows it learned (``rows``), its
        ``progressive_loss`` and its ``curve`` of loss against rows.
    best_candidate_ : dict
        The winner, without its curve.
    coef_std_err_, intercept_std_err_ : arrays in the shape of ``coef_`` and ``intercept_``
        Standard errors, with ``intervals``.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> X, y = make_classification(5000, class_sep=2.0, random_state=0)
    >>> classifier = ASGDClassifier(random_state=0).fit(X, y)
    >>> classifier.predict(X[:3]), y[:3]
    (array([1, 0, 0]), array([1, 0, 0]))
    >>> classifier.predict_proba(X[:1]).round(1)
    array([[0., 1.]])
    >>> 0.9 < classifier.progressive_score_ < 1
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseASGD._parameter_constraints,
        "loss": [StrOptions(set(names_of(classifies=True)))],
        "class_weight": [StrOptions({"balanced"}), dict, None],
        "multi_class": [StrOptions({"auto", "ovr"})],
    }

    classes_: NDArray[Any]
    _sparse_labels = False

    def __init__(
        self,
        *,
        loss: str = "log_loss",
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
        multi_class: str = "auto",
        class_weight: Any = None,
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
        self.multi_class = multi_class
        self.class_weight = class_weight
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
        tags.classifier_tags.multi_label = True
        return tags

    @classmethod
    def from_model(cls, model: LinearModel) -> Self:
        """Return an estimator that predicts with a model, but cannot learn any further.

        Parameters
        ----------
        model : LinearModel

        Returns
        -------
        ASGDClassifier
        """
        if model.classes is None:
            raise ValueError("a model without classes is for ASGDRegressor.from_model")
        estimator = cls._of_model(model)
        estimator.classes_ = model.classes
        return estimator

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features), or stream
        y : name of a column, or array of shape (n_samples,) or (n_samples, n_labels), sparse or not
        sample_weight : name of a column, or array of shape (n_samples,), optional
            Rows with weight zero are ignored.
        offset : name of a column, or array of shape (n_samples,), optional
            What is added to the score of each row, for two classes or for labels. A column's name
            is needed once only: later frames must have that column.

        Returns
        -------
        self
        """
        if name_columns(y, sample_weight):
            roles = {"sample_weight": sample_weight, "offset": offset}
            return cast(Self, learn_columns(self, "fit", X, y, **roles))
        going_on = self._going_on()
        y = on_host(y)
        if has_labels(y):
            return self._fit_labels(X, y, sample_weight, offset, going_on)
        X, y, usual = self._rows_and_targets(X, y, offset, reset=not going_on)
        weights = self._weights(sample_weight, X, partial=False)
        found = classes_of(y, weights)
        classes = self.classes_ if going_on else found
        codes = codes_of(y, classes, weights)
        rng = self._generator()
        run = self._same_run() if going_on else self._new_classes(draw_seed(rng), classes)
        weights = self._class_weighted(codes, classes, weights, self._totals.balanced_at_once)
        self._fit(run, rng, X, codes, weights, usual)
        self.classes_ = classes
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None, offset: Any = None
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
        y : name of a column, or array of shape (n_samples,)
        classes : array of shape (n_classes,), optional
            All classes that can occur; required in the first call.
        sample_weight, offset
            As in `fit`.

        Returns
        -------
        self
        """
        if name_columns(y, sample_weight):
            roles = {"classes": classes, "sample_weight": sample_weight, "offset": offset}
            return cast(Self, learn_columns(self, "partial_fit", X, y, **roles))
        y = on_host(y)
        with self._transaction() as changed:
            if not has_labels(y):
                _check_partial_fit_first_call(changed, classes)
            changed._partial_fit(X, y, sample_weight, offset, multi_output=has_labels(y))
        return self

    @property
    def progressive_score_(self) -> float:
        """The accuracy on rows not yet learned."""
        return 1.0 - self._figure("progressive_error")

    @by_batches
    def decision_function(self, X: Any, offset: Any = None) -> Floats:
        """Return scores: above zero means the second of two classes, else the highest wins.

        Parameters
        ----------
        X, offset
            As in `predict`.

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        _, scores = self._scores(X, offset)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    @by_batches
    def predict(self, X: Any, offset: Any = None) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features), or stream
            The predictions of a stream come in batches, from an iterator.
        offset : array of shape (n_samples,), optional
            The offset of each row, if the model was fitted with an array of offsets.

        Returns
        -------
        array of shape (n_samples,)
        """
        model, scores = self._scores(X, offset)
        found = model.predict_from_scores(scores)
        return sparse.csr_matrix(found) if model.multilabel and self._sparse_labels else found

    @by_batches
    def predict_proba(self, X: Any, offset: Any = None) -> Floats:
        """Return the probability of each class.

        Parameters
        ----------
        X, offset
            As in `predict`.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        model, scores = self._scores(X, offset)
        return model.proba_from_scores(scores)

    @by_batches
    def predict_log_proba(self, X: Any, offset: Any = None) -> Floats:
        """Return the logarithm of the probability of each class.

        Parameters
        ----------
        X, offset
            As in `predict`.

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):  # a probability of zero has the logarithm -inf
            return np.log(self.predict_proba(X, offset))

    def score(self, X: Any, y: Any, sample_weight: Any = None, offset: Any = None) -> float:
        """Return the accuracy of the predicted classes.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,) or (n_samples, n_labels)
        sample_weight : array of shape (n_samples,), optional
        offset : as in `predict`

        Returns
        -------
        float
        """
        return float(accuracy_score(y, self.predict(X, offset), sample_weight=sample_weight))

    def predict_interval(
        self, X: Any, level: float = 0.95, kind: str = "score", offset: Any = None
    ) -> tuple[Floats, Floats]:
        """Return a confidence interval for each row's score or probability.

        It covers the prediction of the model that infinitely many rows would lead to.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)
        level : float, default=0.95
        kind : {"score", "proba"}, default="score"
            Whether the interval is of `decision_function` or of `predict_proba`.
        offset : as in `predict`

        Returns
        -------
        low, high : two arrays in the shape of what that method returns

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(3000, 2))
        >>> classifier = ASGDClassifier(loss="log_loss", intervals=True, random_state=0)
        >>> y = X[:, 0] + np.random.default_rng(1).normal(size=3000) > 0
        >>> low, high = classifier.fit(X, y).predict_interval(X[:5], kind="proba")
        >>> bool(np.all((0 < low) & (low < high) & (high < 1)))
        True
        """
        if kind not in ("score", "proba"):
            raise ValueError(f"kind is 'score' or 'proba', not {kind!r}")
        now = copy.copy(self)
        model, rows = now._with_intervals(), now._rows(X, offset)
        if kind == "proba":
            return proba_interval(model, rows, level)
        low, high = score_interval(model, rows, level)
        return (low[:, 0], high[:, 0]) if low.shape[1] == 1 else (low, high)

    # -- inside --------------------------------------------------------------------------------

    def _new_classes(self, seed: int, classes: NDArray[Any]) -> Run:
        if len(classes) < 2:
            raise ValueError(
                f"The number of classes has to be greater than one; got {len(classes)} class"
            )
        self._totals = ClassTotals(len(classes))
        return self._new_run(seed, labels=classes)

    def _fit_labels(self, X: Any, y: Any, sample_weight: Any, offset: Any, going_on: bool) -> Self:
        X, y, usual = self._rows_and_targets(X, y, offset, reset=not going_on, multi_output=True)
        targets = self._indicators(y, first=not going_on)
        weights = self._weights(sample_weight, X, partial=False)
        rng = self._generator()
        run = self._same_run() if going_on else self._new_labels(draw_seed(rng), targets)
        self._fit(run, rng, X, targets, weights, usual)
        return self

    def _indicators(self, y: Any, *, first: bool) -> Floats:
        """Return a dense indicator matrix, and remember whether ``y`` was sparse."""
        if self.class_weight is not None:
            raise ValueError("class_weight cannot be used with multilabel targets")
        self._sparse_labels = sparse.issparse(y)
        return indicator_matrix(y, None if first else len(self.classes_))

    def _new_labels(self, seed: int, targets: Floats) -> Run:
        self.classes_ = np.arange(targets.shape[1])
        return self._new_run(seed, labels=self.classes_, outputs=targets.shape[1])

    def _encoded_targets(self, y: Any, weights: Floats | None) -> NDArray[Any]:
        """Return class codes, or an indicator matrix for multilabel targets."""
        if y.ndim == 2:
            return self._indicators(y, first=not hasattr(self, "_run"))
        check_classification_targets(y)
        return codes_of(y, self.classes_, weights)

    def _begun(self, seed: int, targets: NDArray[Any]) -> Run:
        if targets.ndim == 2:
            return self._new_labels(seed, targets)
        return self._new_classes(seed, self.classes_)

    def _learn_batch(self, run: Run, data: Data) -> None:
        X, targets, weights = data
        if targets.ndim == 1:
            self._totals = copy.deepcopy(self._totals)
            weights = self._class_weighted(targets, self.classes_, weights, self._totals.balanced)
        self._learn(run, X, targets, weights)

    def _class_weighted(
        self, codes: NDArray[np.int64], classes: NDArray[Any], weights: Floats | None, balanced: Any
    ) -> Floats | None:
        """Return the rows' weights times their class weights."""
        if self.class_weight is None:
            return weights
        if isinstance(self.class_weight, str):
            rows: Floats = balanced(codes, np.ones(len(codes)) if weights is None else weights)
        else:
            rows = compute_class_weight(self.class_weight, classes=classes, y=classes)[codes]
        return rows if weights is None else rows * weights
