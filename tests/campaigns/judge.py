"""What an answer promises, and whether that is true.

Let z be the point that is returned, u = grad f(z), G the sum of the terms that are functions, and (eps, delta, kind)
the certificate. All that follows is asked of the true f and the true terms, up to 10 % and rounding.

**Infeasibility.** The distances of z to the domains of the terms, root of the sum of squares, are at most delta: by
definition for "gap" and Algorithm 2, else since each domain has a point within ||z - x||.

**Kinds "gap" and "bound"** promise Definition 2 of [YMS21], for every v in dom phi:

    <u, z - v> + G(z) - G(v) <= eps.                                                              (1)

Both are meant for a convex G; f may be nonconvex. If f is convex too, (1) at v = x* gives phi(z) - phi* <= eps. There
is no slack for infeasibility in (1): an infeasible z only makes the left-hand side smaller. This is asked at the end of
every run on a problem that has a solution, not only of successes.

**Kind "residual"** promises w in grad f(z) + dg(z) + dh(x), ||w|| <= eps, ||z - x|| <= delta. With v_h in dh(x) the
subgradient inequalities of g at z and of h at x give, for convex g and h,

    <u, z - v> + g(z) - g(v) + h(x) - h(v) <= <w, z - v> + <v_h, x - z>,
    <u, z - v> + G(z) - G(v) <= eps ||z - v|| + price delta,                                      (2)

where price is at least ||v_h|| and the Lipschitz constant of h, if that is a function. In Algorithm 2, where each copy
z_i is within delta of the common one, it also covers u and the change of grad f. What ||v_h|| is cannot be seen from
outside; the truth takes ten times the largest of the multipliers at x*, of the gradients near x*, and so on (`slope`).
At delta <= 1e-6 length that is 1e-5 of the natural scale. Where h measures its own distance, delta is dist(z, dom h),
and a success may hide an ||z - x|| of tol max(length, ||z||) behind it: `hidden` below, which stands for delta in (2)
where it is larger. Where multipliers do not exist the price is infinite, and (2)
says nothing.

**The other side.** By the multipliers v_i* of the solution, phi(z) >= phi* - sum_i ||v_i*|| dist_i(z) for a convex phi.

**Kind "fixed point"**, for nonconvex terms. z = prox_g(y) and x = prox_h(..) are global minimisers, so for every v

    g(v) >= g(z) + <v_g, v - z> - ||v - z||^2 / (2 gamma),   h(v) >= h(x) + <v_h, v - x> - ||v - x||^2 / (2 gamma),
    phi(v) >= f(z) + g(z) + h(x) - eps ||v - z|| - price delta - (1 / gamma + L / 2) ||v - z||^2.    (3)

No more is promised. It is asked on a grid, and close to z, where the last term vanishes. As h(x), not h(z), stands
there, phi(z) is taken at z, and where entries below delta are set to 0, whichever is smaller. A "gap" or a "bound" of
a nonconvex term must satisfy (1).

**A success** must also be right by a rough measure that does not depend on certificates: |phi(z) - phi*| is at most
1e-3 slope length + price delta, and delta at most 1e-3 max(length, ||z||); 100 tol stands for 1e-3 where that is
larger. It is wrong on a problem that is unbounded or
infeasible, and where the gradient or a proximal map is wrong, unless the answer is right by that measure all the same.

**A status** other than these is wrong if the problem does not belong to it (`Problem.may`). Where the statement can be
proven (`Problem.expected`), 95 % of the runs must end so; where that is STALLED, a success without a lie will do.
`INFEASIBLE` must carry a certificate of kind "separation", or in a batch a proof.
"""

from types import SimpleNamespace
from typing import NamedTuple

import numpy as np

import trisplit as ts

ROUGH = 1e-3  # of the natural scale, a thousand times the default tolerance


