"""graph_match(): two graphs in, a match and how good it is out."""

import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from time import perf_counter
from typing import NamedTuple

import numpy as np
from scipy import sparse

from trisplit.errors import InputError
from trisplit.matching.arguments import as_choice, as_flag, as_init, as_integer, as_jobs, as_number, as_verbosity
from trisplit.matching.bounds import score_bound
from trisplit.matching.diagnostics import alignment_strength, edge_agreement, stability
from trisplit.matching.faq import Transport
from trisplit.matching.graphs import Graph
from trisplit.matching.judged import RUNNERS_UP, Judged, judge, judge_sparse
from trisplit.matching.large.api import match_large
from trisplit.matching.memory import available_bytes, in_words
from trisplit.matching.problem import PADDINGS, MatchingProblem, Reduced, as_problem, reduce
from trisplit.matching.result import MatchResult
from trisplit.matching.rounding import ratio_of_units
from trisplit.matching.search import METHODS, Found, Settings, run_start
from trisplit.qap.episodes import one_thread
from trisplit.qap.matrices import is_sparse
from trisplit.result import Certificate
from trisplit.solve import Rng, as_generator

SPARSE = 1500  # vertices beyond which sparse graphs are matched without dense matrices
DENSE = 5000  # vertices up to which dense matrices are tried where that leads to nothing
FILLED = 2  # arrays of n x n numbers in float64 that adopted padding makes
ARRAYS = 14  # of n x n numbers in float32 that a start has in memory at most
FLOPS_OF_A_START, SPEED = 1000, 3e10  # times n^3: two spectra, 200 times two products; a second
ONE_THREAD = 1000  # vertices up to which linear algebra is held to one thread
PERTURBATION = 0.1  # of further starts

Report = Callable[[str], None]


class Matched(NamedTuple):
    """What a way of matching found: vertices of B for those of A, and what it says of them."""

    permutation: np.ndarray
    judged: Judged
    misc: list[dict]
    certificate: Certificate | None
    permutations: list[np.ndarray]
    message: str


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
        "tos": three operator splitting from a spectral start, after cheaper ways and before others (see the guide);
        "concave": the same with a growing concave term; "faq": Frank-Wolfe from the barycentre; "transport": that with
        steps by optimal transport.
    polish : bool
        Whether pairs are exchanged at the end where vertices are unsure: until no exchange helps, and by a short tabu
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
    plan = _Plan(
        settings,
        as_number(init_perturbation, "init_perturbation", least=0.0, most=1.0),
        as_integer(n_init, "n_init"),
        as_flag(shuffle_input, "shuffle_input"),
        as_choice(padding, PADDINGS, "padding"),
        as_jobs(n_jobs),
        as_generator(rng)[1],
        verbose if callable(verbose) else _say if as_verbosity(verbose) else _silent,
    )
    least = as_number(min_confidence, "min_confidence", least=0.0, most=1.0)
    # Small products gain nothing by several threads, which wait for each other where others compute too.
    # Rounding depends on the number of threads, and must not on `n_jobs`.
    with one_thread() if problem.n <= ONE_THREAD or plan.starts > 1 else nullcontext():
        return _result(problem, _matched(problem, plan), settings.method, least, begin)


class _Plan(NamedTuple):
    """How to look for the match."""

    settings: Settings
    perturbation: float
    starts: int
    shuffle: bool
    padding: str
    jobs: int
    rng: np.random.Generator
    report: Report


def _matched(problem: MatchingProblem, plan: _Plan) -> Matched:
    if min(problem.A.n, problem.B.n) == 0:
        nobody = np.full(problem.A.n, -1)
        judged = Judged(np.zeros(problem.A.n), np.full((problem.A.n, RUNNERS_UP), -1))
        misc = {"score": 0.0, "n_iter": 0, "converged": True, "convex_solution": None, "how": "nothing to match"}
        return Matched(nobody, judged, [misc] * plan.starts, None, [nobody] * plan.starts, "nothing to match")
    large = problem.n > SPARSE and _needs_dense(problem, plan) is None
    return _sparse_way(problem, plan) if large else _dense_way(problem, plan)


