"""The plan of a race: from a recipe and the first rows to the candidates that enter.

There are five cases. Where weights are to be exactly zero, or of given signs, the candidates are
Newton steps and proximal steps. Where features are few, block Newton steps enter, which win on most
narrow rows, and a few candidates of averaged SGD beside them. Where they are many, averaged SGD
enters with all its rates, and with rates that follow gradients as AdaGrad's do. Where most are
rare, as in tables with a column of names, Newton steps on the frequent ones enter as well. Dense
rows of hundreds of columns, with too many weights for Newton steps, have a lane of matrix products;
so have sparse ones of many classes, if they are few and at hand.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from polyak._core import free_memory
from polyak.errors import DataError
from polyak.learn.averaging import Averaging, averaging_of
from polyak.learn.bank.settings import Step
from polyak.learn.newton.limits import PENALTIES, SMALL_PENALTIES, UNPENALISED, most_features
from polyak.learn.recipes.candidates import (
    FEWEST_CANDIDATES,
    PEAK_BYTES_PER_FEATURE,
    ROOM_FOR_MOVING,
    AlphaCandidate,
    AnyCandidate,
    Candidate,
    DenseCandidate,
    NewtonCandidate,
    TermsCandidate,
    most_candidates,
)
from polyak.learn.recipes.recipe import (
    MANY_WEIGHTS,
    ROWS_FOR_KNOTS,
    SEVERAL_WEIGHTS,
    Recipe,
)
from polyak.learn.schedules import (
    Polynomial,
    largest_squared_length,
    mean_squares,
    squared_length_by,
)
from polyak.losses import get_loss
from polyak.model.training_report import OF_AVERAGING
from polyak.rows.huge_values import huge_value
from polyak.rows.sparse import Rows, SparseRows, row_widths

DENSE_PENALTIES = tuple(float(f"{10.0 ** (place / 2):.3g}") for place in range(-4, 8))
"""Ridge penalties in rows for wide dense rows, half a decade apart."""
MANY_OUTPUTS = 200
"""With more outputs they are a decade apart."""
DEFAULT_ALPHA = 1e-4
LIGHT_ALPHA = 1e-6
"""The penalty of averaged SGD where none is given, beside a heavier one."""
INTERVAL_DECAY = 0.3
"""The decay a, in units of the curvature, where intervals are asked for.

Their candidates see every feature in units of its own root mean square (p = 1), so the smallest
eigenvalue of the Hessian, which a should be near, is a fraction of the curvature whatever the
number of features. With a much smaller a the rate hardly decays, and the average keeps a bias
that no replica sees.
"""
MOST_WORK, MOST_NUMBERS = 2e9, 1 << 23
"""Multiplications that a Hessian of all rows takes, and numbers that a dense copy of them has, up
to which they are fitted at once: a second of work and 64 MiB."""
FILLED = 0.1
"""The share of values that are not zero from which on features of sparse rows are not called rare:
columns have up to ten words each. Of twelve simulated sets (500 rows, 35 columns of two to seven
words with holes, 19 classes) four had no common features: classes one by one took 12 to 16 s, all
together 0.8 s, and the test losses of the four are 0.50 to 0.95 times those."""
TERMS_A_COLUMN = 32
"""The features that a column is taken to become where terms are asked for."""
BESIDE_NEWTON = 8
"""The number of candidates of averaged SGD that race beside block Newton steps."""
CONSTANT_RATES = (1 / 8, 1 / 32, 1 / 128)
"""Constant learning rates, times curvature and mean squared norm, for streams that drift: where the
best rate is in between, either side of it is nearly as good."""
LEAST = 1e-4
"""The share of the mean squared norm that every sum of squares begins at (``tau``).

