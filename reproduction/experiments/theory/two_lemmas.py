"""What the lemmas of sections 3 and 4 bound, computed exactly, over their bounds."""

from __future__ import annotations

import numpy as np

from reproduction.claims import Claim
from reproduction.experiments.theory.linear_equation import how_much, marks_up_to
from reproduction.experiments.theory.noise_tree import counter_example, random_tree
from reproduction.experiments.theory.one_feature_rows import OneFeatureRows
from reproduction.figures import Figure, Panel, Series
from reproduction.pieces import Piece, Result
from reproduction.tables import Table
from reproduction.theory import c1, regression_bound

SETTINGS, TREES, TREE_ROWS = 24, 100, 8
LABEL = "what is bounded over its bound"


def pieces(scale: float) -> list[Piece]:
    """Draw settings for either lemma."""
    _, rows = how_much(scale)
    trees = max(10, round(TREES * min(1.0, 10 * scale)))
    return [
        Piece("theory-regression", regression, {"settings": SETTINGS, "rows": rows}),
        Piece("theory-non-quadratic", non_quadratic, {"trees": trees, "rows": TREE_ROWS}),
    ]


def regression(settings: int, rows: int) -> Result:
    """Draw least-squares problems with rows of one feature, and follow their moments."""
    marks = [mark for mark in marks_up_to(rows) if mark > 1]
    shares = []
    for number in range(settings):
        random = np.random.default_rng([20111116, number])
        d = int(random.integers(2, 7))
        p = random.dirichlet(np.ones(d)) * 0.9 + 0.1 / d
        problem = OneFeatureRows(p, 1.0, float(10 ** random.uniform(-2, 1)))
        lambda0, c = float(problem.eigenvalues.min()), float(random.uniform(0.1, 0.95))
        a = float(random.uniform(0.1, 0.9)) * lambda0 / max(2 * c - 1, 0.5)
        rate = {"gamma0": float(random.uniform(0.3, 1.0)), "a": a, "c": c}
        delta0 = random.standard_normal(d)
        start = float(np.square(delta0) @ problem.eigenvalues)
        line = []
        for t in marks:
            c2, c3 = problem.distance_constants(t, delta0, rate)
            given = {"c1": c1(problem.M, lambda0), "c2": c2, "c3": c3, "delta0": start}
            bound = float(regression_bound(t, lambda0=lambda0, **rate, **given))
            line.append(problem.away_noise(t, delta0, rate) / bound)
        shares.append(line)
    return {"rows": marks, "shares": shares}


def non_quadratic(trees: int, rows: int) -> Result:
    """Draw gradients that bend, with noise of two values, and follow all that can happen."""
    drawn = [random_tree(number, rows) for number in range(trees)]
    example = counter_example(rows=rows)
    drawn.insert(0, (example, example.constants(0.0, 0.0)))
    return {
        "rows": list(range(1, rows + 1)),
        "printed": [tree.shares(constants, printed=True) for tree, constants in drawn],
        "repaired": [tree.shares(constants, printed=False) for tree, constants in drawn],
    }


def claims(results: dict[str, Result]) -> list[Claim]:
    """Compare with what the paper proves."""
    first, second = results["theory-regression"], results["theory-non-quadratic"]
    most = max(max(line) for line in first["shares"])
    printed, repaired = ([max(line) for line in second[key]] for key in ("printed", "repaired"))
    beyond = sum(share > 1 for share in printed)
    return [
        Claim(
            "“t E‖I⁽²⁾‖_A² ≤ (1+c₀)²c₁((1+c₂)/t · ‖Δ₀‖_A² + c₃γ₀/(1−c) · (1+aγ₀t)^−c)”",
            "section 3, LemmaRegression",
            f"{len(first['shares'])} least-squares problems, computed exactly: at most {most:.3g} "
            "of the bound",
            most <= 1,
            "theory-lemmas",
        ),
        Claim(
            "“t E‖I⁽³⁾‖_A² ≤ (1+c₀)²c₄²/t · ((1+2c₂)c₅‖Δ₀‖_A⁴ + (2c₂c₃‖Δ₀‖_A² + (1+2c₂)c₆)γ₁ᵗ + "
            "c₃²(γ₁ᵗ)²)”",
            "section 4, LemmaNonQuadratic",
            f"as printed the bound is exceeded on {beyond} of {len(printed)} problems, up to "
            f"{max(printed):,.0f} times, because the proof takes Δ_j for Δ_(j-1); with 1 + c5 for "
            "c5 and 2(1 + c2)c3 for 2c2c3 it is not: at most "
            f"{max(repaired):.6f} of the bound",
            beyond == 0,
            "theory-lemmas",
        ),
    ]


def figures(results: dict[str, Result]) -> list[Figure]:
    """Draw a line for each problem."""
    first, second = results["theory-regression"], results["theory-non-quadratic"]
    panels = [
        _panel("LemmaRegression", first["rows"], first["shares"], x_log=True),
        _panel("LemmaNonQuadratic, as printed", second["rows"], second["printed"]),
        _panel("LemmaNonQuadratic, repaired", second["rows"], second["repaired"]),
    ]
    return [
        Figure(
            "theory-lemmas",
            "What the lemmas of sections 3 and 4 bound",
            "Each line is another problem, learning rate and start; above 1 the lemma is wrong. "
            "Left: the noise away from the optimum, for least squares. Middle: a curvature that "
            "changes, with the bound as the paper prints it. Right: with the start counted in it. "
            "Everything is computed exactly, with the smallest constants for which the lemmas' "
            "assumptions hold.",
            panels,
            columns=3,
        )
    ]


def _panel(title: str, rows: list[int], lines: list[list[float]], *, x_log: bool = False) -> Panel:
    series = [Series(LABEL, rows, line, style="one of many") for line in lines]
    return Panel(title, "rows", LABEL, series, x_log=x_log, y_log=True, lines_at={1.0: "the bound"})


def tables(results: dict[str, Result]) -> list[Table]:
    """Return no tables: the figure contains the numbers."""
    return []
