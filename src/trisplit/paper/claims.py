"""The claims of [YMS21], each with a verdict on the results at hand and the figures that it rests on."""

from collections.abc import Callable, Iterator
from math import inf, isnan

from trisplit.paper import figure1, margins, theory
from trisplit.paper.folder import Results
from trisplit.paper.margins import PAPER, Draw, Interval, interval
from trisplit.paper.methods import NAMES
from trisplit.paper.rates import DECADES, FLOOR
from trisplit.paper.shares import Share
from trisplit.report import Verdict

HOLDS, WITH_THIS, FAILS, OPEN = "holds", "holds with this initial point", "does not hold", "not decided"
STRAIGHT, POWER = 0.99, 0.9  # R^2 of a linear rate, and of a power of t, around which Frank-Wolfe's gap is jagged
OVER_TIME = "figure-1-text-time"  # the chart of errors over seconds
BY_START = {"near": "from near the barycentre", "text": "from the initial point of the text"}


def verdicts(results: Results) -> list[Verdict]:
    """Return a verdict on each claim of which there are results."""
    return [verdict for claim in CLAIMS for verdict in claim(results)]


def linear_convergence(results: Results) -> Iterator[Verdict]:
    """Section 5: "TOS exhibits locally linear convergence"."""
    own = [fit for fit in results.figure1_rates if fit.method in figure1.PAPERS and fit.kind == "linear"]
    if not own:
        return
    good = [fit for fit in own if fit.r_squared > STRAIGHT and fit.decades >= DECADES]
    detail = f"A straight line with R² > {STRAIGHT} over at least four decades fits {len(good)} of {len(own)} runs"
    if good:
        least, fewest = min(fit.r_squared for fit in good), min(fit.decades for fit in good)
        detail += f"; their R² is at least {least:.4f}, over {fewest:.1f} decades or more"
    detail += "".join(f"; {_crooked(fit)}" for fit in own if fit not in good)
    verdict = HOLDS if len(good) == len(own) else OPEN if good else FAILS
    yield Verdict(f"TOS converges locally linearly on {_instances(own)}", verdict, "figure-1-near", f"{detail}.")


def _instances(own: list[figure1.Fit]) -> str:
    return " and ".join(dict.fromkeys(fit.instance for fit in own))


def _crooked(fit: figure1.Fit) -> str:
    name = f"{fit.instance} {BY_START[fit.start]}, {NAMES[fit.method]}"
    if isnan(fit.slope):
        return f"{name} passed no four decades above rounding: {fit.reached:.1e} at t = {fit.reached_at:,}"
    return f"{name} has R² = {fit.r_squared:.4f} over {fit.decades:.1f} decades"


def sublinear_frank_wolfe(results: Results) -> Iterator[Verdict]:
    """Section 5: "FW converges with sublinear rates"."""
    own = [fit for fit in results.figure1_rates if fit.method == "fw"]
    if not own:
        return
    slow = [fit for fit in own if fit.reached >= FLOOR and fit.r_squared > POWER]
    yield Verdict(
        f"FW converges sublinearly on {_instances(own)}",
        _over_starts(own, slow),
        "figure-1-text",
        "; ".join(_power(fit) for fit in own) + ".",
    )


def _power(fit: figure1.Fit) -> str:
    name = f"{fit.instance} {BY_START[fit.start]}"
    if fit.reached < FLOOR:
        return f"{name}: arrives at a vertex and is exact after {fit.reached_at:,} iterations"
    power = f"the error falls like t^({fit.slope:.3f} ± {fit.half_width:.3f})"
    return f"{name}: {power}, R² = {fit.r_squared:.4f} over t = {fit.first:,} to {fit.last:,}"


def _over_starts(own: list[figure1.Fit], good: list[figure1.Fit]) -> str:
    """Return the verdict on a claim that may hold from one initial point and not from the other."""
    failed = {fit.start for fit in own if fit not in good}
    if not failed:
        return HOLDS
    return WITH_THIS if any(fit.start not in failed for fit in own) else FAILS


def time_of_an_iteration(results: Results) -> Iterator[Verdict]:
    """Section 5: gradients dominate the time of TOS, assignment problems that of FW."""
    splittings = [share for share in results.figure1_shares if share.method != "fw"]
    if splittings:
        found = [(share, share.products / share.iteration) for share in splittings]
        verdict = HOLDS if all(part > 0.5 for _, part in found) else FAILS
        yield Verdict(
            "Computing the gradient dominates the time of TOS", verdict, OVER_TIME, _parts("products take", found)
        )
    others = [share for share in results.figure1_shares if share.method == "fw"]
    if others:
        found = [(share, share.assignment / share.iteration) for share in others]
        verdict = HOLDS if all(share.assignment > share.products for share in others) else FAILS
        detail = _parts("assignment problems take", found) + " The solver is today's (lapx)."
        yield Verdict("The bottleneck of FW is the assignment problem", verdict, OVER_TIME, detail)


