"""What `graph_match` returns: the match, how good it is as a whole, and how sure each vertex is."""

from collections.abc import Iterator
from dataclasses import dataclass
from math import isfinite

import numpy as np

from trisplit.result import Certificate

Field = np.ndarray | float | list[dict]
FIELDS = 4  # of the tuple that graspologic returns


@dataclass(frozen=True, eq=False)
class MatchResult:
    """A match of two graphs, and how good it is.

    It unpacks, indexes and has the length of the tuple (`indices_A`, `indices_B`, `score`, `misc`) that graspologic
    returns. Vertex `indices_A[k]` of A is matched with vertex `indices_B[k]` of B; arrays "of each match" follow that
    order.

    Attributes
    ----------
    indices_A, indices_B : ndarray of int
        The matched vertices, as they are counted in the graphs that were given.
    score : float
        sum over layers of sum_ij A[i, j] B[p_i, p_j] + AB[i, p_j] BA[p_i, j], plus sum_i S[i, p_i].
    misc : list of dict
        What each start did.
    labels_A, labels_B : ndarray or None
        Names of the matched vertices, where a graph came with names.
    unmatched_A, unmatched_B : ndarray of int
        The vertices without a partner.
    confidence : ndarray
        Of each match, from 0 to 1: how far it is ahead of the next best.
    runners_up : ndarray of int, shape (matches, k)
        The vertices of B that come next, the best first; -1 where there is none.
    agreement : ndarray
        Of each match: the share of its edges that have their counterpart; NaN for an isolated vertex.
    alignment_strength : float
        1 - disagreements / expected disagreements of a random match: 1 for the same graph twice, 0 for chance; NaN
        where all matches are alike.
    stability : ndarray or None
        Of each match: the share of the starts that found it too; None with one start.
    certificate : Certificate or None
        Of the relaxed problem, where a start was relaxed.
    bound : float
        No match has a better score: an upper bound if `maximize`, else a lower one; infinite where none is cheap.
    n_A, n_B : int
        Vertices of the two graphs.
    seeds : int
        How many matches were given.
    method : str
    seconds : float
    message : str
        How the search ended.
    maximize : bool

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> A = np.array([[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    >>> p = np.array([2, 0, 3, 1])
    >>> B = np.zeros_like(A)
    >>> B[np.ix_(p, p)] = A
    >>> res = ts.matching.graph_match(A, B, rng=0)
    >>> indices_A, indices_B, score, misc = res
    >>> score, float(res.alignment_strength), res.agreement.tolist()
    (8.0, 1.0, [1.0, 1.0, 1.0, 1.0])
    """

    indices_A: np.ndarray
    indices_B: np.ndarray
    score: float
    misc: list[dict]
    labels_A: np.ndarray | None
    labels_B: np.ndarray | None
    unmatched_A: np.ndarray
    unmatched_B: np.ndarray
    confidence: np.ndarray
    runners_up: np.ndarray
    agreement: np.ndarray
    alignment_strength: float
    stability: np.ndarray | None
    certificate: Certificate | None
    bound: float
    n_A: int
    n_B: int
    seeds: int
    method: str
    seconds: float
    message: str
    maximize: bool

    def __iter__(self) -> Iterator[Field]:
        return iter(self._tuple())

    def __len__(self) -> int:
        return FIELDS

    def __getitem__(self, place: int | slice) -> Field | tuple[Field, ...]:
        return self._tuple()[place]

    def _tuple(self) -> tuple[np.ndarray, np.ndarray, float, list[dict]]:
        return self.indices_A, self.indices_B, self.score, self.misc

    @property
    def matches(self) -> int:
        """How many vertices of each graph are matched."""
        return len(self.indices_A)

    @property
    def permutation(self) -> np.ndarray:
        """The vertex of B that each vertex of A is matched with, -1 where there is none; of length n_A."""
        p = np.full(self.n_A, -1, dtype=np.intp)
        p[self.indices_A] = self.indices_B
        return p

    def least_sure(self, count: int = 5) -> np.ndarray:
        """Return the places of the matches that are least sure, the least first; of equal ones, the least agreement."""
        agreement = np.nan_to_num(np.asarray(self.agreement, dtype=float), nan=1.0)
        confidence = np.nan_to_num(np.asarray(self.confidence, dtype=float), nan=1.0)
        return np.lexsort((agreement, confidence))[: max(count, 0)]

    def to_dict(self) -> dict[str, object]:
        """Return it in lists and numbers that JSON knows, without matrices; what is not finite becomes None."""
        record = {
            name: plain(getattr(self, name))
            for name in ("n_A", "n_B", "seeds", "method", "maximize", "score", "bound", "alignment_strength")
        }
        for name in ("indices_A", "indices_B", "permutation", "labels_A", "labels_B", "unmatched_A", "unmatched_B"):
            record[name] = plain(getattr(self, name))
        for name in ("confidence", "runners_up", "agreement", "stability"):
            record[name] = plain(getattr(self, name))
        shown = ("stationarity", "infeasibility", "kind")  # the doubly stochastic matrices leave nothing to prove
        record["certificate"] = self.certificate and {name: plain(getattr(self.certificate, name)) for name in shown}
        misc = [{name: value for name, value in start.items() if np.ndim(value) < 2} for start in self.misc]
        return record | {"seconds": plain(self.seconds), "message": self.message, "misc": plain(misc)}

    def __repr__(self) -> str:
        return "\n".join([f"MatchResult: {self._sizes()}", *(f"  {line}" for line in self._lines())])

    def _sizes(self) -> str:
        whole = self.matches == self.n_A == self.n_B
        which = f"all {self.n_A:,} vertices" if whole else f"{self.matches:,} of {self.n_A:,} and {self.n_B:,} vertices"
        given = f", {self.seeds:,} of them given" if self.seeds else ""
        return f"{which} matched{given}"

    def _lines(self) -> Iterator[str]:
        bound = f" (none is {'above' if self.maximize else 'below'} {self.bound:.6g})" if isfinite(self.bound) else ""
        yield f"score {self.score:.10g}{bound}, alignment strength {self.alignment_strength:.4g}"
        for name in ("agreement", "confidence", "stability"):
            values = getattr(self, name)
            if values is not None and np.isfinite(values).any():
                yield f"{name} {np.nanmean(values):.3f} on average, {np.nanmin(values):.3f} at least"
        yield f"{self.method}, {self.seconds:.3g} s: {self.message}"


def plain(value: object) -> object:
    """Return arrays and NumPy's numbers as those of Python, None for what is not finite; other objects as text.

    >>> plain({"a": np.array([1.0, np.nan]), "b": (np.int64(3), True)})
    {'a': [1.0, None], 'b': [3, True]}
    """
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value if value is None or isinstance(value, bool | int | str) else str(value)
