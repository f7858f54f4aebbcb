"""Is all that runs on this card right? The kernels against their plain twins, on the card itself.

Loops are compared after some iterations from the same points, with y of order 1; what they may differ by is what their
precision leaves. Auctions and tabu searches are compared exactly.
"""

from typing import Any

import numpy as np

import trisplit as ts

from .part import Bench, Part, growing, synchronize, tangent

LOOPS = ("nug12", "bur26a", "sko64", "sko100a", "tho150", "tai256c")
TABU = ("nug12", "bur26a", "tai30a", "sko64", "tai80b", "sko100a", "tho150", "tai256c")
DECIMALS = "decimals"  # an instance in float64, all of whose sums are exact
AUCTION, AUCTIONS = "auction", (7, 30, 100, 128)  # rows
ALLOWED = {"float64": 1e-11, "float32": 1e-4, "tf32": 3e-2}
STARTS, ITERATIONS, MOVES = 16, 20, 100


def cases(quick: bool) -> list[str]:
    some = 1 if quick else None
    return [
        *(f"loops {name}" for name in LOOPS[:some]),
        AUCTION,
        *(f"tabu {name}" for name in (*TABU, DECIMALS)[:some]),
    ]


def measure(bench: Bench, case: str) -> dict[str, Any]:
    """Return the largest difference for each precision, or whether two codes do exactly the same."""
    kind, _, name = case.partition(" ")
    if kind == AUCTION:
        return {"same": same_auctions(bench)}
    instance = decimals() if name == DECIMALS else ts.qap.load(name)
    return differences(bench, instance) if kind == "loops" else {"same": same_walks(bench, instance)}


def differences(bench: Bench, instance: ts.qap.Instance) -> dict[str, Any]:
    import torch

    from trisplit.qap.gpu.batch import Batch, starting_points
    from trisplit.qap.gpu.iterations import Plain

    form = tangent(instance)
    y = starting_points(instance.n, STARTS, 0, torch.device(bench.device), torch.float64)
    results = {}
    for label, precision, loop in [("plain", "float64", Plain), *((one, one, None) for one in ALLOWED)]:
        batch = Batch(form, STARTS, bench.device, precision, growing(form, 200), loop=loop)
        batch.start(y.to(batch.form.g0.dtype, copy=True))
        batch.advance(ITERATIONS - 7)
        batch.advance(7)
        results[label] = batch.loop.y.to(torch.float64)
    synchronize(bench)
    return {label: float((results[label] - results["plain"]).abs().max()) for label in ALLOWED}


def same_auctions(bench: Bench) -> bool:
    import torch

    from trisplit.qap.gpu.rounding import auction, plain_auction

    rng = np.random.default_rng(0)
    for n in AUCTIONS[:1] if bench.quick else AUCTIONS:
        values = torch.as_tensor(rng.uniform(-1.0, 1.0, (20, n, n)).astype(np.float32), device=bench.device)
        if not bool((auction(values) == plain_auction(values)).all()):
            return False
    return True


def decimals() -> ts.qap.Instance:
    """Return an instance whose numbers are no integers; the largest is a power of two, by which all are divided."""
    A, B = (np.random.default_rng(seed).integers(0, 65, (40, 40)) / 4.0 for seed in (0, 1))
    A[0, 1] = B[0, 1] = 16.0
    return ts.qap.Instance(DECIMALS, A, B)


def same_walks(bench: Bench, instance: ts.qap.Instance) -> bool:
    import torch

    from trisplit.kernels.gpu.walks import Walks
    from trisplit.qap.swap_form import swap_form

    form, rng = swap_form(instance), np.random.default_rng(0)
    p = torch.as_tensor(np.array([rng.permutation(form.n) for _ in range(STARTS)]), device=bench.device)
    walks = [Walks(form, torch.device(bench.device), STARTS, fused=fused) for fused in (None, False)]
    one, other = (each.improve(p, 2 if bench.quick else MOVES, 1) for each in walks)
    return all(bool((a == b).all()) for a, b in zip(one, other, strict=True))


def settings(quick: bool) -> dict[str, Any]:
    return {"starts": STARTS, "iterations": ITERATIONS, "moves": MOVES, "allowed": ALLOWED}


CHECKS = Part(cases, measure, settings)
