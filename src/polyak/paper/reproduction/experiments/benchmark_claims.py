"""What the paper's section 6.3 says of its benchmarks, and whether it holds here."""

from __future__ import annotations

from itertools import pairwise
from statistics import median

from polyak.paper.reproduction.claims import Claim
from polyak.paper.reproduction.experiments.benchmark_figures import file_mark
from polyak.paper.reproduction.experiments.contest import LOSS_TITLES, PAPERS
from polyak.paper.reproduction.pieces import Result

WHERE = "section 6.3"
RIVALS = PAPERS[1:]
GOOD = 1.05
"""An error is good if it is at most so many times the lowest that anyone reaches in two passes."""
SAME_TIME = 2.0
"""Times are similar if neither is more than so many times the other."""
EQUALLY_BAD = 0.45

Contest = tuple[str, str, Result]
"""A set's title, a loss, and the curves of the algorithms."""


def claims(results: dict[str, Result]) -> list[Claim]:
    """Check each claim, on the real sets and on stand-ins apart."""
    timed = [result for piece, result in results.items() if "-time-" in piece]
    others = [result for piece, result in results.items() if "-losses-" in piece]
    real = [r for r in [*timed, *others] if r["about"]["form"] != "stand-in"]
    drawn = [r for r in others if r["about"]["form"] == "stand-in" and r["about"]["name"] != "beta"]
    found = [_rank_of_cost(result) for result in timed]
    for kind, chosen in ("real sets", real), ("stand-ins", drawn):
        if chosen:
            found += [_most_accurate(kind, chosen), _one_pass_is_enough(kind, chosen)]
            found.append(_steady(kind, chosen))
    found += [_equally_bad(r) for r in others if r["about"]["name"] == "beta"]
    found.append(_as_fast(timed))
    found += [
        _hinge_too(kind, chosen)
        for kind, chosen in (("real sets", real), ("stand-ins", drawn))
        if any("hinge" in result["losses"] for result in chosen)
    ]
    return found


def _rank_of_cost(result: Result) -> Claim:
    title = result["about"]["title"]
    costs = after_one_pass(result["losses"]["squared_hinge"]["curves"], "cost")
    order = sorted(costs, key=costs.__getitem__)
    words = ", ".join(f"{name} {costs[name]:.4g}" for name in order)
    place = order.index("ASGD") + 1
    return Claim(
        f"{title}: after one pass ASGD's test cost is the lowest or second lowest of the six.",
        "Figure 3, right",
        f"ASGD is {_ordinal(place)} of {len(order)}: {words} (medians over "
        f"{len(result['losses']['squared_hinge']['orders'])} orders of the rows)",
        place <= 2,
        f"benchmarks-{result['about']['name']}{file_mark(result['about'])}",
    )


def _most_accurate(kind: str, chosen: list[Result]) -> Claim:
    wins, losses = [], []
    for title, loss, curves in _contests(chosen):
        errors = after_one_pass(curves, "error")
        best = min(errors, key=errors.__getitem__)
        if errors["ASGD"] <= errors[best]:
            wins.append(title)
        else:
            found = f"{best} {errors[best]:.2%}, ASGD {errors['ASGD']:.2%}"
            losses.append(f"{title}, {LOSS_TITLES[loss]}: {found}")
    total = len(wins) + len(losses)
    measured = f"after one pass ASGD has the lowest test error in {len(wins)} of {total} contests"
    if losses:
        measured += "; not in " + "; ".join(losses)
    return Claim(
        f"ASGD is clearly more accurate than the other five on most data sets ({kind}).",
        WHERE,
        measured,
        len(wins) > total / 2,
    )


def _one_pass_is_enough(kind: str, chosen: list[Result]) -> Claim:
    contests = _contests(chosen)
    good = dict.fromkeys(PAPERS, 0)
    ran = dict.fromkeys(PAPERS, 0)
    for _, _, curves in contests:
        lowest = min(e for n in PAPERS if n in curves for e in curves[n]["error"] if e is not None)
        errors = after_one_pass(curves, "error")
        for name in (name for name in PAPERS if name in curves):
            ran[name] += 1
            good[name] += name in errors and errors[name] <= GOOD * lowest
    share = {name: good[name] / ran[name] for name in PAPERS if ran[name]}
    words = ", ".join(f"{name} {good[name]} of {ran[name]}" for name in share)
    others = [share[name] for name in RIVALS if name in share]
    return Claim(
        f"For most data sets one pass is enough for ASGD, while many others still do poorly "
        f"({kind}).",
        WHERE,
        f"errors after one pass within {GOOD - 1:.0%} of the lowest that any of the six reaches in "
        f"two: {words}",
        share["ASGD"] > 0.5 and median(others) < 0.5,
    )


