"""The bank: K averaged linear models that learn from the same rows in one pass."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from polyak import _core
from polyak.errors import DivergenceError
from polyak.learn.averaging import Averaging
from polyak.learn.bank.settings import (
    SUMS,
    Step,
    as_array,
    check_choices,
    check_penalties,
    check_together,
    core_targets,
    how_to_step,
    shared_power,
)
from polyak.learn.schedules import Polynomial
from polyak.losses import get_loss
from polyak.rows.sparse import core_rows

Floats = NDArray[np.float64]

_NO_STOPS = np.empty(0, dtype=np.int64)


class Bank:
    """K linear models, learned side by side: each row is read once and serves them all.

    All models share loss, rows and clock; each may have its own penalty, learning rate, target and
    random row weights: these are one for all, or a sequence with one entry per model.

    Parameters
    ----------
    loss : str
        A name among `polyak.losses.LOSSES`, with its parameter if it has one: "huber(1.5)".
    alpha : float or sequence
        The penalty ``alpha / 2 * |theta|^2``; the intercept is never penalised.
    schedule : Polynomial or sequence
        The learning rate; all models share its power ``c``.
    averaging : Averaging
    step : "explicit", "implicit" or "proximal"
        An implicit step takes the slope at the new iterate, and cannot diverge. Proximal ones make
        weights exactly zero; ``gamma0`` and ``a`` are eta and b of ``core/learn/proximal.hpp``.
    l1_ratio, positive : float, bool
        With proximal steps: the share of absolute values in the penalty; no weight is below zero.
    precondition : float
        ``p``: coordinate ``j`` moves by ``(mean of x_j^2 so far) ** -p`` times as much.
    adagrad : float, optional
        Let those be means of ``(slope * x_j)^2``, of all models; sums of squares begin here.
    capped : bool
        Keep an explicit step on a row longer than any seen at calibration from overshooting.
    fit_intercept : bool
    n_features : int, optional
        Refuse features beyond; without it the bank grows as features appear.
    width : int, optional
        For how many features to make room at once; for all ``n_features`` by default.
    dtype : float64 or float32
        The type of the weights; rows may be of either.
    progressive : bool
        Score the averaged models on every row before it is learned.
    one_vs_rest : bool
        Targets are class numbers; a model's target is +1 for its own class and -1 otherwise.
    outputs : int or sequence
        Each model's column of the targets, or its class.
    replicas : int or sequence
        Models with a number of 0 or more see each row with a random weight, 0 or 2 with equal
        chance, that depends on (seed, row, number) alone.
    group : int
        The number of consecutive models that are the classes of one classifier.
    softmax : bool
        The classes of a group are learned together, and scored by the odds of a softmax.
    seed : int

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(5000, 3))
    >>> y = X @ [1.0, -2.0, 0.5] + 0.1 * rng.normal(size=5000)
    >>> bank = Bank(loss="squared_error", alpha=0.0, schedule=Polynomial(0.05, 0.01, 2 / 3))
    >>> bank.learn(X, y)
    >>> bank.coef.round(2)
    array([[ 1. , -2. ,  0.5]])
    """

    def __init__(
        self,
        *,
        loss: str,
        alpha: float | Sequence[float] | Floats,
        schedule: Polynomial | Sequence[Polynomial],
        averaging: Averaging | None = None,
        step: Step = "explicit",
        precondition: float = 0.0,
        adagrad: float | None = None,
        capped: bool = True,
        fit_intercept: bool = True,
        n_features: int | None = None,
        width: int | None = None,
        dtype: Any = np.float64,
        progressive: bool = True,
        one_vs_rest: bool = False,
        outputs: int | Sequence[int] | NDArray[np.int64] = 0,
        replicas: int | Sequence[int] | NDArray[np.int64] = -1,
        group: int = 1,
        softmax: bool = False,
        seed: int = 0,
        l1_ratio: float = 1.0,
        positive: bool = False,
    ) -> None:
        self.averaging = averaging or Averaging()
        stepping = how_to_step(step, precondition, adagrad, capped, l1_ratio, positive)
        schedules = [schedule] if isinstance(schedule, Polynomial) else list(schedule)
        rates = [one.gamma0 for one in schedules], [one.a for one in schedules]
        columns = np.broadcast_arrays(np.atleast_1d(alpha), *rates, outputs, replicas)
        self.alpha, gamma0, decay = (np.array(column, float) for column in columns[:3])
        self.outputs, self.replicas = (np.array(column, np.int64) for column in columns[3:])
        check_penalties(self.alpha, gamma0, step)
        check_choices(dtype, n_features, group)
        check_together(loss, self.averaging, softmax=softmax, one_vs_rest=one_vs_rest)
        self.loss, self.dtype = get_loss(loss), np.dtype(dtype)
        self.one_vs_rest, self.softmax = one_vs_rest, softmax
        self._settings: dict[str, Any] = {
            "loss": self.loss.name,
            "limit": n_features,
            "power": shared_power(schedules),
            "average_power": float(self.averaging.power),
            "intercept": fit_intercept,
            "progressive": progressive,
            "group": group,
            "softmax": softmax,
            "seed": seed,
            **stepping,
        }
        self._make_core()
        self._core.grow((n_features or 0) if width is None else width)
        start = self.averaging.first_start  # the detector's average begins with the zero model
        own = {"alpha": self.alpha, "gamma0": gamma0, "decay": decay}
        self.set_fields(start=start, scale=1.0, unit=1.0, total=float(start < 0), **own)

    def __len__(self) -> int:
        return len(self.alpha)

    @property
    def proximal(self) -> bool:
        """Whether its steps are proximal."""
        return bool(self._settings["proximal"])

    @property
    def has_squares(self) -> bool:
        """Whether a preconditioner keeps sums of squares of the features."""
        return bool(self._settings["precondition"] != 0.0)

    # -- learning ------------------------------------------------------------------------------

    def learn(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        *,
        order: ArrayLike | None = None,
        scores: Floats | None = None,
        limits: Floats | None = None,
        again: bool = False,
        stops: NDArray[np.int64] | None = None,
        offsets: Floats | None = None,
    ) -> Floats | None:
        """Learn from rows, one after the other.

        Parameters
        ----------
        X : array, scipy sparse, SparseRows, or rows that ``check`` gave
        y : array of shape (rows,) or (rows, outputs), or class numbers if ``one_vs_rest``
        sample_weight : array of shape (rows,) or (rows, models), optional
            A row whose weights are all zero is a row that was not there.
        order : array of int, optional
            Which rows to learn, in which order; all as they stand by default.
        scores : float64 array of shape (rows to learn, models), optional
            Receives the averaged models' scores of each row before it was learned.
        limits : float64 array of shape (rows to learn, 2), optional
            The largest loss that counts on each row, and the row's share, in the sum of "rated"
            losses; see `polyak.learn.race.row_limits`.
        again : bool
            The rows were learned before, so the progressive scores leave them out.
        stops : array of int, optional
            After how many of the rows to note the numbers that each model keeps, and to set its
            progressive sums to zero.
        offsets : float64 array of shape (rows,), optional
            What is added to all scores of each row.

        Returns
        -------
        notes : array of shape (stops, fields, models), what ``fields`` gave; None without stops

        Raises
        ------
        ValueError
            For what cannot be learned from, with row and value; the bank is as it was then.
        DivergenceError
            If the weights overflow, which takes a learning rate far too large.
        """
        noted = _NO_STOPS if stops is None else stops
        progressive = {name: self.field(name) for name in SUMS} if again else {}
        given = (core_rows(X), *core_targets(y, classes=self.one_vs_rest))
        weights, which = as_array(sample_weight, np.float64), as_array(order, np.int64)
        try:
            notes = self._core.learn(*given, weights, which, scores, limits, noted, offsets)
        except ArithmeticError as error:
            raise DivergenceError(str(error)) from error
        if again:
            self.set_fields(**progressive)
        return None if stops is None else notes

    def check(
        self,
        X: Any,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
    ) -> _core.CheckedRows:
        """Refuse what ``learn`` would refuse, without learning; make room for new features.

        Gives the rows as something that only the core can make, and that neither this bank nor
        another looks through again. Rows that a parser of polyak's made are that already.
        """
        targets = None if self.one_vs_rest else as_array(y, np.float64)
        return self._core.check(core_rows(X), targets, as_array(sample_weight, np.float64))

    def reset_progressive_sums(self) -> None:
        """Set the progressive sums of all models to zero."""
        self._core.reset_progressive_sums()

    def warm_up(self, X: Any) -> None:
        """Show the preconditioner some rows before any is learned.

        Otherwise its first means are of a row or two, and a value that happens to be close to
        zero makes its feature's first step enormous.
        """
        self._core.warm_up(core_rows(X))

    # -- what was learned ----------------------------------------------------------------------

    @property
    def clock(self) -> int:
        """The number of rows of non-zero weight that were learned."""
        return int(self._core.clock)

    @property
    def n_features(self) -> int:
        """The number of features the bank holds now."""
        return int(self._core.features)

    @property
    def coef(self) -> NDArray[Any]:
        """The averaged weights, a row per model; the iterate's, where averaging has not begun."""
        return self.coef_of(slice(0, len(self)))

    def coef_of(self, models: slice, *, last: bool = False) -> NDArray[Any]:
        """Return the averaged weights of some models that follow each other, or their iterates'."""
        return self._whole(self._core.weights(last, models.start, models.stop)).T

    @property
    def intercept(self) -> Floats:
        """The averaged intercepts."""
        return self._core.intercepts(last=False)

    @property
    def last_coef(self) -> NDArray[Any]:
        """The weights of the last iterate."""
        return self.coef_of(slice(0, len(self)), last=True)

    @property
    def last_intercept(self) -> Floats:
        """The intercepts of the last iterate."""
        return self._core.intercepts(last=True)

    @property
    def average_start(self) -> Floats:
        """Each model's t0; NaN where averaging has not begun."""
        start = self.field("start")
        return np.where((start < 0) | (start >= max(self.clock, 1)), np.nan, start)

    @property
    def progressive_loss(self) -> Floats:
        """Each averaged model's mean loss on rows it had not learned yet; NaN before any."""
        return self._progressive("loss")

    @property
    def progressive_error(self) -> Floats:
        """Each averaged model's share of wrong signs, or its mean absolute error."""
        return self._progressive("error")

    def decision_function(self, X: Any, *, last: bool = False) -> NDArray[Any]:
        """Score rows: one column a model. Features the bank has never seen count nothing."""
        matrix = self._core.weights(last=last)
        scores: NDArray[Any] = _core.score_rows(core_rows(X), matrix)
        return scores + self._core.intercepts(last=last)

    # -- the state, whole ----------------------------------------------------------------------

    def fields(self) -> Floats:
        """All the numbers each model keeps, a row a field; `field` has one of them by its name."""
        return self._core.models()

    def field(self, name: str) -> Floats:
        """One of the numbers each model keeps; ``polyak._core.model_fields`` lists them."""
        models: Floats = self.fields()[_core.model_fields.index(name)]
        return models

    def state(self) -> dict[str, Any]:
        """Read out everything that learning changes; ``set_state`` puts it back bit for bit."""
        state: dict[str, Any] = self._core.state()
        return state

    def set_state(self, state: dict[str, Any]) -> None:
        """Go on from a state that ``state`` gave."""
        self._core.set_state(
            state["lines"], state["squares"], state["models"], state["clock"], state["looked"]
        )

    def select(self, models: Sequence[int] | NDArray[np.int64]) -> Bank:
        """Return a bank of only these models, each as it stands."""
        keep = np.arange(len(self))[list(models)]
        chosen = Bank.__new__(Bank)
        chosen.__dict__.update(self.__dict__)
        for name in ("alpha", "outputs", "replicas"):
            setattr(chosen, name, getattr(self, name)[keep])
        chosen._make_core()
        chosen.set_state(self._core.state(keep))
        return chosen

    def move_intercepts(self, by: Floats, average_by: Floats) -> None:
        """Add to each model's intercepts: those of the iterates, and those of the averages."""
        bias, sums, total = (self.field(name) for name in ("bias", "bias_sum", "total"))
        self.set_fields(bias=bias + by, bias_sum=sums + total * average_by)

    def __getstate__(self) -> dict[str, Any]:
        state = self.state()
        for name in ("lines", "squares"):
            state[name] = _without_zeros(state[name])
        return self.__dict__ | {"_core": state}

    def __setstate__(self, attributes: dict[str, Any]) -> None:
        self.__dict__.update(attributes)
        self._make_core()
        state = attributes["_core"]
        self.set_state(state | {name: _with_zeros(*state[name]) for name in ("lines", "squares")})

    # -- inside --------------------------------------------------------------------------------

    def kind(self) -> tuple[Any, ...]:
        """Return what banks must have in common to be merged; rates and penalties may differ."""
        arrays = (self.outputs.tolist(), self.replicas.tolist())
        return (self._settings, self.loss.parameters, self.averaging, self.dtype, *arrays)

    def _make_core(self) -> None:
        self._core = _core.Bank(
            float64=self.dtype == np.float64,
            output=self.outputs.tolist(),
            replica=self.replicas.tolist(),
            parameter=self.loss.core_parameters(self.outputs),
            **self._settings,
        )

    def _whole(self, weights: NDArray[Any]) -> NDArray[Any]:
        """Add the features that are known to exist but were not met yet: they weigh nothing."""
        missing = (self._settings["limit"] or 0) - len(weights)
        return weights if missing <= 0 else np.pad(weights, ((0, missing), (0, 0)))

    def set_fields(self, **values: Any) -> None:
        """Set some of the numbers that each model keeps."""
        models = self._core.models()
        for name, value in values.items():
            models[_core.model_fields.index(name)] = value
        self._core.set_models(models)

    def _progressive(self, name: str) -> Floats:
        weight, sums, mean = self.field("weight"), self.field(name), np.full(len(self), np.nan)
        np.divide(sums, weight, out=mean, where=weight > 0)
        return mean


def _without_zeros(
    features: NDArray[Any],
) -> tuple[tuple[int, ...], NDArray[np.int64], NDArray[Any]]:
    """Return the shape, and the place and the numbers of each feature that has any.

    Of hashed features most slots are never used. A negative zero is not nothing: it is kept.
    """
    bits = features.view(f"u{features.itemsize}")
    used = np.flatnonzero(bits.any(axis=tuple(range(1, bits.ndim))))
    return features.shape, used, features[used]


def _with_zeros(
    shape: tuple[int, ...], used: NDArray[np.int64], numbers: NDArray[Any]
) -> NDArray[Any]:
    """Undo `_without_zeros`."""
    features: NDArray[Any] = np.zeros(shape, numbers.dtype)
    features[used] = numbers
    return features
