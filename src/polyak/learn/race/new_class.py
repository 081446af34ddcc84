"""A class that comes up when the race is on its way: models for it join every candidate.

They begin as models that have seen nothing but negative rows so far:

* The weights are zero, and the intercept is the best constant for no positive row and as many
  negative ones as there were, either side counting half a row more: for the logistic loss the
  logarithm of the odds of half a row in all. Without an intercept the score is zero.
* Rates, clocks and averages are those of the other classes' models, as if it had stood there from
  the first row on; where the paper's detector is to find when averaging begins, it has not yet.
  Its losses so far count as none: they were small, and the same for everybody.
* To block Newton steps, the rows that they still hold are negative rows of the class. Of those they
  have forgotten, the curvature and the slope at that constant are left: the other classes' matrices
  tell how features vary together, so the new one is what they add up to, for as many rows. Where
  they learn classes together, see `polyak.learn.newton.one_class_more`.

A label, of which a row may have several, joins in the same way: no row had it so far.

Where there were two classes, one model served both: the second class's own, and the first's is its
mirror image, since all losses of classes are symmetric.

All of it is done on what is stored of a race, in which every array that knows of classes has them
side by side.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak import _core
from polyak.learn.calibration import BINS
from polyak.learn.newton.block.curvature import curvature, value_and_slope
from polyak.learn.newton.information import Information
from polyak.learn.newton.one_class_more import with_one_class_more
from polyak.learn.newton.progressive import SUMS as MODEL_SUMS
from polyak.learn.newton.softmax import basis
from polyak.learn.newton.sparse.asking import is_sparse
from polyak.learn.race.history import LOSS, RATED, SQUARES
from polyak.learn.race.lanes.sgd import SgdLane
from polyak.learn.race.race import Race
from polyak.learn.race.storing import Arrays, Page, race_from_state, race_state
from polyak.learn.recipes import Recipe
from polyak.losses import get_loss

Floats = NDArray[np.float64]


def copy_of(race: Race, recipe: Recipe) -> Race:
    """Give another race that stands where this one does."""
    return _restored(race, recipe, *race_state(race))


def with_class(race: Race, place: int, recipe: Recipe) -> Race | None:
    """Give a race with one class more, which has this place among the classes.

    None where that cannot be: Newton steps have no room for so many matrices, and nobody else runs.
    """
    page, arrays = race_state(race)
    n_features = race.problem.n_features
    if race.problem.has_labels:
        recipe = replace(recipe, multi_class="ovr")
    elif not page["one_vs_rest"]:
        halved, proximal = recipe.for_averaged_sgd(3, n_features).takes_softmax, is_sparse(recipe)
        _mirror(page, arrays, halved=halved, proximal=proximal)
        if "newton" in page:
            features = len(arrays["newton.weights"]) - int(recipe.fit_intercept)
            if recipe.learns_together(features, 3, n_features):
                _put_together(page, arrays)
    outputs, before = page["outputs"], race.problem.outputs
    replicas = {recipe.for_averaged_sgd(k, n_features).replicas for k in (before, outputs + 1)}
    if len(replicas) > 1:
        return None
    detecting = [
        lane.bank.averaging.start == "auto" for lane in race.lanes if isinstance(lane, SgdLane)
    ]
    _insert(page, arrays, place, recipe, detecting, n_features)
    page["outputs"] = outputs + 1
    grown = _restored(race, recipe, page, arrays)
    if all(lane.has_left for lane in grown.lanes if set(lane.numbers) & set(grown.contenders)):
        return None
    grown.drop_who_left()
    return grown


def _restored(race: Race, recipe: Recipe, page: Page, arrays: Arrays) -> Race:
    other = race_from_state(page, arrays, recipe, race.problem.n_features)
    other.is_part, other.threads = race.is_part, race.threads
    return other


# -- two classes: from one model to two --------------------------------------------------------


def _mirror(page: Page, arrays: Arrays, *, halved: bool, proximal: bool) -> None:
    """Give the first class a model of its own, the second's mirror image.

    Where classes are learned together, it is the difference of the two that was one model.
    """
    # Sums of losses are of all outputs together; only a row's own class loses, where they are
    # learned together.
    each = 0.5 if halved else 1.0
    arrays["history"][..., [LOSS, SQUARES, RATED]] *= 2.0 * each
    for number in range(len(page["looked"])):
        bank = f"bank{number}."
        arrays.pop(bank + "means", None)  # of proximal steps: they are to find others
        lines = _both(arrays[bank + "lines"]) * each
        if proximal:  # whose other half are roots
            lines[:, lines.shape[1] // 2 :] = np.abs(lines[:, lines.shape[1] // 2 :])
        arrays[bank + "lines"] = lines
        models = np.repeat(arrays[bank + "models"], 2, axis=1)
        field = _core.model_fields.index
        models[[field("bias"), field("bias_sum")], ::2] *= -1.0
        models[[field("bias"), field("bias_sum")]] *= each
        models[[field("loss"), field("loss_squared"), field("rated")]] *= each
        models[field("confusion")] = models[field("error")]
        arrays[bank + "models"] = models
    if "newton" in page:
        for name in ("weights", "gradients", "held.targets"):
            arrays[f"newton.{name}"] = _both(arrays[f"newton.{name}"])
        for number in range(len(page["newton"]["earlier"])):
            arrays[f"newton.earlier.{number}"] = _both(arrays[f"newton.earlier.{number}"])
        for name in ("hessians", "spreads"):
            arrays[f"newton.{name}"] = np.concatenate([arrays[f"newton.{name}"]] * 2)
        totals = np.repeat(arrays["newton.totals"], 2, axis=1)
        totals[[MODEL_SUMS.index(name) for name in ("loss", "loss_squared", "rated")]] *= each
        totals[MODEL_SUMS.index("confusion")] = totals[MODEL_SUMS.index("error")]
        arrays["newton.totals"] = totals
        arrays["newton.lately"] = 2.0 * each * arrays["newton.lately"]
    if "constant" in page:
        arrays["constant.usual"][0] *= 2.0 * each
        arrays["constant.constant"] = _both(arrays["constant.constant"])
    for name in _histograms(arrays):
        counts = arrays[name][:, :, None]
        both = np.concatenate([counts[..., ::-1, ::-1], counts], axis=2)
        arrays[name] = both.reshape(2, -1, 2, BINS)
    page["outputs"], page["one_vs_rest"] = 2, True


def _both(array: NDArray[Any]) -> NDArray[Any]:
    """Put the mirror image before every column."""
    pairs = np.stack([-array, array], axis=-1)
    return pairs.reshape(*array.shape[:-1], -1)


def _put_together(page: Page, arrays: Arrays) -> None:
    """Let Newton steps go on with both classes together: a softmax of two is the logistic curve.

    The weights of the one model are the difference of its class's and the other's.
    """
    apart = basis(2)[1] - basis(2)[0]
    second = slice(1, None, 2)
    arrays["newton.weights"] = arrays["newton.weights"][..., second] / apart
    arrays["newton.gradients"] = arrays["newton.gradients"][..., second] * apart
    arrays["newton.hessians"] = arrays["newton.hessians"][second] * apart**2
    for candidate in page["candidates"]:
        if "softmax" in candidate:
            candidate["softmax"] = True


# -- from any number of classes to one more ----------------------------------------------------


def _insert(
    page: Page,
    arrays: Arrays,
    place: int,
    recipe: Recipe,
    detecting: list[bool],
    n_features: int | None,
) -> None:
    """Make room for the models of a class, and say what they have seen: negative rows."""
    outputs, rows = page["outputs"], float(page["clock"])
    never, always = np.zeros(1), np.full(1, rows)
    constant = get_loss(recipe.loss).best_constant(never, always) * float(recipe.fit_intercept)

    def widened(name: str, new: Any = 0.0) -> None:
        """Insert a column into every group of as many as there are classes."""
        array = arrays[name]
        groups = array.reshape(*array.shape[:-1], -1, outputs)
        one = np.asarray(new, array.dtype)
        one = np.broadcast_to(
            one if one.ndim == 0 else one.reshape(groups.shape[:-1]), groups.shape[:-1]
        )
        groups = np.concatenate([groups[..., :place], one[..., None], groups[..., place:]], axis=-1)
        arrays[name] = np.ascontiguousarray(groups.reshape(*array.shape[:-1], -1))

    together = recipe.for_averaged_sgd(outputs, n_features).takes_softmax
    for number, detects in enumerate(detecting):
        widened(f"bank{number}.lines")
        arrays.pop(f"bank{number}.means", None)
        models = arrays[f"bank{number}.models"]
        new = _of_a_new_model(models[:, ::outputs], float(constant[0]), detects=detects)
        if together and recipe.fit_intercept:
            _set_level(new, models.reshape(len(models), -1, outputs), rows)
        widened(f"bank{number}.models", new)
    if "newton" in page:
        together = any(candidate.get("softmax") for candidate in page["candidates"])
        at = (page["newton"], arrays, place, recipe, constant, widened)
        _insert_newton(*at, together=together)
    if "constant" in page:
        for name in ("constant.seen", "constant.then"):
            sides = arrays[name].reshape(-1, outputs)[:, 0]
            widened(name, np.array([sides.sum(), 0.0]) if len(sides) > 1 else 0.0)
        widened("constant.constant", constant)
    one_row = np.zeros((1, 2, BINS))
    _core.count_scores(constant[None], np.zeros((1, 1), bool), np.ones(1), one_row)
    for name in _histograms(arrays):
        groups = arrays[name].reshape(2, -1, outputs, 2, BINS)
        total = groups[:, :, 0].sum(axis=(2, 3))[..., None, None]
        wider = np.insert(groups, place, total * one_row, axis=2)
        arrays[name] = wider.reshape(2, -1, 2, BINS)


def _of_a_new_model(sibling: Floats, constant: float, *, detects: bool) -> Floats:
    """Give the numbers of a model that has stood at a constant for as long as its siblings ran."""
    new, field = sibling.copy(), _core.model_fields.index
    sums = ("loss", "loss_squared", "error", "rated", "capped")
    none = ("tau", *sums, "running_iterate", "running_average")
    new[[field(name) for name in none]] = 0.0
    new[field("scale")], new[field("bias")] = 1.0, constant
    if detects:  # negative rows alone would not have let averaging begin
        new[field("start")], new[field("total")], new[field("unit")] = -1.0, 1.0, 1.0
    new[field("bias_sum")] = constant * new[field("total")]
    return new


def _set_level(new: Floats, models: Floats, rows: float) -> None:
    """Let the odds of a new model be those against all classes that it is learned together with.

    Steps of other classes' rows push the odds of a class down by its probability, so that they end
    at one over the sum of the rates: had it been there, it would be no lower, and come up as soon.
    """
    field = _core.model_fields.index
    total, mean_rate = new[field("total")], new[field("gamma0")]
    slowed = new[field("decay")] * mean_rate * rows
    rates = mean_rate * rows * (1.0 + 0.5 * slowed) ** -0.5  # near enough for a logarithm
    odds = np.maximum(new[field("bias")], -np.log1p(rates))
    averaged = models[field("bias_sum")] / np.maximum(total, 1e-300)[:, None]
    new[field("bias")] = odds + np.logaddexp.reduce(models[field("bias")], axis=1)
    new[field("bias_sum")] = total * (odds + np.logaddexp.reduce(averaged, axis=1))


def _insert_newton(
    page: Page,
    arrays: Arrays,
    place: int,
    recipe: Recipe,
    constant: Floats,
    widened: Any,
    *,
    together: bool,
) -> None:
    weights, hessians = arrays["newton.weights"], arrays["newton.hessians"]
    forgotten = page["clock"] - len(arrays["newton.held.targets"])
    new = arrays["newton.totals"][:, :: arrays["newton.held.targets"].shape[1]].copy()
    new[1:] = 0.0  # all but the rows
    widened("newton.held.targets", -1.0)
    widened("newton.totals", new)
    if together:
        chance = 1.0 / (1.0 + math.exp(-float(constant[0])))
        _insert_together(arrays, place, chance, forgotten, fit_intercept=recipe.fit_intercept)
        return
    first = np.zeros(weights.shape[:2])
    slope, gram = np.zeros(1), np.zeros(hessians.shape[1:])
    summed: Floats = hessians.sum(axis=0)
    if recipe.fit_intercept and summed[0, 0] > 0:
        gram = forgotten * summed / summed[0, 0]
        slope = value_and_slope(recipe.loss, constant, -np.ones(1))[1]
    if recipe.fit_intercept:
        first[0] = constant
    bend = curvature(recipe.loss, constant, -np.ones(1))
    gradient = slope * (gram[0] if len(gram) else np.zeros(0))
    widened("newton.weights", first)
    widened("newton.gradients", np.repeat(gradient[:, None], weights.shape[1], axis=1))
    for number in range(len(page["earlier"])):
        widened(f"newton.earlier.{number}")
    arrays["newton.hessians"] = np.insert(hessians, place, bend * gram, axis=0)
    if len(arrays["newton.spreads"]):
        spread = slope * slope * gram
        arrays["newton.spreads"] = np.insert(arrays["newton.spreads"], place, spread, axis=0)


def _insert_together(
    arrays: Arrays, place: int, chance: float, rows: float, *, fit_intercept: bool
) -> None:
    own = {name.removeprefix("newton."): array for name, array in arrays.items()}
    known = Information.from_state(own, exact=False, together=True)
    more = with_one_class_more(known, place, chance, rows, fit_intercept=fit_intercept)
    arrays |= {f"newton.{name}": array for name, array in more.state().items()}


def _histograms(arrays: Arrays) -> list[str]:
    return [name for name in arrays if name.endswith(".histogram")]
