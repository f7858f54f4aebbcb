"""What the adaptive step decides, each decision as a function of a record of numbers; see `records`.

`adaptive.py` takes them for one problem and for batches, `kernels/birkhoff_tos.py` inside its compiled loop.
"""

from math import exp, inf, isfinite, log, sqrt

from trisplit.steps.records import Record

MAX_NONFINITE = 10  # trials in a row
# Changes of log(gamma) below this gather where f looks convex: each costs three passes over memory, and growth a test.
MIN_CHANGE = 0.05
# After the first iterations moves are compared, and steps tested, in every fourth one: in a batch the same one for all,
# as a value of f for one problem costs as much there as one for each.
PERIOD, EARLY = 4.0, 8.0
SURGE = 2.0  # growth of ||grad f(z)||^2 since the last test after which a step is tested, rest or not
MOST_ROOM = 1e9

# Every number of the rule with its first value.
FIRST = {
    # what the rule is told
    "relax": 1.0,
    "change": 0.5,
    "dominance": 4.0,
    "patience": 100.0,
    "eps": 0.0,  # of the arrays' dtype
    # the step
    "gamma": 1.0,
    "gamma_max": inf,
    "pending": 1.0,  # 1 while the step of this iteration is neither accepted nor known to need no test
    "ratio": 1.0,  # by which the last trial was shortened
    # the last iteration, and the moves from it to this one
    "square": 0.0,  # ||d||^2, d = x - z: y has moved by `relax` times d
    "z_square": 0.0,  # ||z+ - z||^2
    "z_along_d": 0.0,  # <z+ - z, d>
    "move": 0.0,  # lengths: of the move of y, and of its primal and dual parts
    "primal": 0.0,
    "dual": 0.0,
    "size": inf,  # at least ||z|| + ||y - z||
    # balance
    "primal_mean": 0.0,
    "dual_mean": 0.0,
    "growing": 1.0,  # 1 if the last change was growth
    "reversals": 0.0,
    "shrinks": 0.0,  # each makes the next smaller, or gamma would fall to 0 where sets hardly meet
    "log_change_due": 0.0,  # change of log(gamma) that is due but too small to be worth it
    "compare_in": -EARLY,  # iterations until the moves are compared again; below 0 so many times in a row
    # stagnation
    "best": inf,  # the smallest ||y+ - y|| since the last restart of the count
    "stalled_for": 0.0,  # iterations since then
    # the test of the curvature
    "test_in": 0.0,  # iterations without a test that are left
    "last_rest": 0.0,  # how many there were at first
    "test_ratio": 0.0,  # of the sides of the last test, >= 1; 0 if it was not passed or drowned in rounding
    "slope_sq_at_test": 0.0,  # ||grad f(z)||^2 at the last test
    "nonfinite_trials": 0.0,  # in a row
    # this trial
    "slope_sq": 0.0,  # ||grad f(z)||^2
    "slope": 0.0,  # <grad f(z), d>
    "smooth_square": 0.0,  # squared length of the part of d on which f depends
    "f_z": 0.0,
    "f_x": 0.0,
}


def compares_moves(r: Record) -> bool:
    """Say whether the primal and the dual move are compared in this iteration."""
    return r.compare_in <= 0.0


def moves_are_rounding(r: Record) -> bool:
    """Say whether the moves are rounding errors, whose ratio says nothing."""
    return not r.move > 10.0 * r.eps * r.size


def add_moves(r: Record) -> bool:
    """Set lengths and means of the moves; say whether they look like rounding, perhaps as the bound on size is loose.

    y = z + w, so w moves by the difference of the moves of y, relax * d, and z. Its length from inner products saves
    passes over memory; what cancels is far smaller than `primal`, to which it is compared.
    """
    r.move = r.relax * sqrt(r.square)
    r.primal = r.dual = r.move  # at most
    if r.compare_in <= 0.0:
        rest = r.z_square - 2.0 * r.relax * r.z_along_d + r.move * r.move
        r.primal, r.dual = sqrt(r.z_square), 0.0 if rest < 0.0 else sqrt(rest)  # NaN stays NaN
        r.primal_mean, r.dual_mean = 0.9 * r.primal_mean + 0.1 * r.primal, 0.9 * r.dual_mean + 0.1 * r.dual
    r.size += r.primal + r.dual
    return moves_are_rounding(r)


def balance(r: Record) -> bool:
    """Set the gamma to try next, and say whether it is another one."""
    before, r.pending = r.gamma, 1.0
    if not moves_are_rounding(r):
        leave_stagnation(r)
        if r.compare_in <= 0.0 and r.gamma == before:
            follow_moves(r)
    if r.gamma > before:
        r.size *= r.gamma / before  # the iteration rescales y - z together with gamma
        r.last_rest = r.test_in = 0.0  # a longer step is tested
    r.compare_in = r.compare_in + 1.0 if r.compare_in < 0.0 else (r.compare_in - 1.0) % PERIOD
    return r.gamma != before


