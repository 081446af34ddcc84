"""The learner: one pass over batches, from the first row to the model.

It keeps the first 1000 rows back, looks at them to set the learning rate, and then learns every
row once, in order. Its result never depends on how the rows were split into batches.
"""

from __future__ import annotations

import copy
from dataclasses import asdict, replace
from math import nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.errors import DataError, RowError
from polyak.learn.calibration import Calibration, calibrated
from polyak.learn.order_watch import OrderWatch
from polyak.learn.race import Race
from polyak.learn.recipes import Recipe
from polyak.learn.recipes.plan import is_solved
from polyak.learn.report import mean, model_of, recent, training_report
from polyak.learn.stored_state import StoredState
from polyak.learn.targets import (
    as_truths,
    check_finite,
    check_weighted_rows,
    classes_of,
    encode,
    in_units,
    learn_rows,
    rows_there,
)
from polyak.learn.training_rows import FirstRows, TrainingRows
from polyak.losses import Loss, get_loss
from polyak.model.columns import SourceColumns
from polyak.model.linear import LinearModel
from polyak.model.training_report import TrainingReport
from polyak.rows.labels import labels_from_json, labels_to_json, same_labels
from polyak.rows.sparse import HALF_ROWS, as_rows, is_half, take_rows
from polyak.rows.taken import spread_evenly
from polyak.rows.tensors import is_tensor
from polyak.storage.container import plain
from polyak.storage.records import read
from polyak.threads import Lock, changes, reads

Floats = NDArray[np.float64]


