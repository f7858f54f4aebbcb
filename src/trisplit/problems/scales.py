"""Sizes against which errors count, in the units of x and of f / x, from what a run has seen at its checks.

With r = ||grad f(z) + v||, v a sum of subgradients, and the distance ||z - x|| of the points where the proximal maps
arrived, a run has converged where

    r <= tol D   and   ||z - x|| <= tol S,

S a length and D a slope. A point is accepted after one whole iteration with the step S / D, of natural length: with it
the two tests are one, and what is only rounding shows.

- S is ||z||, or how far z is from the start and from where z and x first came near each other, but no more than the
  whole way that z has gone: an optimum at 0 does no harm, nor a start or a detour far away.
- D is the largest of ||grad f(z)|| and the subgradients of terms that are no sets, or what the gradient would change
  by on a way of length S, by its curvature around z: they may all vanish at the optimum. Normals of sets do not count:
  where sets do not meet they grow without end. Checks do not measure the curvature: they take S / gamma, but no more
  than the steepest slope that was seen, and leave the rest to the confirmation.

Both follow changes of units of x and of f, and neither sees a constant added to f.
"""

from math import inf, isfinite

from trisplit.steps.records import Record

NEAR = 0.1  # of the whole way: z and x are near each other
DETOUR = 1e-6  # of the way since then: S is at least so much, where a run begins and ends at 0
ROUNDED = 32.0  # units of rounding in z and in a move of its first steps: so much a distance may always be
AROUND = 0.001  # of S: how far from z the curvature is measured
STILL = 3.0  # checks in a row without a move but rounding
EARLY, LATE, DRIFTING = 10.0, 20.0, 3.0
STUCK = 0.8  # of ||z - x|| two checks ago
COLLAPSE = 1e-3  # of the step
AGAIN = 1.5  # a problem is in doubt again after so many times the iterations

FIRST = {
    # what the checks are told
    "tol": 0.0,
    "atol": 0.0,
    "eps": 0.0,  # of the arrays' dtype
    "meets": 0.0,  # 1 if z lies in all domains however far x is
    # this check
    "t": 0.0,
    "gamma": 1.0,
    "residual": 0.0,  # the norm r above
    "rounding": 0.0,  # what rounding may add to it
    "extent": 0.0,  # at least ||y|| + ||z|| + ||x||
    "apart": 0.0,  # ||z - x||
    "slope": 0.0,  # the largest of ||grad f(z)|| and the subgradients of terms that are no sets
    "size": 0.0,  # ||z||
    "moved": 0.0,  # by how much z has moved since the check before
    "from_start": 0.0,  # how far z is from the start
    "from_origin": 0.0,  # and from where z and x first were near each other
    # what was seen
    "travel": 0.0,  # sum of the moves
    "since": -1.0,  # of those after z and x first were near each other; negative before
    "settled": 0.0,  # 1 at the check at which they were so first
    "known": 0.0,  # S at the end of a run that this one goes on from
    "steepest": 0.0,  # the largest slope
    "still": 0.0,  # checks in a row without a move but rounding
    "restarts": 0.0,
    "apart_1": inf,  # ||z - x|| at the last check and at that before
    "apart_2": inf,
    "moved_1": 0.0,
    "drifting": 0.0,  # checks in a row in which z has moved by a tenth of its way, and no less than before
    "longest": 0.0,  # the step of the first iterations
    "asked": 0.0,  # the iteration at which the problem itself was in doubt
    "gained": 0.0,  # the last iteration in which the error was a tenth smaller than at such an iteration before
    "gained_residual": inf,
    "gained_apart": inf,
    "best_residual": inf,  # of the check with the smallest error
    "best_apart": inf,
    "best_t": 0.0,
    # what follows
    "length": 0.0,  # S
    "steep": 0.0,  # D
    "curvature": 0.0,  # of f around z
    "natural": 1.0,  # the larger of gamma and S / D
    "error": inf,  # compared with tol
    "better": 0.0,  # 1 if it is smaller than at all checks before
}