class Verdict(NamedTuple):
    """How a run on one problem ended, and what is wrong with it."""

    status: str
    wrong: tuple[str, ...]
    expected: str  # empty where several endings are right


def verdicts(problem):
    """Run `minimize` on a problem and judge each of its rows."""
    with np.errstate(all="ignore"):
        try:
            res = ts.minimize(problem.f, problem.x0, problem.terms, **problem.options)
        except Exception as error:
            if isinstance(error, ts.InputError) and problem.truth == "wrong prox" and "prox" in str(error):
                return [Verdict("BAD_PROX", (), problem.expected)]  # seen before the first iterate
            return [Verdict(type(error).__name__, (f"raised {error}",), problem.expected)]
        if not problem.rows:
            return [judged(problem, res)]
        return [judged(row, of_row(res, i)) for i, row in enumerate(problem.rows)]


def of_row(res, i):
    """Return what a `Result` of one problem of a batch would hold."""
    whole = res.certificate
    kind = whole.kind if isinstance(whole.kind, str) else whole.kind[i]
    proof = None if getattr(whole, "proof", None) is None else whole.proof[i]
    numbers = {"stationarity": whole.stationarity[i], "infeasibility": whole.infeasibility[i]}
    certificate = SimpleNamespace(**numbers, kind=kind, proof=proof)
    return SimpleNamespace(
        x=res.x[i], fun=res.fun[i], status=res.status[i], success=res.success[i], certificate=certificate
    )


def judged(problem, res):
    """Return the verdict on one result."""
    status, wrong, expected = res.status.name, [], problem.expected
    success = bool(res.success)
    if success != (status == "CONVERGED"):
        wrong.append(f"success={success} with {status}")
    if status not in problem.may:
        wrong.append(f"{status} is wrong: the problem is {problem.truth}")
    if status == "INFEASIBLE" and res.certificate.kind != "separation" and not getattr(res.certificate, "proof", None):
        wrong.append(f"INFEASIBLE by a certificate of kind {res.certificate.kind!r}")
    if status in ("CONVERGED", "MAX_ITER", "STALLED") and problem.competitors is not None:
        z = Point(problem, res)
        if problem.truth.startswith("wrong"):
            if success and (rough := z.rough()):
                wrong.append(f"success with a {problem.truth}: {rough}")
            expected = "" if success and not rough else expected  # the answer is right all the same
        else:
            wrong += [text for text in z.claims(success) if text]
            wrong += [text for text in [z.rough() if success else ""] if text]
    elif success and problem.infimum is not None and not res.fun <= problem.infimum + ROUGH * problem.slope:
        wrong.append(f"success at fun {res.fun:.3g}, the infimum is {problem.infimum:.3g}")
    expected = "" if success and not wrong and expected == "STALLED" else expected
    return Verdict(status, tuple(wrong), expected)


