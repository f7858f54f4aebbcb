"""Verdicts on made-up results: each claim holds, holds from one initial point, fails or stays open when it should."""

from math import nan

import pytest

from tests.paper.synthetic import NOTHING, no_fit, power_fit, runs_with_margins, straight_fit, theory_row
from trisplit.paper import claims
from trisplit.paper.claims import FAILS, HOLDS, OPEN, WITH_THIS
from trisplit.paper.comparison import PAPERS_LARGEST, PAPERS_SMALLEST

INSTANCES = ("nug12", "chr12a", "tai12a", "rou15")
BOTH = [(start, method) for start in ("near", "text") for method in ("tos1", "tos")]


def verdict(claim, results):
    """Return the verdict of the one claim, its words and its detail."""
    (found,) = claim(results)
    assert found in claims.verdicts(results)
    return found


def test_of_nothing_nothing_is_claimed():
    assert claims.verdicts(NOTHING) == []


# Figure 1


def of_splittings(*fits):
    return NOTHING._replace(figure1_rates=list(fits))


@pytest.mark.parametrize(
    ("bad", "expected"),
    [
        ([], HOLDS),
        ([("near", "tos1")], WITH_THIS),
        ([one for one in BOTH if one != ("text", "tos")], FAILS),
        (BOTH, FAILS),
    ],
)
@pytest.mark.parametrize("change", [{"r_squared": 0.98}, {"decades": 3.9}, None])
def test_linear_convergence_holds_if_all_runs_end_straight(bad, expected, change):
    fits = [
        straight_fit(start=start, method=method)
        if (start, method) not in bad
        else no_fit(start=start, method=method)
        if change is None
        else straight_fit(start=start, method=method, **change)
        for start, method in BOTH
    ]
    crooked_others = [straight_fit(method="today", r_squared=0.5), power_fit(r_squared=0.5)]
    found = verdict(claims.linear_convergence, of_splittings(*fits))
    assert found.verdict == expected
    assert f"fits {4 - len(bad)} of 4 runs" in found.detail
    assert "chr12a" in found.claim
    # Only the paper's splittings count.
    with_others = next(iter(claims.linear_convergence(of_splittings(*fits, *crooked_others))))
    assert (with_others.verdict, with_others.detail) == (found.verdict, found.detail)
    for start, method in bad:
        assert claims.BY_START[start] in found.detail
        assert claims.NAMES[method] in found.detail


@pytest.mark.parametrize(
    ("near", "text", "expected"),
    [
        ({}, {}, HOLDS),
        ({"reached": 9e-14}, {}, WITH_THIS),
        ({}, {"r_squared": 0.9}, WITH_THIS),
        ({"reached": 9e-14}, {"r_squared": 0.9}, FAILS),
        ({"reached": 0.0}, {"slope": nan, "r_squared": nan}, FAILS),
    ],
)
def test_sublinear_convergence_of_frank_wolfe_may_depend_on_the_initial_point(near, text, expected):
    fits = [power_fit(start="near", **near), power_fit(start="text", **text), straight_fit()]
    found = verdict(claims.sublinear_frank_wolfe, of_splittings(*fits))
    assert found.verdict == expected
    assert ("arrives at a vertex" in found.detail) == ("reached" in near)


def test_one_instance_that_fails_from_an_initial_point_fails_it():
    fits = [power_fit(start=start, instance=name) for start in ("near", "text") for name in ("chr12a", "esc128")]
    fits[0] = fits[0]._replace(reached=1e-14)
    found = verdict(claims.sublinear_frank_wolfe, of_splittings(*fits))
    assert found.verdict == WITH_THIS
    assert "chr12a and esc128" in found.claim


# Figure 2


def near_only(start, method):
    return 1.0 if start == "near" else -1.0


def by_order(start, method):
    return 1.0 if method == "tos" else -1.0


MARGINS = {
    "all better": (lambda *_: 1.0, 3, HOLDS),
    "one initial point": (near_only, 3, WITH_THIS),
    "all worse": (lambda *_: -1.0, 3, FAILS),
    "all the same": (lambda *_: 0.0, 3, OPEN),
    "the order of the sets decides": (by_order, 3, OPEN),
    "one seed": (lambda *_: 1.0, 1, OPEN),
}


@pytest.mark.parametrize("claim", [claims.better_more_often, claims.positive_margin])
@pytest.mark.parametrize(("margin", "seeds", "expected"), MARGINS.values(), ids=MARGINS)
def test_better_permutations_are_claimed_of_both_orders_from_both_initial_points(claim, margin, seeds, expected):
    def margin_of(start, method, seed, name):
        return 5.0 if method == "today" else margin(start, method)  # today's is no claim of the paper

    figure2 = runs_with_margins(margin_of, INSTANCES, seeds)
    found = verdict(claim, NOTHING._replace(figure2=figure2))
    assert found.verdict == expected
    assert ("One seed decides nothing" in found.detail) == (seeds == 1)
    for words in claims.BY_START.values():
        assert words in found.detail


