"""The claims of [YMS21], each with a verdict on the results at hand and the figures that it rests on."""

from collections.abc import Callable, Iterator
from math import floor, inf, isnan, log10

from trisplit.paper import comparison, figure1, theory
from trisplit.paper.comparison import PAPER, PAPERS_LARGEST, PAPERS_SMALLEST, Draw, Interval, interval
from trisplit.paper.methods import NAMES
from trisplit.paper.rates import DECADES, FLOOR
from trisplit.paper.results import Results
from trisplit.paper.timing import Share
from trisplit.report import Verdict

HOLDS, WITH_THIS, FAILS, OPEN = "holds", "holds with this initial point", "does not hold", "not decided"
LINEAR, POWER = 0.99, 0.9  # R^2 of a linear rate, and of a power of t, around which Frank-Wolfe's gap is jagged
BY_START = {"near": "from near the barycentre", "text": "from the initial point of the text"}


def verdicts(results: Results) -> list[Verdict]:
    """Return a verdict on each claim of which there are results."""
    return [verdict for claim in CLAIMS for verdict in claim(results)]


def linear_convergence(results: Results) -> Iterator[Verdict]:
    """Section 5: "TOS exhibits locally linear convergence"."""
    own = [fit for fit in results.figure1_rates if fit.method in figure1.PAPERS and fit.kind == "linear"]
    if not own:
        return
    good = [fit for fit in own if fit.r_squared > LINEAR and fit.decades >= DECADES]
    detail = f"A straight line with R² > {LINEAR} over at least four decades fits {len(good)} of {len(own)} runs: "
    detail += "; ".join(_straight(fit) if fit in good else _crooked(fit) for fit in own)
    late = [fit for fit in good if fit.last > figure1.MAX_ITER]
    if late:
        detail += f". {len(late)} of these stretches end after the {figure1.MAX_ITER:,} iterations of the picture"
    claim = f"TOS converges locally linearly on {_instances(own)}"
    yield Verdict(claim, _over_starts(own, good), chart_of_figure1(own[0]), f"{detail}.")


def rate_words(fit: figure1.Fit) -> str:
    """Return a rate with its confidence: iterations for a decade, or a power of t."""
    if isnan(fit.slope):
        return "none"
    if fit.kind == "power":
        return f"t^({fit.slope:.3f} ± {fit.half_width:.3f})"
    per_decade, spread = -1.0 / fit.slope, fit.half_width / fit.slope**2
    digits = max(0, 1 - floor(log10(spread))) if spread > 0 else 1
    return f"{per_decade:,.{digits}f} ± {spread:.{digits}f} iterations a decade"


def _straight(fit: figure1.Fit) -> str:
    return f"{_run(fit)} {rate_words(fit)} from t = {fit.first:,} to {fit.last:,} (R² = {fit.r_squared:.4f})"


def _run(fit: figure1.Fit) -> str:
    return f"{fit.instance} {BY_START[fit.start]}, {NAMES[fit.method]}:"


def chart_of_figure1(fit: figure1.Fit, *, over_time: bool = False) -> str:
    """Return the id of the chart that shows a run."""
    return f"figure-1-{fit.start}-{fit.instance}" + "-time" * over_time


def _instances(own: list[figure1.Fit]) -> str:
    return " and ".join(dict.fromkeys(fit.instance for fit in own))


def _crooked(fit: figure1.Fit) -> str:
    if isnan(fit.slope):
        return f"{_run(fit)} passed no four decades above rounding, {fit.reached:.1e} at t = {fit.reached_at:,}"
    return f"{_run(fit)} R² = {fit.r_squared:.4f} over {fit.decades:.1f} decades"


def sublinear_frank_wolfe(results: Results) -> Iterator[Verdict]:
    """Section 5: "FW converges with sublinear rates"."""
    own = [fit for fit in results.figure1_rates if fit.method == "fw"]
    if not own:
        return
    slow = [fit for fit in own if fit.reached >= FLOOR and fit.r_squared > POWER]
    claim, shown = f"FW converges sublinearly on {_instances(own)}", chart_of_figure1((slow or own)[-1])
    yield Verdict(claim, _over_starts(own, slow), shown, "; ".join(_power(fit) for fit in own) + ".")


