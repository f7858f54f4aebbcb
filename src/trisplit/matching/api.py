"""graph_match(): two graphs in, a match and how good it is out."""

import sys
from contextlib import nullcontext
from time import perf_counter

import numpy as np

from trisplit.matching.arguments import as_choice, as_flag, as_integer, as_jobs, as_number, as_verbosity
from trisplit.matching.bounds import score_bound
from trisplit.matching.diagnostics import alignment_strength, edge_agreement, stability
from trisplit.matching.faq import Transport
from trisplit.matching.graphs import Graph
from trisplit.matching.problem import PADDINGS, MatchingProblem, as_problem
from trisplit.matching.result import MatchResult
from trisplit.matching.search import METHODS, Settings
from trisplit.matching.strategies import Matched, Plan, Report, find_match, matched_pairs, silent
from trisplit.options import Rng, as_generator
from trisplit.qap.local_search import one_thread

ONE_THREAD = 1000  # vertices up to which linear algebra is held to one thread


def graph_match(
    A: object,
    B: object,
    AB: object = None,
    BA: object = None,
    S: object = None,
    partial_match: object = None,
    init: np.ndarray | str | None = None,
    init_perturbation: float = 0.0,
    n_init: int = 1,
    shuffle_input: bool = True,
    maximize: bool = True,
    padding: str = "naive",
    n_jobs: int | None = None,
    max_iter: int | None = None,
    tol: float = 0.01,
    verbose: int | Report = 0,
    rng: Rng = None,
    transport: bool = False,
    transport_regularizer: float = 100,
    transport_tol: float = 0.05,
    transport_max_iter: int = 1000,
    *,
    method: str = "tos",
    polish: bool = True,
    min_confidence: float = 0.0,
) -> MatchResult:
    """Match the vertices of two graphs so that as many edges as possible lie on edges.

    maximise over matches p   sum_ij A[i,j] B[p_i,p_j] + AB[i,p_j] BA[p_i,j]  (over all layers)  +  sum_i S[i,p_i]

    Arguments and the first four fields of the result are those of graspologic's function of this name.

    Parameters
    ----------
    A, B : graphs
        Square NumPy arrays, SciPy sparse matrices, networkx or igraph graphs, pandas edge lists (source, target and
        perhaps weight), or lists of such: layers. Directed, weighted, with loops; their sizes may differ.
    AB, BA : array, shape (n_A, n_B) and (n_B, n_A), optional
        Edges from the vertices of A to those of B, and back, for bisected matching; lists of as many layers as A has.
    S : array, shape (n_A, n_B), optional
        How alike vertices are: a soft prior. Its scale is that of the edges' weights.
    partial_match : array of int, shape (m, 2), or a pair of sequences, optional
        Seeds: vertices of A and the vertices of B that they are matched with, in any order.
    init : array of shape (k, k) or {"barycenter", "spectral", "umeyama"}, optional
        Where to start, for the k vertices that are not seeds, those added by padding included, in ascending order. By
        default "barycenter" for methods "faq" and "transport", else "spectral".
    init_perturbation : float
        How far a start is moved to a random point, from 0 to 1.
    n_init : int
        Number of starts. The best match is returned, and `stability` says how many starts agree with it.
    shuffle_input : bool
        Whether vertices are put in a random order first, so that ties are not broken by the order of the input.
    maximize : bool
        Whether the score is maximised; if not, minimised.
    padding : {"naive", "adopted"}
        For unequal sizes: vertices without edges are added, and with "adopted" a missing edge counts -1.
    n_jobs : int, optional
        Starts that run at the same time, -1 for all cores; the match does not depend on it.
    max_iter : int, optional
        Iterations of a start: 200 by default, and 30 for Frank-Wolfe.
    tol : float
        The length of a step per vertex at which Frank-Wolfe ends; a hundredth of it for the splitting.
    verbose : int or callable
        Positive: a line for each stage on standard error; a callable gets these lines.
    rng : int, Generator or None
    transport : bool
        The same as `method="transport"`.
    transport_regularizer, transport_tol, transport_max_iter : float, float, int
        Of steps by optimal transport: the larger the first, the nearer to permutations.
    method : {"tos", "concave", "faq", "transport"}
        "tos": three operator splitting from a spectral start, after cheaper and before other strategies (see guide);
        "concave": the same with a growing concave term; "faq": Frank-Wolfe from the barycentre; "transport": that with
        steps by optimal transport.
    polish : bool
        Whether pairs are swapped at the end where vertices are unsure: until no swap helps, and by a short tabu
        search if the match is not settled, up to 1,000 vertices of one layer; of several layers and of bisected graphs
        up to 300, with random kicks up to 100.
    min_confidence : float
        Matches that are less sure are dropped, and their vertices stay unmatched.

    Returns
    -------
    MatchResult

    Examples
    --------
    >>> import numpy as np, trisplit as ts
    >>> A = np.array([[0, 1, 1, 0], [1, 0, 1, 0], [1, 1, 0, 1], [0, 0, 1, 0]])
    >>> order = [3, 1, 0, 2]
    >>> res = ts.matching.graph_match(A, A[np.ix_(order, order)], rng=0)
    >>> res.score, res.indices_B[[2, 3]]
    (8.0, array([3, 0]))
    """
    begin = perf_counter()
    problem = as_problem(A, B, AB=AB, BA=BA, S=S, partial_match=partial_match, maximize=as_flag(maximize, "maximize"))
    if as_flag(transport, "transport"):
        method = "transport"
    steps = Transport(
        as_number(transport_regularizer, "transport_regularizer", least=0.0, strict=True),
        as_number(transport_tol, "transport_tol", least=0.0, strict=True),
        as_integer(transport_max_iter, "transport_max_iter"),
    )
    settings = Settings(
        as_choice(method, METHODS, "method"),
        init,
        None if max_iter is None else as_integer(max_iter, "max_iter"),
        as_number(tol, "tol", least=0.0),
        as_flag(polish, "polish"),
        steps,
    )
    plan = Plan(
        settings,
        as_number(init_perturbation, "init_perturbation", least=0.0, most=1.0),
        as_integer(n_init, "n_init"),
        as_flag(shuffle_input, "shuffle_input"),
        as_choice(padding, PADDINGS, "padding"),
        as_jobs(n_jobs),
        as_generator(rng)[1],
        verbose if callable(verbose) else _say if as_verbosity(verbose) else silent,
    )
    least = as_number(min_confidence, "min_confidence", least=0.0, most=1.0)
    # Small products gain nothing by several threads, which wait for each other where others compute too.
    # Rounding depends on the number of threads, and must not on `n_jobs`.
    with one_thread() if problem.n <= ONE_THREAD or plan.starts > 1 else nullcontext():
        return _result(problem, find_match(problem, plan), settings.method, least, begin)