@pytest.mark.parametrize("claim", [claims.better_more_often, claims.positive_margin])
def test_seeds_that_disagree_decide_nothing(claim):
    figure2 = runs_with_margins(lambda start, method, seed, name: (-1.0) ** seed, INSTANCES, 4)
    assert verdict(claim, NOTHING._replace(figure2=figure2)).verdict == OPEN


def test_counts_and_margins_are_two_claims():
    """Often a little better and once much worse: more often better, and a negative margin."""
    figure2 = runs_with_margins(lambda start, method, seed, name: -2.9 if name == "rou15" else 0.5, INSTANCES, 3)
    results = NOTHING._replace(figure2=figure2)
    assert verdict(claims.better_more_often, results).verdict == HOLDS
    assert "3.0 / 0.0 / 1.0" in verdict(claims.better_more_often, results).detail
    assert verdict(claims.positive_margin, results).verdict == FAILS


@pytest.mark.parametrize(
    ("near", "text", "expected"), [(3, 2, HOLDS), (0, 2, WITH_THIS), (3, 1, WITH_THIS), (1, 1, FAILS), (0, 0, FAILS)]
)
def test_an_extreme_margin_is_where_most_draws_have_it(near, text, expected):
    """With so many of three seeds the extremes are on the paper's instances, with the others on nug12 and scr12."""
    most = {PAPERS_LARGEST: 0.7, PAPERS_SMALLEST: -0.2, "nug12": 0.5, "scr12": -0.1}
    elsewhere = most | {"nug12": 0.9, "scr12": -0.3}

    def margin_of(start, method, seed, name):
        there = seed < (near if start == "near" else text)
        return 0.0 if method == "today" else (most if there else elsewhere)[name]  # today's is no claim of the paper

    found = list(claims.largest_margins(NOTHING._replace(figure2=runs_with_margins(margin_of, most, 3))))
    assert [one.verdict for one in found] == [expected] * 2
    assert [PAPERS_LARGEST in found[0].claim, PAPERS_SMALLEST in found[1].claim] == [True, True]
    for one in found:
        assert f"barycentre in {2 * near} of 6 draws" in one.detail  # of both orders of the sets
        assert f"text in {2 * text} of 6 draws" in one.detail


@pytest.mark.parametrize("margin", [0.7, -0.7])
def test_one_draw_does_not_decide_where_the_extremes_are(margin):
    figure2 = runs_with_margins(lambda *key: margin if key[-1] == PAPERS_LARGEST else 0.0, [PAPERS_LARGEST, "nug12"], 1)
    assert {one.verdict for one in claims.largest_margins(NOTHING._replace(figure2=figure2))} == {OPEN}


def test_an_extreme_margin_without_frank_wolfe_is_not_judged():
    figure2 = runs_with_margins(lambda *_: 1.0, [PAPERS_LARGEST], 2)
    splitting = [run for run in figure2 if run.method != "fw"]
    assert list(claims.largest_margins(NOTHING._replace(figure2=splitting))) == []


# Theorems


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, HOLDS),
        ({"measured": 2.0}, HOLDS),
        ({"measured": 2.0001}, FAILS),
        ({"measured": 5.0}, FAILS),
        ({"measured": nan}, FAILS),
        ({"measured": -0.5}, HOLDS),
    ],
)
def test_a_theorem_fails_with_one_row_above_its_bound(change, expected):
    rows = [theory_row(T=T) for T in (10, 100, 1000)] + [theory_row(problem="quadratic, box + L1", **change)]
    found = verdict(claims.theorems, NOTHING._replace(theory=rows))
    assert found.verdict == expected
    assert f"{int(expected == FAILS)} above the bound" in found.detail
    assert "4 measurements on 2 problems, T = 10 to 1,000" in found.detail


def test_each_theorem_has_its_own_verdict():
    rows = [theory_row(), theory_row(theorem="Theorem 2", measured=9.0), theory_row(theorem="Theorem 2")]
    found = list(claims.theorems(NOTHING._replace(theory=rows)))
    assert [(one.claim.split(" bounds")[0], one.verdict) for one in found] == [
        ("Theorem 1", HOLDS),
        ("Theorem 2", FAILS),
    ]


@pytest.mark.parametrize("measured", [0.0, -1.0])
def test_errors_that_are_nowhere_positive_are_below_their_bounds(measured):
    rows = [theory_row(measured=measured, T=T) for T in (10, 100)]
    assert verdict(claims.theorems, NOTHING._replace(theory=rows)).verdict == HOLDS


@pytest.mark.parametrize(("power", "expected"), [(-1 / 3, HOLDS), (-1 / 4, HOLDS), (-1 / 6, FAILS)])
def test_samples_are_few_enough_if_epsilon_falls_fast_enough(power, expected):
    """With epsilon = T^power and T samples, samples times epsilon^5 stays bounded up to the power -1/5."""
    rows = [
        theory_row(theorem=f"Theorem {k}", T=T, bound=8.0 * T**power, samples=T) for k in (1, 3, 4) for T in (10, 1000)
    ]
    found = verdict(claims.samples, NOTHING._replace(theory=rows))
    assert found.verdict == expected


def test_deterministic_theorems_count_no_samples():
    assert list(claims.samples(NOTHING._replace(theory=[theory_row()]))) == []
