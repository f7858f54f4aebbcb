"""The layers of two sparse graphs, stacked so that all of them are one product.

The gradient of sum over layers of <A P B', P> is sum of A P B' + A' P B. Each of these products is that of a pair of
matrices: one pair for each layer if all graphs are symmetric, since the two are then equal, and two otherwise. Stacked,

    W = [A_1 A_2 ...] diag(P, P, ...) [B_1' ; B_2' ; ...]     (+ S)

counts, for unweighted graphs, the matched pairs that are neighbours of i and of l: the witnesses of the pair (i, l).
"""

# pyright: reportOptionalSubscript=false, reportOptionalMemberAccess=false, reportArgumentType=false
# pyright: reportAttributeAccessIssue=false, reportOperatorIssue=false, reportOptionalIterable=false
# The types of scipy.sparse are not declared, only guessed.

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array, hstack, vstack

Layers = tuple[csr_array, ...]


@dataclass(frozen=True, eq=False)
class LayerPairs:
    """Pairs of matrices (A_c, B_c) with W = sum over c of A_c P B_c', and the linear term that belongs to it.

    Parameters
    ----------
    pairs : tuple of pairs of csr_array
    S : csr_array of shape (n_A, n_B)
        The similarity, halved where W is half the gradient.

    Examples
    --------
    >>> import numpy as np
    >>> A = csr_array(np.array([[0.0, 1.0], [1.0, 0.0]]))
    >>> layer_pairs((A,), (A,)).common(np.array([1, 0])).toarray()
    array([[0., 1.],
           [1., 0.]])
    """

    pairs: tuple[tuple[csr_array, csr_array], ...]
    S: csr_array
    symmetric: bool

    @property
    def n_A(self) -> int:
        return self.S.shape[0]

    @property
    def n_B(self) -> int:
        return self.S.shape[1]

    @cached_property
    def A(self) -> csr_array:
        """[A_1 A_2 ...], of shape (n_A, pairs * n_A)."""
        return indexed(csr_array(hstack([a for a, _ in self.pairs], format="csr")))

    @cached_property
    def B(self) -> csr_array:
        """[B_1' ; B_2' ; ...], of shape (pairs * n_B, n_B)."""
        return indexed(csr_array(vstack([b.T for _, b in self.pairs], format="csr")))

    @cached_property
    def unit(self) -> float:
        """What one witness counts: the mean weight of an edge of A times that of B."""
        a, b = (float(np.abs(M.data).mean()) if M.nnz else 1.0 for M in (self.A, self.B))
        return a * b if a * b > 0 else 1.0

    def place(self, partner: np.ndarray) -> np.ndarray:
        """Return the row of `B` that each column of `A` is matched with, -1 if none."""
        shift = np.arange(len(self.pairs))[:, None] * self.n_B
        return np.where(partner < 0, -1, partner + shift).ravel().astype(np.int64)

    def common(self, partner: np.ndarray) -> csr_array:
        """Return all of W for a match: the plain twin of the kernel, for small graphs."""
        matched = np.flatnonzero(partner >= 0)
        P = csr_array((np.ones(matched.size), (matched, partner[matched])), shape=(self.n_A, self.n_B))
        return csr_array(sum((a @ P @ b.T for a, b in self.pairs), start=self.S))

    def score(self, partner: np.ndarray) -> float:
        """Return the sum over layers of A[i,j] B[p_i,p_j], plus the sum of S[i,p_i], in terms of the whole gradient."""
        matched = np.flatnonzero(partner >= 0)
        to = partner[matched]
        total = sum(float(a[matched][:, matched].multiply(b[to][:, to]).sum()) for a, b in self.pairs)
        # The mirrored pairs of directed graphs count every product once more.
        return total / (1 if self.symmetric else 2) + float(self.S[matched, to].sum()) * (2 if self.symmetric else 1)

    def turned(self) -> "LayerPairs":
        """Return the same problem with A and B swapped."""
        return LayerPairs(tuple((b, a) for a, b in self.pairs), indexed(csr_array(self.S.T)), self.symmetric)


def layer_pairs(A: Layers, B: Layers, similarity: csr_array | None = None) -> LayerPairs:
    """Return the pairs of layers `A` and `B`."""
    symmetric = all((M != M.T).nnz == 0 for M in (*A, *B))
    pairs = [(indexed(a), indexed(b)) for a, b in zip(A, B, strict=True)]
    if not symmetric:
        pairs += [(indexed(csr_array(a.T)), indexed(csr_array(b.T))) for a, b in pairs]
    S = csr_array((A[0].shape[0], B[0].shape[0])) if similarity is None else csr_array(similarity)
    return LayerPairs(tuple(pairs), indexed(csr_array(S / 2) if symmetric else S), symmetric)


def indexed(M: csr_array) -> csr_array:
    """Return a copy in the types that the kernels take: float64 values, int32 columns in order, int64 starts."""
    M = csr_array(M, dtype=np.float64, copy=True)
    M.sum_duplicates()
    M.sort_indices()
    M.indptr, M.indices = M.indptr.astype(np.int64), M.indices.astype(np.int32)
    return M


def arrays(M: csr_array) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return starts, columns and values as the kernels take them."""
    return (
        M.indptr.astype(np.int64, copy=False),
        M.indices.astype(np.int32, copy=False),
        M.data.astype(np.float64, copy=False),
    )
