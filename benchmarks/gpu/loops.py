"""The plain loop on a batch of starts, as one would write it with PyTorch, JAX or CuPy, and the floor beneath it.

    z = clip(y),   x = proj_H(2 z - y - gamma (2 A z B + g0 - mu z)),   y = y - z + x

for S starts at once in the layout (n, S, n), so that A z and z B are one large product each. The floor is what no such
iteration can do without: the two products, and one pass over memory that reads and writes z.

This is also a script, so that each library has a process and the device's memory for itself:

    python loops.py floor|torch|compile|jax|cupy cuda|cpu ITERATIONS REPEATS 100x4096 ...

prints a line of JSON for each size. It imports nothing of trisplit.
"""

import json
import sys
from collections.abc import Callable
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np

GAMMA, MU = 0.5, 0.1
CHECKED = 5  # iterations after which a loop is compared with the same one in float64, on one start
LAUNCHES = 10  # of a product or a pass, one after the other, in each measurement of the floor
ALIGNED = 8  # columns to whose multiple the products of the floor are also tried


def step(xp: Any, y: Any, A: Any, B: Any, g0: Any) -> Any:
    """Return the next y; `xp` is the library."""
    n, S, _ = y.shape
    z = xp.clip(y, 0.0, 1.0)
    AZ = (A @ z.reshape(n, S * n)).reshape(n * S, n)
    G = 2.0 * (AZ @ B).reshape(n, S, n) + g0[:, None, :] - MU * z
    V = 2.0 * z - y - GAMMA * G
    rows, columns = V.sum(axis=2, keepdims=True), V.sum(axis=0, keepdims=True)
    total = rows.sum(axis=0, keepdims=True)
    x = V - (rows - 1.0) / n - (columns - 1.0) / n + (total - n) / n**2
    return y - z + x


def symmetric(rng: np.random.Generator, n: int) -> np.ndarray:
    """Return a doubly centred symmetric random matrix with a spectral norm of about 1."""
    M = rng.random((n, n), dtype=np.float32) - np.float32(0.5)
    M = M + M.T
    M -= M.mean(axis=0)
    M -= M.mean(axis=1, keepdims=True)
    M /= np.float32(4.0 * (n / 6) ** 0.5)
    return M + M.T  # symmetric to the last bit: else a gradient needs four products


def data(n: int, S: int) -> list[np.ndarray]:
    """Return the starting points and the matrices."""
    rng = np.random.default_rng(0)
    A, B, g0 = (symmetric(rng, n) for _ in range(3))
    y = 1.0 / n + 0.5 / n * rng.standard_normal((n, S, n), dtype=np.float32)
    return [y, A, B, g0]


def difference(y: np.ndarray, given: list[np.ndarray]) -> float:
    """Return how far the first start is from the same loop in float64, as a part of its norm."""
    wide = [one.astype(np.float64) for one in (given[0][:, :1], *given[1:])]
    exact = wide[0]
    for _ in range(CHECKED):
        exact = step(np, exact, *wide[1:])
    return float(np.linalg.norm(y[:, :1] - exact) / np.linalg.norm(exact))


def torch_milliseconds(
    device: str, run: Callable[[], object], repeats: int, before: Callable[[], object] = lambda: None
) -> list[float]:
    """Return the milliseconds of some calls, by CUDA events on a GPU and by the system's clock on a CPU.

    `before` is called before each of them, and not timed.
    """
    import torch

    times = []
    for _ in range(repeats):
        before()
        if device == "cpu":
            begin = perf_counter()
            run()
            times.append(1e3 * (perf_counter() - begin))
            continue
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(begin.elapsed_time(end))
    return times


