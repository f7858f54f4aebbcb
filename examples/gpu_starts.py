"""Relax and round from thousands of starting points at once on a GPU; without one, from a hundred on the processor.

    python examples/gpu_starts.py                # nug30
    python examples/gpu_starts.py sko100a 4096

Needs PyTorch: pip install 'trisplit[torch]'. Nothing is polished, and the lowest cost is that of a rounded point:
`trisplit solve nug30 --device cuda` goes on from such permutations by tabu search.
"""

import sys
from time import perf_counter
from typing import TYPE_CHECKING

import trisplit as ts
from trisplit.qap.concavity import Concavity
from trisplit.qap.gpu.batch import Batch

if TYPE_CHECKING:
    import torch

ITERATIONS, SEED = 400, 0
MANY, FEW = 16_384, 100  # starts, with a GPU and without


def growing(f: ts.qap.Tangent) -> Concavity:
    """Return how the form becomes concave, so that nearly all starts end at a permutation."""
    return Concavity(f.curvature()[1], ITERATIONS)


def run(batch: Batch) -> "tuple[torch.Tensor, float]":
    """Return the permutations of all starts, and how many there were in a second."""
    import torch

    if batch.device.type == "cuda":  # compiles what the same starts call once more
        batch.begin(SEED)
        batch.advance(ITERATIONS)
        batch.permutations()
        torch.cuda.synchronize(batch.device)
    begin = perf_counter()
    batch.begin(SEED)
    batch.advance(ITERATIONS)
    permutations = batch.permutations().cpu()  # waits for the GPU
    return permutations, batch.starts / (perf_counter() - begin)


def main(name: str = "nug30", starts: str | int | None = None) -> None:
    """Do the starts on an instance, and print what they gave."""
    try:
        import torch
    except ImportError:
        sys.exit("This example needs PyTorch; try pip install 'trisplit[torch]'")
    found = torch.cuda.is_available()
    device, number = "cuda" if found else "cpu", int(starts or (MANY if found else FEW))
    instance = ts.qap.load(name)
    f = ts.qap.Objective(instance.A.astype(float), instance.B.astype(float)).tangent()
    batch = Batch(f, number, device, concavity=growing(f))
    permutations, speed = run(batch)
    costs = [instance.cost(p) for p in permutations.numpy()]  # in exact integers
    best = min(range(number), key=costs.__getitem__)
    certified = batch.certify()
    where = torch.cuda.get_device_name() if found else "the processor, since PyTorch finds no GPU"
    print(f"{name}: {number:,} starts of {ITERATIONS} iterations on {where}, {speed:,.0f} starts a second")
    print(f"best cost {costs[best]:,}, mean {sum(costs) / number:,.0f}, best known {instance.best_known:,}")
    value, bound, off = (float(each[best]) for each in certified)
    stationarity, infeasibility = abs(bound) / max(value, 1.0), off / instance.n**0.5
    print(f"certificate of the best: stationarity {stationarity:.1e}, infeasibility {infeasibility:.1e} (relative)")
    print(f"starts that ended within 0.001 of unit sums: {int((certified.infeasibility < 1e-3).sum()):,}")


if __name__ == "__main__":
    main(*sys.argv[1:])
