"""Section 6.3: six algorithms on the paper's data sets (Figure 3, and Figures 4 and 5 in part).

All learn from the same rows in the same 25 random orders, once over, and three of the orders twice,
with the paper's λ and without an intercept, and are measured on the test rows at the same places.
ASGD is Algorithm 1 as printed with the t0 of Table 1. Verdicts rest on the paper's own rows:
covtype, mnist9 (our features) and a sample of rcv1. Stand-ins are generated and shown only.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from polyak.losses import get_loss
from reproduction.datasets import PAPER_SETS, BenchmarkSet, load_benchmark
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
ONE_PASS = MARKS.index(1.0)
ORDERS, A_PIECE, TWO_PASSES, STAND_IN_ORDERS = 25, 5, 3, 3
SEED = 20261118
"""Orders are drawn afresh: the second reading of γ₀ was found on others."""


def pieces(quick: bool, data: str | None) -> list[Piece]:
    """Return pieces of a few orders of a set each."""
    found = []
    for name in PAPER_SETS:
        form = form_here(name, data)
        if form is None or (quick and form == "stand-in" and name != "delta"):
            continue
        common = {"name": name, "data": data if form != "stand-in" else "/nowhere"}
        orders = STAND_IN_ORDERS if quick or form == "stand-in" else ORDERS
        share = 0.05 if quick else 1.0
        for first in range(0, orders, A_PIECE):
            last = min(first + A_PIECE, orders)
            parameters = {**common, "first": first, "last": last, "share": share}
            found.append(Piece(f"benchmarks-{name}-{first}", run_set, parameters))
    return found


def run_set(name: str, data: str | None, first: int, last: int, share: float) -> Result:
    """Let all algorithms learn some orders of a set, with one loss after the other."""
    rows = load_benchmark(name, data, share)
    orders = []
    for order in range(first, last):
        places = np.random.default_rng([SEED, order]).permutation(len(rows.y))
        ordered = replace(rows, X=rows.X[places], y=rows.y[places])
        passes = 2 if order < TWO_PASSES else 1
        orders.append({loss: compete(ordered, loss, passes) for loss in LOSSES})
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


def compete(rows: BenchmarkSet, loss: str, passes: int) -> Result:
    """Return each algorithm's test errors and costs at the marks; None once it has overflowed."""
    found = {}
    for name in ALGORITHMS:
        model = learner(name, loss, rows)
        if model is not None:
            found[name] = _curve(model, rows, loss, passes)
    return found


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
    n, errors, costs = len(rows.y), [], []
    marks = [mark for mark in MARKS if mark <= passes]
    if isinstance(model, Liblinear):  # it can be asked after whole passes only
        whole: dict[float, tuple[float | None, float | None]] = {}
        for iterations in range(1, passes + 1):
            model.iterations = iterations
            model.learn(rows.X, rows.y)
            whole[float(iterations)] = measure(model.coef, rows, loss)
        pairs = [whole.get(mark, (None, None)) for mark in marks]
        return {"error": [pair[0] for pair in pairs], "cost": [pair[1] for pair in pairs]}
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
        error, cost = measure(model.coef, rows, loss) if going else (None, None)
        errors.append(error)
        costs.append(cost)
    return {"error": errors, "cost": costs}


def measure(coef: Floats, rows: BenchmarkSet, loss: str) -> tuple[float | None, float | None]:
    """Return the share of test rows with the wrong sign, and the mean cost: loss and penalty."""
    with np.errstate(all="ignore"):
        scores = np.asarray(rows.X_test @ coef.astype(np.float32), np.float64)
        cost = float(np.mean(get_loss(loss).value(scores, rows.y_test)))
        cost += rows.paper.alpha / 2 * float(coef @ coef)
    if not np.isfinite(scores).all():
        return None, None
    return float(np.mean((scores > 0) != (rows.y_test > 0))), cost if np.isfinite(cost) else None


