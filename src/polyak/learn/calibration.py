"""Calibration: what the first rows tell, before any of them is learned."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError
from polyak.learn.centring import NOTHING, Centre
from polyak.learn.loss_scales import best_constants, with_scales
from polyak.learn.race import Race
from polyak.learn.race.lanes import LANES
from polyak.learn.race.lanes.protocol import Problem
from polyak.learn.recipes import Recipe, TermsCandidate
from polyak.learn.recipes.plan import Sample, is_left_to_sgd, plan_race
from polyak.learn.rows_needed import second_moments
from polyak.learn.schedules import CALIBRATION_ROWS, unusual_rows
from polyak.learn.stored_state import Arrays, Page, StoredState
from polyak.learn.targets import encode, mean_weight
from polyak.learn.training_rows import TrainingRows
from polyak.losses import Loss, get_loss
from polyak.model.columns import SourceColumns
from polyak.rows.sparse import Rows, SparseRows, row_widths, take_rows

Floats = NDArray[np.float64]

MOST_KEPT = 100
"""A model keeps the spreads of at most this many features."""


class Spreads(NamedTuple):
    """The features of the first rows, and their standard deviations there."""

    features: NDArray[np.int64]
    values: Floats

    @classmethod
    def of(cls, rows: Rows) -> Spreads:
        """Compute the standard deviations of features; what a sparse row does not have is zero.

        Examples
        --------
        >>> Spreads.of(np.array([[1.0, 5.0], [3.0, 5.0]])).values
        array([1., 0.])
        """
        count = max(len(rows), 1)
        with np.errstate(over="ignore", invalid="ignore"):
            if not isinstance(rows, SparseRows):
                features = np.arange(rows.shape[1])
                return cls(features, np.asarray(rows, np.float64).std(axis=0))
            place, values = rows.entries()
            values = values.astype(np.float64)
            names = None
            if len(place) and int(place.max()) > 4 * len(place):  # else counting beats sorting
                names, place = np.unique(place, return_inverse=True)
            there = np.bincount(place)
            means = np.bincount(place, values) / count
            about = np.bincount(place, np.square(values - means[place]))
            spreads = np.sqrt((about + (count - there) * means**2) / count)
            known = np.flatnonzero(there)
            features = known if names is None else names[known].astype(np.int64)
            return cls(features, spreads[known])

    @classmethod
    def from_state(cls, stored: StoredState) -> Spreads:
        """Return stored spreads."""
        features = stored.array("features", (None,), "int64", least=0)
        return cls(features, stored.array("values", features.shape))

    @classmethod
    def none(cls) -> Spreads:
        """Return the spreads of no features."""
        return cls(np.empty(0, dtype=np.int64), np.empty(0))

    def of_the_largest_effects(self, weights: NDArray[np.floating]) -> dict[int, float]:
        """Return the spreads of the features whose weight times spread is largest.

        ``weights`` have a row for each output.

        Examples
        --------
        >>> spreads = Spreads(np.array([0, 2]), np.array([0.5, 0.0]))
        >>> spreads.of_the_largest_effects(np.array([[2.0, 9.0, 9.0]]))
        {0: 0.5}
        """
        known = self.features < weights.shape[1]
        features, values = self.features[known], self.values[known]
        with np.errstate(over="ignore", invalid="ignore"):
            effects = np.abs(weights[:, features]).max(axis=0, initial=0.0) * values
        effects[~np.isfinite(effects)] = 0.0
        among = np.arange(len(effects))
        if len(effects) > MOST_KEPT:  # sorting all takes longer
            among = np.flatnonzero(effects >= np.partition(effects, -MOST_KEPT)[-MOST_KEPT])
        largest = among[np.argsort(-effects[among], kind="stable")[:MOST_KEPT]]
        return {
            int(features[i]): float(f"{values[i]:.6g}") for i in largest.tolist() if effects[i] > 0
        }


@dataclass(frozen=True, slots=True)
class Calibration:
    """What the first rows told a learner, for as long as it learns.

    Attributes
    ----------
    loss : Loss
        With the scale of the targets, where it needs that.
    weight_unit : float
        The mean weight of the first rows: all weights count in units of it.
    moments : array or None
        Second moments of the rows as averaged SGD sees them, for `polyak.learn.rows_needed`.
    spreads : Spreads
        The standard deviations of features, to compare weights by.
    """

    loss: Loss
    weight_unit: float = 1.0
    moments: Floats | None = None
    spreads: Spreads = field(default_factory=Spreads.none)

    def state(self) -> tuple[Page, Arrays]:
        """Return it as a JSON-serialisable dict and a dict of arrays."""
        page: Page = {"loss": self.loss.text_with_scales, "weight_unit": self.weight_unit}
        arrays = {"spreads.features": self.spreads.features, "spreads.values": self.spreads.values}
        return page, arrays if self.moments is None else arrays | {"moments": self.moments}

    @classmethod
    def from_state(cls, stored: StoredState, loss: str) -> Calibration:
        """Return the calibration that `state` was of, with this loss in the recipe."""
        found, moments = get_loss(stored.field("loss")), None
        same = found.name == get_loss(loss).name
        stored.require(same, "loss", f"is {found.name}, but that of the recipe {loss}")
        if "moments" in stored.arrays:
            shape = (len(stored.arrays["moments"]),) * stored.arrays["moments"].ndim
            moments = stored.array("moments", shape, least=-np.inf)
        spreads = Spreads.from_state(stored.part("spreads"))
        return cls(found, stored.number("weight_unit"), moments, spreads)


def calibrated(
    recipe: Recipe,
    sample: TrainingRows,
    *,
    outputs: int,
    classes: NDArray[Any] | None,
    n_features: int | None,
    features: int | None,
    may_drift: bool,
    at_hand: bool,
    columns: SourceColumns | None = None,
    offset: int | None = None,
    solved: bool = False,
) -> tuple[Race, Calibration]:
    """Look at the first rows: return a race that is ready to begin, and what they told.

    Where the loss wants it, learning begins with the best constant of the sample's targets. Where
    rows ``may_drift``, some candidates have a constant rate. Rows ``at_hand`` are compared in the
    end, see `polyak.learn.race.Race.compare`; ``solved`` ones are all fitted at once.
    """
    if recipe.needs_columns and columns is None:
        raise DataError("curves, pairs and constraints need a table whose columns have names")
    if offset is not None and classes is not None and len(classes) > 2:
        raise DataError(
            f"an offset of a row adds the same to the scores of all {len(classes)} classes, which "
            "changes nothing: leave it out, or learn one class against the others"
        )
    rows, targets, weights, _, _, offsets = sample
    # Of many rows that are fitted at once, those that outweigh all others count for nothing.
    usual = rows if solved and len(rows) >= CALIBRATION_ROWS else _usual_rows(rows, recipe)
    loss, begin_at, unit = get_loss(recipe.loss), None, 1.0
    if weights is not None and recipe.eta0 == "auto":  # else steps are as the user says
        unit = mean_weight(weights)
    if not loss.classifies:
        goals = np.asarray(encode(targets, None, loss), float).reshape(len(targets), -1)
        residuals = goals if offsets is None or loss.log_link else goals - offsets[:, None]
        loss = with_scales(loss, rows, residuals)
        recipe = replace(recipe, loss=loss.text_with_scales)
        # Proximal steps are of bounded length, so they begin where the targets are.
        if (loss.starts_at_constant or recipe.is_sparse) and recipe.fit_intercept:
            begin_at = best_constants(loss, goals, weights, offsets)
    if offsets is not None and recipe.fit_intercept and not recipe.is_paper:
        # Offsets may be far from the targets, and steps of an intercept are short in wide rows.
        goals = np.asarray(encode(targets, classes, loss), float).reshape(len(targets), -1)
        begin_at = best_constants(loss, goals, weights, offsets)
    several = classes is not None and len(classes) > 2
    if not several:  # labels have nothing to do with each other
        recipe = replace(recipe, multi_class="ovr")
    dtype = (rows.values if isinstance(rows, SparseRows) else rows).dtype
    problem = Problem(
        outputs=len(classes) if several and classes is not None else outputs,
        one_vs_rest=several,
        classifies=loss.classifies,
        n_features=n_features,
        features=features,
        width=int(row_widths(rows).max(initial=0)),
        dtype=dtype,
        centre=NOTHING if solved else _centre(usual, dtype, recipe),
        begin_at=begin_at,
        at_hand=at_hand or solved,
        solved=solved,
        columns=columns,
        offset=offset,
    )
    shifted = problem.centre.shifted(usual)
    seen = Sample(
        rows=usual,
        shifted=shifted,
        outputs=problem.outputs,
        features=features,
        may_drift=may_drift,
        path=_path(recipe, loss, sample, classes),
        unit=1.0 if loss.classifies or loss.log_link else _score_unit(residuals),
        has_offsets=sample.offsets is not None,
        one_vs_rest=several,
        solved=solved,
    )
    planned = plan_race(recipe, seen)
    if recipe.is_additive and not any(isinstance(one, TermsCandidate) for one in planned):
        warnings.warn(
            f"{recipe.sparse_setting} is left out: there are too many features or classes (drop "
            "columns that name rows)",
            stacklevel=2,
        )
    if is_left_to_sgd(recipe, seen):
        warnings.warn(
            'multi_class="ovr" fits rows this wide by averaged SGD, which may end far from the '
            'optimum: multi_class="auto" fits all classes together, by matrix products',
            stacklevel=2,
        )
    entering = planned + [one for kind in LANES for one in kind.entering(recipe)]
    race = Race(entering, recipe, problem)
    if solved:
        return race, Calibration(loss, unit, None, Spreads.of(rows))
    race.warm_up(usual)
    moments = second_moments(shifted, fit_intercept=recipe.fit_intercept)
    return race, Calibration(loss, unit, moments, Spreads.of(rows))


def _centre(usual: Rows, dtype: Any, recipe: Recipe) -> Centre:
    """Return the shift of the features, which only an intercept can undo."""
    shifts = recipe.fit_intercept and not recipe.is_paper
    return Centre.of(usual, dtype) if shifts else NOTHING


def _path(
    recipe: Recipe, loss: Loss, sample: TrainingRows, classes: NDArray[Any] | None
) -> list[float]:
    """Return the penalties to try where weights are to be zero and ``alpha`` is not given."""
    sparsity = recipe.sparsity()
    if sparsity is None or sparsity.in_rows or recipe.alpha != "auto":
        return []
    from polyak.learn.newton.path import penalties_to_try

    return penalties_to_try(
        loss,
        sample.rows,
        encode(sample.targets, classes, loss),
        sample.weights,
        sample.offsets,
        classes=None if classes is None else len(classes),
        l1_ratio=sparsity.l1_ratio,
        fit_intercept=recipe.fit_intercept,
    )


def _score_unit(targets: Floats) -> float:
    """Return the size of scores that spread like targets."""
    return float(np.std(targets, axis=0).max()) or 1.0


def _usual_rows(rows: Rows, recipe: Recipe) -> Rows:
    """Return the rows without those that would set every learning rate by their length alone."""
    if recipe.is_paper:
        return rows
    far = unusual_rows(rows)
    if not len(far):
        return rows
    longest = rows[far[0] : far[0] + 1]  # by its value: rows may have come in another order
    values = longest.entries()[1] if isinstance(longest, SparseRows) else longest[0]
    value = values[np.abs(values).argmax()]
    more = f", and so are {len(far) - 1} more of the first {len(rows)}" if len(far) > 1 else ""
    warnings.warn(
        f"a row with the value {value:g} is more than ten thousand times as long as the "
        f"others{more}; the learning rate is found without it, but the model may still follow it",
        stacklevel=2,
    )
    return take_rows(rows, np.setdiff1d(np.arange(len(rows)), far))
