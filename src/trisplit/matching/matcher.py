"""Graph matching as an object in scikit-learn's convention; scikit-learn itself is not needed."""

import inspect
from collections.abc import Callable
from typing import Self

import numpy as np
from scipy import sparse

from trisplit.errors import InputError
from trisplit.matching.api import graph_match
from trisplit.matching.graphs import as_graph
from trisplit.matching.moments import Matrix
from trisplit.matching.result import MatchResult
from trisplit.options import Rng

__all__ = ["GraphMatcher"]


class GraphMatcher:
    """Matches the vertices of one graph with those of another, and brings further graphs into the order of the first.

    The parameters are the options of `graph_match`, which says what they mean; they are checked when `fit` is called.

    Attributes
    ----------
    result_ : MatchResult
    permutation_ : ndarray of int, shape (n_A,)
        The vertex of B for each vertex of A, -1 for none.
    score_ : float
    confidence_ : ndarray, shape (n_A,)
        Of each vertex of A, from 0 to 1; NaN where it has no partner.
    vertices_ : tuple or None
        The names of the vertices of B, None if they have none.

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> A = np.array([[0, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 0]])
    >>> p = np.array([2, 0, 3, 1])
    >>> matcher = ts.matching.GraphMatcher(rng=0).fit(A[np.ix_(p, p)], A)
    >>> matcher.transform(A).astype(int).tolist() == A[np.ix_(p, p)].tolist()
    True
    """

    result_: MatchResult
    vertices_: tuple | None

    def __init__(
        self,
        *,
        init: np.ndarray | str | None = None,
        init_perturbation: float = 0.0,
        n_init: int = 1,
        shuffle_input: bool = True,
        maximize: bool = True,
        padding: str = "naive",
        n_jobs: int | None = None,
        max_iter: int | None = None,
        tol: float = 0.01,
        verbose: int | Callable[[str], None] = 0,
        rng: Rng = None,
        transport: bool = False,
        transport_regularizer: float = 100,
        transport_tol: float = 0.05,
        transport_max_iter: int = 1000,
        method: str = "tos",
        polish: bool = True,
        min_confidence: float = 0.0,
    ) -> None:
        self.init = init
        self.init_perturbation = init_perturbation
        self.n_init = n_init
        self.shuffle_input = shuffle_input
        self.maximize = maximize
        self.padding = padding
        self.n_jobs = n_jobs
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.rng = rng
        self.transport = transport
        self.transport_regularizer = transport_regularizer
        self.transport_tol = transport_tol
        self.transport_max_iter = transport_max_iter
        self.method = method
        self.polish = polish
        self.min_confidence = min_confidence

    def fit(
        self,
        A: object,
        B: object,
        AB: object = None,
        BA: object = None,
        S: object = None,
        partial_match: object = None,
    ) -> Self:
        """Match the graphs A and B; the arguments are those of `graph_match`.

        Parameters
        ----------
        A, B : graph
            Arrays, scipy.sparse matrices, graphs of networkx or igraph, pandas edge lists, or lists of layers.
        AB, BA : matrices, optional
            Edges from A to B and from B to A.
        S : matrix of shape (n_A, n_B), optional
            Similarities of the vertices.
        partial_match : pairs of vertices, optional
            Seeds: matches that are known.
        """
        self.result_ = graph_match(A, B, AB, BA, S, partial_match, **self.get_params())  # pyright: ignore
        self.vertices_ = as_graph(B, "B").labels
        return self

    def fit_predict(
        self,
        A: object,
        B: object,
        AB: object = None,
        BA: object = None,
        S: object = None,
        partial_match: object = None,
    ) -> np.ndarray:
        """Match the graphs and return the vertex of B for each vertex of A, -1 for none."""
        return self.fit(A, B, AB, BA, S, partial_match).permutation_

    def transform(self, B: object) -> Matrix | list[Matrix]:
        """Return a graph with the vertices of B as a matrix in the order of A; of several layers, a list.

        Rows and columns of vertices of A without a partner are 0. A sparse graph stays sparse. Vertices with names are
        found by these, in whatever order they are.
        """
        graph, p = as_graph(B, "B"), self.permutation_
        if graph.n != self.result_.n_B:
            raise InputError(f"`B` must have {self.result_.n_B} vertices as in `fit`, got {graph.n}")
        if graph.labels is not None and self.vertices_ is not None and graph.labels != self.vertices_:
            place = {label: k for k, label in enumerate(graph.labels)}
            strange = next((label for label in self.vertices_ if label not in place), None)
            if strange is not None:
                raise InputError(f"`B` must have the vertices that it had in `fit`, {strange!r} is missing; add it")
            to = np.array([place[label] for label in self.vertices_], dtype=np.int64)
            p = np.where(p >= 0, to[p], -1)
        layers = [_reordered(layer, p) for layer in graph.layers]
        return layers[0] if len(layers) == 1 else layers

    @property
    def permutation_(self) -> np.ndarray:
        return self._fitted().permutation

    @property
    def score_(self) -> float:
        return self._fitted().score

    @property
    def confidence_(self) -> np.ndarray:
        result = self._fitted()
        confidence = np.full(result.n_A, np.nan)
        confidence[result.indices_A] = result.confidence
        return confidence

    def _fitted(self) -> MatchResult:
        if not hasattr(self, "result_"):
            # An AttributeError: what is not fitted has no attributes that end in an underscore.
            raise AttributeError("this GraphMatcher is not fitted yet; call `fit(A, B)` first")
        return self.result_

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the parameters by name; `deep` is there for scikit-learn's sake, as none has parameters of its own."""
        return {name: getattr(self, name) for name in self._names()}

    def set_params(self, **params: object) -> Self:
        """Change parameters, and return the matcher."""
        for name, value in params.items():
            if name not in self._names():
                raise InputError(f"`{name}` is no parameter of GraphMatcher; choose from {', '.join(self._names())}")
            setattr(self, name, value)
        return self

    @classmethod
    def _names(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def __repr__(self) -> str:
        defaults = {name: one.default for name, one in inspect.signature(type(self)).parameters.items()}
        changed = (
            f"{name}={value!r}"
            for name, value in self.get_params().items()
            if isinstance(value, np.ndarray) or value != defaults[name]
        )
        return f"{type(self).__name__}({', '.join(changed)})"


def _reordered(layer: Matrix, p: np.ndarray) -> Matrix:
    """Return M with M[i, j] = layer[p_i, p_j], and 0 where p is -1."""
    matched, n = np.flatnonzero(p >= 0), len(p)
    if not sparse.issparse(layer):
        whole = np.zeros((n, n))
        whole[np.ix_(matched, matched)] = layer[np.ix_(p[matched], p[matched])]
        return whole
    part = layer[p[matched]][:, p[matched]].tocoo()  # pyright: ignore
    rows, columns = (matched[places] for places in part.coords)
    return sparse.csr_array((part.data, (rows, columns)), shape=(n, n))
