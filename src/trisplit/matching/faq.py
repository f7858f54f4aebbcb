"""From a starting point to a match by Frank-Wolfe with exact line search (FAQ), and by steps of transport (GOAT).

    Q = argmax <G(X), Q>  over doubly stochastic matrices: a permutation, or, with an entropy term, a soft one
    X <- X + a (Q - X),   a in [0, 1] maximising f, which is a parabola along the way

With a permutation Q an iteration needs one product a layer, because X Q has its rows in another order.

References: J. T. Vogelstein et al., Fast approximate quadratic programming for graph matching, PLOS ONE 10 (2015).
A. Saad-Eldin, B. D. Pedigo, C. E. Priebe, J. T. Vogelstein, Graph matching via optimal transport (2021).
"""

from typing import NamedTuple

import numpy as np

from trisplit.matching.objective import MatchObjective, inner
from trisplit.matching.relaxed import Attempt
from trisplit.matching.rounding import best_assignment, refine


class Transport(NamedTuple):
    """How a step by optimal transport is computed: exp(regularizer G / max |G|), rows and columns scaled in turn."""

    regularizer: float = 100.0
    tol: float = 0.05
    max_iter: int = 1000

    def direction(self, G: np.ndarray) -> np.ndarray:
        """Return a doubly stochastic matrix that nearly maximises <G, Q>.

        Examples
        --------
        >>> Transport().direction(np.array([[0.0, 1.0], [1.0, 0.0]])).round(3)
        array([[0., 1.],
               [1., 0.]])
        """
        size = float(np.abs(G).max()) or 1.0
        Q = self.regularizer / size * G.astype(float)
        Q -= Q.max(axis=1, keepdims=True)
        np.exp(Q, out=Q)
        Q += np.finfo(float).tiny  # a column may be small in all rows
        for _ in range(self.max_iter):
            Q /= Q.sum(axis=0)
            rows = Q.sum(axis=1, keepdims=True)
            Q /= rows
            if np.abs(rows - 1).sum() < self.tol:
                break
        return Q.astype(G.dtype)


def frank_wolfe(
    f: MatchObjective,
    X: np.ndarray,
    *,
    max_iter: int,
    tol: float,
    transport: Transport | None = None,
) -> Attempt:
    """Iterate from X until a step is shorter than `tol` per vertex, and refine the permutation that is nearest."""
    G, rows = f.gradient(X), np.arange(f.n)
    t, converged = 0, False
    while t < max_iter and not converged:
        t += 1
        if transport is None:
            q = best_assignment(G)
            G_Q = f.gradient_at(q)
            D = -X
            D[rows, q] += 1
        else:
            Q = transport.direction(G)
            G_Q = f.gradient(Q)
            D = Q - X
        slope, bend = inner(G, D), inner(G_Q - G, D)  # f(X + a D) = f(X) + a slope + a^2 bend / 2
        a = 1.0 if bend >= 0.0 else min(1.0, max(-slope / bend, 0.0))
        if slope + bend / 2 <= 0.0 and bend >= 0.0:
            a = 0.0
        X, G = X + X.dtype.type(a) * D, G + G.dtype.type(a) * (G_Q - G)
        converged = a * np.linalg.norm(D) <= tol * f.n**0.5
    return Attempt(refine(f, best_assignment(X)), t, converged, X, None)