# -- what it shows ---------------------------------------------------------------------------------


class Contest:
    """One set and one loss: what each algorithm reached in each order."""

    def __init__(self, about: Result, loss: str, orders: list[Result]) -> None:
        self.about, self.loss, self.orders = about, loss, orders
        self.names = list(orders[0])

    @property
    def title(self) -> str:
        """The set and the loss."""
        return f"{self.about['title']}, {LOSSES[self.loss]}"

    def errors(self, name: str) -> Floats:
        """Return errors by order and mark; 1 (all wrong) where weights had overflowed."""
        lines = [order[name]["error"][: ONE_PASS + 1] for order in self.orders]
        return np.array([[1.0 if value is None else value for value in line] for line in lines])

    def after_one_pass(self, name: str) -> Floats:
        """Return the errors of all orders after one pass."""
        return self.errors(name)[:, ONE_PASS]

    def lowest(self) -> float:
        """Return the lowest mean error of the six at any mark of two passes."""
        means = []
        for name in ("ASGD", *NEWER):
            if name in self.names:
                curves = [order[name]["error"] for order in self.orders]
                for place in range(len(MARKS)):
                    there = [c[place] for c in curves if len(c) > place]
                    if there and None not in there:
                        means.append(float(np.mean(there)))
        return min(means)

    def rivals(self, as_in_paper: bool) -> list[str]:
        """Return the paper's other five, as far as they have the loss."""
        swap = AS_IN_PAPER if as_in_paper else {}
        return [swap.get(name, name) for name in NEWER if name in self.names]

    def ours(self, reading: str) -> str:
        """Return the name of ASGD in a reading of its first rate."""
        return KAPPA if reading == "κ" and KAPPA in self.names else "ASGD"

    def good(self, name: str) -> Number:
        """Return how far an error is above the lowest, over what the test set can tell apart."""
        lowest = self.lowest()
        unit = 2 * np.sqrt(lowest * (1 - lowest) / self.about["test rows"])
        return student((self.after_one_pass(name) - lowest) / unit, 1.0)

    def good_while_others_poor(self, reading: str, as_in_paper: bool) -> Number:
        """Return -1 if ASGD is clearly good and half of the rivals are clearly not, 1 if not so."""
        ours = self.good(self.ours(reading))
        others = [self.good(name) for name in self.rivals(as_in_paper)]
        half = len(others) / 2
        sure = ours.high < 1 and sum(other.low > 1 for other in others) >= half
        possible = ours.low <= 1 and sum(other.high > 1 for other in others) >= half
        open_ = [number.orders[0] for number in (ours, *others) if number.low <= 1 <= number.high]
        low, high = (-1.0 if possible else 1.0), (-1.0 if sure else 1.0)
        return Number((low + high) / 2, low, high, (min(open_),) if low < high and open_ else ())

    def movement(self, name: str) -> Floats:
        """Return each order's mean change of the error from mark to mark, from half a pass on."""
        half = MARKS.index(1 / 2)
        return np.asarray(np.abs(np.diff(self.errors(name)[:, half:], axis=1)).mean(axis=1))


def contests(results: dict[str, Result], *, real: bool = True) -> list[Contest]:
    """Put the pieces of each set together; those of the paper's rows, or stand-ins."""
    sets: dict[str, list[Result]] = {}
    for key, result in results.items():
        if key.startswith("benchmarks-") and (result["about"]["form"] != "stand-in") == real:
            sets.setdefault(result["about"]["name"], []).append(result)
    return [
        Contest(parts[0]["about"], loss, [o[loss] for part in parts for o in part["orders"]])
        for parts in sets.values()
        for loss in LOSSES
    ]