def leave_stagnation(r: Record) -> None:
    """After long without progress halve the step where the iterates circle, lift its cap where they creep."""
    if r.move < 0.9 * r.best:
        r.best, r.stalled_for = r.move, 0.0
    elif r.stalled_for < r.patience:
        r.stalled_for += 1.0
    else:
        r.best, r.stalled_for = r.move, 0.0
        if r.dual_mean > 0.3 * r.primal_mean:
            r.gamma = r.gamma_max = r.gamma / 2.0
            r.patience *= 2.0
        elif r.dual_mean < 0.1 * r.primal_mean:
            r.gamma_max *= 2.0


def follow_moves(r: Record) -> None:
    """Lengthen gamma while the primal move is the larger one, shorten it where the dual move dominates."""
    period = 1.0 if r.compare_in < 0.0 else PERIOD
    if r.test_ratio >= 1.0 and r.dual <= r.primal:
        r.reversals, r.growing = r.reversals + (1.0 - r.growing), 1.0
        most = period * r.change / (1.0 + r.reversals)
        if most > r.change:  # a logarithm costs as much as all else here
            most = min(most, max(r.change, log(r.test_ratio) / (1.0 + min(r.reversals, 1.0))))
        r.log_change_due += most
    elif r.dual > r.dominance * r.primal:
        r.reversals, r.growing = r.reversals + r.growing, 0.0
        r.shrinks += 1.0
        r.log_change_due -= min(period * r.change / (r.reversals + r.shrinks), r.change)
    if abs(r.log_change_due) >= MIN_CHANGE or r.last_rest == 0.0:
        r.gamma = min(r.gamma * exp(r.log_change_due), r.gamma_max)
        r.log_change_due = 0.0


def wants_test(r: Record) -> bool:
    """Say, when gamma is proposed, whether the step is going to be tested, so that f(z) is wanted."""
    return r.test_in == 0.0


def needs_test(r: Record) -> bool:
    """Say whether the step is tested, given ||grad f(z)||^2; where it rests instead, count that."""
    if r.pending == 1.0:
        if r.test_in > 0.0 and not r.slope_sq > SURGE * r.slope_sq_at_test:  # also where it is NaN: no step mends that
            r.test_in, r.pending = r.test_in - 1.0, 0.0
        else:
            r.slope_sq_at_test = r.slope_sq
    return r.pending == 1.0


def testable(r: Record) -> bool:
    """Say whether the curvature test means something: f(z) is finite and ||d||^2 / (2 gamma) more than rounding.

    False where d is NaN: no shorter step mends that.
    """
    return isfinite(r.f_z) and r.square / (2.0 * r.gamma) > 20.0 * r.eps * abs(r.f_z)


def refuse(r: Record) -> bool:
    """Shorten a pending gamma that fails the test, and say whether that was done; else accept it."""
    if r.pending == 1.0:
        r.ratio = shortening(r)
        r.last_rest = r.test_in
        if r.ratio == 1.0:
            r.pending = 0.0
        else:
            r.gamma *= r.ratio
            r.reversals, r.growing = r.reversals + r.growing, 0.0
    return r.pending == 1.0


def shortening(r: Record) -> float:
    """Return the ratio by which gamma must shrink, 1 to accept it; set for how long it may rest from tests."""
    # Until moves are compared the next time, or the time after it.
    rest = max(r.compare_in, 0.0) if r.last_rest == 0.0 else r.compare_in + PERIOD
    r.test_ratio = r.test_in = 0.0
    if not testable(r):
        r.test_in = rest
        return 1.0
    # x lies in dom h, where f need not be defined; with sets it stays there however short the step is.
    if not isfinite(r.f_x):
        r.nonfinite_trials += 1.0
        return 0.5 if r.nonfinite_trials <= MAX_NONFINITE else 1.0
    r.nonfinite_trials = 0.0
    excess = r.f_x - r.f_z - r.slope
    allowed = (r.square if excess >= 0.0 else r.smooth_square) / (2.0 * r.gamma)
    error, noise = abs(excess), 20.0 * r.eps * max(abs(r.f_z), abs(r.f_x))
    if error <= allowed + noise:
        r.test_ratio = max(min(allowed / error, MOST_ROOM), 1.0) if excess > noise else 1.0
        r.test_in = rest if excess >= -noise else 0.0  # no rest where the curvature is negative
        return 1.0
    return min(max(0.95 * allowed / error, 0.1), 0.9) if isfinite(error) else 0.5


ALL = (compares_moves, add_moves, balance, wants_test, needs_test, testable, refuse)
