"""Section 6.3: six algorithms on the paper's data sets (Figure 3, and Figures 4 and 5 in part).

All learn from the same rows in the same 25 random orders, once over, and three of the orders twice,
with the paper's λ and without an intercept, and are measured on the test rows at the same places.
ASGD is Algorithm 1 as printed with the t0 of Table 1. Verdicts rest on the paper's own rows:
covtype, mnist9 (our features) and a sample of rcv1. Stand-ins are generated and shown only. The two
readings of γ₀ are compared on three other sets, too.

Errors and costs are kept by group of the test rows, so that intervals include the error of the test
rows by the jackknife, beside that of the orders.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import copy
from dataclasses import replace
from functools import cached_property, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.losses import get_loss
from reproduction.datasets import PAPER_SETS, BenchmarkSet, PaperSet, load, load_benchmark
from reproduction.datasets.benchmark import form_here
from reproduction.figures import Figure, Panel, Series, Table
from reproduction.pieces import Piece, Result
from reproduction.rivals import ASGD, RIVALS, Liblinear, SvmASGD, squared_norms
from reproduction.verdicts import Number, count_of, student

Floats = NDArray[np.float64]
LOSSES = {"squared_hinge": "squared hinge", "log_loss": "logistic", "hinge": "hinge"}
CURVATURE = {"squared_hinge": 1.0, "log_loss": 0.25}
"""κ, the largest second derivative of a loss; the hinge has none."""
KAPPA, TRIED = "ASGD, γ₀ = 1/(κM)", "ASGD, γ₀ tried"
NEWER = {
    "SGD2": "sgd2",
    "Pegasos": "pegasos",
    "SGD-QN": "sgd_qn",
    "oLBFGS": "olbfgs",
    "LIBLINEAR": "liblinear",
}
"""The five rivals, SGD2 and SGD-QN as in their authors' later programs."""
OLDER = {"SGD2 (2007)": "sgd2-2007", "SGD-QN (2009)": "sgd_qn-2009"}
"""Those two as they were public when the paper was written."""
AS_IN_PAPER = {"SGD2": "SGD2 (2007)", "SGD-QN": "SGD-QN (2009)"}
ALGORITHMS = ("ASGD", *NEWER, *OLDER, KAPPA, TRIED)
MARKS = (1 / 64, 1 / 32, 1 / 16, 1 / 8, 1 / 4, 1 / 2, 3 / 4, 1.0, 5 / 4, 3 / 2, 7 / 4, 2.0)
ONE_PASS, EIGHTH = MARKS.index(1.0), MARKS.index(1 / 8)
ORDERS, A_PIECE, TWO_PASSES, STAND_IN_ORDERS = 25, 5, 3, 3
GROUPS = 20
"""Groups of test rows, every twentieth row each: their jackknife has 19 degrees of freedom.

In 400 simulated contests (10 orders, 2,000 test rows that differ) 97% of the intervals cover the
true difference; without the test rows' variance 56% do.
"""
TIMED = 50_000
"""The rows of a set that the learning loops are timed on."""
OTHERS, OTHER_ALPHA = ("a9a", "w8a", "ijcnn1"), 1e-5
"""Sets that the paper does not have, for the two readings of γ₀."""
OF = {"error": "test error", "cost": "test cost"}
MEAN_COST = "The mean loss of a test row plus the penalty: geometric means"
SECOND_PASS = (
    "The second pass is of three orders: their change since the end of the first, added to the "
    "mean of all."
)
KINDS = (
    (
        "real",
        "the paper's rows",
        ("real", "sample"),
        " Overflow: the weights did, in one order at least.",
    ),
    (
        "stand-ins",
        "stand-ins",
        ("stand-in",),
        " Stand-ins are not the real sets: no verdict rests on them.",
    ),
    ("others", "other sets", ("other",), " The paper does not have these sets; λ = 1e-5."),
)
"""Kinds of sets: what files, and what titles call them, their forms, and a note."""
OVERFLOWED = {"error": 1.0, "cost": 700.0}
"""What weights that overflowed count: all rows wrong, or a cost of exp(700), near the largest."""
SEED = 20261118
"""Orders are drawn afresh: the second reading of γ₀ was found on others."""