def _needs_dense(problem: MatchingProblem, plan: _Plan) -> str | None:
    """Return what to change so that nothing of n x n numbers need be held, None if nothing."""
    layers = (*problem.A.layers, *problem.B.layers)
    if not all(is_sparse(M) for M in layers):
        return "pass sparse graphs"
    unequal = problem.A.n != problem.B.n
    remedies = {
        "pass a sparse `S`": problem.S is not None and not is_sparse(problem.S),
        "leave `AB` and `BA` out": bool(problem.AB),
        "maximise": not problem.maximize,
        'take method="tos"': plan.settings.method != "tos",
        "leave `init` out": plan.settings.init is not None,
        "take init_perturbation=0": plan.perturbation != 0.0,
        "take n_init=1": plan.starts > 1,
        'take padding="naive"': plan.padding != "naive" and unequal,
        "pass weights that are not negative": any(M.data.min(initial=0.0) < 0 for M in layers),  # pyright: ignore
    }
    return next((remedy for remedy, needed in remedies.items() if needed), None)


def _sparse_way(problem: MatchingProblem, plan: _Plan) -> Matched:
    found = match_large(
        problem.A.layers,  # pyright: ignore[reportArgumentType]
        problem.B.layers,  # pyright: ignore[reportArgumentType]
        seeds=problem.seeds,
        similarity=problem.S,  # pyright: ignore[reportArgumentType]
        rng=plan.rng,
        max_iter=plan.settings.max_iter or 100,
        progress=False if plan.report is _silent else plan.report,
    )
    pairs = tuple(zip(problem.A.layers, problem.B.layers, strict=True))
    ratio = ratio_of_units(pairs)
    a, b = ratio * _squares(problem.A), _squares(problem.B) / ratio
    symmetric = all((M != M.T).nnz == 0 for M in (*problem.A.layers, *problem.B.layers))  # pyright: ignore
    judged = judge_sparse(found.witnesses * (2.0 if symmetric else 1.0), pairs, a, b, found.permutation)
    misc = [
        {
            "score": found.score,
            "n_iter": found.iterations,
            "converged": found.converged,
            "convex_solution": None,
            "how": "percolation",
        }
    ]
    matched = Matched(found.permutation, judged, misc, None, [found.permutation], "found by common neighbours")
    if problem.n > DENSE or not _is_doubtful(problem, matched) or _memory(problem, plan) > available_bytes():
        return matched
    plan.report("half of the vertices are not sure: dense matrices are tried as well")
    other = _dense_way(problem, plan)
    return max(matched, other, key=lambda one: problem.score(*_pairs(one.permutation)))


def _is_doubtful(problem: MatchingProblem, matched: Matched) -> bool:
    """Say whether half of the vertices with edges are not sure; where all edges agree, a tie is no reason to doubt."""
    indices_A, indices_B = _pairs(matched.permutation)
    agreement = edge_agreement(problem.A.layers, problem.B.layers, indices_A, indices_B)
    counts = np.isfinite(agreement)
    doubtful = (matched.judged.confidence[indices_A] == 0.0) & (agreement < 1.0)
    return bool(2 * np.count_nonzero(doubtful[counts]) > np.count_nonzero(counts))


def _dense_way(problem: MatchingProblem, plan: _Plan) -> Matched:
    k = problem.n - len(problem.seeds)
    _require_memory(problem, plan)
    init = plan.settings.init
    if init is not None and not isinstance(init, str):
        init = as_init(init, k)
    streams = plan.rng.spawn(plan.starts)

    def start(number: int) -> tuple[Reduced, Found]:
        rng = streams[number]
        reduced = reduce(problem, plan.padding, np.float32, rng if plan.shuffle else None)
        own = init
        if isinstance(own, np.ndarray):
            place = [np.argsort(np.argsort(side)) for side in (reduced.rows, reduced.columns)]
            own = own[np.ix_(*place)]
        moved = plan.perturbation or (PERTURBATION if number else 0.0)
        found = run_start(reduced.objective, plan.settings._replace(init=own), moved, rng, plan.report)
        return reduced, found

    ended = _all_or_so_far(start, plan.starts, min(plan.jobs, plan.starts))
    sign = 1.0 if problem.maximize else -1.0
    permutations = [_whole(problem, reduced, found.p) for reduced, found in ended]
    scores = [problem.score(*_pairs(p)) for p in permutations]
    best = max(range(len(ended)), key=lambda number: sign * scores[number])
    reduced, found = ended[best]
    confidence = np.ones(problem.n)
    runners_up = np.full((problem.n, RUNNERS_UP), -1)
    if k:
        judged = judge(reduced.objective, found.p, reduced.columns < problem.B.n)
        confidence[reduced.rows] = judged.confidence
        runners_up[reduced.rows] = np.where(judged.runners_up >= 0, reduced.columns[judged.runners_up], -1)
    misc = [
        {
            "score": score,
            "n_iter": one.iterations,
            "converged": one.converged,
            "convex_solution": None
            if one.X is None
            else one.X[np.ix_(np.argsort(part.rows), np.argsort(part.columns))],
            "how": one.how,
        }
        for (part, one), score in zip(ended, scores, strict=True)
    ]
    return Matched(
        permutations[best],
        Judged(confidence[: problem.A.n], runners_up[: problem.A.n]),
        misc,
        _in_units(found.certificate, reduced.scale),
        permutations,
        f"found by {found.how}"
        + (f"; interrupted after {len(ended)} of {plan.starts} starts" * (len(ended) < plan.starts)),
    )