def _parts(what: str, found: list[tuple[Share, float]]) -> str:
    parts = [f"{100 * part:.0f} % on {share.instance} ({NAMES[share.method]})" for share, part in found]
    return f"Of an iteration, {what} {', '.join(parts)}."


def better_more_often(results: Results) -> Iterator[Verdict]:
    """Section 5: "TOS gets a better solution on 83 problems", 16 the same, 35 worse."""
    claim = "TOS rounds to a better permutation than FW more often than to a worse one (83 / 16 / 35)"
    yield from _compared(results, claim, lambda draw: draw.better - draw.worse, _counts)


def positive_margin(results: Results) -> Iterator[Verdict]:
    """Section 5: "TOS outperforms FW in assignment error by a margin of 0.046"."""
    claim = f"On average TOS's assignment error is lower than FW's (by {PAPER['margin']})"
    yield from _compared(results, claim, lambda draw: draw.margin, lambda own: _in_words(_of(own, "margin"), 4))


def _compared(
    results: Results, claim: str, measure: Callable[[Draw], float], words: Callable[[list[Draw]], str]
) -> Iterator[Verdict]:
    """Decide a claim by the confidence interval over seeds, for each initial point and both orders of the sets."""
    found = [draw for draw in margins.draws(results.figure2) if draw.method in ("tos", "tos-hg")]
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
    drawn = f"Means over {seeds} seeds with intervals of 95 %" if seeds > 1 else "One seed decides nothing"
    yield Verdict(claim, verdict, "figure-2-near", f"{drawn}: {'; '.join(said)}.")


def _of(own: list[Draw], field: str) -> Interval:
    return interval([getattr(draw, field) for draw in own])


def _counts(own: list[Draw]) -> str:
    counts = " / ".join(f"{_of(own, field).mean:.1f}" for field in ("better", "same", "worse"))
    ahead = interval([draw.better - draw.worse for draw in own])
    return f"{counts}, better less worse {_in_words(ahead, 1)}"


def _in_words(found: Interval, digits: int) -> str:
    if found.low is None or found.high is None:
        return f"{found.mean:.{digits}f}"
    return f"{found.mean:.{digits}f} ({found.low:.{digits}f} to {found.high:.{digits}f})"


def largest_margins(results: Results) -> Iterator[Verdict]:
    """Section 5: the largest margins, 0.744 on chr15b and -0.253 on chr15c; one draw, so others can only contain it."""
    errors = margins.errors_of(results.figure2)
    for name, paper in ((margins.PAPERS_LARGEST, PAPER["largest"]), (margins.PAPERS_SMALLEST, PAPER["smallest"])):
        own: dict[str, list[float]] = {}
        for (start, method, seed), found in errors.items():
            baseline = errors.get((start, "fw", seed), {})
            if method in ("tos", "tos-hg") and name in found and name in baseline:
                own.setdefault(start, []).append(baseline[name] - found[name])
        if not own:
            continue
        inside = [start for start, values in own.items() if min(values) <= paper <= max(values)]
        verdict = HOLDS if len(inside) == len(own) else WITH_THIS if inside else OPEN
        said = [f"{BY_START[start]} between {min(v):.3f} and {max(v):.3f}" for start, v in own.items()]
        detail = f"The paper's is one draw; here, over all seeds and both orders of the sets: {'; '.join(said)}."
        yield Verdict(f"The margin on {name} is {paper}", verdict, "figure-2-near", detail)


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
        yield Verdict(f"{name} bounds the average error", FAILS if over else HOLDS, _chart_of(name), detail)


def _times_below(row: theory.Row) -> float:
    """Return how often the error fits into the tight bound; it may be zero or negative."""
    return row.tight_bound / row.measured if row.measured > 0.0 else inf


def _chart_of(theorem: str) -> str:
    return f"{theorem.lower().replace(' ', '-')}-stationarity"


def samples(results: Results) -> Iterator[Verdict]:
    """Corollary 2: O(1 / epsilon^5) samples."""
    counts = theory.sample_counts(results.theory)
    if not counts:
        return
    groups = theory.grouped(counts, lambda count: (count.theorem, count.problem))
    falling = all(own[-1].constant <= own[0].constant for own in groups)
    lowest, highest = min(own[-1].constant for own in groups), max(own[-1].constant for own in groups)
    detail = (
        f"Samples times epsilon^5 {'grows with T on no' if falling else 'grows with T on some'} problem of "
        f"{len(groups)}, and ends between {lowest:.1e} "
        f"and {highest:.1e}; epsilon is the larger bound."
    )
    yield Verdict("Corollary 2: O(1/epsilon^5) samples suffice", HOLDS if falling else FAILS, "corollary-2", detail)


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
