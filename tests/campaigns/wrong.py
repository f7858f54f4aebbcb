"""Families with a wrong gradient or a wrong proximal map, where that changes the answer."""

from dataclasses import dataclass

import numpy as np

from tests.campaigns.known import around, choose, pair
from tests.campaigns.parts import T, box, half_space, l1, logistic, strong, tilted


def lying_gradient(rng):
    """A gradient of the wrong sign or size, without a coordinate or a ridge, for which x* is no fixed point."""
    while True:
        n = int(rng.integers(2, 12))
        x = rng.uniform(0.5, 2, n) * choose(rng, [-1, 1]) * (rng.random(n) < 0.8)
        norm, v = l1(rng, x)
        w = rng.standard_normal(n) * (rng.random(n) < 0.4)
        bounds, (q, L) = box(rng, x, w), choose(rng, [strong, logistic])(rng, n)
        terms, parts = choose(rng, [([norm], [v]), ([bounds], [w]), ([norm, bounds], [v, w])])
        options = {"step": 1 / L} if rng.random() < 0.2 else {}
        p = around(rng, tilted(q, x, sum(parts)), rng.standard_normal(n) * 2, terms, x, parts, options=options)
        u = mistakes(rng, p.f, n, rng.uniform(0.3, 1) * L)
        moved = x - u(x) / L
        for term in terms:  # in this order that is the proximal map of the sum
            moved = term.prox(moved, 1 / L)
        if np.linalg.norm(moved - x) > 0.05 * np.linalg.norm(x):
            return p.mistaken(f=pair(lambda x: p.f(x)[0], u))


def mistakes(rng, f, n, ridge):
    """Return a wrong gradient of f."""
    grad, mask = (lambda x: f(x)[1]), np.ones(n)
    mask[rng.integers(n)] = choose(rng, [0.0, -1.0])
    wrong = [lambda x: -grad(x), lambda x: grad(x) / 2, lambda x: 2 * grad(x)]
    return choose(rng, [*wrong, lambda x: mask * grad(x), lambda x: grad(x) - ridge * x])


@dataclass(frozen=True)
class Own:
    """A term of one's own: the value of one term, the proximal map of another."""

    meant: object
    done: object
    indicator: bool = False
    forgets_gamma: bool = False

    def value(self, x):
        return self.meant.value(x)

    def prox(self, x, gamma):
        return self.done.prox(x, 1.0 if self.forgets_gamma else gamma)


def lying_prox(rng):
    """L1 without gamma or with twice its weight, a ball of another radius."""
    n, energy = int(rng.integers(2, 12)), choose(rng, [0.1, 10.0])
    x, (q, _) = np.append(1.0, rng.uniform(0.5, 2, n - 1) * (rng.random(n - 1) < 0.8)), strong(rng, n)
    (right, v), r = l1(rng, x, energy), np.linalg.norm(x)
    kind = choose(rng, ["gamma", "weight", "radius"])
    if kind == "gamma":
        wrong = Own(right, right, forgets_gamma=True)
    elif kind == "weight":
        wrong = Own(right, T.L1(2 * right.weight))
    else:
        right, v = T.L2Ball(r), energy * x
        wrong = Own(right, T.L2Ball(r * choose(rng, [0.7, 1.4, 2.0])), indicator=bool(rng.random() < 0.8))
    others, parts = [], [v]
    if rng.random() < 0.4:
        parts.append(energy * rng.standard_normal(n) * 0.3)
        others = [half_space(rng, x, parts[1])]
    f = tilted(q, x, sum(parts), energy)
    p = around(rng, f, rng.standard_normal(n) * 2, [right, *others], x, parts)
    return p.mistaken(terms=[wrong, *others])
