"""The paper's sentences in the order of the paper, and what decides whether each of them holds.

A limit follows from the words of the sentence that it judges, as ``criterion`` says. Most limits
of an earlier table were set when results were known (commits 4c3959a and ddae692); where one has
been changed since, ``changed`` names the commit that had it and the reason.
"""

from __future__ import annotations

from reproduction.verdicts import Sentence

REGION = (
    "“asymptotic region”, “close”: at most twice the limit, and it stays so. The proof of the "
    "corollary on sample sizes lets the region begin where the second term of the bound is no "
    "more than the first"
)
CONVERGES = (
    "“asymptotically as good”: the ratio to the error of batch tends to 1, so that its distance "
    "from 1 is smaller after all rows than after a tenth of them"
)
MOST = "“most of the data sets”: more than half of the contests (a set and a loss)"
CLEARLY = (
    "“clearly”: below each of the other five by Student's t at 95%, on paired differences, for "
    "other orders of the rows and other test rows"
)
TWO_ERRORS = "4c3959a took two standard errors over 3 to 5 orders, which is no test at 95%"
RATES = {"M": "γ₀ = 1/M", "κ": "γ₀ = 1/(κM)"}
MEASURES = {"error": "", "cost": ", test cost"}
VERSIONS = {
    what: {
        f"{rate}{version}{measure}": f"benchmarks {what} {key} {reading} {rivals}"
        for key, measure in MEASURES.items()
        for reading, rate in RATES.items()
        for rivals, version in (("paper", ""), ("later", ", later rivals"))
    }
    for what in ("first", "good")
}
"""ASGD's first rate, the rivals as public when the paper was written or their later programs, and
test error or the test cost, which is what the theory bounds."""
BOUND = "the inequality as printed: what is bounded over its bound is at most 1"
ORDER_OF = (
    "“O((λ₀γ₀)⁻¹)” speaks of small λ₀: between the two smallest, one a tenth of the other, the "
    "rows needed grow with the power 1 of 1/λ₀, to one decimal"
)
FLOOR = (
    "e0951ca let the rule of section 5 begin at row 100 at the earliest, as Table 1 suggests, "
    "when results at quick sizes were known: without that it begins at row 3, and the ratio after "
    "31,623 rows is 2.1"
)
SECTION_5 = "averaging by section 5, not before row 100: a floor set when results were known"
TEN_BEFORE = (
    "4c3959a allowed ten such units, a constant that O(·) does not name; e0951ca asked that K "
    "does not grow from one λ₀ to the next, and judged overtaking only: with that, and results "
    "known, the region from a far start fails by 1.6%"
)