def pieces(quick: bool, data: str | None) -> list[Piece]:
    """Return pieces of a few orders of a set each."""
    pieces = []
    for name in (*PAPER_SETS, *OTHERS):
        form = form_here(name, data)
        if form is None or (quick and form == "stand-in" and name != "delta"):
            continue
        common = {"name": name, "data": data if form != "stand-in" else "/nowhere"}
        orders = STAND_IN_ORDERS if quick or form == "stand-in" else ORDERS
        share = 0.05 if quick else 1.0
        for first in range(0, orders, A_PIECE):
            last = min(first + A_PIECE, orders)
            parameters = {**common, "first": first, "last": last, "share": share}
            pieces.append(Piece(f"benchmarks-{name}-{first}", run_set, parameters, version=2))
    return pieces


def run_set(name: str, data: str | None, first: int, last: int, share: float) -> Result:
    """Let all algorithms learn some orders of a set, with one loss after the other."""
    rows = other_set(name, data, share) if name in OTHERS else load_benchmark(name, data, share)
    losses, names = (["log_loss"], ("ASGD", KAPPA)) if name in OTHERS else (LOSSES, ALGORITHMS)
    orders = []
    for order in range(first, last):
        places = np.random.default_rng([SEED, order]).permutation(len(rows.y))
        ordered = replace(rows, X=rows.X[places], y=rows.y[places])
        passes = 2 if order < TWO_PASSES and name not in OTHERS else 1
        orders.append({loss: compete(ordered, loss, passes, names) for loss in losses})
    about = {
        "name": name,
        "form": rows.form,
        "title": rows.title,
        "rows": len(rows.y),
        "test rows": len(rows.y_test),
        "features": int(rows.X.shape[1]),
        "M": float(squared_norms(rows.X[:1000]).max()),
        "positive": float(np.mean(rows.y > 0)),
    }
    return {"about": about, "orders": orders}


def other_set(name: str, data: str | None, share: float) -> BenchmarkSet:
    """Read a set that is not the paper's; the rule of section 5 finds its t0."""
    (X, y), (X_test, y_test) = load(name, data)
    n, n_test = (max(200, round(share * len(part))) for part in (y, y_test))
    paper = PaperSet(name, "", True, X.shape[1], n, n_test, OTHER_ALPHA, longest=0.0)
    return BenchmarkSet(paper, "other", X[:n], y[:n], X_test[:n_test], y_test[:n_test])


def compete(
    rows: BenchmarkSet, loss: str, passes: int, names: tuple[str, ...] = ALGORITHMS
) -> Result:
    """Return each algorithm's test errors and costs at the marks, by group of the test rows."""
    models = {name: learner(name, loss, rows) for name in names}
    return {
        name: _curve(model, rows, loss, passes)
        for name, model in models.items()
        if model is not None
    }


def learner(name: str, loss: str, rows: BenchmarkSet) -> Any:
    """Return an algorithm with the paper's settings; None if it does not have the loss."""
    alpha, t0 = rows.paper.alpha, rows.paper.start
    if name == "ASGD":
        return ASGD(loss, alpha, t0)
    if name == TRIED:
        return SvmASGD(loss, alpha, t0)
    if name == KAPPA:  # with κ = 1, or without a bound, it is ASGD itself
        kappa = CURVATURE.get(loss, 1.0)
        return ASGD(loss, alpha, t0, kappa) if kappa != 1.0 else None
    if name == "LIBLINEAR" and loss == "log_loss":
        return None  # as in the paper: its dual coordinate descent has no logistic loss
    return RIVALS[(NEWER | OLDER)[name]](loss, alpha)


def _curve(model: Any, rows: BenchmarkSet, loss: str, passes: int) -> Result:
    marks, n, sums = [mark for mark in MARKS if mark <= passes], len(rows.y), []
    if isinstance(model, Liblinear):  # it can be asked after whole passes only
        for mark in marks:
            if mark % 1 == 0:
                model.iterations = int(mark)
                model.learn(rows.X, rows.y)
            sums.append(measure(model.coef, rows, loss) if mark % 1 == 0 else (None, None))
        return {what: [pair[place] for pair in sums] for place, what in enumerate(OF)}
    model.calibrate(rows.X[: model.sample], rows.y[: model.sample])
    at, going = 0, True
    for mark in marks:
        # Whole mini-batches of oLBFGS, so that where it is measured changes nothing.
        end = max(100, round(mark * n / 100) * 100) if mark % 1 else round(mark * n)
        while going and at < end:
            begin = at % n
            step = min(end - at, n - begin)
            going = model.learn(rows.X[begin : begin + step], rows.y[begin : begin + step])
            at += step
        sums.append(measure(model.coef, rows, loss) if going else ([], []))
    return {what: [pair[place] for pair in sums] for place, what in enumerate(OF)}