def _all_or_so_far(start: Callable[[int], tuple[Reduced, Found]], count: int, jobs: int) -> list[tuple[Reduced, Found]]:
    """Return what the starts found, in their order; after Ctrl-C, what those that were done by then found, if any."""
    ended = {}

    def run(number: int) -> None:
        ended[number] = start(number)

    pool = ThreadPoolExecutor(jobs) if jobs > 1 else None
    try:
        list(map(run, range(count)) if pool is None else pool.map(run, range(count)))
    except KeyboardInterrupt:
        if not ended:
            raise
    finally:
        if pool is not None:
            pool.shutdown(cancel_futures=True)
    return [ended[number] for number in sorted(ended)]


def _whole(problem: MatchingProblem, reduced: Reduced, p: np.ndarray) -> np.ndarray:
    """Return the match of all vertices of A, -1 for those that are matched with none of B's own."""
    whole = np.empty(problem.n, dtype=np.int64)
    whole[problem.seeds[:, 0]] = problem.seeds[:, 1]
    whole[reduced.rows] = reduced.columns[p]
    return np.where(whole < problem.B.n, whole, -1)[: problem.A.n]


def _pairs(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    indices = np.flatnonzero(p >= 0)
    return indices, p[indices]


def _result(problem: MatchingProblem, matched: Matched, method: str, least: float, begin: float) -> MatchResult:
    sure = matched.judged.confidence >= least
    sure[problem.seeds[:, 0]] = True
    p = np.where(sure, matched.permutation, -1)
    indices_A, indices_B = _pairs(p)
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
        confidence=matched.judged.confidence[indices_A],
        runners_up=matched.judged.runners_up[indices_A],
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


def _squares(graph: Graph) -> np.ndarray:
    total = np.zeros(graph.n)
    for M in graph.layers:
        square = sparse.csr_array(M).power(2)
        total += np.asarray(square.sum(axis=0)).ravel() + np.asarray(square.sum(axis=1)).ravel()
    return total


def _in_units(certificate: Certificate | None, scale: float) -> Certificate | None:
    """Return a certificate of a score that was multiplied by `scale` in the units of the score itself."""
    if certificate is None or scale == 1.0:
        return certificate
    return certificate._replace(stationarity=certificate.stationarity / scale)


def _memory(problem: MatchingProblem, plan: _Plan) -> int:
    """Return the bytes that a search with dense matrices takes at most."""
    k, filled = problem.n - len(problem.seeds), plan.padding != "naive" and problem.A.n != problem.B.n
    return min(plan.jobs, plan.starts) * (4 * ARRAYS * k**2 + 8 * FILLED * problem.n**2 * filled)


def _require_memory(problem: MatchingProblem, plan: _Plan) -> None:
    """Say how much memory and time a search takes, and refuse one that cannot fit before anything is allocated."""
    k, needed, there = problem.n - len(problem.seeds), _memory(problem, plan), available_bytes()
    if k >= SPARSE:
        seconds = FLOPS_OF_A_START * k**3 * plan.starts / SPEED
        plan.report(
            f"{k:,} vertices: up to {in_words(needed)} of memory for dense matrices, and up to {seconds:,.0f} s or so"
        )
    if needed > there:
        remedy = _needs_dense(problem, plan) or "take a larger machine"
        raise InputError(
            f"`A` and `B` have {k:,} vertices to match, which take {in_words(needed)}, got {in_words(there)}; "
            f"{remedy}, so that no dense matrix is needed"
        )


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _silent(text: str) -> None:
    pass
