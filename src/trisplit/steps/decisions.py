"""What the adaptive step decides, as functions of floats alone.

The rule for one problem calls them; the loops of `row_loops.py` over the problems of a batch compile them.
"""

from math import exp, isfinite, log

import numpy as np

MAX_BLIND = 10
# Changes of log(gamma) below this gather where f looks convex: each costs three passes over memory, and growth a test.
MIN_DRIFT = 0.05
# After the first iterations moves are compared, and steps tested, in every fourth one: in a batch the same one for all,
# as a value of f for one problem costs as much there as one for each.
PERIOD, EARLY = 4.0, 8.0
SURGE = 2.0  # growth of ||grad f(z)||^2 since the last test after which a step is tested, rest or not
MOST_ROOM = 1e9
WIDTH, WAIT, SPAN, REST, BLIND, STEEP = 19, 14, 15, 16, 17, 18  # a row of the table: gamma and the memory's numbers


def change(
    primal: float,
    dual: float,
    move: float,
    first: float,
    dominance: float,
    gamma: float,
    size: float,
    tiny: float,
    passed: float,
    growing: float,
    reversals: float,
    primal_mean: float,
    dual_mean: float,
    best: float,
    idle: float,
    patience: float,
    cap: float,
    shrinks: float,
    drift: float,
    wait: float,
    span: float,
    rest: float,
    blind: float,
    steep: float,
) -> tuple[float, tuple[float, ...]]:
    """Return the gamma to try and the numbers of the memory, given the lengths of the last moves.

    While `wait` is above 0 the primal and the dual move are not looked at.
    """
    balanced, period = wait <= 0.0, 1.0 if wait < 0.0 else PERIOD
    if balanced:
        primal_mean, dual_mean = 0.9 * primal_mean + 0.1 * primal, 0.9 * dual_mean + 0.1 * dual
        wait = PERIOD - 1.0 if wait == 0.0 else wait + 1.0
    else:
        wait -= 1.0
    trial = gamma
    if move > 10.0 * tiny * size:  # else the moves are rounding errors, whose ratio says nothing
        if move < 0.9 * best:
            best, idle = move, 0.0
        elif idle < patience:
            idle += 1.0
        else:
            best, idle = move, 0.0
            if dual_mean > 0.3 * primal_mean:  # the iterates circle
                trial = cap = gamma / 2.0
                patience *= 2.0
            elif dual_mean < 0.1 * primal_mean:  # they creep
                cap *= 2.0
        if trial == gamma and balanced:
            if passed >= 1.0 and dual <= primal:
                reversals += 1.0 - growing
                growing = 1.0
                most = period * first / (1.0 + reversals)
                if most > first:  # a logarithm costs as much as all else here
                    most = min(most, max(first, log(passed) / (1.0 + min(reversals, 1.0))))
                drift += most
            elif dual > dominance * primal:
                reversals += growing
                growing = 0.0
                shrinks += 1.0
                drift -= min(period * first / (reversals + shrinks), first)
            if abs(drift) >= MIN_DRIFT or span == 0.0:
                trial = min(gamma * exp(drift), cap)
                drift = 0.0
    if trial > gamma:
        size *= trial / gamma  # `tos` rescales y - z together with gamma
        span = rest = 0.0  # a longer step is tested
    balance = (passed, growing, reversals, primal_mean, dual_mean)
    return trial, (size, tiny, *balance, best, idle, patience, cap, shrinks, drift, wait, span, rest, blind, steep)


def testable(gamma: float, square: float, f_z: float, tiny: float) -> bool:
    """Say whether the curvature test means something: f(z) is finite and ||d||^2 / (2 gamma) more than rounding.

    False where d is NaN: no shorter step mends that.
    """
    return isfinite(f_z) and square / (2.0 * gamma) > 20.0 * tiny * abs(f_z)


def verdict(
    gamma: float,
    square: float,
    seen_square: float,
    slope: float,
    f_z: float,
    f_x: float,
    tiny: float,
    wait: float,
    span: float,
    blind: float,
) -> tuple[float, float, float, float]:
    """Return 1 to accept the trial or the ratio by which gamma must shrink, and what to remember.

    That is `passed`, for how many iterations the test may rest, and `blind`. `square` is ||d||^2, `seen_square` that of
    the part which f sees, and `slope` is <grad f(z), d>.
    """
    # Until moves are compared the next time, or the time after it.
    rest = max(wait, 0.0) if span == 0.0 else wait + PERIOD
    if not (isfinite(f_z) and square / (2.0 * gamma) > 20.0 * tiny * abs(f_z)):  # not `testable`
        return 1.0, 0.0, rest, blind
    # x lies in dom h, where f need not be defined; with sets it stays there however short the step is.
    if isfinite(f_x):
        blind = 0.0
    elif blind >= MAX_BLIND:
        return 1.0, 0.0, 0.0, blind
    else:
        return 0.5, 0.0, 0.0, blind + 1.0
    excess = f_x - f_z - slope
    allowed = (square if excess >= 0.0 else seen_square) / (2.0 * gamma)
    error, noise = abs(excess), 20.0 * tiny * max(abs(f_z), abs(f_x))
    if error <= allowed + noise:
        room = max(min(allowed / error, MOST_ROOM), 1.0) if excess > noise else 1.0
        return 1.0, room, rest if excess >= -noise else 0.0, blind  # no rest where the curvature is negative
    return min(max(0.95 * allowed / error, 0.1), 0.9) if isfinite(error) else 0.5, 0.0, 0.0, blind


def change_row(
    before: np.ndarray,
    after: np.ndarray,
    i: int,
    size: float,
    primal: float,
    dual: float,
    move: float,
    first: float,
    dominance: float,
) -> None:
    """Write what `change` makes of gamma and the numbers in row i of a table to that of another, or of the same one."""
    gamma, numbers = change(
        primal,
        dual,
        move,
        first,
        dominance,
        before[i, 0],
        size,
        before[i, 2],
        before[i, 3],
        before[i, 4],
        before[i, 5],
        before[i, 6],
        before[i, 7],
        before[i, 8],
        before[i, 9],
        before[i, 10],
        before[i, 11],
        before[i, 12],
        before[i, 13],
        before[i, 14],
        before[i, 15],
        before[i, 16],
        before[i, 17],
        before[i, 18],
    )
    after[i, 0] = gamma
    # Written out: an index that a loop counts makes the compiler keep the numbers in memory.
    after[i, 1], after[i, 2], after[i, 3], after[i, 4], after[i, 5], after[i, 6] = numbers[:6]
    after[i, 7], after[i, 8], after[i, 9], after[i, 10], after[i, 11], after[i, 12] = numbers[6:12]
    after[i, 13], after[i, 14], after[i, 15], after[i, 16], after[i, 17], after[i, 18] = numbers[12:]