# In a run that goes on from another
COUNTED = ("still", "restarts", "apart_1", "apart_2", "moved_1", "drifting", "longest", "asked", "error", "better")
ANEW = {name: FIRST[name] for name in FIRST if name in COUNTED or name.startswith(("best", "gained"))}


def check(r: Record) -> bool:
    """Take a check into account; set the error."""
    r.travel += r.moved
    if r.since >= 0.0:
        r.since += r.moved
    r.settled = 0.0
    if r.since < 0.0 and (r.meets == 1.0 or r.apart <= NEAR * r.travel):
        r.since, r.from_origin, r.settled = 0.0, 0.0, 1.0
    r.steepest = max(r.steepest, r.slope)
    away = min(r.from_start, r.from_origin) if r.since >= 0.0 else 0.0
    r.length = max(min(r.travel, max(r.size, away, DETOUR * r.since)), min(r.known, r.size))
    if r.t <= EARLY:
        r.longest = max(r.longest, r.gamma)
    if r.tol > 0.0:
        rounded = min(r.extent, r.size + min(r.gamma, r.longest) * r.slope)
        r.length = max(r.length, ROUNDED * r.eps * rounded / r.tol)
    rounded = r.gamma * r.rounding if isfinite(r.rounding) else 0.0
    r.steep = max(r.slope, min(r.steepest, r.length / r.gamma))
    r.still = r.still + 1.0 if max(r.apart, r.moved) <= 2.0 * rounded else 0.0
    if r.still > 0.0 and r.gamma < COLLAPSE * r.longest:  # it will not move again
        r.still = max(r.still, STILL)
    r.error = error(r, r.residual, r.apart)
    if r.error <= 0.9 * error(r, r.gained_residual, r.gained_apart):
        r.gained, r.gained_residual, r.gained_apart = r.t, r.residual, r.apart
    r.better = 0.0
    if r.error < error(r, r.best_residual, r.best_apart):
        r.better, r.best_residual, r.best_apart, r.best_t = 1.0, r.residual, r.apart, r.t
    return r.error <= r.tol


def doubtful(r: Record) -> bool:
    """Say whether the checks look as if the problem had no solution, or the step had none that is right.

    z and x have come no nearer for a while, z goes farther and farther, or the step has collapsed.
    """
    stuck = r.t >= LATE and r.apart > r.tol * r.length and r.apart > STUCK * r.apart_2
    r.apart_2, r.apart_1 = r.apart_1, r.apart
    r.drifting = r.drifting + 1.0 if r.moved >= max(0.1 * r.travel, r.moved_1) else 0.0
    r.moved_1 = r.moved
    if r.t < 6.0 or r.t < AGAIN * r.asked:
        return False
    if stuck or r.drifting >= DRIFTING or r.gamma < COLLAPSE * r.longest:
        r.asked = r.t
    return r.asked == r.t


def aim(r: Record) -> bool:
    """Set D by the curvature around z, and the natural step."""
    r.steep = max(r.slope, r.curvature * r.length if isfinite(r.curvature) else 0.0)
    r.natural = max(r.gamma, r.length / r.steep) if r.steep > 0.0 else r.gamma
    return r.natural > r.gamma


def confirm(r: Record) -> bool:
    """Set the error of an iteration with the natural step, rounding and the move of z included."""
    r.error = error(r, r.residual + r.rounding, max(r.apart, r.moved))
    return r.error <= r.tol


def error(r: Record, residual: float, apart: float) -> float:
    """Return the error of a point; where there is no slope at all, only the sets count."""
    distance = part(apart - r.atol, r.length)
    return max(part(residual - r.atol, r.steep), distance) if r.steep > 0.0 else distance


def part(error: float, of: float) -> float:
    """Return an error as part of a size; what is within the absolute tolerance counts as none."""
    if error <= 0.0:
        return 0.0
    return error / of if of > 0.0 else inf


ALL = (check, doubtful, aim, confirm)
