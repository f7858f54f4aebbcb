"""The families of the campaign, and its problems by number."""

from dataclasses import replace

import numpy as np

from tests.campaigns import convex, hostile, nonconvex, reported, unsolvable, wrong

ONCE = [convex.single, hostile.kinks, hostile.raising, hostile.rounded, hostile.roots]
TWICE = [convex.easy, convex.constant, convex.coordinates, convex.distant, convex.touching, convex.batch]
SHARES = {  # so many of 70 problems are of each of these families
    1: [*ONCE, unsolvable.slowly, unsolvable.vanishing, unsolvable.barely],
    2: [*TWICE, hostile.steep, hostile.noisy, nonconvex.stochastic],
    3: [convex.plain, convex.several, convex.units, convex.solved, nonconvex.curved, nonconvex.jumps],
    4: [unsolvable.falling, wrong.lying_gradient, wrong.lying_prox, reported.cases],
    5: [convex.registered, unsolvable.disjoint],
}
SCHEDULE = [family for turn in range(5) for share, some in SHARES.items() if turn < share for family in some]


def problem(seed, index, quick=False):
    """Return the problem of that number in the campaign of a seed; a quick one does without cvxpy."""
    family = SCHEDULE[index % len(SCHEDULE)]
    make = convex.plain if quick and family is convex.solved else family
    return replace(make(np.random.default_rng([seed, index])), family=family.__name__)