def floor(device: str, n: int, S: int, iterations: int, repeats: int) -> dict[str, Any]:
    """Return the milliseconds of A X, X B and of a pass, and their sum.

    Products are also tried with n rounded up to a multiple of 8, which aligns rows; the faster counts.
    """
    import torch

    torch.set_float32_matmul_precision("high")
    found: dict[str, Any] = {}
    for m in sorted({n, -(-n // ALIGNED) * ALIGNED}):
        A, B = torch.randn(m, m, device=device), torch.randn(m, m, device=device)
        X, Y = torch.rand(m, S * m, device=device) * (2.0 / m), torch.empty(m, S * m, device=device)
        tall_X, tall_Y = X.view(m * S, m), Y.view(m * S, m)
        runs: dict[str, Callable[[], object]] = {
            "AX": lambda A=A, X=X, Y=Y: torch.mm(A, X, out=Y),
            "XB": lambda B=B, X=tall_X, Y=tall_Y: torch.mm(X, B, out=Y),
        }
        if m == n:
            runs["pass"] = lambda X=X, Y=Y: Y.copy_(X)
        for name, run in runs.items():
            many = repeated(run, LAUNCHES)
            many()
            times = torch_milliseconds(device, many, repeats)
            found[name if m == n else f"{name} aligned"] = median(times) / LAUNCHES
        del A, B, X, Y, tall_X, tall_Y, runs, run, many
    products = [min(found[name], found.get(f"{name} aligned", found[name])) for name in ("AX", "XB")]
    return found | {"products": sum(products), "milliseconds": sum(products) + found["pass"]}


def repeated(run: Callable[[], object], times: int) -> Callable[[], None]:
    """Return a function that calls another so often."""

    def many() -> None:
        for _ in range(times):
            run()

    return many


def with_torch(device: str, n: int, S: int, iterations: int, repeats: int, *, compiled: bool = False) -> dict[str, Any]:
    """Time the loop in PyTorch, with or without `torch.compile`."""
    import torch

    torch.set_float32_matmul_precision("high")
    given = data(n, S)
    start, A, B, g0 = (torch.as_tensor(one, device=device) for one in given)

    def plain(y: torch.Tensor) -> torch.Tensor:
        return step(torch, y, A, B, g0)

    once = torch.compile(plain, dynamic=False) if compiled else plain

    def advance(y: torch.Tensor, times: int) -> torch.Tensor:
        for _ in range(times):
            y = once(y)
        return y

    with torch.no_grad():
        miss = difference(advance(start, CHECKED).cpu().numpy(), given)
        advance(start, iterations)
        times = torch_milliseconds(device, lambda: advance(start, iterations), repeats)
    return {"milliseconds": median(times) / iterations, "difference": miss}


def with_compile(device: str, n: int, S: int, iterations: int, repeats: int) -> dict[str, Any]:
    """Time the loop under `torch.compile`."""
    return with_torch(device, n, S, iterations, repeats, compiled=True)


def with_jax(device: str, n: int, S: int, iterations: int, repeats: int) -> dict[str, Any]:
    """Time the loop in JAX, all iterations in one call; its products of float32 are in TF32 by default on a GPU."""
    import jax
    import jax.numpy as jnp

    if device == "cuda" and jax.default_backend() != "gpu":
        raise ModuleNotFoundError("JAX does not see the GPU")
    given = data(n, S)
    start, A, B, g0 = (jnp.asarray(one) for one in given)

    def advance(y: Any, A: Any, B: Any, g0: Any, times: int) -> Any:
        return jax.lax.fori_loop(0, times, lambda _, y: step(jnp, y, A, B, g0), y)

    call = jax.jit(advance, static_argnums=4)
    miss = difference(np.asarray(call(start, A, B, g0, CHECKED)), given)
    call(start, A, B, g0, iterations).block_until_ready()
    times = []
    for _ in range(repeats):
        begin = perf_counter()
        call(start, A, B, g0, iterations).block_until_ready()
        times.append(1e3 * (perf_counter() - begin))
    return {"milliseconds": median(times) / iterations, "difference": miss}


def with_cupy(device: str, n: int, S: int, iterations: int, repeats: int) -> dict[str, Any]:
    """Time the loop in CuPy, which takes TF32 if CUPY_TF32 is 1 in the environment."""
    import cupy  # pyright: ignore[reportMissingImports]

    if device == "cpu":
        raise ModuleNotFoundError("CuPy needs a GPU")
    given = data(n, S)
    start, A, B, g0 = (cupy.asarray(one) for one in given)

    def advance(y: Any, times: int) -> Any:
        for _ in range(times):
            y = step(cupy, y, A, B, g0)
        return y

    miss = difference(cupy.asnumpy(advance(start, CHECKED)), given)
    advance(start, iterations)
    times = []
    for _ in range(repeats):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        advance(start, iterations)
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end))
    return {"milliseconds": median(times) / iterations, "difference": miss}


CONTESTANTS: dict[str, Callable[..., dict[str, Any]]] = {
    "floor": floor,
    "torch": with_torch,
    "compile": with_compile,
    "jax": with_jax,
    "cupy": with_cupy,
}


def main(name: str, device: str, iterations: str, repeats: str, *sizes: str) -> None:
    """Print a line of JSON for each size; one that fails does not keep the others from being measured."""
    for size in sizes:
        n, S = map(int, size.split("x"))
        try:
            found = CONTESTANTS[name](device, n, S, int(iterations), int(repeats))
        except ModuleNotFoundError as error:
            found = {"missing": str(error)}
        except Exception as error:
            found = {"failed": f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"}
        print(json.dumps({"size": size, **found}), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
