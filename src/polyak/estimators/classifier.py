"""The classifier."""

from __future__ import annotations

import copy
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, _fit_context
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.class_weight import compute_class_weight
from sklearn.utils.multiclass import _check_partial_fit_first_call, check_classification_targets

from polyak.estimators.base import BaseASGD
from polyak.estimators.labels import LearnsLabels, classes_of, codes_of, has_labels, predicted
from polyak.estimators.parameters import keep
from polyak.estimators.run import Run, draw_seed
from polyak.estimators.running import ClassTotals
from polyak.losses import names_of
from polyak.model.intervals import proba_interval, score_interval
from polyak.model.linear import LinearModel
from polyak.training.in_memory import Data

Floats = NDArray[np.float64]


class ASGDClassifier(LearnsLabels, ClassifierMixin, BaseASGD):  # type: ignore[misc]
    """A linear classifier learned by averaged stochastic gradient descent, in one pass.

    Several classes are learned while each row is read once: with ``log_loss`` together, as in
    multinomial logistic regression; with other losses or penalties side by side, one against the
    rest. Several labels a row, ``y`` being a matrix of zeros and ones, have a model each.

    Parameters
    ----------
    loss : {"log_loss", "squared_hinge", "hinge", "modified_huber"}, default="log_loss"
        Every loss gives probabilities: the hinge losses through a calibration learned in the same
        pass, from each row's score before it was learned.
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
        "auto" is 3/4.
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
    multi_class : {"auto", "ovr"}, default="auto"
        "ovr" learns a model for each of several classes against the rest with ``log_loss`` too, as
        ``intervals`` and the paper's recipe do.
    class_weight : dict, "balanced" or None, default=None
        The weight of each class's rows. "balanced" weighs classes inversely to how often they
        are: in `fit` among all rows, in `partial_fit` among the rows so far.
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
    coef_ : array of shape (1 or n_classes, n_features)
        The averaged weights; float32 where the rows are.
    intercept_ : array of shape (1 or n_classes,)
    classes_ : array of shape (n_classes,)
    n_features_in_ : int
    feature_names_in_ : array of shape (n_features,)
        Only where the columns of X have names that are all strings.
    n_iter_ : int
        The number of passes.
    t_ : int
        One more than the number of rows learned, as scikit-learn counts.
    method_ : {"newton", "averaged SGD", "adaptive SGD", "constant"}
        How the model was learned: by block Newton steps or by averaged SGD, whichever won;
        or not at all, if a constant was better.
    learning_rate_ : Bunch
        The learning rate found: ``gamma0``, ``a``, ``c``, and ``M``. Newton steps have none.
    average_start_ : array of shape (1 or n_classes,)
        The row after which averaging began; NaN where it has not.
    last_coef_ : array of shape (1 or n_classes, n_features)
        The weights of the last iterate.
    recent_loss_ : float
        How good the model is: its mean loss on the later half of the rows, each scored before it
        was learned; of `fit` with few rows, on each of them by weights found without it. Of several
        classes that are learned together it is minus the logarithm of the probability of the row's
        own, else the sum over the models. Rows count with their weights, and only the first time.
    constant_loss_ : float
        What the best constant lost on the same rows.
    recent_ : Bunch
        ``rows``, ``loss``, ``loss_std_err`` (with several models, a bound), ``error`` and
        ``constant_loss`` of the same estimate; ``left_out`` is true where rows were left out in
        turn, and ``capped`` the number of losses that counted in part in the choice.
    progressive_loss_ : float
        The mean loss since the first row: an average over the model's whole past.
    progressive_loss_std_err_ : float, with several models a bound on it
    progressive_score_ : float
        The accuracy, measured in the same way.
    candidates_ : list of dict
        Every candidate: its settings, the rows it survived (``rows``), its ``progressive_loss``
        and its ``curve`` of loss against rows.
    best_candidate_ : dict, the one that won
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

    def __init__(
        self,
        *,
        loss: str = "log_loss",
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
        multi_class: str = "auto",
        class_weight: Any = None,
        warm_start: bool = False,
        random_state: Any = None,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        keep(locals())

    @classmethod
    def from_model(cls, model: LinearModel) -> Self:
        """Make an estimator that predicts with a model, but cannot go on learning it.

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
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn from all rows.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)
        y : array of shape (n_samples,), or of (n_samples, n_labels), sparse or not
        sample_weight : array of shape (n_samples,), optional
            Rows with weight zero are ignored.

        Returns
        -------
        self
        """
        going_on = self._going_on()
        if has_labels(y):
            return self._fit_labels(X, y, sample_weight, going_on)
        X, y = self._rows_and_targets(X, y, reset=not going_on)
        weights = self._weights(sample_weight, X, partial=False)
        found = classes_of(y, weights)
        classes = self.classes_ if going_on else found
        codes = codes_of(y, classes, weights)
        rng = self._generator()
        run = self._same_run() if going_on else self._new_classes(draw_seed(rng), classes)
        weights = self._class_weighted(codes, classes, weights, self._totals.balanced_at_once)
        self._fit(run, rng, X, codes, weights)
        self.classes_ = classes
        return self

    @_fit_context(prefer_skip_nested_validation=True)  # type: ignore[untyped-decorator]
    def partial_fit(self, X: Any, y: Any, classes: Any = None, sample_weight: Any = None) -> Self:
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
        y : array of shape (n_samples,)
        classes : array of shape (n_classes,), optional
            All classes there can be; the first call needs it.
        sample_weight : array of shape (n_samples,), optional
            Rows with weight zero are ignored.

        Returns
        -------
        self
        """
        with self._transaction() as changed:
            if not has_labels(y):
                _check_partial_fit_first_call(changed, classes)
            changed._partial_fit(X, y, sample_weight, multi_output=has_labels(y))
        return self

    @property
    def progressive_score_(self) -> float:
        """The accuracy on rows not yet learned."""
        return 1.0 - self._figure("progressive_error")

    def decision_function(self, X: Any) -> Floats:
        """Score rows: above zero means the second of two classes, the highest wins among several.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,) or (n_samples, n_classes)
        """
        _, scores = self._scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict classes.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples,)
        """
        model, scores = self._scores(X)
        found = model.predict_from_scores(scores)
        return predicted(found, as_sparse=self._sparse_labels) if model.multilabel else found

    def predict_proba(self, X: Any) -> Floats:
        """Give the probability of each class.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        model, scores = self._scores(X)
        return model.proba_from_scores(scores)

    def predict_log_proba(self, X: Any) -> Floats:
        """Give the logarithm of the probability of each class.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)

        Returns
        -------
        array of shape (n_samples, n_classes)
        """
        with np.errstate(divide="ignore"):  # the logarithm of zero is what it should be
            return np.log(self.predict_proba(X))

    def predict_interval(
        self, X: Any, level: float = 0.95, kind: str = "score"
    ) -> tuple[Floats, Floats]:
        """Give the interval that holds what a model of endless rows would say, for each row.

        Parameters
        ----------
        X : array, scipy sparse matrix or data frame of shape (n_samples, n_features)
        level : float, default=0.95
        kind : {"score", "proba"}, default="score"
            Whether of what `decision_function` gives or of what `predict_proba` does.

        Returns
        -------
        low, high : two arrays in the shape of what that method gives

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
        model, rows = now._with_intervals(), now._rows(X)
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

    def _encoded_targets(self, y: Any, weights: Floats | None) -> NDArray[Any]:
        """Return the numbers of classes, or zeros and ones where a row has several labels."""
        if y.ndim == 2:
            return self._truths(y, first=not hasattr(self, "_run"))
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
        """Multiply the rows' weights by those of their classes."""
        if self.class_weight is None:
            return weights
        if isinstance(self.class_weight, str):
            rows: Floats = balanced(codes, np.ones(len(codes)) if weights is None else weights)
        else:
            rows = compute_class_weight(self.class_weight, classes=classes, y=classes)[codes]
        return rows if weights is None else rows * weights