class Point:
    """The point that a run returned, seen with the true problem."""

    def __init__(self, problem, res):
        self.problem, self.res = problem, res
        self.z = np.asarray(res.x, dtype=float)
        tol, size = problem.options.get("tol", 1e-6), max(problem.length, np.linalg.norm(self.z))
        self.rough_tol, self.hidden = max(ROUGH, 100 * tol), tol * size
        self.eps, self.delta = float(res.certificate.stationarity), float(res.certificate.infeasibility)
        self.kind = res.certificate.kind
        self.f_z, self.u = problem.true_f(self.z)
        G_z = self.nonsmooth(self.z)
        self.G_z = G_z if np.isfinite(G_z) else float(res.fun) - self.f_z
        self.phi = self.f_z + self.G_z
        sizes = np.linalg.norm(self.z) + problem.length
        self.noise = 200 * problem.eps * (problem.slope * sizes + abs(self.f_z) + abs(self.G_z)) * self.z.size**0.5

    def nonsmooth(self, x):
        return sum(float(term.value(x)) for term in self.problem.true_terms if not term.indicator)

    def paid(self):
        """Return how much phi may be off for the infeasibility that is claimed or hidden."""
        return self.problem.price * 1.1 * max(self.delta, self.hidden)

    def claims(self, success):
        """Yield what is wrong with the certificate."""
        p, z = self.problem, self.z
        if not np.isfinite(self.eps + self.delta):
            yield f"success with the certificate {self.eps:.2g}, {self.delta:.2g}" if success else ""
            return
        off = np.linalg.norm([float(term.domain().distance(z)) for term in p.true_terms])
        roundoff = max(1e3 * p.eps, 1e-9) * (np.linalg.norm(z) + p.length) * z.size**0.5
        if off > 1.1 * self.delta + roundoff:
            yield f"the sets are {off:.2g} away, infeasibility says {self.delta:.2g}"
        if self.kind in ("gap", "bound"):
            yield self.exceeded(np.full(len(p.competitors), 1.1 * max(self.eps, 0.0)))
        elif success and p.truth == "nonconvex":
            yield self.not_fixed()
        elif success:
            away = np.linalg.norm((z - p.competitors).reshape(len(p.competitors), -1), axis=1)
            yield self.exceeded(1.1 * self.eps * away + self.paid())

    def exceeded(self, allowed):
        """Say at which competitor (1) or (2) fails, if at any."""
        rows = self.problem.competitors
        batched = [term.batched(1) for term in self.problem.true_terms if not term.indicator]
        G = sum((term.value(rows) for term in batched), np.zeros(len(rows)))
        gap = (self.z - rows).reshape(len(rows), -1) @ self.u.ravel() + self.G_z - G
        worst = np.nanargmax(gap - allowed)
        if gap[worst] > allowed[worst] + self.noise:
            return f"{self.kind} {self.eps:.2g} + {self.delta:.1g} allows {allowed[worst]:.2g}, true {gap[worst]:.2g}"
        return ""

    def not_fixed(self):
        """Say at which point (3) fails, if at any."""
        p, z = self.problem, self.z
        rng, start = np.random.default_rng(0), np.where(np.abs(z) <= 2 * self.delta, 0.0, z)
        base = min(self.phi, p.true_f(start)[0] + self.nonsmooth(start))
        around = z + 10.0 ** rng.uniform(-5, 0, (200, 1)) * rng.standard_normal((200, len(z)))
        sets = [term for term in p.true_terms if term.indicator]
        rows = np.vstack([p.competitors[::3], *(term.batched(1).project(around) for term in sets)])
        rows = rows[np.all([term.batched(1).distance(rows) <= 1e-9 for term in sets], axis=0)]
        phi = np.array([p.true_f(v)[0] + self.nonsmooth(v) for v in rows])
        away = np.linalg.norm(rows - z, axis=1)
        gamma = float(np.min(self.res.trace["step"][-2:])) / 1.5
        least = base - 1.1 * self.eps * away - self.paid() - (1 / gamma + p.curvature / 2) * away**2
        worst = np.argmin(phi - least)
        if phi[worst] < least[worst] - self.noise:
            return f"no fixed point: {phi[worst] - base:.2g} at distance {away[worst]:.2g}, eps {self.eps:.2g}"
        return ""

    def rough(self):
        """Say by how much an answer is wrong, if it is, whatever its certificate says."""
        p = self.problem
        if p.truth in ("stationary", "nonconvex") or not np.isfinite(p.price):
            return ""
        if not self.delta <= self.rough_tol * max(p.length, np.linalg.norm(self.z)):
            return f"infeasibility {self.delta:.2g} of {p.length:.2g}"
        (best,) = (p.true_f(x)[0] + self.nonsmooth(x) for x in p.competitors)
        if not abs(self.phi - best) <= self.rough_tol * p.slope * p.length + self.paid() + self.noise:
            return f"phi {self.phi:.6g} instead of {best:.6g}, scale {p.slope * p.length:.2g}"
        return ""
