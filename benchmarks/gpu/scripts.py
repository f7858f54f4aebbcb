"""Running the scripts of this folder in processes of their own."""

import json
import os
import subprocess
import sys
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import trisplit as ts

FOLDER = Path(__file__).resolve().parent
LIMIT = 230.0  # seconds for the loops of one library
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
LIBRARIES = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "CUPY_TF32": "1"}


def command(script: str, *arguments: object) -> list[str]:
    """Return the command line of a script; -P keeps this folder's names from hiding those of other packages."""
    return [sys.executable, "-P", str(FOLDER / script), *map(str, arguments)]


def loops(name: str, device: str, sizes: list[str], iterations: int, repeats: int) -> dict[str, dict[str, Any]]:
    """Return what the loop of a library measured at each size, or why it did not."""
    arguments = command("loops.py", name, device, iterations, repeats, *sizes)
    environment = os.environ | LIBRARIES | ({"JAX_PLATFORMS": "cpu"} if device == "cpu" else {})
    try:
        done = subprocess.run(arguments, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
        out, said = done.stdout, done.stderr.strip().splitlines()
        why = said[-1] if said else f"ended with {done.returncode}"
    except subprocess.TimeoutExpired as late:
        out = late.stdout.decode() if isinstance(late.stdout, bytes) else late.stdout or ""
        why = f"not done after {LIMIT:g} s"
    lines = [json.loads(line) for line in out.splitlines() if line.startswith('{"size"')]
    found = {line.pop("size"): line for line in lines}
    return {size: found.get(size, {"failed": why}) for size in sizes}


def faq(instance: ts.qap.Instance, processes: int, seconds: float) -> dict[str, Any]:
    """Return the starts a second of so many processes with a thread each, and the cost of every start."""
    with TemporaryDirectory() as folder, ExitStack() as stack:
        path = Path(folder) / "instance.npz"
        np.savez(path, A=instance.A, B=instance.B)
        running = []
        for seed in range(processes, 2 * processes):  # other seeds for other numbers of processes
            arguments, pipe = command("faq.py", path, seed, seconds), subprocess.PIPE
            one = subprocess.Popen(arguments, env=os.environ | ONE_THREAD, stdin=pipe, stdout=pipe, text=True)
            running.append(stack.enter_context(one))
            stack.callback(one.kill)
        for one in running:
            if one.stdout is None or one.stdout.readline() != "ready\n":
                raise RuntimeError(f"SciPy's FAQ did not start on {instance.name}")
        for one in running:
            assert one.stdin is not None
            one.stdin.write("\n")
            one.stdin.flush()
        found = [json.loads(one.communicate()[0]) for one in running]
    return {
        "per_second": sum(one["starts"] / one["seconds"] for one in found),
        "costs": [cost for one in found for cost in one["costs"]],
    }