SENTENCES = (
    Sentence(
        "If this optimal matrix step size is used, then asymptotically second order SGD is as "
        "good as explicitly optimizing the empirical loss",
        "section 1",
        "least_squares",
        {"": "least_squares converges second-order SGD"},
        "<",
        1.0,
        CONVERGES,
        "its expected excess risk is {least_squares last second-order SGD} times batch's after "
        "the last row (section 6.2's problem), with the matrix step A⁻¹/(t + N + 1)",
        "e0951ca chose that step: with A⁻¹/t, which is as good asymptotically, the first steps "
        "are so long that the risk is 42,000,000 times batch's after 10⁶ rows, and falls tenfold "
        "with ten times the rows",
    ),
    Sentence(
        "θ̄_t converges to θ* as good as full second order SGD, which means that if there are "
        "enough training samples, ASGD can obtain the parameter as good as the empirical optimal "
        "parameter",
        "section 1",
        "least_squares",
        {"": "least_squares converges ASGD"},
        "<",
        1.0,
        CONVERGES,
        "its expected excess risk is {least_squares last ASGD} times batch's after the last row",
    ),
    Sentence(
        "If γ₀λ₁ ≤ 1 and (2c−1)a < λ₀, then the estimator θ̄_t … satisfies: [the bound of Theorem "
        "1]",
        "section 2, Theorem 1",
        "linear",
        {"": "linear theorem"},
        "<=",
        1.0,
        BOUND,
        "exact errors of settings drawn at random are at most {linear theorem} of the bound",
    ),
    Sentence(
        "The above bound … is the best possible asymptotic convergence rate that can be achieved "
        "by any algorithms",
        "section 2, after the first corollary",
        "linear",
        {"": "linear limit"},
        "<",
        1.0,
        "t times the error tends to tr(A⁻¹S), Fabian's lower bound: its distance from that falls "
        "with ten times the rows",
        "t times the exact error is {linear last} times tr(A⁻¹S) after the last row",
    ),
    Sentence(
        "If we choose a=λ₀, it takes t=O((λ₀γ₀)⁻¹) samples for θ̄_t … to reach the asymptotic "
        "region. And at this point, θ̄_t begins to become better than θ_t",
        "section 2, the corollary for a = λ₀",
        "linear",
        {
            "region": "linear region power 1",
            "region, far start": "linear region power 10",
            "overtaking": "linear overtaking power 1",
            "overtaking, far start": "linear overtaking power 10",
        },
        "<",
        1.05,
        f"{ORDER_OF}. {REGION}",
        "within twice the error of second-order SGD from K/(λ₀γ₀) rows on, K = {linear region 0.2 "
        "1}, {linear region 0.02 1}, {linear region 0.002 1} for λ₀ = 0.2, 0.02, 0.002 (from a "
        "start ten times as far {linear region 0.2 10}, {linear region 0.02 10}, {linear region "
        "0.002 10}); better than SGD at its best from K = {linear overtaking 0.2 1}, {linear "
        "overtaking 0.02 1}, {linear overtaking 0.002 1} on ({linear overtaking 0.2 10}, {linear "
        "overtaking 0.02 10}, {linear overtaking 0.002 10})",
        TEN_BEFORE,
    ),
    Sentence(
        "E(‖Δ̄_t‖_A²) ≤ (1+c₀)²/K² · ‖Δ₀‖_A² + … [EqAvgRate]; E(‖Δ_t‖_A²) ≤ ‖Δ₀‖_A²/(1+K)² + "
        "γ₀tr(S)/(1+K) [EqRate]",
        "section 2, EqAvgRate and EqRate",
        "linear",
        {"": "linear bounds"},
        "<=",
        1.0 + 1e-9,
        BOUND,
        "exact errors are at most {linear bounds} of their bounds",
    ),
    Sentence(
        "For the linear problem, we should always use a=0",
        "section 2, after CorollarySampleSize2",
        "linear",
        {"start at the noise or beyond": "linear a=0", "start at θ*": "linear a=0 noise"},
        "<=",
        1.0 + 1e-9,
        "the sentence concludes from the corollary on the rows to the asymptotic region: from "
        "1/(λ₀γ₀) rows on the error with a = 0 is the lowest of all values of a tried, in every "
        "problem; the sentence says “always”, so from a start at θ*, too, where only noise is left",
        "from 1/(λ₀γ₀) rows on the exact error with a = 0 is at most {linear a=0} times the "
        "lowest of a = 0, 0.1λ₀, λ₀ and 10λ₀, c = 2/3, and from a start at θ* up to {linear a=0 "
        "noise} times; before those rows, up to {linear a=0 before} times",
        "e0951ca set it when results at quick sizes were known: from the first row on, a stricter "
        "“always”, the sentence does not hold",
    ),
    Sentence(
        "If we use some arbitrary value such as 1 for a, … it needs much more samples to reach "
        "the asymptotic region in situations where λ₀ is very small",
        "section 2, after CorollarySampleSize2",
        "linear",
        {"": "linear factor"},
        ">=",
        50.0,
        "“much more”: at least the factor of the corollary itself, (a/λ₀)^(c/(1−c)) = 50 for λ₀ = "
        "0.02, a = 1 and c = 1/2",
        "with a = λ₀ from {linear rows a=λ0} rows on, with a = 1 from {linear rows a=1}: {linear "
        "factor} times as many",
        "4c3959a asked for ten times as many, which the corollary does not say",
    ),
    Sentence(
        "With Assumption (A_Xi2Bound) (A_DeltaBound), we have t E‖I⁽²⁾‖_A² ≤ (1+c₀)²c₁((1+c₂)/t · "
        "‖Δ₀‖_A² + c₃γ₀/(1−c) · (1+aγ₀t)^−c)",
        "section 3, LemmaRegression",
        "bounds",
        {"": "bounds regression"},
        "<=",
        1.0,
        BOUND,
        "at most {bounds regression} of the bound on least-squares problems drawn at random",
    ),
    Sentence(
        "The best convergence rate is obtained when c=2/3",
        "section 3, after the corollary",
        "bounds",
        {"": "bounds off quadratic"},
        "<=",
        0.01,
        "the sentence is about the corollary's bound: the power with which it falls is greatest "
        "at 2/3, to the width of the grid of c, 0.01",
        "the bound falls fastest with c = {bounds best quadratic}; the exact error of a "
        "least-squares problem is lowest with c = {bounds lowest}",
        "4c3959a judged the error of an example, of which the sentence does not speak; e0951ca "
        "widened 0.006 to the width of the grid, which has no 2/3",
    ),
    Sentence(
        "For ridge regression …, if ‖x‖≤M, then E(‖ξ_j⁽²⁾‖²_(A⁻¹) | θ_(j−1)) ≤ M/λ₀ ‖Δ_(j−1)‖_A²",
        "section 3, LemmaC1",
        "bounds",
        {"": "bounds c1"},
        "<=",
        1.0,
        BOUND + ", with ‖x‖² ≤ M as the proof has it",
        "the smallest such constant is at most {bounds c1} of M/λ₀",
    ),
    Sentence(
        "We see that E‖I⁽²⁾‖_A² is negligible compared to the error of SGD if t > O((λ₀γ₀)⁻¹)",
        "section 3, after LemmaC1",
        "bounds",
        {"": "bounds negligible 100"},
        "<=",
        0.1,
        "“negligible”: an order of magnitude below SGD's error from some K/(λ₀γ₀) rows on that "
        "does not depend on λ₀; K = 100 is tried",
        "E‖I⁽²⁾‖_A² is at most {bounds negligible 1}, {bounds negligible 10} and {bounds "
        "negligible 100} of SGD's exact error at K = 1, 10 and 100",
    ),
    Sentence(
        "we conclude that ASGD begins to outperform SGD after t>O((λ₀γ₀)⁻¹)",
        "section 3",
        "bounds",
        {"": "bounds overtaking power"},
        "<",
        1.05,
        ORDER_OF,
        "on least squares from K/(λ₀γ₀) rows on, K at most {bounds overtaking}; the rows grow "
        "with the power {bounds overtaking power} of 1/λ₀",
        TEN_BEFORE,
    ),
    Sentence(
        "t E‖I⁽³⁾‖_A² ≤ (1+c₀)²c₄²/t · ((1+2c₂)c₅‖Δ₀‖_A⁴ + (2c₂c₃‖Δ₀‖_A² + (1+2c₂)c₆)γ₁ᵗ + "
        "c₃²(γ₁ᵗ)²)",
        "section 4, LemmaNonQuadratic",
        "bounds",
        {"": "bounds printed"},
        "<=",
        1.0,
        BOUND,
        "as printed it is exceeded on {bounds printed problems} of {bounds problems} problems, up "
        "to {bounds printed} times, because the proof takes Δ_j for Δ_(j−1); with 1 + c₅ for c₅ "
        "and 2(1 + c₂)c₃ for 2c₂c₃ it is not: at most {bounds repaired} of the bound",
    ),
    Sentence(
        "The best convergence rate is obtained when c=3/4",
        "section 4, after the corollary",
        "bounds",
        {"": "bounds off other"},
        "<=",
        0.01,
        "as for c = 2/3",
        "the bound falls fastest with c = {bounds best other}",
        "4c3959a judged the error of an example, of which the sentence does not speak",
    ),
    Sentence(
        "At any step of the algorithm, θ̄_t can be obtained by θ̄_t=ū_t/β_t=(τ_t u_t+û_t)/β_t",
        "section 5, Algorithm 1",
        "bounds",
        {"": "bounds algorithm1"},
        "<=",
        1e-12,
        "an identity: the mean of all iterates, up to rounding",
        "the relative difference from the mean of all iterates is at most {bounds algorithm1}, "
        "four losses",
    ),
    Sentence(
        "Thus the number of operations per sample is O(Z), where Z is the number of non-zero "
        "elements in x",
        "section 5",
        "speed",
        {"": "speed features"},
        "<",
        10.0,
        "O(Z) does not depend on the features: with a hundred times as many, time grows by less "
        "than the root of a hundred, which caches alone explain; O(N) would make it a hundred",
        "with 100 times the features a row takes at most {speed features} times as long; with 4 "
        "times the nonzeros at most {speed nonzeros} times",
    ),
    Sentence(
        "It is possible to further improve the performance of ASGD by discarding θ_t from "
        "averaging during the initial period of training",
        "section 5",
        "least_squares",
        {"": "least_squares discarding"},
        "<",
        1.0,
        "“improve”: a lower expected error, on section 6.2's problem after 10⁴ rows",
        "discarding the rows up to t₀ = {least_squares t0} makes the error {least_squares "
        "discarding} times as large",
        FLOOR,
    ),
    Sentence(
        "it takes only a few thousands example for ASGD to get to the asymptotic region",
        "section 6.1",
        "step_sizes",
        {"gradient A": "step_sizes ASGD rows A", "gradient 2A": "step_sizes ASGD rows 2A"},
        "<",
        10_000,
        REGION + "; “a few thousands”: fewer than ten thousand",
        "within twice batch's expected excess risk from {step_sizes ASGD rows A} rows on "
        "(gradient A), {step_sizes ASGD rows 2A} (gradient 2A)",
    ),
    Sentence(
        "while it takes hundreds of thousands of examples for ASGD_BAD",
        "section 6.1",
        "step_sizes",
        {"gradient A": "step_sizes ASGD_BAD rows A", "gradient 2A": "step_sizes ASGD_BAD rows 2A"},
        ">=",
        100_000,
        REGION + "; “hundreds of thousands”: a hundred thousand or more",
        "within twice batch's from {step_sizes ASGD_BAD rows A} rows on (gradient A), {step_sizes "
        "ASGD_BAD rows 2A} (gradient 2A)",
    ),
    Sentence(
        "both ASGD and ASGD_BAD eventually outperforms SGD and come close to the batch method",
        "section 6.1",
        "step_sizes",
        {"gradient A": "step_sizes worst end A", "gradient 2A": "step_sizes worst end 2A"},
        "<=",
        2.0,
        REGION + ", for both, and below SGD's, at the end of the figure (10⁶ rows)",
        "over batch's after 10⁶ rows: ASGD {step_sizes ASGD end A}, ASGD_BAD {step_sizes ASGD_BAD "
        "end A}, SGD {step_sizes SGD end A} (gradient A); {step_sizes ASGD end 2A}, {step_sizes "
        "ASGD_BAD end 2A}, {step_sizes SGD end 2A} (gradient 2A)",
    ),
    Sentence(
        "This huge difference illustrates the significant role of learning rate scheduling for "
        "ASGD",
        "section 6.1",
        "step_sizes",
        {"gradient A": "step_sizes factor A", "gradient 2A": "step_sizes factor 2A"},
        ">=",
        10.0,
        "“this difference” is between a few thousands and hundreds of thousands: at least the ten "
        "times that lie between the two limits above",
        "ASGD_BAD takes {step_sizes factor A} (gradient A) and {step_sizes factor 2A} (gradient "
        "2A) times as many rows",
    ),
    Sentence(
        "after about 10⁴ examples, the accuracy of ASGD starts to be close to batch solution",
        "section 6.2",
        "least_squares",
        {
            SECTION_5: "least_squares close section 5",
            "averaging from row 0": "least_squares close row 0",
        },
        "<=",
        2.0,
        REGION + "; “about 10⁴”: up to 31,623 rows, which are nearer to 10⁴ than to 10⁵ on the "
        "figure's logarithmic axis",
        "over batch's after 31,623 rows: {least_squares close section 5} with averaging by "
        "section 5, {least_squares close row 0} from row 0 (after 10⁴ rows {least_squares close "
        "at 10^4 section 5} and {least_squares close at 10^4 row 0}; after 10⁶ {least_squares end "
        "section 5} and {least_squares end row 0})",
        FLOOR,
    ),
    Sentence(
        "while the solution of SGD remains more than 10 times worse than ASGD",
        "section 6.2",
        "least_squares",
        {
            SECTION_5: "least_squares worse section 5",
            "averaging from row 0": "least_squares worse row 0",
        },
        ">",
        10.0,
        "as written, from those 31,623 rows on",
        "SGD's expected excess risk is at least {least_squares worse section 5} times ASGD's "
        "(averaging by section 5), {least_squares worse row 0} times (from row 0)",
    ),
    Sentence(
        "ASGD is considerably fast than batch method since ASGD only need O(N) computation per "
        "sample while batch method need O(N²) computation per sample",
        "section 6.2",
        "speed",
        {"sums row by row": "speed row by row 100", "one product": "speed one product 100"},
        ">=",
        2.0,
        "“considerably”: at least twice as fast, at the experiment's N = 100",
        "batch takes {speed row by row 100}, {speed row by row 400}, {speed row by row 1600} "
        "times ASGD's time with 100, 400, 1,600 features, its sums kept row by row as the formula "
        "reads; {speed one product 100}, {speed one product 400}, {speed one product 1600} times "
        "as one product of matrices",
    ),
    Sentence(
        "ASGD clearly outperforms all other 5 algorithms in terms accuracy in most of the data "
        "sets",
        "section 6.3",
        "benchmarks",
        VERSIONS["first"],
        ">",
        "benchmarks half",
        f"{CLEARLY}; {MOST}. “Accuracy” is the test error; the test cost is what the theory bounds",
        "clearly first in {benchmarks first error M paper} of {benchmarks contests} contests "
        "against SGD2 of 2007 and SGD-QN of 2009, {benchmarks first error M later} against their "
        "later programs (beaten: {benchmarks beaten error M later}); with γ₀ = 1/(κM) {benchmarks "
        "first error κ paper} and {benchmarks first error κ later} (beaten: {benchmarks beaten "
        "error κ later}). In test cost {benchmarks first cost M paper} and {benchmarks first cost "
        "M later} (beaten: {benchmarks beaten cost M later}); with γ₀ = 1/(κM) {benchmarks first "
        "cost κ paper} and {benchmarks first cost κ later} (beaten: {benchmarks beaten cost κ "
        "later})",
        f"{TWO_ERRORS}; e0951ca's intervals were of other orders of the rows alone",
        whole_sets=True,
    ),
    Sentence(
        "for most of the data sets, ASGD reaches good performance with only one pass of data, "
        "while many other algorithms still perform poorly at that point",
        "section 6.3",
        "benchmarks",
        VERSIONS["good"],
        ">",
        "benchmarks half",
        "“good”: the test set cannot tell the error (or cost) from the lowest that any of the six "
        "reaches in two passes, by two standard errors; “poorly”: not good; “many”: at least half "
        f"of the others in the same contest; {MOST}",
        "so in {benchmarks good error M paper} of {benchmarks contests} contests against SGD2 of "
        "2007 and SGD-QN of 2009, {benchmarks good error M later} against their later programs; "
        "with γ₀ = 1/(κM) {benchmarks good error κ paper} and {benchmarks good error κ later}. In "
        "test cost {benchmarks good cost M paper} and {benchmarks good cost M later}; with γ₀ = "
        "1/(κM) {benchmarks good cost κ paper} and {benchmarks good cost κ later}. Good by itself "
        "ASGD is in {benchmarks good error M}, with γ₀ = 1/(κM) in {benchmarks good error κ}; in "
        "test cost in {benchmarks good cost M} and {benchmarks good cost κ}",
        "4c3959a took 1.05 times the lowest error, which no test set suggests; fb8783a counts "
        "both halves of the sentence in the same contest, when results of ten orders were known",
        whole_sets=True,
    ),
    Sentence(
        "The only exception is the beta data set, where all methods performs equally bad because "
        "the two classes in this data set are not linearly separable",
        "section 6.3",
        "benchmarks",
        {"": "benchmarks beta"},
        ">",
        0.45,
        "“equally bad”: hardly better than guessing, which is wrong for half of the rows",
        "the set is not at hand; its lowest error here: {benchmarks beta}",
    ),
    Sentence(
        "the performance of the other 5 methods tend to be more volatile, while performance of "
        "ASGD is more robust due to average",
        "section 6.3",
        "benchmarks",
        {
            f"{rate}{measure}": f"benchmarks steadier {key} {reading}"
            for key, measure in MEASURES.items()
            for reading, rate in RATES.items()
        },
        ">",
        "benchmarks half of pairs",
        "“tend to”: in more than half of the comparisons with a rival that is measured within "
        "passes ASGD's error changes clearly less from mark to mark, from half a pass on "
        "(Student's t)",
        "ASGD is clearly steadier in {benchmarks steadier error M} of {benchmarks pairs} "
        "comparisons, with γ₀ = 1/(κM) in {benchmarks steadier error κ}; in test cost in "
        "{benchmarks steadier cost M} and {benchmarks steadier cost κ}",
        TWO_ERRORS,
        whole_sets=True,
    ),
    Sentence(
        "In terms of time spent on one pass of data, ASGD is similar to the other methods except "
        "oLBFGS",
        "section 6.3",
        "speed",
        {"": "speed similar"},
        ">",
        "speed half of others",
        "“similar”: neither loop takes more than twice the other's time, for most of the others; "
        "only learning loops are timed",
        "similar in {speed similar} of {speed others} comparisons, oLBFGS slower than that on "
        "{speed oLBFGS} of {speed sets} sets; time over ASGD's: {speed loops}",
        "4c3959a timed whole calls, calibration and conversion included; e0951ca timed ASGD in "
        "polyak's bank, which scores the average at every row and never skips a step: similar in "
        "3 of 12",
        whole_sets=True,
    ),
    Sentence(
        "which means that ASGD needs less time to reach similar test performance compared to the "
        "other methods",
        "section 6.3",
        "benchmarks",
        {
            f"{unit}, {rate}{measure}": f"benchmarks sooner {key} {reading} {unit}"
            for key, measure in MEASURES.items()
            for reading, rate in RATES.items()
            for unit in ("rows", "time")
        },
        ">",
        "benchmarks half of sooner",
        "“similar test performance”: what the other reaches in its pass; “less”: clearly fewer "
        "rows, or less time of the learning loop, in more than half of the comparisons",
        "ASGD needs clearly fewer rows in {benchmarks sooner error M rows} of {benchmarks sooner "
        "pairs} comparisons, and less time in {benchmarks sooner error M time}; with γ₀ = 1/(κM) "
        "in {benchmarks sooner error κ rows} and {benchmarks sooner error κ time}. For a test "
        "cost {benchmarks sooner cost M rows} and {benchmarks sooner cost M time}; with γ₀ = "
        "1/(κM) {benchmarks sooner cost κ rows} and {benchmarks sooner cost κ time}",
        "4c3959a compared times of whole calls: at a9a's first mark 0.28 of 8.3 ms were ASGD's "
        "loop",
        whole_sets=True,
    ),
    Sentence(
        "ASGD also works pretty well with non-smooth loss such as hinge loss",
        "section 6.3",
        "benchmarks",
        {"test error": "benchmarks hinge error", "test cost": "benchmarks hinge cost"},
        ">",
        "benchmarks half of sets",
        "“pretty well”: good in the sense above, on more than half of the sets",
        "with the hinge good after one pass on {benchmarks hinge error} of {benchmarks sets} "
        "sets, in test cost on {benchmarks hinge cost}",
        "4c3959a took 1.05 times the lowest error, which no test set suggests",
        whole_sets=True,
    ),
    Sentence(
        "(1/γ_(k+1) − 1/γ_k)/γ_(k+1) ≤ (1/γ_k − 1/γ_(k−1))/γ_k · (1−λ₀γ_k)^(κ−1)",
        "appendix, LemmaGamma",
        "bounds",
        {"": "bounds gamma lemma"},
        "<=",
        1.0 + 1e-9,
        BOUND,
        "the left side is at most {bounds gamma lemma} of the right",
    ),
    Sentence(
        "(I−X_j^t)A⁻¹ ≤ X̄_j^t ≤ (1+c₀(1+aγ₀j)^(c−1))A⁻¹",
        "appendix, Lemma1",
        "bounds",
        {"": "bounds lemma1"},
        "<=",
        1.0 + 1e-9,
        "both inequalities as printed",
        "each side is at most {bounds lemma1} of the next",
    ),
    Sentence(
        "assuming all ‖x‖² are M, then (EqSGD) will diverge if learning rate is greater than 2/M",
        "appendix, LemmaMaxGamma",
        "bounds",
        {"": "bounds growth 2.1"},
        ">",
        1.0,
        "“diverge”: the mean square distance goes on growing",
        "from row 1,000 to 2,000 E‖Δ‖² grows by {bounds growth 2.1} at 2.1/M; at 1.9/M by {bounds "
        "growth 1.9}",
    ),
)