def numbers(results: dict[str, Result]) -> dict[str, Any]:
    """Return counts of contests, each with those that more orders could decide."""
    chosen = contests(results)
    if not chosen:
        return {}
    speeds = results.get("speed-loops", {}).get("timings", {})
    found: dict[str, Any] = {
        "benchmarks contests": float(len(chosen)),
        "benchmarks half": len(chosen) / 2,
        "benchmarks sets": len(chosen) / len(LOSSES),
        "benchmarks half of sets": len(chosen) / len(LOSSES) / 2,
    }
    for reading in ("M", "κ"):
        for as_in_paper in (False, True):
            key = f"{reading} {'paper' if as_in_paper else 'later'}"
            firsts = [first(contest, reading, as_in_paper) for contest in chosen]
            found[f"benchmarks first {key}"] = count_of(firsts, 0.0)
            beaten = [c.title for c, n in zip(chosen, firsts, strict=True) if n.low > 0]
            found[f"benchmarks beaten {key}"] = "; ".join(beaten) or "in none"
            both = [contest.good_while_others_poor(reading, as_in_paper) for contest in chosen]
            found[f"benchmarks good {key}"] = count_of(both, 0.0)
        good = [contest.good(contest.ours(reading)) for contest in chosen]
        found[f"benchmarks good {reading}"] = count_of(good, 1.0)
    hinge = [contest.good("ASGD") for contest in chosen if contest.loss == "hinge"]
    found["benchmarks hinge"] = count_of(hinge, 1.0)
    pairs = [
        student(contest.movement("ASGD") - contest.movement(name))
        for contest in chosen
        for name in contest.rivals(False)
        if name != "LIBLINEAR"
    ]
    found["benchmarks steadier"] = count_of(pairs, 0.0)
    found["benchmarks pairs"] = float(len(pairs))
    found["benchmarks half of pairs"] = len(pairs) / 2
    found |= _sooner(chosen, speeds)
    beta = [contest for contest in chosen if contest.about["name"] == "beta"]
    wrong = [float(c.after_one_pass(n).mean()) for c in beta for n in ("ASGD", *c.rivals(False))]
    found["benchmarks beta"] = min(wrong) if wrong else None
    return found


def first(contest: Contest, reading: str, as_in_paper: bool) -> Number:
    """Return ASGD's error less that of the rival that comes nearest: below zero, ASGD is first."""
    ours = contest.after_one_pass(contest.ours(reading))
    against = [student(ours - contest.after_one_pass(n)) for n in contest.rivals(as_in_paper)]
    return max(against, key=lambda number: number.high)


def _sooner(chosen: list[Contest], speeds: dict[str, Any]) -> dict[str, Any]:
    """Compare rows, and time of the learning loops, to what a rival reaches in its pass."""
    rows, times = [], []
    for contest in chosen:
        loops = speeds.get(contest.about["name"], {})
        for name in contest.rivals(False):
            ours, theirs = contest.errors("ASGD"), contest.after_one_pass(name)
            reached = [
                np.flatnonzero(line <= goal) for line, goal in zip(ours, theirs, strict=True)
            ]
            # Where ASGD does not reach it within its pass, two passes are counted.
            share = np.array([MARKS[r[0]] if len(r) else 2.0 for r in reached])
            rows.append(student(np.log(share)))
            if loops:
                times.append(student(np.log(share * loops["ASGD"] / loops[name])))
    found: dict[str, Any] = {"benchmarks sooner rows": count_of(rows, 0.0)}
    found["benchmarks sooner pairs"] = float(len(rows))
    found["benchmarks half of sooner"] = len(rows) / 2
    found["benchmarks sooner time"] = count_of(times, 0.0) if times else None
    return found


