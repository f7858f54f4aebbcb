"""Check the doubly nonnegative bound: any symmetric matrix S gives one.

With x = vec(X) for a permutation matrix X, x'Q x twice the cost (Q the Kronecker product of A and B plus its transpose,
plus 2 C on its diagonal) and M = Q - S,

    x'M x = sum_a x_a (M_aa + sum_b M_ab x_b) >= <m, x>,

because the b = (k, l) with x_b = 1 that go with a = (i, j) are one in each other row k, and one in each other column l:
m_a is M_aa plus the sum of the smallest M_ab over these rows, or over these columns. If S + eps I is positive
semidefinite on matrices with zero sums, then for any x0 with unit sums

    x'S x >= 2 <S x0, x> - <S x0, x0> - eps ||x - x0||^2,   ||x - x0||^2 = n - 2 <x0, x> + ||x0||^2.

All of this is linear in x and is done in integers. That S + eps I is positive semidefinite is proven by a Cholesky
factor in floating point, whose error is bounded with the standard model of rounding, for sums in any order.
"""

import base64
import binascii
import zlib
from collections.abc import Mapping
from fractions import Fraction

import numpy as np

from trisplit.verify.whole import Whole, WrongError, checked_duals, integers

LARGEST_SIZE, LARGEST_EXPONENT = 64, 100_000
U = 2.0**-53  # the unit roundoff of float64


def check_dnn(problem: Whole, certificate: Mapping) -> Fraction:
    """Return the bound that S (times 2^exponent), eps, X0, u and v (in this unit, times 2^-bits) prove."""
    n = problem.n
    if not 2 <= n <= LARGEST_SIZE:
        raise WrongError(f"the certificate is for 2 to {LARGEST_SIZE} rows, there are {n}")
    bits, exponent, eps = (int(integers(certificate, label, ())) for label in ("bits", "exponent", "eps"))
    if not (1 <= bits <= 1000 and abs(exponent) <= LARGEST_EXPONENT and 0 <= eps < 2 ** (bits + 64)):
        raise WrongError("the certificate's bits, exponent or eps are out of range")
    one = 2**bits
    S = _unpacked(certificate.get("S"), n * n)
    _check_semidefinite(S, Fraction(eps, one), n)
    X0 = integers(certificate, "X0", (n, n))
    # With unit sums: X0 minus its row and column means, plus its mean, plus 1/n; times n^2 2^bits.
    x0 = n * n * X0 - n * X0.sum(axis=1)[:, None] - n * X0.sum(axis=0)[None, :] + (X0.sum() + n * one)
    x0 = x0.ravel()
    S_x0 = S.astype(object) @ x0
    # M and m are integers in units of 2^min(exponent, 0), S and all else are in units of 2^exponent.
    finer = 2 ** max(exponent, 0)
    least = _least(problem, S, exponent)
    costs = (2 * S_x0 * one + 2 * eps * x0) * finer + least * (n * n * one * one)
    duals = checked_duals(certificate, costs.reshape(n, n), n * n * one * finer)
    bound = Fraction(duals, one) - Fraction(int((S_x0 * x0).sum()), (n * n * one) ** 2)
    bound -= Fraction(eps, one) * (n + Fraction(int((x0 * x0).sum()), (n * n * one) ** 2))
    return bound * Fraction(2) ** exponent / 2


def _unpacked(text: object, size: int) -> np.ndarray:
    """Return the symmetric matrix whose lower triangle is packed: 32-bit integers, zlib, base64."""
    expected = 2 * size * (size + 1)
    try:
        data = zlib.decompressobj().decompress(base64.b64decode(text, validate=True), expected + 1)  # pyright: ignore
    except (TypeError, ValueError, binascii.Error, zlib.error) as error:
        raise WrongError("the certificate's S cannot be unpacked") from error
    if len(data) != expected:
        raise WrongError(f"the certificate's S must be the lower triangle of a matrix of {size} rows")
    S = np.zeros((size, size), dtype=np.int64)
    rows, columns = np.tril_indices(size)
    S[rows, columns] = S[columns, rows] = np.frombuffer(data, dtype="<i4")
    return S


def _check_semidefinite(S: np.ndarray, eps: Fraction, n: int) -> None:
    """Raise unless S + eps I is positive semidefinite on matrices with zero sums."""
    T = S.reshape(n, n, n, n)
    for axis in range(4):
        T = n * T - T.sum(axis=axis, keepdims=True)  # below 16 n^4 2^31, which fits int64 for n <= 64
    H = T.reshape(S.shape).astype(np.float64) / float(n**4)
    N, given = len(H), float(eps) * (1.0 - 4.0 * U)
    budget = 8.0 * (N + 8) * U * (float(np.abs(H.diagonal()).sum()) + N * given)
    shifted = H + (given - budget) * np.eye(N)
    try:
        L = np.linalg.cholesky(shifted)
    except np.linalg.LinAlgError as error:
        raise WrongError("the certificate's S + eps is not positive semidefinite") from error
    # H + given = L L' + rest; each entry of H was rounded twice, each of L L' is a sum of N rounded products.
    rest = 1.01 * float(np.linalg.norm(shifted - L @ L.T))
    rest += 2.0 * (N + 4) * U * float(np.linalg.norm(L)) ** 2 + 4.0 * U * (float(np.linalg.norm(H)) + N * given)
    if not rest <= budget:
        raise WrongError("the certificate's eps leaves no room for rounding")


def _least(problem: Whole, S: np.ndarray, exponent: int) -> np.ndarray:
    """Return m of M = Q - 2^exponent S, in units of 2^min(exponent, 0)."""
    n = problem.n
    products = np.kron(problem.A, problem.B)
    Q = products + products.T
    Q[np.diag_indices(n * n)] += 2 * problem.C.ravel()
    M = Q * 2 ** max(-exponent, 0) - S.astype(object) * 2 ** max(exponent, 0)
    small = max(abs(M.max()), abs(M.min())) * (n + 1) < 2**62
    M = (M.astype(np.int64) if small else M).reshape(n, n, n, n)
    least = np.empty((n, n), dtype=object)
    for i in range(n):
        for j in range(n):
            others = np.delete(np.delete(M[i, j], i, axis=0), j, axis=1)
            least[i, j] = int(M[i, j, i, j]) + max(int(others.min(axis=k).sum()) for k in (0, 1))
    return least.ravel()
