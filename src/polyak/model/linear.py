"""The model: weights and what is needed to predict with them."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.losses import get_loss
from polyak.losses.softmax import softmax
from polyak.model.features import FeatureMap
from polyak.model.terms import Terms
from polyak.model.training_report import TrainingReport
from polyak.rows.label_text import label_text
from polyak.rows.sparse import as_rows, core_rows
from polyak.rows.tensors import is_tensor, product
from polyak.storage.sandwich import Sandwich

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LinearModel:
    """A linear model: ``score = x @ weights + intercept``, one column per output.

    Attributes
    ----------
    weights : array of shape (features, outputs), float32 or float64
    intercept : array of shape (outputs,)
    loss : str
    classes : array or None
        The classes in the order of the outputs; with two classes there is one output, whose
        positive scores mean the second class. None for regression.
    sigmoids : array of shape (outputs, 2) or None
        For margin losses: the slope and offset that turn a score into log-odds.
    softmax : bool
        Whether probabilities are a softmax of the scores (with log_loss) or of the calibrated
        scores (with a margin loss); otherwise each score is the log-odds of one class against the
        rest.
    multilabel : bool
        Whether the classes are labels, of which a row may have any number, one output each.
    replicas : array of shape (replicas, features + 1, outputs) or None
        The same model learned with random row weights, the intercept last; their variance
        estimates the model's.
    sandwich : Sandwich or None
        The sandwich covariance of the weights, where features are few.
    offset : int or None
        The feature that is added to the score as it is.
    reach : array of shape (2, outputs) or None
        The lowest and the highest score, where scores are the logarithms of predictions; an offset
        is added to both. Half the smallest mean of the rows learned, and twice the largest: beyond,
        a column with long tails would predict 1e49.
    features : FeatureMap
        How a source becomes rows of these features.
    terms : Terms or None
        Curves and pairs that rows are expanded in; their features come after those of the source.
    report : TrainingReport or None
        How it was learned, if that is known.

    Examples
    --------
    >>> model = LinearModel(np.array([[1.0], [-1.0]]), np.zeros(1), "log_loss", np.array([0, 1]))
    >>> model.predict(np.array([[2.0, 1.0], [0.0, 3.0]]))
    array([1, 0])
    >>> model.predict_proba(np.array([[2.0, 2.0]]))
    array([[0.5, 0.5]])
    >>> model
    LinearModel: log_loss, classes 0, 1
      2 numbered features, 2 with a nonzero weight
      intercept 0; weights are float64
    """

    weights: NDArray[Any]
    intercept: Floats
    loss: str
    classes: NDArray[Any] | None = None
    sigmoids: Floats | None = None
    softmax: bool = False
    multilabel: bool = False
    replicas: NDArray[Any] | None = None
    sandwich: Sandwich | None = None
    offset: int | None = None
    reach: Floats | None = None
    features: FeatureMap = field(default_factory=FeatureMap)
    terms: Terms | None = None
    report: TrainingReport | None = None

    def __repr__(self) -> str:
        """Return a summary of a few lines."""
        used = int(self.weights.any(axis=1).sum())
        lines = [f"LinearModel: {self.loss}, {self._answers()}"]
        lines.append(
            f"  {self.n_features:,} {self.features.words()}, {used:,} with a nonzero weight"
        )
        intercepts = ", ".join(f"{value:.6g}" for value in self.intercept[:5])
        more = ", ..." if len(self.intercept) > 5 else ""
        lines.append(f"  intercept {intercepts}{more}; weights are {self.weights.dtype}")
        if self.report is not None:
            lines.append(f"  learned from {self.report.rows:,} rows by {self.report.winner.method}")
            if self.report.recent is not None and self.report.recent.loss is not None:
                recent = self.report.recent
                lines.append(f"  loss {recent.loss:.6g} on {recent.which_rows}")
        return "\n".join(lines)

    def _answers(self) -> str:
        if self.classes is None:
            outputs = len(self.intercept)
            return "one number" if outputs == 1 else f"{outputs} numbers"
        shown = ", ".join(label_text(label) for label in self.classes[:5])
        more = ", ..." if len(self.classes) > 5 else ""
        return f"{'labels' if self.multilabel else 'classes'} {shown}{more}"

    @property
    def n_features(self) -> int:
        """The number of features."""
        return int(self.weights.shape[0])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, by convention ``name.polyak``."""
        from polyak.storage.model_file import save_model

        save_model(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> LinearModel:
        """Read a model from a file, without running any code from it.

        Raises
        ------
        ModelFileError
            If the file is not a model, of a newer format, or corrupt.
        """
        from polyak.storage.model_file import load_model

        return cls(**load_model(path, FeatureMap, TrainingReport, Terms))

    @classmethod
    def of(cls, source: Any) -> LinearModel:
        """Return the model of a model, a model file or a fitted estimator."""
        if isinstance(source, str | os.PathLike):
            return cls.load(source)
        model = source.to_model() if hasattr(source, "to_model") else source
        if not isinstance(model, cls):
            raise TypeError(f"expected a model or a fitted estimator, not {type(source).__name__}")
        return model

    def coefficients(self, level: float = 0.95) -> Any:
        """Return the intercept and every weight as a table: a pandas frame, or a dict of columns.

        Parameters
        ----------
        level : float, default=0.95
            The confidence level, if the model has intervals.

        Returns
        -------
        DataFrame or dict
            A line for the intercept and one for each feature, for each output:

            * ``feature``: its name, or its number. Hashed words are listed if their weight is not
              zero.
            * ``class``, or ``output``: if there are several.
            * ``weight``: in the units of a table's columns, so that the intercept is the score at
              zero. A missing number counts as its column's offset.
            * ``effect``: for tables only. The change of the score when a number grows by its
              standard deviation in the first rows, or when a word or boolean is present.
            * ``standard_error``, ``z``, ``p_value``, ``low``, ``high``: with intervals only.
              The weight is the middle of ``low`` and ``high``. It is hardly penalised, since the
              bias of a penalty does not show in a standard error.

            An additive model has a line for the intercept and one for each knot or level of each
            term instead: ``term``, ``kind``, ``at`` (and ``at_2`` for a pair), ``value``,
            ``lower`` and ``upper``.

        Examples
        --------
        >>> model = LinearModel(np.array([[1.0], [-2.0]]), np.zeros(1), "squared_error")
        >>> model.coefficients()
             feature  weight
        0  intercept     0.0
        1          0     1.0
        2          1    -2.0
        """
        from polyak.model.coefficients import as_frame

        return as_frame(self, level)

    def effect(self, name: str, level: float = 0.95, grid: Any = None) -> Any:
        """Return what a column or a pair such as "age × city" contributes to the score.

        Parameters
        ----------
        name : str
            The columns of an array are "x0", "x1" and so on.
        level : float, default=0.95
            The confidence level of the band.
        grid : array, optional
            The values of a column at which the effect is wanted; NaN is a missing value.

        Returns
        -------
        Effect
            ``grid``, ``value``, ``lower`` and ``upper``.
        """
        from polyak.model.effects import effect

        return effect(self, name, level, grid)

    def contributions(self, X: Any) -> tuple[list[str], Floats]:
        """Return the names of columns and pairs, and what each contributes to the scores of rows.

        The contributions add up to the score, unless that is out of `reach`; the last is the
        intercept.
        """
        from polyak.model.effects import contributions

        return contributions(self, X)

    def rows(self, X: Any) -> Any:
        """Return ``X`` as rows of the model's features, those of terms included.

        The model of a table encodes frames and arrays by its schema, see
        `polyak.model.features.FeatureMap.rows`.
        """
        rows = self.features.rows(X)
        return rows if self.terms is None else self.terms.expand(as_rows(rows))

    def scores(self, X: Any) -> Floats:
        """Return the scores of rows, always two-dimensional: one column per output.

        Models of other sources than tables ignore unknown features.
        """
        matrix = np.ascontiguousarray(self.weights)
        rows = self.features.rows(X)
        if is_tensor(rows):
            return self.within_reach(product(rows, matrix) + self.intercept, rows)
        parts = [rows] if self.terms is None else self.terms.parts(as_rows(rows))
        scored = [_core.score_rows(core_rows(part), matrix) for part in parts]
        raw: NDArray[Any] = scored[0] if len(scored) == 1 else np.concatenate(scored)
        return self.within_reach(np.asarray(raw + self.intercept, dtype=np.float64), rows)

    def within_reach(self, scores: Floats, rows: Any) -> Floats:
        """Return scores of rows no lower and no higher than the model's can be."""
        if self.reach is None:
            return scores
        low, high = self.reach
        if self.offset is not None:
            one = np.zeros((self.offset + 1, 1))
            one[self.offset] = 1.0
            offsets = _core.score_rows(core_rows(as_rows(rows)), one)
            low, high = low + offsets, high + offsets
        return np.clip(scores, low, high)

    def decision_function(self, X: Any) -> Floats:
        """Return the scores of rows, one-dimensional for one output as in scikit-learn."""
        scores = self.scores(X)
        return scores[:, 0] if scores.shape[1] == 1 else scores

    def predict(self, X: Any) -> NDArray[Any]:
        """Predict the class, or the value."""
        return self.predict_from_scores(self.scores(X))

    def predict_proba(self, X: Any) -> Floats:
        """Return the probabilities of the classes, one column per class."""
        return self.proba_from_scores(self.scores(X))

    def predict_log_proba(self, X: Any) -> Floats:
        """Return the logarithm of each class's probability."""
        return np.log(self.predict_proba(X))

    def predict_from_scores(self, scores: Floats) -> NDArray[Any]:
        """Predict the class, or the value, from ``scores``."""
        if self.classes is None:
            values = get_loss(self.loss).predictions(scores)
            return values[:, 0] if values.shape[1] == 1 else values
        if self.multilabel:
            return (scores > 0).astype(np.int64)
        return np.asarray(self.classes)[self.best(scores)]

    def best(self, scores: Floats) -> NDArray[np.int64]:
        """Return the index of each row's predicted class, from ``scores``."""
        if scores.shape[1] == 1:
            return (scores[:, 0] > 0).astype(np.int64)
        return np.asarray(scores.argmax(axis=1))

    def proba_from_scores(self, scores: Floats) -> Floats:
        """Return the probabilities of the classes, from ``scores``."""
        if self.classes is None:
            raise ValueError("a regression model has no probabilities")
        if get_loss(self.loss).name == "log_loss":
            odds = scores
        elif self.sigmoids is not None:
            odds = scores * self.sigmoids[:, 0] + self.sigmoids[:, 1]
        else:
            raise ValueError(f"this {self.loss} model was learned without probabilities")
        if self.softmax:
            return softmax(odds)
        positive = np.exp(-np.logaddexp(0.0, -odds))
        if self.multilabel:
            return positive
        if positive.shape[1] == 1:
            return np.hstack([np.exp(-np.logaddexp(0.0, odds)), positive])
        total = positive.sum(axis=1, keepdims=True)
        even = np.full_like(positive, 1.0 / positive.shape[1])  # where all underflow to zero
        np.divide(positive, total, out=even, where=total > 0)
        return even