def measure(coef: Floats, rows: BenchmarkSet, loss: str) -> tuple[list[int], list[float]]:
    """Return wrong signs and costs, added up by group of the test rows; nothing for an overflow.

    The cost of a row is its loss and the penalty.
    """
    with np.errstate(all="ignore"):
        scores = np.asarray(rows.X_test @ coef.astype(np.float32), np.float64)
        costs = get_loss(loss).value(scores, rows.y_test) + rows.paper.alpha / 2 * (coef @ coef)
    if not np.isfinite(costs).all():
        return [], []
    wrong = (scores > 0) != (rows.y_test > 0)
    groups = range(GROUPS)
    return (
        [int(wrong[group::GROUPS].sum()) for group in groups],
        [float(f"{costs[group::GROUPS].sum():.10g}") for group in groups],
    )


# -- what it shows ---------------------------------------------------------------------------------


class Contest:
    """One set and one loss: what each algorithm reached in each order, in errors or in costs.

    Costs are compared by their logarithm, in which one overflow is not all that counts.
    """

    def __init__(self, about: Result, loss: str, orders: list[Result], what: str = "error") -> None:
        self.about, self.loss, self.orders, self.what = about, loss, len(orders), what
        self.names = list(orders[0])
        self._sums = {name: _sums([order[name][what] for order in orders]) for name in self.names}
        self._keep(np.ones(GROUPS, bool))

    def _keep(self, kept: NDArray[np.bool_]) -> None:
        """Set the curves, values by order and mark, to those of some groups of the test rows."""
        sizes = np.array([len(range(g, self.about["test rows"], GROUPS)) for g in range(GROUPS)])
        self.test_rows = int(sizes[kept].sum())
        self._curves: dict[str, Floats] = {}
        for name, sums in self._sums.items():
            values = sums[:, :, kept].sum(axis=2) / self.test_rows
            values = np.log(values) if self.what == "cost" else values
            self._curves[name] = np.minimum(values, OVERFLOWED[self.what])
        six = [name for name in ("ASGD", *NEWER) if name in self.names]
        # The lowest mean of the six at any mark of two passes, and whose it is.
        self.lowest = min((float(np.nanmin(self.mean_curve(name))), name) for name in six)

    @cached_property
    def without(self) -> list[Contest]:
        """The contest without each group of the test rows."""
        contests = []
        for group in range(GROUPS):
            contests.append(copy(self))
            contests[-1]._keep(np.arange(GROUPS) != group)
        return contests

    def number(self, statistic: Callable[[Contest], Floats], limit: float = 0.0) -> Number:
        """Return the mean of a statistic over the orders, its interval for other test rows too."""
        left_out = [float(statistic(one).mean()) for one in self.without]
        return student(statistic(self), limit, left_out)

    @property
    def title(self) -> str:
        """The set and the loss."""
        return f"{self.about['title']}, {LOSSES[self.loss]}"

    def during(self, name: str) -> Floats:
        """Return the values of one pass by order and mark."""
        return self._curves[name][:, : ONE_PASS + 1]

    def after_one_pass(self, name: str) -> Floats:
        """Return the values of all orders after one pass."""
        return self._curves[name][:, ONE_PASS]

    def mean_curve(self, name: str) -> Floats:
        """Return the mean of all orders by mark.

        The second pass is of few orders: their change since the end of the first is added to the
        mean of all, which differs from theirs.
        """
        curves = self._curves[name]
        few = curves[~np.isnan(curves[:, -1])]
        mean = np.asarray(curves.mean(axis=0))
        if len(few):
            after = few[:, ONE_PASS + 1 :] - few[:, ONE_PASS, None]
            mean[ONE_PASS + 1 :] = mean[ONE_PASS] + after.mean(axis=0)
        return mean

    @cached_property
    def unit(self) -> float:
        """The difference from the lowest that the test rows can tell: two standard errors."""
        lowest, name = self.lowest
        if self.what == "error":
            return 2 * float(np.sqrt(lowest * (1 - lowest) / self.test_rows))
        place = int(np.nanargmin(self.mean_curve(name)))
        left_out = [one.mean_curve(name)[place] for one in self.without]
        return 2 * float(np.sqrt((GROUPS - 1) * np.var(left_out)))

    def rivals(self, as_in_paper: bool) -> list[str]:
        """Return the paper's other five, as far as they have the loss."""
        swap = AS_IN_PAPER if as_in_paper else {}
        return [swap.get(name, name) for name in NEWER if name in self.names]

    def ours(self, reading: str) -> str:
        """Return the name of ASGD in a reading of its first rate."""
        return KAPPA if reading == "κ" and KAPPA in self.names else "ASGD"

    def against(self, ours: str, theirs: str) -> Number:
        """Return by how much an algorithm is above another after one pass."""
        return self.number(lambda one: one.after_one_pass(ours) - one.after_one_pass(theirs))

    def good(self, name: str) -> Number:
        """Return how far a value is above the lowest, over what the test set can tell apart."""
        unit = self.unit
        return self.number(lambda one: (one.after_one_pass(name) - one.lowest[0]) / unit, 1.0)

    def good_while_others_poor(self, reading: str, as_in_paper: bool) -> Number:
        """Return -1 if ASGD is clearly good and half of the rivals are clearly not, 1 if not so."""
        ours = self.good(self.ours(reading))
        others = [self.good(name) for name in self.rivals(as_in_paper)]
        half = len(others) / 2
        sure = ours.high < 1 and sum(other.low > 1 for other in others) >= half
        possible = ours.low <= 1 and sum(other.high > 1 for other in others) >= half
        open_ = [number for number in (ours, *others) if number.low <= 1 <= number.high]
        orders = [number.orders[0] for number in open_ if number.orders]
        low, high = (-1.0 if possible else 1.0), (-1.0 if sure else 1.0)
        return Number((low + high) / 2, low, high, (min(orders),) if low < high and orders else ())

    def movement(self, name: str) -> Floats:
        """Return each order's mean change from mark to mark, from half a pass on."""
        half = MARKS.index(1 / 2)
        return np.asarray(np.abs(np.diff(self.during(name)[:, half:], axis=1)).mean(axis=1))

    def share(self, ours: str, theirs: str) -> Floats:
        """Return the share of a pass after which each order reaches what a rival's pass does.

        Where it does not within its pass, two passes are counted.
        """
        reached = self.during(ours) <= self.after_one_pass(theirs)[:, None]
        marks = np.array([*MARKS[: ONE_PASS + 1], 2.0])
        never = ~reached.any(axis=1)
        return np.asarray(marks[np.where(never, ONE_PASS + 1, reached.argmax(axis=1))])