def _steady(kind: str, chosen: list[Result]) -> Claim:
    """Compare how much the error moves from one measurement to the next, from half a pass on."""
    movement: dict[str, list[float]] = {}
    contests = [found for result in chosen for found in result["losses"].values()]
    for curves in (run for found in contests for run in found["orders"]):
        for name in (name for name in PAPERS if name in curves and name != "LIBLINEAR"):
            points = zip(curves[name]["passes"], curves[name]["error"], strict=True)
            errors = [error for at, error in points if at >= 0.5]
            if None not in errors:
                steps = [abs(b - a) for a, b in pairwise(errors)]
                movement.setdefault(name, []).append(sum(steps) / len(steps))
    typical = {name: median(values) for name, values in movement.items()}
    words = ", ".join(f"{name} {100 * value:.2f}" for name, value in typical.items())
    return Claim(
        f"The error of the other algorithms goes up and down more than that of ASGD ({kind}).",
        WHERE,
        f"median change of the error between measurements a quarter of a pass apart, in points: "
        f"{words}",
        typical["ASGD"] <= min(typical.values()),
    )


def _equally_bad(result: Result) -> Claim:
    errors = [e for _, _, curves in _contests([result]) for e in _values(curves)]
    stand_in = result["about"]["form"] == "stand-in"
    return Claim(
        "On beta all algorithms do equally badly: no plane separates its classes.",
        WHERE,
        f"errors between {min(errors):.1%} and {max(errors):.1%} after one pass"
        + (" (on a stand-in that was made so)" if stand_in else ""),
        min(errors) > EQUALLY_BAD,
    )


def _as_fast(timed: list[Result]) -> Claim:
    words, similar, slower = [], True, True
    for result in timed:
        curves = result["losses"]["squared_hinge"]["curves"]
        seconds = {
            name: values[curves[name]["passes"].index(1.0)]
            for name, values in result["timings"]["squared_hinge"].items()
        }
        ratios = {name: seconds[name] / seconds["ASGD"] for name in RIVALS}
        listed = ", ".join(f"{name} {ratio:.2g}" for name, ratio in ratios.items())
        words.append(f"{result['about']['title']}: {listed}")
        slower &= ratios.pop("oLBFGS") > SAME_TIME
        similar &= all(1 / SAME_TIME <= ratio <= SAME_TIME for ratio in ratios.values())
    return Claim(
        "A pass of ASGD takes about as long as one of the others, except oLBFGS, which is slower.",
        f"{WHERE}, Figure 3, middle",
        "seconds of a pass over ASGD's; " + "; ".join(words),
        similar and slower,
    )


def _hinge_too(kind: str, chosen: list[Result]) -> Claim:
    places = {}
    for title, loss, curves in _contests(chosen):
        if loss == "hinge":
            errors = after_one_pass(curves, "error")
            places[title] = 1 + sum(error < errors["ASGD"] for error in errors.values())
    good = sum(place <= 2 for place in places.values())
    words = ", ".join(f"{title} {_ordinal(place)}" for title, place in places.items())
    return Claim(
        f"ASGD works well with the hinge too, although the theory is for smooth losses ({kind}).",
        WHERE,
        f"lowest or second lowest test error after one pass on {good} of {len(places)} sets: "
        f"{words}",
        good > len(places) / 2,
    )


def after_one_pass(curves: Result, what: str) -> dict[str, float]:
    """Give the error or cost after one pass of those of the six that are there and finite."""
    found = {}
    for name in (name for name in PAPERS if name in curves):
        value = curves[name][what][curves[name]["passes"].index(1.0)]
        if value is not None:
            found[name] = float(value)
    return found


def _contests(chosen: list[Result]) -> list[Contest]:
    return [
        (result["about"]["title"], loss, found["curves"])
        for result in chosen
        for loss, found in result["losses"].items()
    ]


def _values(curves: Result) -> list[float]:
    return list(after_one_pass(curves, "error").values())


def _ordinal(place: int) -> str:
    return {1: "first", 2: "second", 3: "third"}.get(place, f"{place}th")