def _power(fit: figure1.Fit) -> str:
    if fit.reached < FLOOR:
        return f"{_run(fit)} arrives at a vertex and is exact after {fit.reached_at:,} iterations"
    fell = f"the error falls like {rate_words(fit)}"
    return f"{_run(fit)} {fell}, R² = {fit.r_squared:.4f} over t = {fit.first:,} to {fit.last:,}"


def _over_starts(own: list[figure1.Fit], good: list[figure1.Fit]) -> str:
    """Return the verdict on a claim that may hold from one initial point and not from the other."""
    failed = {fit.start for fit in own if fit not in good}
    if not failed:
        return HOLDS
    return WITH_THIS if any(fit.start not in failed for fit in own) else FAILS


def time_of_an_iteration(results: Results) -> Iterator[Verdict]:
    """Section 5: gradients dominate the time of TOS, assignment problems that of FW."""
    shown = chart_of_figure1(results.figure1_rates[0], over_time=True) if results.figure1_rates else ""
    splittings = [share for share in results.figure1_shares if share.method != "fw"]
    if splittings:
        found = [(share, share.products / share.iteration) for share in splittings]
        verdict = HOLDS if all(part > 0.5 for _, part in found) else FAILS
        yield Verdict(
            "Computing the gradient dominates the time of TOS", verdict, shown, _parts("products take", found)
        )
    others = [share for share in results.figure1_shares if share.method == "fw"]
    if others:
        found = [(share, share.assignment / share.iteration) for share in others]
        verdict = HOLDS if all(share.assignment > share.products for share in others) else FAILS
        detail = _parts("assignment problems take", found) + " The solver is today's (lapx)."
        yield Verdict("The bottleneck of FW is the assignment problem", verdict, shown, detail)


def _parts(what: str, found: list[tuple[Share, float]]) -> str:
    parts = [f"{100 * part:.0f} % on {share.instance} ({NAMES[share.method]})" for share, part in found]
    return f"Of an iteration, {what} {', '.join(parts)}."


def better_more_often(results: Results) -> Iterator[Verdict]:
    """Section 5: "TOS gets a better solution on 83 problems", 16 the same, 35 worse."""
    claim = "TOS rounds to a better permutation than FW more often than to a worse one"
    yield from _compared(results, claim, lambda draw: draw.better - draw.worse, _counts)


def positive_margin(results: Results) -> Iterator[Verdict]:
    """Section 5: "TOS outperforms FW in assignment error by a margin of 0.046"."""
    claim = "On average TOS's assignment error is lower than FW's"
    yield from _compared(results, claim, lambda draw: draw.margin, lambda own: _of(own, "margin").words(4))


def _compared(
    results: Results, claim: str, measure: Callable[[Draw], float], words: Callable[[list[Draw]], str]
) -> Iterator[Verdict]:
    """Decide a claim by the confidence interval over seeds, for each initial point and both orders of the sets."""
    found = [draw for draw in comparison.draws(results.figure2) if draw.method in ("tos", "tos-hg")]
    signs, said = {}, []
    for start in dict.fromkeys(draw.start for draw in found):
        for method in dict.fromkeys(draw.method for draw in found):
            own = [draw for draw in found if (draw.start, draw.method) == (start, method)]
            signs[start, method] = interval([measure(draw) for draw in own]).sign
            said.append(f"{BY_START[start]}, {NAMES[method]}: {words(own)}")
    if not found:
        return
    everywhere = {start: {sign for (other, _), sign in signs.items() if other == start} for start, _ in signs}
    if all(signed == {1} for signed in everywhere.values()):
        verdict = HOLDS
    elif any(signed == {1} for signed in everywhere.values()):
        verdict = WITH_THIS
    else:
        verdict = FAILS if all(sign < 0 for sign in signs.values()) else OPEN
    seeds = len({draw.seed for draw in found})
    paper = f"The paper's draw had {PAPER['better']} / {PAPER['same']} / {PAPER['worse']}, margin {PAPER['margin']}. "
    drawn = paper + (
        f"Means over {seeds} seeds ± half of the interval of 95 %" if seeds > 1 else "One seed decides nothing"
    )
    yield Verdict(claim, verdict, "figure-2-near", f"{drawn}: {'; '.join(said)}.")