def _sums(curves: list[list[list[float] | None]]) -> Floats:
    """Return sums by order, mark and group: NaN where nothing was measured, infinite overflows."""
    sums = np.full((len(curves), len(MARKS), GROUPS), np.nan)
    for order, curve in enumerate(curves):
        for mark, groups in enumerate(curve):
            if groups is not None:
                sums[order, mark] = groups or np.inf
    return sums


def contests(
    results: dict[str, Result], forms: tuple[str, ...] = ("real", "sample"), what: str = "error"
) -> list[Contest]:
    """Put the pieces of each set together: by default those of the paper's rows."""
    sets: dict[str, list[Result]] = {}
    for key, result in results.items():
        if key.startswith("benchmarks-") and result["about"]["form"] in forms:
            sets.setdefault(result["about"]["name"], []).append(result)
    return [
        Contest(parts[0]["about"], loss, [o[loss] for part in parts for o in part["orders"]], what)
        for parts in sets.values()
        for loss in parts[0]["orders"][0]
    ]


def numbers(results: dict[str, Result]) -> dict[str, Any]:
    """Return counts of contests, each with those that more orders could decide."""
    named = {what: contests(results, what=what) for what in OF}
    chosen = named["error"]
    if not chosen:
        return {}
    pairs = sum(len(contest.rivals(False)) for contest in chosen)
    steady = sum(name != "LIBLINEAR" for contest in chosen for name in contest.rivals(False))
    counted: dict[str, Any] = {
        "benchmarks contests": float(len(chosen)),
        "benchmarks half": len(chosen) / 2,
        "benchmarks sets": len(chosen) / len(LOSSES),
        "benchmarks half of sets": len(chosen) / len(LOSSES) / 2,
        "benchmarks pairs": float(steady),
        "benchmarks half of pairs": steady / 2,
        "benchmarks sooner pairs": float(pairs),
        "benchmarks half of sooner": pairs / 2,
    }
    loops = results.get("speed-loops", {}).get("timings", {})
    for what, every in named.items():
        for reading in ("M", "κ"):
            of = {key: f"benchmarks {key} {what} {reading}" for key in ("first", "good", "beaten")}
            for version, as_in_paper in (("later", False), ("paper", True)):
                firsts = [first(contest, reading, as_in_paper) for contest in every]
                counted[f"{of['first']} {version}"] = count_of(firsts, 0.0)
                beaten = [c.title for c, n in zip(every, firsts, strict=True) if n.low > 0]
                counted[f"{of['beaten']} {version}"] = "; ".join(beaten) or "in none"
                both = [contest.good_while_others_poor(reading, as_in_paper) for contest in every]
                counted[f"{of['good']} {version}"] = count_of(both, 0.0)
            good = [contest.good(contest.ours(reading)) for contest in every]
            counted[of["good"]] = count_of(good, 1.0)
            counted |= _by_pair(every, what, reading, loops)
        hinge = [contest.good("ASGD") for contest in every if contest.loss == "hinge"]
        counted[f"benchmarks hinge {what}"] = count_of(hinge, 1.0)
    beta = [contest for contest in chosen if contest.about["name"] == "beta"]
    wrong = [float(c.after_one_pass(n).mean()) for c in beta for n in ("ASGD", *c.rivals(False))]
    counted["benchmarks beta"] = min(wrong) if wrong else None
    return counted