def _result(problem: MatchingProblem, matched: Matched, method: str, least: float, begin: float) -> MatchResult:
    sure = matched.confidence.values >= least
    sure[problem.seeds[:, 0]] = True
    p = np.where(sure, matched.permutation, -1)
    indices_A, indices_B = matched_pairs(p)
    layers = problem.A.layers, problem.B.layers, indices_A, indices_B
    several = len(matched.permutations) > 1
    return MatchResult(
        indices_A=indices_A,
        indices_B=indices_B,
        score=problem.score(indices_A, indices_B),
        misc=matched.misc,
        labels_A=_labels(problem.A, indices_A),
        labels_B=_labels(problem.B, indices_B),
        unmatched_A=np.setdiff1d(np.arange(problem.A.n), indices_A),
        unmatched_B=np.setdiff1d(np.arange(problem.B.n), indices_B),
        confidence=matched.confidence.values[indices_A],
        runners_up=matched.confidence.runners_up[indices_A],
        agreement=edge_agreement(*layers),
        alignment_strength=alignment_strength(*layers),
        stability=stability(np.array(matched.permutations), matched.permutation)[indices_A] if several else None,
        certificate=matched.certificate,
        bound=score_bound(problem),
        n_A=problem.A.n,
        n_B=problem.B.n,
        seeds=len(problem.seeds),
        method=method,
        seconds=perf_counter() - begin,
        message=matched.message,
        maximize=problem.maximize,
    )


def _labels(graph: Graph, indices: np.ndarray) -> np.ndarray | None:
    if graph.labels is None:
        return None
    labels = np.empty(len(indices), dtype=object)
    labels[:] = [graph.labels[i] for i in indices]
    return labels


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)