def _of(own: list[Draw], field: str) -> Interval:
    return interval([getattr(draw, field) for draw in own])


def _counts(own: list[Draw]) -> str:
    counts = " / ".join(f"{_of(own, field).mean:.1f}" for field in ("better", "same", "worse"))
    ahead = interval([draw.better - draw.worse for draw in own])
    return f"{counts}, better less worse {ahead.words(1)}"


def largest_margins(results: Results) -> Iterator[Verdict]:
    """Section 5: the largest margin is 0.744, on chr15b, and the smallest -0.253, on chr15c."""
    found = [draw for draw in comparison.draws(results.figure2) if draw.method in ("tos", "tos-hg")]
    for field, name in (("largest", PAPERS_LARGEST), ("smallest", PAPERS_SMALLEST)):
        said, signs = [], {}
        for start in dict.fromkeys(draw.start for draw in found):
            own = [draw for draw in found if draw.start == start]
            there = [draw for draw in own if getattr(draw, f"{field}_at") == name]
            values = [getattr(draw, field) for draw in own]
            signs[start] = 2 * len(there) > len(own)
            between = f"the {field} margins lie between {min(values):.3f} and {max(values):.3f}"
            said.append(f"{BY_START[start]} in {len(there)} of {len(own)} draws, where {between}")
        if said:
            verdict = HOLDS if all(signs.values()) else WITH_THIS if any(signs.values()) else FAILS
            if len({draw.seed for draw in found}) < 2:
                verdict = OPEN
            claim = f"The {field} margin over FW is on {name}"
            detail = f"The paper's draw had {PAPER[field]} there. Here it is there {'; '.join(said)}."
            yield Verdict(claim, verdict, "figure-2-seeds", detail)


def theorems(results: Results) -> Iterator[Verdict]:
    """Theorems 1-4 and Corollary 1."""
    for name in dict.fromkeys(row.theorem for row in results.theory):
        own = [row for row in results.theory if row.theorem == name]
        over, problems = theory.exceeded(own), {row.problem for row in own}
        closest = min(own, key=_times_below)
        detail = (
            f"{len(own)} measurements on {len(problems)} problems, T = {own[0].T:,} to {max(r.T for r in own):,}: "
            f"{len(over)} above the bound; the closest is {_times_below(closest):.1f} times below its "
            f"tight form ({closest.problem}, {closest.quantity}, T = {closest.T:,})."
        )
        yield Verdict(
            f"{name} bounds the average error", FAILS if over else HOLDS, chart_of_theorem(name, "stationarity"), detail
        )


def _times_below(row: theory.Row) -> float:
    """Return how often the error fits into the tight bound; it may be zero or negative."""
    return row.tight_bound / row.measured if row.measured > 0.0 else inf


def chart_of_theorem(theorem: str, quantity: str) -> str:
    """Return the id of the chart that shows a theorem."""
    return f"{theorem.lower().replace(' ', '-')}-{quantity}"


def samples(results: Results) -> Iterator[Verdict]:
    """Corollary 2: O(1 / epsilon^5) samples."""
    counts = theory.sample_counts(results.theory)
    if not counts:
        return
    groups = theory.grouped(counts, lambda count: (count.theorem, count.problem))
    reached = all(count.measured <= count.epsilon for count in counts)
    falling = all(own[-1].constant <= own[0].constant for own in groups)
    detail = (
        f"In {len(counts)} runs with T |Q| samples the measured error is {'' if reached else 'not always '}at most "
        f"epsilon, the larger bound, and samples times epsilon^5 grows with T on {'no' if falling else 'some'} problem "
        f"of {len(groups)}."
    )
    verdict = HOLDS if reached and falling else FAILS
    yield Verdict("Corollary 2: O(1/epsilon^5) samples suffice for an error of epsilon", verdict, "corollary-2", detail)


CLAIMS: tuple[Callable[[Results], Iterator[Verdict]], ...] = (
    linear_convergence,
    sublinear_frank_wolfe,
    time_of_an_iteration,
    better_more_often,
    positive_margin,
    largest_margins,
    theorems,
    samples,
)