Without it the length of the first step on a feature would not depend on the slope.
"""
POWERS_AND_RATES = ((0.5, 1.0), (0.625, 0.5), (0.5, 2.0), (0.625, 1.0), (0.5, 0.5), (0.625, 0.25))
"""``p`` and ``eta``, the most promising first. The last iterate is the model: such rates average
by themselves."""
RATES = (0.4, 0.15, 1.1)
"""Rates of proximal steps for features of usual size, the most promising first. Where words tell
topics apart 0.4 is best, where features are few and common 0.15, where they are rare 1."""
FIRST_HOLD = 0.1
"""How firmly weights are held at first, in slopes, so that the first row does not move them far."""
LIGHT = (1e-5, 1e-6, 1e-4, 1e-3)
"""Penalties of squares, where weights are to be not negative but none need be zero."""


@dataclass(frozen=True, slots=True)
class Sample:
    """What the first rows show of a problem.

    Attributes
    ----------
    rows : array or SparseRows
        The first rows, without those that are far longer than the others.
    shifted : array or SparseRows
        The same rows as averaged SGD sees them.
    outputs : int
    features : int or None
        The number of different features there can be, where that is known.
    may_drift : bool
        Rows are learned as they come, so candidates with a constant rate enter too.
    path : sequence of float
        The penalties to try where weights are to be zero and ``alpha`` is not given.
    unit : float
        The size of scores.
    has_offsets : bool
    one_vs_rest : bool
        There are several classes, which exclude each other.
    solved : bool
        All rows are in memory and are fitted at once, which averaged SGD has no part in.
    """

    rows: Rows
    shifted: Rows
    outputs: int = 1
    features: int | None = None
    may_drift: bool = False
    path: Sequence[float] = ()
    unit: float = 1.0
    has_offsets: bool = False
    one_vs_rest: bool = False
    solved: bool = False

    @property
    def width(self) -> int:
        """The number of features of the widest row."""
        return int(row_widths(self.rows).max(initial=0))


def plan_race(recipe: Recipe, sample: Sample) -> list[AnyCandidate]:
    """Return the candidates that enter a race, those of the baseline apart.

    Examples
    --------
    >>> sample = Sample(np.eye(3), np.eye(3))
    >>> plan_race(Recipe(loss="log_loss", alpha=1e-5, recipe="paper"), sample)
    [Candidate(alpha=1e-05, schedule=Polynomial(gamma0=0.5, a=1e-05, c=0.75), ...)]
    >>> len(plan_race(Recipe(recipe="sgd"), sample))
    54
    >>> plan_race(Recipe(recipe="auto"), sample)[-1]
    NewtonCandidate(penalty=1000.0, softmax=False)
    >>> plan_race(Recipe(recipe="auto", alpha=0.1), sample)[-1]
    AlphaCandidate(penalty=0.1, softmax=False, of_mean=True)
    """
    if recipe.is_paper:
        return [_paper(recipe, sample.rows)]
    if recipe.is_sparse:
        return _sparse(recipe, sample)
    from polyak.learn.newton.frequent import features_seen  # the paper's recipe starts sooner

    newton: list[AnyCandidate] = []
    seen, known = features_seen(sample.rows), sample.features
    if _is_dense(recipe, sample, seen):
        if recipe.alpha != "auto":
            return [DenseCandidate(float(recipe.alpha), of_mean=True)]
        step = 2 if sample.outputs > MANY_OUTPUTS else 1
        return [DenseCandidate(penalty) for penalty in DENSE_PENALTIES[::step]]
    if recipe.takes_newton_steps(seen, sample.outputs):
        most = seen if sample.solved else known
        newton = [*_newton(recipe, seen, sample.outputs, most), *_additive(recipe, sample, seen)]
        if sample.solved:
            return newton
        if (
            recipe.intervals
            and known is not None
            and recipe.takes_newton_steps(known, sample.outputs)
        ):
            return newton  # which are certain to give the intervals, without any replica
    averaged = _averaged(recipe, sample.shifted)
    most = most_candidates(sample.width, sample.outputs * (1 + recipe.replicas))
    if newton:
        return [*averaged[: min(most, BESIDE_NEWTON)], *newton, *_moving(recipe, sample, 1.0)]
    adaptive = _adaptive(recipe, sample.shifted)
    # After those that run beside Newton steps: parts of a race may have these or not.
    first = BESIDE_NEWTON if most >= BESIDE_NEWTON + len(adaptive) else 2
    averaged = [*averaged[:first], *adaptive, *averaged[first:]][:most]
    frequent = _frequent(recipe, sample)
    if not frequent:
        return [*averaged, *_moving(recipe, sample, 0.5)]
    newton = _newton(recipe, frequent, sample.outputs, frequent)
    newton += _additive(recipe, sample, frequent)
    return [*averaged, *newton, *_moving(recipe, sample, 1.0)]


def is_solved(recipe: Recipe, rows: Rows, outputs: int, *, several: bool) -> bool:
    """Whether rows that are all in memory are few and narrow enough to be fitted at once.

    ``outputs`` is the number of models, and ``several`` whether they are those of several classes.

    Examples
    --------
    >>> is_solved(Recipe(recipe="auto"), np.ones((1000, 10)), 1, several=False)
    True
    >>> is_solved(Recipe(recipe="sgd"), np.ones((1000, 10)), 1, several=False)
    False
    """
    from polyak.learn.newton.cadence import BLOCK
    from polyak.learn.newton.frequent import features_seen

    seen = features_seen(rows)
    together = recipe.learns_together(seen, outputs, seen)
    sample = Sample(rows, rows, outputs, one_vs_rest=several, solved=True)
    if several and recipe.takes_softmax and not together:
        return isinstance(rows, SparseRows) and _is_dense(recipe, sample, seen)
    if not recipe.takes_newton_steps(seen, outputs):
        return False
    few = recipe.is_additive and len(rows) <= ROWS_FOR_KNOTS  # as a stream keeps back anyway
    # A stream refits the first block of classes whenever a quarter of its rows has been added.
    few = few or (together and len(rows) <= BLOCK)
    if recipe.is_additive:
        widest = most_features(recipe.loss, outputs, together=together)
        seen = widest if recipe.pairs else min(TERMS_A_COLUMN * seen, widest)
    times = (outputs - 1) ** 2 if together else outputs
    work = len(rows) * float(seen + 1) ** 2 * times
    needed = PEAK_BYTES_PER_FEATURE * sample.width * outputs * FEWEST_CANDIDATES
    if needed > free_memory():
        return False  # and the race refuses the row
    fits = few or (work <= MOST_WORK and len(rows) * seen <= MOST_NUMBERS)
    return fits and not _is_dense(recipe, sample, seen)


def is_left_to_sgd(recipe: Recipe, sample: Sample) -> bool:
    """Whether classes apart are learned by averaged SGD, and together by matrix products."""
    if recipe.multi_class != "ovr" or recipe.alpha != "auto" or not sample.one_vs_rest:
        return False  # with a penalty that is given the report says so
    from polyak.learn.newton.frequent import features_seen

    seen, together = features_seen(sample.rows), replace(recipe, multi_class="auto")
    apart = recipe.takes_newton_steps(seen, sample.outputs) or _frequent(recipe, sample)
    return not apart and _is_dense(together, sample, seen)


def _is_dense(recipe: Recipe, sample: Sample, seen: int) -> bool:
    """Whether rows are dense, wide and enough for solutions to be compared, in 32 bits.

    So are few sparse rows of several classes, which become dense where all are at hand and the
    weights of all classes are too many for one matrix. Of four simulated sets of 400 to 700 rows,
    35 columns of words with holes and 12 to 25 classes that takes a tenth of the time of Newton
    steps on each class, and test loss of the first is 0.189 instead of 0.199.
    """
    if sample.has_offsets or (sample.one_vs_rest and not recipe.takes_softmax):
        return False
    # Candidates of constant rates, for streams that drift, race with Newton steps alone.
    most = MANY_WEIGHTS if sample.solved or sample.may_drift else SEVERAL_WEIGHTS
    if not recipe.takes_dense_rows(seen, sample.outputs, most):
        return False
    from polyak.learn.dense.solver import FEW_ROWS, FIRST_SOLVE, MOST_LEFT_OUT  # if needed

    if isinstance(sample.rows, SparseRows):
        if not (sample.solved and sample.one_vs_rest) or len(sample.rows) > FEW_ROWS:
            return False
        if recipe.learns_together(seen, sample.outputs, seen):
            return False
        if len(sample.rows) * seen * sample.outputs > MOST_LEFT_OUT:
            return False
        # Averaged SGD is better where most features are rare: on three simulated sets of texts of
        # 5 to 8 topics its test losses are 0.124, 0.164 and 0.391, those of products 0.136, 0.240
        # and 0.433.
        values = len(sample.rows.entries()[1])
        if values < FILLED * len(sample.rows) * seen and not _frequent(recipe, sample):
            return False
    few = len(sample.rows) < 2 * FIRST_SOLVE
    return not few and huge_value(sample.rows, None, in_32_bits=True) is None


def _frequent(recipe: Recipe, sample: Sample) -> int:
    """Return the number of features that Newton steps may learn though there are too many."""
    if recipe.for_inference or not recipe.takes_newton_steps(0, sample.outputs):
        return 0
    from polyak.learn.newton.frequent import MOST, frequent_features

    most = min(most_features(recipe.loss, sample.outputs), MOST)
    found = frequent_features(sample.rows, most)
    return 0 if found is None else len(found)


# -- block Newton steps --------------------------------------------------------------------------


def _newton(recipe: Recipe, seen: int, outputs: int, features: int | None) -> list[AnyCandidate]:
    """Return Newton steps with the penalty that was asked for, or with those to try."""
    together = recipe.learns_together(seen, outputs, features)
    if recipe.is_unpenalised:
        return [NewtonCandidate(UNPENALISED, together)]
    if recipe.alpha != "auto":
        return [AlphaCandidate(float(recipe.alpha), together)]
    small = (UNPENALISED,) if recipe.intervals else SMALL_PENALTIES
    return [NewtonCandidate(penalty, together) for penalty in (*small, *PENALTIES)]


def _additive(recipe: Recipe, sample: Sample, features: int) -> list[AnyCandidate]:
    """Return additive models of curves and of pairs, as far as they are asked for."""
    together = recipe.learns_together(features, sample.outputs, sample.features)
    kinds = ([False] if recipe.curves else []) + ([True] if recipe.pairs else [])
    return [TermsCandidate(pairs, together) for pairs in kinds]


def _sparse(recipe: Recipe, sample: Sample) -> list[AnyCandidate]:
    """Return Newton steps; proximal steps where features are many, or in reserve if they may be.

    Proximal steps cannot have signs for some columns alone.
    """
    from polyak.learn.newton.frequent import features_seen

    most = most_features(recipe.loss, sample.outputs)
    proximal = [] if recipe.signs else _proximal(recipe, sample)
    room = most_candidates(sample.width, sample.outputs)
    if features_seen(sample.rows) > most:
        if recipe.signs:
            raise DataError(
                f"{recipe.sparse_setting} is for up to {most:,} features here, and there are more"
            )
        return [*proximal[:room]]
    newton: list[AnyCandidate]
    if recipe.penalty == "l2" and recipe.alpha == "auto":
        # Weights that are only to have given signs have penalties in rows.
        newton = [NewtonCandidate(penalty) for penalty in PENALTIES]
    else:
        alphas = sample.path if recipe.alpha == "auto" else [float(recipe.alpha)]
        newton = [AlphaCandidate(alpha) for alpha in alphas]
    may_leave = sample.features is None or sample.features > most
    reserve = [one for one in proximal if may_leave and one.schedule == proximal[0].schedule]
    if sample.solved:
        reserve = []
    return [*reserve[:room], *newton, *_additive(recipe, sample, features_seen(sample.rows))]


# -- averaged SGD --------------------------------------------------------------------------------


def _paper(recipe: Recipe, rows: Rows) -> Candidate:
    """Return the one candidate of the paper's rules.

    Two safeguards are not in the paper: averaging begins after row 100 at the earliest, and steps
    on rows longer than ``M`` are shortened. "paper-strict" is without them.
    """
    strict, loss = recipe.recipe == "paper-strict", get_loss(recipe.loss)
    alpha = DEFAULT_ALPHA if recipe.alpha == "auto" else float(recipe.alpha)
    M = largest_squared_length(rows, fit_intercept=recipe.fit_intercept)
    schedule = Polynomial(
        gamma0=1.0 / M if recipe.eta0 == "auto" else float(recipe.eta0),
        a=alpha if recipe.decay == "auto" else float(recipe.decay),
        c=loss.power if recipe.power_t == "auto" else float(recipe.power_t),
    )
    return Candidate(
        alpha=alpha,
        schedule=schedule,
        averaging=averaging_of(recipe.average) or Averaging("auto", earliest=1 if strict else 100),
        step="explicit" if recipe.step == "auto" else recipe.step,
        precondition=0.0 if recipe.precondition == "auto" else float(recipe.precondition),
        # A learning rate the user set is used as it is, even where it overshoots.
        capped=recipe.eta0 == "auto" and not strict,
        largest_squared_length=M,
    )


def _averaged(recipe: Recipe, rows: Rows) -> list[Candidate]:
    """Return candidates of falling rates, the most promising first."""
    loss = get_loss(recipe.loss)
    curvature = loss.typical_curvature
    M = largest_squared_length(rows, fit_intercept=recipe.fit_intercept)
    step: Step = "implicit" if recipe.step == "auto" else recipe.step
    weighted = Averaging(0, 1.0 if recipe.intervals else 3.0)
    means, lengths = mean_squares(rows), {}
    candidates: dict[Candidate, None] = {}
    unit = 1.0 if loss.classifies or recipe.alpha != "auto" else curvature
    for alpha, rho, g, p in _settings(recipe):
        alpha *= unit
        if p not in lengths:
            lengths[p] = squared_length_by(means, p, fit_intercept=recipe.fit_intercept)
        decay = INTERVAL_DECAY if recipe.intervals else rho * lengths[p]
        schedule = Polynomial(
            gamma0=g / (curvature * lengths[p]) if recipe.eta0 == "auto" else float(recipe.eta0),
            a=decay * curvature if recipe.decay == "auto" else float(recipe.decay),
            c=loss.power if recipe.power_t == "auto" else float(recipe.power_t),
        )
        candidate = Candidate(
            alpha=alpha,
            schedule=schedule,
            averaging=averaging_of(recipe.average) or weighted,
            step=step,
            precondition=p,
            capped=True,
            largest_squared_length=M,
        )
        overshoots = step == "explicit" and alpha * schedule.gamma0 >= 1
        if not overshoots:
            candidates[candidate] = None
    if not candidates:
        raise ValueError(
            f"alpha * eta0 must be below 1 for explicit steps, but alpha = {recipe.alpha} and "
            f"eta0 = {recipe.eta0}: the penalty alone would push the weights past zero"
        )
    return list(candidates)


def _settings(recipe: Recipe) -> list[tuple[float, float, float, float]]:
    """Return (alpha, rho, g, p), the most promising first: later ones may not fit in memory.

    The learning rate begins at g / (curvature * mean squared norm) and decays by
    a = rho * curvature * mean squared norm. Where no alpha is given and targets are numbers, that
    is in units of the curvature, too: of rates of 1e-7 it is so small that alpha would erase the
    weights at every row, and all 2^18 of words then take 16 s for 2,000 rows instead of 0.7 s.
    """
    powers = [0.5, 0.25, 1.0] if recipe.precondition == "auto" else [float(recipe.precondition)]
    if recipe.intervals:  # two candidates will do: each has its replicas
        alpha = LIGHT_ALPHA if recipe.alpha == "auto" else float(recipe.alpha)
        return [(alpha, 0.0, g, powers[-1]) for g in (2.0, 0.5)]
    rates = [  # (rho, g)
        *[(1e-3, 0.5), (1e-4, 2.0), (1e-3, 2.0), (3e-4, 2.0), (1e-4, 0.5), (1e-2, 8.0)],
        *[(3e-4, 8.0), (1e-2, 2.0), (1e-3, 8.0), (3e-3, 2.0), (1e-4, 8.0), (3e-3, 8.0)],
        *[(1e-3, 0.125), (1e-2, 0.5)],
    ]
    if recipe.alpha != "auto":
        return [(float(recipe.alpha), rho, g, p) for (rho, g), p in product(rates, powers)]
    light = [(LIGHT_ALPHA, rho, g, p) for (rho, g), p in product(rates, powers)]
    heavy = [(1e-4, 1e-3, g, p) for g, p in product((0.5, 2.0, 8.0, 0.125), powers)]
    return light + heavy


def _adaptive(recipe: Recipe, rows: Rows) -> list[Candidate]:
    """Return candidates whose rates follow gradients, for classes: AdaGrad's.

    Coordinate ``j`` moves by ``eta / (tau + sum of (slope * x_j)^2) ** p``: a feature that is rare,
    or that the model is right about, keeps a large rate however late it comes. In a bank that is a
    preconditioner of mean squares of gradients, and a rate that falls like ``t ** -p``. The units
    of ``eta`` are such that multiplying all features by a number changes no score.
    """
    classifies = get_loss(recipe.loss).classifies
    if recipe.recipe != "auto" or recipe.intervals or recipe.sets(OF_AVERAGING) or not classifies:
        return []
    length = squared_length_by(mean_squares(rows), 0.0, fit_intercept=recipe.fit_intercept)
    M = largest_squared_length(rows, fit_intercept=recipe.fit_intercept)
    alpha, found = LIGHT_ALPHA if recipe.alpha == "auto" else float(recipe.alpha), []
    for p, eta in POWERS_AND_RATES:
        gamma0 = eta * length ** (p - 1.0)
        rate = Polynomial(gamma0, 1.0 / gamma0, p)
        found.append(_last_iterate(M, alpha, rate, p, adagrad=LEAST * length))
    return found


def _moving(recipe: Recipe, sample: Sample, p: float) -> list[Candidate]:
    """Return candidates of constant rates for rows that may drift, if memory has room for them."""
    short = most_candidates(sample.width, sample.outputs) < ROOM_FOR_MOVING
    asked = recipe.sets(("alpha", *OF_AVERAGING))
    if short or recipe.intervals or asked or not sample.may_drift:
        return []
    loss = get_loss(recipe.loss)
    length = squared_length_by(mean_squares(sample.shifted), p, fit_intercept=recipe.fit_intercept)
    unit = loss.typical_curvature * length
    rates = [Polynomial(gamma0=g / unit, a=0.0, c=loss.power) for g in CONSTANT_RATES]
    M = largest_squared_length(sample.shifted, fit_intercept=recipe.fit_intercept)
    alpha = LIGHT_ALPHA * (1.0 if loss.classifies else loss.typical_curvature)
    return [_last_iterate(M, alpha, rate, p) for rate in rates]


def _proximal(recipe: Recipe, sample: Sample) -> list[Candidate]:
    """Return proximal steps, the most promising first; ``gamma0`` and ``a`` are eta and b.

    Without an ``alpha``, those of the path are tried, which falls from one that leaves hardly any
    weight. Scores are of the size of ``sample.unit``.
    """
    rows, path, unit = sample.rows, sample.path, sample.unit
    values = rows.entries()[1] if isinstance(rows, SparseRows) else np.asarray(rows)
    squares = np.square(values[values != 0], dtype=np.float64)
    size = float(np.sqrt(squares.mean())) if squares.any() else 1.0
    if recipe.alpha != "auto":
        alphas: Sequence[float] = [float(recipe.alpha)]
    else:  # those in the middle are the likeliest, and rather small than large
        middle = (len(path) - 1) * 0.65
        alphas = sorted(path, key=lambda alpha: abs(path.index(alpha) - middle)) or LIGHT
    M = largest_squared_length(rows, fit_intercept=recipe.fit_intercept)
    return [
        _last_iterate(M, alpha, rate, 0.5, step="proximal")
        for rate in (Polynomial(unit * r / size**0.5, FIRST_HOLD * unit, 0.5) for r in RATES)
        for alpha in alphas
    ]


def _last_iterate(
    M: float,
    alpha: float,
    schedule: Polynomial,
    precondition: float,
    *,
    step: Step = "implicit",
    adagrad: float | None = None,
) -> Candidate:
    """Return a candidate whose model is the last iterate; ``M`` is the largest squared length."""
    return Candidate(
        alpha=alpha,
        schedule=schedule,
        averaging=Averaging(None),
        step=step,
        precondition=precondition,
        capped=True,
        largest_squared_length=M,
        adagrad=adagrad,
    )