def first(contest: Contest, reading: str, as_in_paper: bool) -> Number:
    """Return ASGD's value less that of the rival that comes nearest: below zero, ASGD is first."""
    ours = contest.ours(reading)
    against = [contest.against(ours, theirs) for theirs in contest.rivals(as_in_paper)]
    return max(against, key=lambda number: number.high)


def _by_pair(every: list[Contest], what: str, reading: str, loops: dict[str, Any]) -> Result:
    """Count the rivals whose curve moves more, and those whose pass ASGD reaches sooner."""
    steadier, rows, times = [], [], []
    for contest in every:
        ours, seconds = contest.ours(reading), loops.get(contest.about["name"])
        for theirs in contest.rivals(False):
            pair = ours, theirs
            if theirs != "LIBLINEAR":  # which is measured after whole passes only
                steadier.append(contest.number(partial(_moves_more, pair)))
            rows.append(contest.number(partial(_log_share, pair, 1.0)))
            if seconds:
                factor = seconds["ASGD"] / seconds[theirs]
                times.append(contest.number(partial(_log_share, pair, factor)))
    return {
        f"benchmarks steadier {what} {reading}": count_of(steadier, 0.0),
        f"benchmarks sooner {what} {reading} rows": count_of(rows, 0.0),
        f"benchmarks sooner {what} {reading} time": count_of(times, 0.0) if times else None,
    }


def _moves_more(pair: tuple[str, str], contest: Contest) -> Floats:
    return np.subtract(*(contest.movement(name) for name in pair))


def _log_share(pair: tuple[str, str], factor: float, contest: Contest) -> Floats:
    return np.asarray(np.log(factor * contest.share(*pair)))


def tables(results: dict[str, Result]) -> list[Table]:
    """Return errors and costs after one pass: the paper's rows, stand-ins, and other sets."""
    tables = []
    for kind, words, forms, note in KINDS:
        for what, of in OF.items():
            chosen = contests(results, forms, what)
            names = [n for n in ALGORITHMS if any(n in contest.names for contest in chosen)]
            lines = [
                [contest.title, contest.orders, *(_cell(contest, name) for name in names)]
                for contest in chosen
            ]
            in_per_cent, mean = (", in per cent", "Means") if what == "error" else ("", MEAN_COST)
            about = (
                f"{mean} over the orders of the rows. A minus after a rival's: ASGD is clearly "
                "better, by Student's t at 95% on paired differences, for other orders and other "
                f"test rows; a plus: clearly worse.{note}"
            )
            title = f"{of.capitalize()} after one pass on {words}{in_per_cent}"
            heads = ["set, loss", "orders", *names]
            tables.append(Table(f"{what}s-{kind}", title, about, heads, lines))
    return [*tables, _sets(results)]


def _cell(contest: Contest, name: str) -> str:
    if name not in contest.names:
        return "–"
    values = contest.after_one_pass(name)
    text = (
        f"{100 * values.mean():.2f}" if contest.what == "error" else f"{np.exp(values.mean()):.4g}"
    )
    if (values == OVERFLOWED[contest.what]).any():
        text = "overflow"
    if name == "ASGD":
        return text
    paired = contest.against("ASGD", name)
    return text + (" −" if paired.high < 0 else " +" if paired.low > 0 else "")


