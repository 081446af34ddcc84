"""The attributes of a fitted estimator, read from its model and its training report."""

from __future__ import annotations

import warnings
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from polyak.estimators.fitted_run import Run
from polyak.model.intervals import doubt, interval_kind, standard_errors, weight_interval
from polyak.model.linear import LinearModel
from polyak.model.schema import Schema
from polyak.model.training_report import Measure, TrainingReport

Floats = NDArray[np.float64]


class FittedAttributes:
    """The attributes that end in an underscore, and the methods that read the model."""

    _run: Run
    _schema: Schema | None
    _offset: str | None
    n_features_in_: int
    _sparse_coef = False
    _one_output_is_flat = False

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_run")

    def to_model(self) -> LinearModel:
        """Return the model, which predicts, saves and exports without scikit-learn.

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
        """The averaged intercepts, one per model."""
        return self._fitted().model.intercept

    @property
    def last_coef_(self) -> NDArray[Any]:
        """The weights of the last iterate, before averaging; ``coef_`` where Newton steps won."""
        with self._fitted().finished() as learner:
            assert learner.race is not None
            return self._shaped(learner.race.leader().weights(last=True)[0].T)

    @property
    def t_(self) -> int:
        """One more than the number of rows learned, each pass counted, as in scikit-learn."""
        return self._report().rows + 1

    @property
    def learning_rate_(self) -> Bunch:
        """The learning rate ``gamma0 * (1 + a * gamma0 * t) ** -c``, and ``M`` it was found from.

        Only averaged SGD, adaptive SGD and proximal steps have one.
        """
        winner = self._report().winner
        if winner.schedule is None:
            raise AttributeError(
                f"the method {winner.method!r} won, with no learning rate; recipe='sgd' learns by "
                "averaged SGD alone"
            )
        return Bunch(**winner.schedule._asdict(), M=winner.largest_squared_length)

    @property
    def method_(self) -> str:
        """How the model was learned.

        One of "newton", "dense", "curves", "curves and pairs", "proximal", "averaged SGD",
        "adaptive SGD" and "constant".
        """
        return self._report().winner.method

    @property
    def average_start_(self) -> Floats:
        """The row after which averaging began, for each output; NaN where it has not begun."""
        return np.array(self._report().average_start, dtype=np.float64)

    @property
    def progressive_loss_(self) -> float:
        """The mean loss over all rows, each scored before it was learned.

        It includes the early rows, when the model was worse; ``recent_`` estimates how good the
        model is now.
        """
        return self._figure("progressive_loss")

    @property
    def progressive_loss_std_err_(self) -> float:
        """The standard error of ``progressive_loss_``."""
        return self._figure("progressive_loss_std_err")

    @property
    def recent_(self) -> Bunch:
        """Loss and error on rows not learned yet: the later half, or each row left out in turn."""
        recent = (self._report().recent or Measure())._asdict()
        return Bunch(**{name: np.nan if value is None else value for name, value in recent.items()})

    @property
    def recent_loss_(self) -> float:
        """The mean loss on rows not learned yet: the later half, or each row left out in turn."""
        return float(self.recent_.loss)

    @property
    def constant_loss_(self) -> float:
        """The loss of the best constant on the same rows as ``recent_loss_``."""
        recent = self._report().recent
        if recent is None or recent.constant_loss is None:
            raise AttributeError("under recipe='paper' no constant races, so its loss is not known")
        return recent.constant_loss

    @property
    def candidates_(self) -> list[dict[str, Any]]:
        """Every candidate of the race: its settings, the rows it learned, and its loss."""
        return [candidate.as_dict() for candidate in self._report().candidates]

    @property
    def best_candidate_(self) -> dict[str, Any]:
        """The winner of ``candidates_``, without its ``curve``."""
        return {k: v for k, v in self._report().winner.as_dict().items() if k != "curve"}

    @property
    def coef_std_err_(self) -> Floats:
        """The standard error of each weight, with ``intervals=True``."""
        return self._shaped(standard_errors(self._with_intervals())[0])

    @property
    def intercept_std_err_(self) -> Floats:
        """The standard error of each intercept, with ``intervals=True``."""
        return standard_errors(self._with_intervals())[1]

    def coef_interval(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Return a confidence interval for each weight.

        Parameters
        ----------
        level : float, default=0.95

        Returns
        -------
        low, high : two arrays in the shape of ``coef_``
            Their middle is ``coef_``.
        """
        low, high = weight_interval(self._with_intervals(), level)
        return self._shaped(low), self._shaped(high)

    def coefficients(self, level: float = 0.95) -> Any:
        """Return the intercept and every weight as a table, with standard errors if there are any.

        Parameters
        ----------
        level : float, default=0.95
            The confidence of the intervals.

        Returns
        -------
        DataFrame or dict
            As `polyak.model.linear.LinearModel.coefficients` describes it; without pandas, a dict
            of columns.
        """
        model = self._fitted().model
        if interval_kind(model) is not None:
            self._with_intervals()  # which warns where they cannot be trusted
        return model.coefficients(level)

    @property
    def terms_(self) -> list[dict[str, Any]]:
        """The columns and pairs of an additive model: kind, degrees of freedom and p-value."""
        return [term._asdict() for term in self._report().terms]

    def effect(self, column: str, level: float = 0.95, grid: Any = None) -> Any:
        """Return what a column contributes to the score, with a pointwise band.

        Parameters and result are those of `polyak.model.linear.LinearModel.effect`.
        """
        from polyak.model.effects import effect

        return effect(self.to_model(), column, level, grid)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return the name of each column of ``coef_``.

        A frame with words or dates is encoded, so these are the encoded features; a hash bucket
        without a known word is named by its number. The basis functions of a curve or a pair are
        numbered, as in "age 0".

        Parameters
        ----------
        input_features : ignored
            Present for API consistency.

        Returns
        -------
        array of str
        """
        model = self._fitted().model
        features = model.features
        if features.width is None:
            names = [features.names.get(j, f"x{j}") for j in range(model.n_features)]
        else:
            known = features.all_names()
            names = [known.get(j) or features.slot(j) for j in range(model.n_features)]
        if model.terms is not None:
            terms = model.terms.terms
            names[model.terms.begin :] = [f"{t.name} {k}" for t in terms for k in range(t.size)]
        return np.delete(np.array(names, dtype=object), self._made_offset())

    def sparsify(self) -> Self:
        """Return ``coef_`` as a scipy sparse matrix from now on.

        Returns
        -------
        self
        """
        self._fitted()
        self._sparse_coef = True
        return self

    def densify(self) -> Self:
        """Return ``coef_`` as an array again.

        Returns
        -------
        self
        """
        self._fitted()
        self._sparse_coef = False
        return self

    # -- inside --------------------------------------------------------------------------------

    def _made_offset(self) -> list[int]:
        """Return the feature of offsets that were passed beside an array, if there is one."""
        return [self.n_features_in_] if self._offset is not None and self._schema is None else []

    def _fitted(self) -> Run:
        check_is_fitted(self)
        return self._run

    def _with_intervals(self) -> LinearModel:
        model = self._fitted().model
        if interval_kind(model) is None:
            raise AttributeError(
                "this model has no standard errors: it was fitted without intervals=True, or on "
                "values too large or features too many for them"
            )
        found = doubt(model)
        if found is not None:
            warnings.warn(found, stacklevel=3)
        return model

    def _report(self) -> TrainingReport:
        report = self._fitted().model.report
        if report is None:
            raise AttributeError("the model has no training report")
        return report

    def _figure(self, name: str) -> float:
        """Return a figure of the training report, NaN where it is unknown."""
        found: float | None = getattr(self._report(), name)
        return np.nan if found is None else found

    def _shaped(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Transpose the model's (features, outputs) to scikit-learn's (outputs, features).

        The offset of an array's rows is none of its features.
        """
        weights = np.delete(weights, self._made_offset(), axis=0)
        coef = np.ascontiguousarray(weights.T)
        return coef[0] if self._one_output_is_flat else coef
