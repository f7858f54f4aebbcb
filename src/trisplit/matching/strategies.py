"""Strategies for matching: without dense matrices for large sparse graphs, with them from several starts otherwise."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from scipy import sparse

from trisplit.errors import InputError
from trisplit.matching.arguments import as_init
from trisplit.matching.confidence import RUNNERS_UP, Confidence, confidence_of, confidence_of_sparse
from trisplit.matching.diagnostics import edge_agreement
from trisplit.matching.graphs import Graph
from trisplit.matching.large.api import match_large
from trisplit.matching.memory import available_bytes, in_words
from trisplit.matching.problem import MatchingProblem, Reduced, reduce
from trisplit.matching.rounding import ratio_of_units
from trisplit.matching.search import Found, Settings, run_start
from trisplit.qap.matrices import is_sparse
from trisplit.result import Certificate

SPARSE = 1500  # vertices beyond which sparse graphs are matched without dense matrices
DENSE = 5000  # vertices up to which dense matrices are tried where that leads to nothing
FILLED = 2  # arrays of n x n numbers in float64 that adopted padding makes
ARRAYS = 14  # of n x n numbers in float32 that a start has in memory at most
FLOPS_OF_A_START, SPEED = 1000, 3e10  # times n^3: two spectra, 200 times two products; a second
PERTURBATION = 0.1  # of further starts

Report = Callable[[str], None]


class Matched(NamedTuple):
    """What a strategy found: vertices of B for those of A, and what it says of them."""

    permutation: np.ndarray
    confidence: Confidence
    misc: list[dict]
    certificate: Certificate | None
    permutations: list[np.ndarray]
    message: str


class Plan(NamedTuple):
    """How to look for the match."""

    settings: Settings
    perturbation: float
    starts: int
    shuffle: bool
    padding: str
    jobs: int
    rng: np.random.Generator
    report: Report


def find_match(problem: MatchingProblem, plan: Plan) -> Matched:
    """Match the graphs by the strategy that suits them."""
    if min(problem.A.n, problem.B.n) == 0:
        nobody = np.full(problem.A.n, -1)
        confidence = Confidence(np.zeros(problem.A.n), np.full((problem.A.n, RUNNERS_UP), -1))
        misc = {"score": 0.0, "n_iter": 0, "converged": True, "convex_solution": None, "how": "nothing to match"}
        return Matched(nobody, confidence, [misc] * plan.starts, None, [nobody] * plan.starts, "nothing to match")
    large = problem.n > SPARSE and _needs_dense(problem, plan) is None
    return _sparse_strategy(problem, plan) if large else _dense_strategy(problem, plan)


def _needs_dense(problem: MatchingProblem, plan: Plan) -> str | None:
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


def _sparse_strategy(problem: MatchingProblem, plan: Plan) -> Matched:
    found = match_large(
        problem.A.layers,  # pyright: ignore[reportArgumentType]
        problem.B.layers,  # pyright: ignore[reportArgumentType]
        seeds=problem.seeds,
        similarity=problem.S,  # pyright: ignore[reportArgumentType]
        rng=plan.rng,
        max_iter=plan.settings.max_iter or 100,
        progress=False if plan.report is silent else plan.report,
    )
    pairs = tuple(zip(problem.A.layers, problem.B.layers, strict=True))
    ratio = ratio_of_units(pairs)
    a, b = ratio * _squares(problem.A), _squares(problem.B) / ratio
    symmetric = all((M != M.T).nnz == 0 for M in (*problem.A.layers, *problem.B.layers))  # pyright: ignore
    confidence = confidence_of_sparse(found.witnesses * (2.0 if symmetric else 1.0), pairs, a, b, found.permutation)
    misc = [
        {
            "score": found.score,
            "n_iter": found.iterations,
            "converged": found.converged,
            "convex_solution": None,
            "how": "percolation",
        }
    ]
    matched = Matched(found.permutation, confidence, misc, None, [found.permutation], "found by common neighbours")
    if problem.n > DENSE or not _is_doubtful(problem, matched) or _memory(problem, plan) > available_bytes():
        return matched
    plan.report("half of the vertices are not sure: dense matrices are tried as well")
    other = _dense_strategy(problem, plan)
    return max(matched, other, key=lambda one: problem.score(*matched_pairs(one.permutation)))


def _is_doubtful(problem: MatchingProblem, matched: Matched) -> bool:
    """Say whether half of the vertices with edges are not sure; where all edges agree, a tie is no reason to doubt."""
    indices_A, indices_B = matched_pairs(matched.permutation)
    agreement = edge_agreement(problem.A.layers, problem.B.layers, indices_A, indices_B)
    counts = np.isfinite(agreement)
    doubtful = (matched.confidence.values[indices_A] == 0.0) & (agreement < 1.0)
    return bool(2 * np.count_nonzero(doubtful[counts]) > np.count_nonzero(counts))


def _dense_strategy(problem: MatchingProblem, plan: Plan) -> Matched:
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
    scores = [problem.score(*matched_pairs(p)) for p in permutations]
    best = max(range(len(ended)), key=lambda number: sign * scores[number])
    reduced, found = ended[best]
    values = np.ones(problem.n)
    runners_up = np.full((problem.n, RUNNERS_UP), -1)
    if k:
        confidence = confidence_of(reduced.objective, found.p, reduced.columns < problem.B.n)
        values[reduced.rows] = confidence.values
        runners_up[reduced.rows] = np.where(confidence.runners_up >= 0, reduced.columns[confidence.runners_up], -1)
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
        Confidence(values[: problem.A.n], runners_up[: problem.A.n]),
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


def matched_pairs(p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    indices = np.flatnonzero(p >= 0)
    return indices, p[indices]


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


def _memory(problem: MatchingProblem, plan: Plan) -> int:
    """Return the bytes that a search with dense matrices takes at most."""
    k, filled = problem.n - len(problem.seeds), plan.padding != "naive" and problem.A.n != problem.B.n
    return min(plan.jobs, plan.starts) * (4 * ARRAYS * k**2 + 8 * FILLED * problem.n**2 * filled)


def _require_memory(problem: MatchingProblem, plan: Plan) -> None:
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


def silent(text: str) -> None:
    pass