class Learner:
    """Learns a linear model from batches, each row once.

    Threads may share it: what one of them reads is as of the end of some batch, while another
    learns.

    Parameters
    ----------
    recipe : Recipe
    classes : array, optional
        The labels there can be. Without it they are those of the first 1000 rows, and others join
        when they come up: see `polyak.learn.race.lanes.protocol.NewOutput`.
    n_features : int, optional
        Refuse features beyond; without it the model grows as features appear.
    features : int, optional
        The number of different features that rows will have, if it is below ``n_features``.
    outputs : int
        How many numbers a target has, for regression.
    watch : OrderWatch, optional
        Where rows come as they stand: it says if order matters, and some candidates never rest.
    columns : SourceColumns, optional
        The columns that features come from, which curves need.
    offset : int, optional
        A feature that is added to the score as it is: its weight is one.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 5))
    >>> learner = Learner(Recipe(loss="log_loss"))
    >>> for part in np.array_split(np.arange(2000), 10):
    ...     learner.learn(X[part], np.where(X[part, 0] > 0, "yes", "no"))
    >>> learner.model().predict(np.eye(5)[:1])
    array(['yes'], dtype='<U3')
    """

    def __init__(
        self,
        recipe: Recipe,
        *,
        classes: NDArray[Any] | None = None,
        n_features: int | None = None,
        features: int | None = None,
        outputs: int = 1,
        watch: OrderWatch | None = None,
        columns: SourceColumns | None = None,
        offset: int | None = None,
    ) -> None:
        self.recipe, self.columns, self.offset = recipe, columns, offset
        self.calibration = Calibration(get_loss(recipe.loss))
        self.classes = None if classes is None else np.asarray(classes)
        self.n_features = n_features
        self.features = features
        self.outputs = max(outputs, self.loss.outputs)
        self.watch = watch
        self.race: Race | None = None
        self.classes_may_join = False  # as long as they are not given
        self.at_hand = False  # all rows are in memory, and `compare` follows
        self.rows_are_usual = False  # those to come were looked at, and no value is too large
        self._first = FirstRows()
        self.threads: int | None = None  # that learn; None for the number of processors
        self.lock = Lock()
        self.version = 0  # counts what was learned, in batches

    def __deepcopy__(self, memo: dict[int, Any]) -> Learner:
        other = Learner.__new__(Learner)
        memo[id(self)] = other
        with self.lock:
            fields = {name: value for name, value in self.__dict__.items() if name != "lock"}
            other.__setstate__(copy.deepcopy(fields, memo))
        return other

    def __getstate__(self) -> dict[str, Any]:
        fields = copy.deepcopy(self).__dict__  # all as of the same batch
        del fields["lock"]
        return fields

    def __setstate__(self, fields: dict[str, Any]) -> None:
        self.__dict__.update(fields)
        self.lock = Lock()

    def require_whole(self) -> None:
        """Raise RuntimeError if learning was interrupted in the middle of a batch."""
        if self.race is not None and self.race.is_torn:
            raise RuntimeError(
                "learning was interrupted in the middle of a batch, so the model's state is "
                "inconsistent; go on from a copy or a saved model, or start over with fit"
            )

    @property
    def loss(self) -> Loss:
        """The loss, with the scale of the targets once the first rows have shown it."""
        return self.calibration.loss

    @property
    def _most_features(self) -> int | None:
        """The number of different features there can be, if that is known."""
        return self.n_features if self.features is None else self.features

    @property
    def recipe_found(self) -> Recipe:
        """The recipe with that loss."""
        return replace(self.recipe, loss=self.loss.text_with_scales)

    @property
    @reads
    def rows_seen(self) -> int:
        """The number of rows of non-zero weight so far, those still kept back included."""
        return len(self._first) + (self.race.clock if self.race else 0)

    @changes
    def learn(
        self,
        X: Any,
        targets: NDArray[Any],
        weights: NDArray[Any] | None = None,
        *,
        order: NDArray[np.int64] | None = None,
        again: bool = False,
    ) -> None:
        """Learn from rows, once each, in the order they stand or in ``order``.

        ``again`` says that they were all learned before: they still teach, but no longer tell how
        good the model is on rows it does not know.
        """
        usual = self.rows_are_usual
        given = rows_there(X, targets, weights, order, self.loss, again, usual=usual)
        apart = self._with_offsets(given)  # and refuse those that are not finite
        if self.race is not None:
            self.race.threads = self.threads
            apart = self.race.placed(apart)
            relative = in_units(given.weights, len(given.rows), self.calibration.weight_unit)
            self.race, self.classes = learn_rows(
                self.race,
                self.classes,
                self.recipe,
                apart._replace(weights=relative),
                may_join=self.classes_may_join and not again,
                again=again,
            )
            if self.watch is not None:
                self.watch.look(self.race, self.classes, self.loss)
            return
        if len(self._first) or given.total < self.recipe.first_rows:
            self._keep_back(given)
        else:
            self._begin(given)

    @changes
    def fit(self, X: Any, targets: NDArray[Any], weights: NDArray[Any] | None = None) -> bool:
        """Learn rows that are all in memory at once, as the first; return whether that was done.

        It is not where rows are many or wide, averaged SGD is asked for, or numbers are so large
        that only averaged SGD may learn them.
        """
        if is_tensor(X) or (is_half(X) and len(X) > HALF_ROWS):
            return False
        classes, outputs = self.classes, self.outputs
        labels = classes is not None and np.ndim(targets) == 2
        several = classes is not None and len(classes) > 2 and not labels
        recipe = self.recipe if several else replace(self.recipe, multi_class="ovr")
        if classes is not None and (several or labels):
            outputs = len(classes)
        if not recipe.takes_newton_steps(0, outputs):
            return False
        if not is_solved(recipe, as_rows(X), outputs, several=several):
            return False
        usual = self.rows_are_usual
        given = rows_there(X, targets, weights, None, self.loss, again=False, usual=usual)
        check_weighted_rows(given.rows, given.weights, self.n_features)
        if not self.loss.classifies:
            check_finite(given.targets, given.targets)
        given = given.taken()
        return bool(given.total) and self._begin(given, solved=True)

    @changes
    def finish(self, *, last: bool = False) -> None:
        """Learn the rows kept back, should there have been fewer than calibration waits for.

        If no others follow the ``last`` of them, additive models are compared on them all.
        """
        if self.race is None and len(self._first):
            given = self._first.joined()
            at_hand = self.recipe.is_additive and (last or self.at_hand)
            if not (at_hand and self.fit(given.rows, given.targets, given.weights)):
                self._begin(given)

    @changes
    def compare(self, X: Any, targets: NDArray[Any], weights: NDArray[Any] | None = None) -> None:
        """Choose among what was learned with all rows at hand, each of them learned once.

        Where they are few that tells more than what they lost as they came: see `Race.compare`.
        """
        if self.race is None:
            return
        rows, targets = as_rows(X), np.asarray(targets)
        if weights is not None and not np.all(weights):
            there = np.flatnonzero(weights)
            rows, targets, weights = take_rows(rows, there), targets[there], weights[there]
        encoded = encode(targets, self.classes, self.loss)
        relative = in_units(weights, len(rows), self.calibration.weight_unit)
        self.race.compare(self._with_offsets(TrainingRows(rows, encoded, relative)))

    @reads
    def model(self, *, report: bool = True) -> LinearModel:
        """Return the model as it stands now, with its report; learning may go on afterwards."""
        if self.race is None:
            if not len(self._first):
                raise DataError("there are no rows to learn from")
            provisional = copy.deepcopy(self)
            provisional.finish(last=True)
            return provisional.model(report=report)
        found = self.recipe_found
        return model_of(self.race, found, self.classes, self.calibration, report=report)

    @reads
    def report(self) -> TrainingReport:
        """Return what was found and its losses on rows not yet learned."""
        if self.race is None:
            raise DataError("there is nothing to report before the first rows are learned")
        return training_report(
            self.race, self.recipe_found, self.race.leader(), self.calibration.moments
        )

    @property
    def progressive_loss(self) -> float:
        """The model's mean loss on rows it had not learned yet, summed over outputs."""
        return self._progressive(1)

    @property
    def progressive_error(self) -> float:
        """The share of rows it would have got wrong, or its mean absolute error."""
        return self._progressive(3)

    @reads
    def _progressive(self, what: int) -> float:
        if self.race is None:
            return float("nan")
        sums = self.race.progressive(self.race.leader().number)
        return mean(sums[what], sums[0])

    @reads
    def recent(self) -> dict[str, float]:
        """Return the leader's losses over the later half of the rows, each before it was learned.

        The keys are ``rows``, ``loss``, ``loss_std_err`` and ``error``; ``constant_loss`` where the
        constant is a candidate, and ``r2`` for squared error.
        """
        if self.race is None:
            return {"rows": 0, "loss": nan, "loss_std_err": nan, "error": nan}
        return recent(self.race, self.race.leader().number, self.recipe)

    # -- stopping, going on, and learning in parts ---------------------------------------------

    @reads
    def state(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """Return the state as a JSON-serialisable dict and a dict of arrays.

        A learner made of it by `from_state` goes on as this one would, to the last bit.
        """
        found = None if self.race is None else self.race.problem  # labels have an output each
        page: dict[str, Any] = {
            "recipe": asdict(self.recipe),
            "n_features": self.n_features,
            "features": self.features,
            "outputs": self.outputs if found is None or found.one_vs_rest else found.outputs,
            "classes": None if self.classes is None else labels_to_json(self.classes),
            "classes_may_join": self.classes_may_join,
            "columns": plain(self.columns),
            "offset": self.offset,
        }
        arrays: dict[str, NDArray[Any]] = {}
        if self.race is not None:
            page["race"], arrays = self.race.state()
        for one in (self.calibration, self._first, self.watch):
            more, rows = ({}, {}) if one is None else one.state()
            page, arrays = page | more, arrays | rows
        return page, arrays

    @classmethod
    def from_state(cls, page: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> Learner:
        """Return the learner that `state` was of; ValueError if the state is corrupt."""
        stored = StoredState(page, arrays)
        classes, n_features = stored.field("classes"), stored.field("n_features")
        features, offset = stored.field("features"), stored.field("offset")
        learner = cls(
            Recipe.of(stored.field("recipe")),
            classes=None if classes is None else labels_from_json(classes),
            n_features=None if n_features is None else stored.whole("n_features"),
            features=None if features is None else stored.whole("features"),
            outputs=stored.whole("outputs", least=1),
            columns=read(SourceColumns | None, stored.field("columns"), "columns"),
            offset=None if offset is None else stored.whole("offset"),
        )
        several = learner.classes is None or len(learner.classes) > 1
        stored.require(several, "classes", "must be two or more")
        learner.calibration = Calibration.from_state(stored, learner.recipe.loss)
        if "race" in page:
            own = StoredState(page["race"], arrays, "race.")
            known = (learner.n_features, learner._most_features, learner.columns, learner.offset)
            learner.race = Race.from_state(own, learner.recipe_found, *known)
            learner._check_race(own)
        learner.classes_may_join = stored.flag("classes_may_join")
        learner._first = FirstRows.from_state(stored, learner.outputs)
        learner.watch = OrderWatch.from_state(stored, learner.outputs)
        return learner

    def _check_race(self, stored: StoredState) -> None:
        """Raise ValueError unless the race has the outputs that the classes ask for."""
        assert self.race is not None
        problem, known = self.race.problem, self.classes is not None
        stored.require(problem.classifies == known, "classes", "do not fit the loss")
        outputs, classes = self.outputs, 0 if self.classes is None else len(self.classes)
        labels = known and outputs > 1
        several = classes > 2 and not labels
        outputs = classes if several or labels else outputs
        fits = problem.outputs == outputs and problem.one_vs_rest == several
        stored.require(fits, "outputs", f"cannot be {problem.outputs}")

    @changes
    def merge(self, others: list[Learner], base: Learner | None = None) -> None:
        """Become what this learner and others learned together, each from rows of its own.

        Averages and iterates are averaged, each weighted by the rows it saw; clocks and
        progressive sums add up. Rows still kept back are learned afterwards. Where all of them
        went on from copies of one learner, give it as ``base``: what it knew then counts once.

        Examples
        --------
        >>> X = np.random.default_rng(0).normal(size=(4000, 3))
        >>> parts = [Learner(Recipe(loss="squared_error")) for _ in range(2)]
        >>> for part, half in zip(parts, (X[:2000], X[2000:])):
        ...     part.learn(half, half @ [1.0, 2.0, 3.0])
        >>> parts[0].merge(parts[1:])
        >>> parts[0].rows_seen, parts[0].model().predict(np.eye(3)).round(1)
        (4000, array([1., 2., 3.]))
        """
        learners = [self, *others]
        kept = [part for learner in learners for part in learner._first.parts]
        started = [learner for learner in learners if learner.race is not None]
        self._first = FirstRows()
        if started:
            first = started[0]
            for other in started[1:]:
                if not same_labels(first.classes, other.classes):
                    raise DataError("the learners know different classes; give them all classes")
            if first is not self:
                self.classes, self.classes_may_join = first.classes, first.classes_may_join
                self.race, self.calibration = copy.deepcopy(first.race), first.calibration
            assert self.race is not None
            races = [other.race for other in started[1:] if other.race is not None]
            self.race.merge(races, None if base is None else base.race)
        for part in kept:
            self.learn(part.rows, part.targets, part.weights)

    # -- inside --------------------------------------------------------------------------------

    def _with_offsets(self, given: TrainingRows) -> TrainingRows:
        """Return rows as lanes learn them: the offset, if it is a feature, is none of theirs."""
        return given if self.offset is None else given.without(self.offset)

    def _keep_back(self, given: TrainingRows) -> None:
        """Keep rows until calibration has enough of them, then learn them all."""
        rows, targets, weights, order, *_ = given
        if len(rows):
            check_weighted_rows(rows, weights, self.n_features)
            if not self.loss.classifies or self.classes is not None:
                check_finite(encode(targets, self.classes, self.loss), targets)
        before = len(self._first)
        together = copy.copy(self._first)
        together.add(given)
        if len(together) < self.recipe.first_rows:
            self._first = together
            return
        try:
            self._begin(together.joined())
        except RowError as error:  # none of those before: they tell which labels there are
            row = error.row - before
            raise RowError(row if order is None else int(order[row]), error.what) from error

    def _begin(self, given: TrainingRows, *, solved: bool = False) -> bool:
        """Calibrate on the first rows and learn them all; if that fails, nothing has changed.

        Rows that are ``solved`` are all in memory: they are fitted at once, and some of them tell
        as much as the first would. Returns whether that could be done.
        """
        most = self.recipe.first_rows
        if solved and given.total > most:
            some = given._replace(order=spread_evenly(given.total, most)).taken()
        else:
            some = given.first(most)
        sample = self._with_offsets(some.on_host())
        classes = self.classes
        if classes is None and self.loss.classifies:
            advice = "shuffle the rows" if self.watch is None else self.watch.advice
            classes = classes_of(sample.targets, advice)
        seen = as_truths(sample.targets, classes, given.targets)
        has_labels = seen is not sample.targets
        race, calibration = calibrated(
            self.recipe,
            sample._replace(targets=seen),
            outputs=seen.shape[1] if has_labels else self.outputs,
            classes=classes if self.loss.classifies and seen.ndim == 1 else None,
            n_features=self.n_features,
            features=self._most_features,
            may_drift=self.watch is not None,
            at_hand=self.at_hand,
            columns=self.columns,
            offset=self.offset,
            solved=solved,
        )
        race.threads, given = self.threads, race.placed(given)
        unit, may_join = calibration.weight_unit, self.classes is None
        given = given._replace(weights=in_units(given.weights, len(given.rows), unit))
        apart = self._with_offsets(given)
        if not solved:
            race, classes = learn_rows(race, classes, self.recipe, apart, may_join=may_join)
        elif not race.fit(apart._replace(targets=encode(apart.targets, classes, self.loss))):
            return False
        none = FirstRows()
        # No call between these, so no interrupt: it would count the first rows twice.
        self.race, self.classes, self._first = race, classes, none
        self.classes_may_join, self.calibration = may_join, calibration
        if self.watch is not None:
            self.watch.begin(given.first(self.recipe.first_rows).on_host())
            self.watch.look(self.race, self.classes, self.loss)
        return True