def _sets(results: dict[str, Result]) -> Table:
    lines, seen = [], set()
    for key, result in results.items():
        about = result.get("about", {})
        if not key.startswith("benchmarks-") or about["title"] in seen or about["form"] == "other":
            continue
        paper = PAPER_SETS[about["name"]]
        seen.add(about["title"])
        lines.append(
            [
                about["title"],
                f"{about['rows']:,} / {paper.n_train:,}",
                f"{about['test rows']:,} / {paper.n_test:,}",
                f"{about['features']:,} / {paper.n_features:,}",
                f"{about['M']:.3g} / {paper.longest:.3g}",
                f"{paper.alpha:g}",
                paper.start or "–",
                f"{100 * about['positive']:.1f}%",
            ]
        )
    return Table(
        "sets",
        "Tables 1 and 2, as far as there are rows. The data sets, here / in the paper",
        "Of rcv1 a sample is at hand: 2.8% of the paper's training rows, with the published "
        "vectors of Lewis and others (47,236 features), where the paper has the preprocessing of "
        "Bottou (47,153 features). The features of mnist9 are ours; the paper does not describe "
        "its own. Of Table 2, beta, fd, ocr and dna are not at hand, and have no stand-ins.",
        ["set", "rows", "test rows", "features", "M", "λ", "t₀", "positive"],
        lines,
    )


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw error and cost against passes and time: the paper's rows, then stand-ins."""
    figures = []
    for kind, words, forms, note in KINDS[:2]:
        chosen = contests(results, forms)
        if chosen:
            which = "Figures 3 to 5" if kind == "real" else "Figures 3 to 5, five sets of nine"
            figures.append(
                Figure(
                    f"benchmarks-{kind}",
                    f"{which}. Test error on {words}",
                    "Test error against passes, means over the orders of the rows; from left to "
                    f"right squared hinge, logistic and hinge loss. {SECOND_PASS}{note}",
                    [_panel(contest) for contest in chosen],
                    columns=3,
                )
            )
    loops = results.get("speed-loops", {}).get("timings", {})
    squared = [c for c in contests(results) if c.loss == "squared_hinge"]
    timed = [contest for contest in squared if contest.about["name"] in loops]
    if timed:
        figures.append(
            Figure(
                "benchmarks-time",
                "Figure 3, middle. Test error against time",
                "The same errors, squared hinge, against the processor's seconds of the learning "
                f"loop: passes times the measured time of a row. {SECOND_PASS}",
                [_panel(contest, loops[contest.about["name"]]) for contest in timed],
                columns=3,
            )
        )
    if squared:
        costs = [c for c in contests(results, what="cost") if c.loss == "squared_hinge"]
        figures.append(
            Figure(
                "benchmarks-cost",
                "Figure 3, right. Test cost",
                "The mean loss of a test row plus the penalty, squared hinge, against passes; "
                f"geometric means over the orders. {SECOND_PASS}",
                [_panel(contest) for contest in costs],
                columns=3,
            )
        )
    return figures


def _panel(contest: Contest, seconds: dict[str, float] | None = None) -> Panel:
    """Return an algorithm's mean curves against passes or, with the loops' seconds, time."""
    rows, lines, ends = contest.about["rows"], [], []
    unit = rows / min(rows, TIMED)
    for name in ("ASGD", *NEWER, KAPPA):
        if name not in contest.names:
            continue
        curve = contest.mean_curve(name)
        shown = np.flatnonzero(curve < OVERFLOWED[contest.what])  # not NaN, and no overflow
        x = np.array(MARKS)[shown] * (unit * seconds[name] if seconds else 1.0)
        y = np.exp(curve[shown]) if contest.what == "cost" else 100 * curve[shown]
        if len(shown):
            lines.append(Series(name, x.tolist(), y.tolist()))
            ends.append([value for place, value in zip(shown, y, strict=True) if place >= EIGHTH])
    low = min(min(values) for values in ends)
    high = sorted(max(values) for values in ends)[len(ends) // 2]
    room = max(high - low, 0.02 * low)
    label = "test error (%)" if contest.what == "error" else "test cost"
    limits = (low - 0.1 * room, high + 0.3 * room)
    x_label = "seconds" if seconds else "passes"
    log = seconds is not None
    return Panel(contest.title, x_label, label, lines, x_log=log, y_log=False, y_range=limits)