def tables(results: dict[str, Result]) -> list[Table]:
    """Return the errors after one pass, on the paper's rows and on stand-ins."""
    found = []
    for real in (True, False):
        chosen = contests(results, real=real)
        names = [n for n in ALGORITHMS if any(n in contest.names for contest in chosen)]
        lines = [
            [contest.title, len(contest.orders), *(_cell(contest, name) for name in names)]
            for contest in chosen
        ]
        what = "the paper's rows" if real else "stand-ins"
        about = (
            "Means over the orders of the rows. A minus after a rival's error: ASGD is clearly "
            "better, by Student's t at 95% on paired differences; a plus: clearly worse. 100: the "
            "weights overflowed."
        )
        if not real:
            about += " Stand-ins are not the real sets: no verdict rests on them."
        title = f"Test error after one pass on {what}, in per cent"
        heads = ["set, loss", "orders", *names]
        found.append(Table(f"errors-{'real' if real else 'stand-ins'}", title, about, heads, lines))
    return [*found, _sets(results)]


def _cell(contest: Contest, name: str) -> str:
    if name not in contest.names:
        return "–"
    mean = 100 * float(contest.after_one_pass(name).mean())
    if name == "ASGD":
        return f"{mean:.2f}"
    paired = student(contest.after_one_pass("ASGD") - contest.after_one_pass(name))
    return f"{mean:.2f}" + (" −" if paired.high < 0 else " +" if paired.low > 0 else "")


def _sets(results: dict[str, Result]) -> Table:
    lines, seen = [], set()
    for key, result in results.items():
        if not key.startswith("benchmarks-") or result["about"]["title"] in seen:
            continue
        about, paper = result["about"], PAPER_SETS[result["about"]["name"]]
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
        "Tables 1 and 2. The data sets, here / in the paper",
        "Of rcv1 a sample is at hand: 2.8% of the paper's training rows, with the published "
        "vectors "
        "of Lewis and others (47,236 features), where the paper has the preprocessing of Bottou "
        "(47,153 features). The features of mnist9 are ours; the paper does not describe its own. "
        "beta, fd, ocr and dna are not at hand, and have no stand-ins.",
        ["set", "rows", "test rows", "features", "M", "λ", "t₀", "positive"],
        lines,
    )


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw error and cost against passes: the paper's rows, then stand-ins."""
    found = []
    for real in (True, False):
        chosen = contests(results, real=real)
        if not chosen:
            continue
        panels = [_panel(contest, "error", 100.0) for contest in chosen]
        of = "the paper's rows" if real else "stand-ins"
        more = "" if real else " Stand-ins are not the real sets."
        found.append(
            Figure(
                f"benchmarks-{'real' if real else 'stand-ins'}",
                f"Figures 3 to 5. Test error on {of}",
                "Test error against passes, means over the orders of the rows; from left to right "
                "squared hinge, logistic and hinge loss. The second pass is of three orders."
                + more,
                panels,
                columns=3,
            )
        )
    squared = [c for c in contests(results) if c.loss == "squared_hinge"]
    if squared:
        found.append(
            Figure(
                "benchmarks-cost",
                "Figure 3, right. Test cost",
                "The mean loss of a test row plus the penalty, squared hinge, against passes.",
                [_panel(contest, "cost", 1.0) for contest in squared],
                columns=3,
            )
        )
    return found


def _panel(contest: Contest, what: str, unit: float) -> Panel:
    lines, ends = [], []
    for name in ("ASGD", *NEWER, KAPPA):
        if name not in contest.names:
            continue
        points = []
        for place, mark in enumerate(MARKS):
            values = [o[name][what][place] for o in contest.orders if len(o[name][what]) > place]
            if values and None not in values:
                points.append((mark, unit * float(np.mean(values))))
        if points:
            lines.append(Series(name, [p[0] for p in points], [p[1] for p in points]))
            ends.append([value for mark, value in points if mark >= 1 / 8])
    low = min(min(values) for values in ends)
    high = sorted(max(values) for values in ends)[len(ends) // 2]
    room = max(high - low, 0.02 * low)
    label = "test error (%)" if what == "error" else "test cost"
    limits = (low - 0.1 * room, high + 0.3 * room)
    return Panel(contest.title, "passes", label, lines, x_log=False, y_log=False, y_range=limits)
