"""Check bounds by a tangent plane of a convex function that equals the cost at permutations, in exact integers.

With T = X - 1 1' / n for a permutation matrix X: T has zero sums, T T' = T' T = P = I - 1 1' / n, ||T||^2 = n - 1, and

    trace(A X B X') = <A T B, T> + 2 <A 1 (B 1)', X> / n - (1'A1) (1'B1) / n^2     for symmetric A, B.

If K(T) = <A T B - S T - T R, T> >= -eps ||T||^2 for all T with zero sums, then for any T0 with zero sums

    <A T B, T> - trace(P S) - trace(P R) = K(T) >= <grad K(T0), T> - K(T0) - eps ||T - T0||^2,

and ||T - T0||^2 = n - 1 - 2 <T0, X> + ||T0||^2: all of it is linear in X, and dual variables of an assignment problem
bound it. For S = U diag(s) U' and R = W diag(t) W' with s_i + t_j <= a_i b_j, A' = U diag(a) U', B' = W diag(b) W',

    eps = ||P A P - A'|| ||P B P|| + ||A'|| ||P B P - B'|| + ||S|| ||W W' - P|| + ||R|| ||U U' - P||

is enough: <A' T B', T> = sum_ij a_i b_j Y_ij^2 with Y = U'T W, and <S T W W', T> = sum_ij s_i Y_ij^2.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import isqrt

import numpy as np

from trisplit.verify.whole import Whole, WrongError, checked_duals, integers


def check_spectral(problem: Whole, certificate: Mapping) -> Fraction:
    """Return the bound that U, W, left (a), right (b), s, t, eps, X0, u, v prove, all of them times 2^-bits."""
    A, B, C = problem.symmetric_form()
    n = problem.n
    if n < 2:
        raise WrongError("the certificate is for two rows or more")
    bits = int(integers(certificate, "bits", ()))
    if not 1 <= bits <= 1000:
        raise WrongError(f"the certificate's bits must be between 1 and 1000, they are {bits}")
    one = Fraction(1, 2**bits)
    U, W = (Scaled(integers(certificate, label, (n, n - 1)), one) for label in "UW")
    a, b, s, t = (integers(certificate, label, (n - 1,)) for label in ("left", "right", "s", "t"))
    eps = Fraction(int(integers(certificate, "eps", ()))) * one
    X0 = np.zeros((n, n), dtype=object)
    if certificate.get("method") == "convex":
        X0 = integers(certificate, "X0", (n, n))
    if ((s[:, None] + t[None, :]) * 2**bits > np.multiply.outer(a, b)).any():
        raise WrongError("the certificate's s_i + t_j exceed a product of eigenvalues")
    # Units that bring A and B below 1, in which all numbers of the certificate are.
    unit_A, unit_B = (Fraction(1, 2 ** max(abs(x) for x in M.ravel()).bit_length()) for M in (A, B))
    A, B, C = Scaled(A, unit_A), Scaled(B, unit_B), Scaled(C, unit_A * unit_B)
    S, R = U.weighted(s, one), W.weighted(t, one)
    _check_eps(eps, (A, U, U.weighted(a, one)), (B, W, W.weighted(b, one)), S, R)

    T0 = Scaled(X0, one).centred()
    half = A @ T0 @ B - S @ T0 - T0 @ R
    rows, columns = A.row_sums(), B.row_sums()
    costs = half.times(2) + rows.outer(columns).times(Fraction(2, n)) + C + T0.times(2 * eps)
    constant = S.centred().trace() + R.centred().trace() - half.dot(T0) - eps * (n - 1 + T0.dot(T0))
    constant -= 2 * half.total() / n + rows.total() * columns.total() / n**2
    ratio = one / costs.unit
    factor = max(ratio.denominator, 1)
    duals = checked_duals(certificate, costs.M * factor, int(ratio * factor))
    return (constant + duals * one) / (unit_A * unit_B) / 4


def _check_eps(eps: Fraction, first: tuple, second: tuple, S: "Scaled", R: "Scaled") -> None:
    (A, U, near_A), (B, W, near_B) = first, second
    P = Scaled(np.eye(len(A.M), dtype=int).astype(object), Fraction(1)).centred()
    off_A, off_B = A.centred() - near_A, B.centred() - near_B
    needed = off_A.norm() * B.centred().norm() + near_A.norm() * off_B.norm()
    needed += S.norm() * (W @ W.transposed() - P).norm() + R.norm() * (U @ U.transposed() - P).norm()
    if needed > eps:
        raise WrongError("the certificate's eps is too small for its eigenvectors")


class Scaled:
    """An array of Python integers times a positive fraction: exact sums and products."""

    def __init__(self, M: np.ndarray, unit: Fraction) -> None:
        self.M, self.unit = M, unit

    def __matmul__(self, other: "Scaled") -> "Scaled":
        return Scaled(self.M @ other.M, self.unit * other.unit)

    def __add__(self, other: "Scaled") -> "Scaled":
        # Both units are multiples of the greatest fraction that divides them.
        ratio = self.unit / other.unit
        unit = self.unit / ratio.numerator
        return Scaled(self.M * ratio.numerator + other.M * ratio.denominator, unit)

    def __sub__(self, other: "Scaled") -> "Scaled":
        return self + Scaled(-other.M, other.unit)

    def times(self, factor: Fraction | int) -> "Scaled":
        return Scaled(self.M * Fraction(factor).numerator, self.unit / Fraction(factor).denominator)

    def transposed(self) -> "Scaled":
        return Scaled(self.M.T, self.unit)

    def weighted(self, weights: np.ndarray, unit: Fraction) -> "Scaled":
        """Return V diag(weights) V'."""
        return Scaled((self.M * weights) @ self.M.T, self.unit**2 * unit)

    def outer(self, other: "Scaled") -> "Scaled":
        return Scaled(np.multiply.outer(self.M, other.M), self.unit * other.unit)

    def row_sums(self) -> "Scaled":
        return Scaled(self.M.sum(axis=1), self.unit)

    def centred(self) -> "Scaled":
        """Return P M P."""
        n, M = len(self.M), self.M
        columns = n * M - M.sum(axis=0)[None, :]
        return Scaled(n * columns - columns.sum(axis=1)[:, None], self.unit / n**2)

    def dot(self, other: "Scaled") -> Fraction:
        return int((self.M * other.M).sum()) * self.unit * other.unit

    def total(self) -> Fraction:
        return int(self.M.sum()) * self.unit

    def trace(self) -> Fraction:
        return int(self.M.trace()) * self.unit

    def norm(self) -> Fraction:
        """Return an upper bound on the Frobenius norm."""
        square = int((self.M * self.M).sum())
        return (isqrt(square - 1) + 1 if square else 0) * self.unit
